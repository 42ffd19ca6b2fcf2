"""Reaching a Ray cluster: a clear word, and soon, where there is none."""

from __future__ import annotations

import functools
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.packages import optional
from annelid.evolve.executors.grpc_probe import require_grpc

_SOON = 3.0  # seconds for something to answer at all
_PATIENCE = 20.0  # seconds to join a cluster that does answer
_STORE = 80_000_000  # bytes of shared memory; batches and fitnesses are small


class ClusterUnreachable(AnnelidError, ConnectionError):
    """A Ray address does not answer."""


def ray() -> Any:
    """The package Ray."""
    return optional("ray", purpose="executor 'ray'", extra="ray")


def connect(address: str | None, workers: int | None = None) -> bool:
    """Connect to a cluster, or start one on this machine; whether there was a connection to make.

    Args:
        address: "host:port", "ray://host:port" or "auto"; None starts a cluster of this machine alone.
        workers: Cores of a cluster that is started here; None for all.
    """
    if address is not None:
        _require_answer(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    module = ray()
    if module.is_initialized():
        return False
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        with _own_token():
            module.init("local", num_cpus=workers, include_dashboard=False, object_store_memory=_STORE, **quiet)
    else:
        _within_patience(lambda: module.init(address, **quiet), address)
    return True


@contextmanager
def _own_token() -> Iterator[None]:
    """A token for a cluster that only this process uses; without one Ray would write its own to the user's home."""
    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
    if any(name in os.environ for name in names):
        yield
        return
    os.environ["RAY_AUTH_TOKEN"] = _token()
    try:
        yield
    finally:
        for name in names:  # Ray sets the mode beside it
            os.environ.pop(name, None)


@functools.cache
def _token() -> str:
    """The same in all of the process's life: Ray reads it once."""
    return secrets.token_hex(32)


def _require_answer(address: str) -> None:
    """Refuse an address at which nothing speaks Ray's protocol, gRPC, before Ray, which is patient, is asked."""
    if address == "auto":
        return
    match = re.fullmatch(r"(?:ray://)?(\[[^\]]+\]|[^:/\s]+):(\d{1,5})", address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise InvalidValue(f"Ray address {address!r} must be host:port, ray://host:port or auto.")
    host, port = match[1].strip("[]"), int(match[2])
    try:
        if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
            require_grpc(host, port, seconds=_SOON)
        else:  # what is said comes after a handshake that only Ray can make
            socket.create_connection((host, port), timeout=_SOON).close()
    except OSError as error:
        raise _unreachable(address, error) from None


def _within_patience(call: Callable[[], None], address: str) -> None:
    """Call from a thread that is left behind if it does not return."""
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=attempt, daemon=True, name="annelid-ray-connect")
    thread.start()
    thread.join(_PATIENCE)
    if errors or thread.is_alive():
        raise _unreachable(address, errors[0] if errors else TimeoutError(f"no answer in {_PATIENCE:g} s"))


def _unreachable(address: str, error: BaseException) -> ClusterUnreachable:
    if type(error).__name__ == "AuthenticationError":
        return ClusterUnreachable(
            f"the Ray cluster at {address} asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to its own. "
            "Results so far are kept."
        )
    reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    return ClusterUnreachable(
        f"no Ray cluster answers at {address} ({reason}); start one with `ray start --head`, or leave out "
        "--ray-address to use this machine. Results so far are kept."
    )
