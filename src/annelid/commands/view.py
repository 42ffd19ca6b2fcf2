"""`annelid view NAME` or `annelid view RECORDING`: a simulation or a recording in the browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annelid.commands.support.options import Machine, parse
from annelid.commands.support.scene_options import scene_command
from annelid.core.device import device
from annelid.core.errors import ViewerFailed
from annelid.core.own_files import is_own
from annelid.scenes.registry import scene_names, scenes
from annelid.view.browser.live import LiveViewer
from annelid.view.browser.replay import ReplayViewer
from annelid.view.showing import serve


@dataclass(frozen=True)
class View:
    """Where the page is served."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in, with the token in the address that is printed."""
    port: int = 8080
    """Port to listen on; the next free one if it is taken."""
    allow_host: tuple[str, ...] = ()
    """Other names under which the page is published, NAME or NAME:PORT; requests to or from others are refused."""
    open: bool = True
    """Open a browser, where there is one."""


def command(arguments: list[str]) -> int:
    """Serve the page until it is interrupted."""
    given = arguments[0] if arguments else ""
    if _is_file(given):
        replay: View = parse(View, arguments[1:], f"annelid view {given}")
        return _serve(ReplayViewer(given, **_place(replay)), replay.open)
    parsed = scene_command(arguments, "view", View)
    if parsed is None:
        return 0
    scene, options, machine = parsed
    known = {**scenes(), scene.name: type(scene)}
    viewer = LiveViewer(known, scene, build=_builder(machine), **_place(options))
    return _serve(viewer, options.open)


def _place(options: View) -> dict[str, Any]:
    return {"host": options.host, "port": options.port, "allow_hosts": options.allow_host}


def _is_file(given: str) -> bool:
    """Whether a file is meant rather than a scene; a missing file is then told by whoever opens it."""
    return given not in scene_names() and not is_own(given) and (Path(given).suffix != "" or len(Path(given).parts) > 1)


def _builder(machine: Machine) -> Any:
    chosen = device(machine.device)
    return lambda scene: scene.build(device=chosen, threads=machine.threads)


def _serve(viewer: Any, open_browser: bool) -> int:
    try:
        serve(viewer, open_browser=open_browser, wait=True)
    except ViewerFailed as error:
        print(f"annelid: {error}", file=sys.stderr)
        return 1
    return 0
