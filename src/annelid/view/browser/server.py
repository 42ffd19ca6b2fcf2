"""The viser server behind a page, with the library's looks and with a door and an inbox, which viser lacks."""

from __future__ import annotations

import errno
import io
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.packages import optional
from annelid.view.browser.door import Door, Request
from annelid.view.browser.inbox import Inbox

_PORTS = 100
_opening = threading.Lock()


def free_port(host: str, port: int) -> int:
    """The first free port from `port` on, on an address of this machine."""
    if not 0 <= port <= 65535:
        raise InvalidValue(f"port {port} must be between 0 and 65535.")
    for candidate in range(port, min(port + _PORTS, 65536)):
        try:
            kind, _, _, _, address = socket.getaddrinfo(host, candidate, type=socket.SOCK_STREAM)[0]
            with socket.socket(kind) as probe:
                if sys.platform != "win32":  # where it would let two servers listen on one port
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
                return int(probe.getsockname()[1])
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise InvalidValue(f"cannot listen on host {host!r}: {error}; use 127.0.0.1 or 0.0.0.0.") from error
    raise InvalidValue(f"no port from {port} to {port + _PORTS - 1} is free on {host!r}; name another one.")


def start_server(host: str, port: int, title: str, door: Door, inbox: Inbox) -> Any:
    """A viser server with the library's looks; the door decides who may reach it, and the inbox what it is told."""
    viser = optional("viser", purpose="the viewer", extra="view")
    # viser greets on standard output, which belongs to the command.
    with redirect_stdout(io.StringIO()), _guarded_by(door, inbox) as guarded:
        server = viser.ViserServer(host=host, port=free_port(host, port), label=title, verbose=False)
    if not guarded():
        server.stop()
        raise InvalidValue(f"viser {viser.__version__} opens its port in a way that cannot be guarded; use viser 1.1.")
    inbox.server = server
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(200, 85, 61))
    server.scene.set_up_direction("+z")
    server.scene.world_axes.visible = False
    # Own lights: the default ones bleach colours that mean something, and their shadows are slow without a GPU.
    server.scene.configure_default_lights(enabled=False)
    server.scene.configure_environment_map(hdri=None)
    # From above, a little from where one looks, and from everywhere: what is round looks round, nothing is black.
    server.scene.add_light_ambient("/light/sky", intensity=1.2)
    server.scene.add_light_directional("/light/sun", intensity=1.6, position=(0.3, -0.2, 1.0))
    server.scene.add_light_directional("/light/fill", intensity=0.8, position=(1.0, -0.8, 0.3))
    return server


@contextmanager
def _guarded_by(door: Door, inbox: Inbox) -> Iterator[Callable[[], bool]]:
    """Servers that viser opens meanwhile are guarded; yields whether one was.

    viser answers all requests itself and asks nobody. What it opens its port with, it takes from the package
    `websockets`; for as long as one of its servers starts, it finds there a function that adds our questions.
    """
    from annelid.view.browser.connection import checked_by  # comes with viser

    infra = optional("viser.infra._infra", purpose="the viewer", extra="view")
    websockets, opened = infra.websockets, []

    def serve(handler: Any, *arguments: Any, process_request: Any, **options: Any) -> Any:
        opened.append(True)
        asking, connection = _asking(door, process_request), checked_by(inbox)
        return websockets.asyncio.server.serve(
            handler, *arguments, process_request=asking, create_connection=connection, **options
        )

    with _opening:
        infra.websockets = SimpleNamespace(
            asyncio=SimpleNamespace(server=SimpleNamespace(serve=serve)),
            exceptions=websockets.exceptions,
            datastructures=websockets.datastructures,
        )
        try:
            yield lambda: bool(opened)
        finally:
            infra.websockets = websockets


def _asking(door: Door, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Answers requests, files and upgrades alike, that the door lets in."""

    def asking(connection: Any, request: Any) -> Any:
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        sentence = door.refusal(Request(request.path, hosts, origins, connection.local_address[:2]))
        if sentence is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, sentence + "\n")
        return answer(connection, replace(request, path=door.inner_path(request.path)))

    return asking
