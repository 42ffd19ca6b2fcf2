"""Worlds in several processes, one for each core: each process simulates its share of them with all that they are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pickle import PicklingError
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as find_device
from annelid.core.device import thread_count
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.own_files import blamed
from annelid.core.snapshot import Snapshot
from annelid.envs.hooks import Channel
from annelid.envs.worlds import Worlds, require

_FACTS = ("channels", "action_size", "action_seconds", "most_steps", "followed", "camera", "idle_reward")


Make = Callable[..., Worlds]


class _Share:
    """A process and the worlds that it simulates.

    Args:
        rows: Which of all worlds they are.
        make: `make_worlds`.
        given: Environment, number of worlds and threads, as it takes them.
        options: Options of the task.

    Attributes:
        results: Rewards and ends of its worlds after the last action, by name.
    """

    def __init__(self, rows: slice, make: Make, given: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.rows = rows
        self.results: dict[str, np.ndarray] = {}
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, list(sys.path), make, given, options), name="annelid worlds", daemon=True
        )
        try:
            self._process.start()
        except (PicklingError, AttributeError, TypeError) as error:
            raise InvalidValue(
                f"{given[0]!r:.60} cannot be handed to another process ({error}): name it FILE.py:NAME, or define "
                "it at the top of a module."
            ) from None
        theirs.close()

    def ask(self, verb: str, *values: Any) -> None:
        """Ask for something; `answer` waits for it."""
        with suppress(OSError):  # `answer` says what has become of the process
            self._connection.send((verb, *values))

    def answer(self) -> Any:
        """What came of it; an error that it raised there is raised here."""
        try:
            found = self._connection.recv()
        except (EOFError, OSError):
            raise AnnelidError(
                "a process with worlds has died: memory may be short; take fewer worlds or processes."
            ) from None
        if isinstance(found, Exception):
            raise found
        return found

    def end(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.terminate()
        self._process.join()


class ProcessWorlds(Worlds):
    """Worlds on the CPU, shared out among processes.

    Args:
        make: What makes worlds in each process, `make_worlds`.
        name: The environment, as it takes it.
        count: Number of worlds.
        processes: Number of processes, at most one for each world.
        device: "auto" or "cpu".
        threads: CPU threads of all processes together; None takes all cores.
        options: Options of the task.
    """

    def __init__(
        self,
        make: Make,
        name: Any,
        count: int,
        *,
        processes: int,
        device: Any = "cpu",
        threads: int | None = None,
        **options: Any,
    ) -> None:
        require("the number of processes", processes, 1, count, whole=True)
        if find_device(device).is_cuda:
            raise InvalidValue("worlds on a GPU are in one process: give processes=1.")
        each = max(1, thread_count(threads) // processes)
        ends = [count * k // processes for k in range(processes + 1)]
        parts = [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]
        self._shares = [_Share(rows, make, (name, rows.stop - rows.start, each), options) for rows in parts]
        self._end = weakref.finalize(self, _end, self._shares)
        facts, *_ = self._answers()
        self._facts = facts
        self.told, self.followed, self.camera = facts["told"], facts["followed"], facts["camera"]
        self.idle_reward = facts["idle_reward"]
        super().__init__(count, SimpleNamespace(**options), device="cpu")
        self._told = {name: np.zeros(count) for name in self.told}

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Parts of the observations."""
        found: tuple[Channel, ...] = self._facts["channels"]
        return found

    @property
    def action_size(self) -> int:
        """Numbers of an action, each in [-1, 1]."""
        return int(self._facts["action_size"])

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return float(self._facts["action_seconds"])

    @property
    def most_steps(self) -> int:
        """Actions of an episode."""
        return int(self._facts["most_steps"])

    def info(self) -> dict[str, np.ndarray]:
        """Numbers of each world that are no observation, those of `told`, shapes [count]."""
        return self._told

    def snapshot(self, world: int = 0) -> Snapshot:
        """Not possible: what there is to draw is in other processes."""
        raise InvalidValue("worlds in several processes cannot be drawn: give processes=1.")

    def save(self, path: object) -> None:
        """Not possible: the states are in other processes."""
        raise InvalidValue("worlds in several processes cannot be saved: give processes=1.")

    def load(self, path: object) -> None:
        """Not possible: the states are in other processes."""
        raise InvalidValue("worlds in several processes cannot load a file: give processes=1.")

    def close(self) -> None:
        """End the processes."""
        self._end()

    # --- parts ---

    def _begin(self, mask: wp.array[Any]) -> None:
        chosen, given = mask.numpy(), self._given.numpy()
        asked = [share for share in self._shares if chosen[share.rows].any()]
        for share in asked:
            share.ask("restart", chosen[share.rows] if self._begun else None, given[share.rows])
        self._take_over(asked)

    def _advance(self) -> None:
        actions, steps = self.actions.numpy(), self.steps.numpy()
        for share in self._shares:
            share.ask("step", actions[share.rows], steps[share.rows])
        self._take_over(self._shares)

    def _take_over(self, shares: Sequence[_Share]) -> None:
        """Copy observations and `info` that processes have sent, and keep the results of the action."""
        for share, (seen, told, results) in zip(shares, self._answers(shares), strict=True):
            share.results = results
            for name, values in seen.items():
                self.observations[name].numpy()[share.rows] = values
            for name, values in told.items():
                self._told[name][share.rows] = values

    def _answers(self, shares: Sequence[_Share] | None = None) -> list[Any]:
        """What processes answer; where one has failed, all are ended, as the others have gone on."""
        try:
            return [share.answer() for share in (self._shares if shares is None else shares)]
        except Exception:
            self._end()
            raise

    def _judge(self) -> None:
        for share in self._shares:
            for name, values in share.results.items():
                getattr(self, name).numpy()[share.rows] = values

    def _observe(self, mask: wp.array[Any]) -> None:
        """Observations have come already."""

    def _memory(self) -> dict[str, Any]:
        return {}

    def _after_load(self) -> None:
        pass


def _end(shares: Sequence[_Share]) -> None:
    for share in shares:
        share.end()


def _serve(
    connection: Connection, paths: list[str], make: Make, given: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """What runs in a process: its worlds, until nobody asks for them any more. Ctrl-C is left to who asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.extend(path for path in paths if path not in sys.path and os.path.isdir(path))
    with suppress(EOFError, OSError):
        try:
            name, count, threads = given
            worlds = make(name, count, device="cpu", threads=threads, **options)
            connection.send({fact: getattr(worlds, fact) for fact in _FACTS} | {"told": dict(worlds.told)})
            while True:
                connection.send(_done(worlds, *connection.recv()))
        except (EOFError, OSError):
            raise
        except Exception as error:
            connection.send(_sendable(error))


def _done(worlds: Worlds, verb: str, *values: Any) -> Any:
    """What came of a request."""
    results: dict[str, np.ndarray] = {}
    if verb == "restart":
        worlds.restart(*values)
    else:
        actions, steps = values
        worlds.steps.assign(steps)
        worlds.step(actions)
        results = {name: getattr(worlds, name).numpy() for name in ("rewards", "terminated", "truncated")}
    return {name: rows.numpy() for name, rows in worlds.observations.items()}, worlds.info(), results


def _sendable(error: Exception) -> Exception:
    """An error as it can be sent: ours as it is, another in a sentence, with the line of the user's file it is from."""
    if type(error) in (AnnelidError, InvalidValue):
        return error
    sentence = blamed(error) or (str(error) if isinstance(error, AnnelidError) else f"{type(error).__name__}: {error}")
    return AnnelidError(sentence)
