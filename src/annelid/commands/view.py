"""`annelid view NAME` or `annelid view RECORDING`: a simulation or a recording in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from annelid.commands.support.command_options import View
from annelid.commands.support.options import Machine, parse
from annelid.commands.support.recordings import recording_of
from annelid.commands.support.scene_options import scene_command
from annelid.core.device import device
from annelid.core.errors import ViewerFailed
from annelid.core.own_files import is_own
from annelid.scenes.registry import scene_names, scenes
from annelid.scenes.support.robot_names import is_robot_file
from annelid.view.browser.live import LiveViewer
from annelid.view.browser.replay import ReplayViewer
from annelid.view.showing import serve


def command(arguments: list[str]) -> int:
    """Serve the page until it is interrupted."""
    given = arguments[0] if arguments else ""
    if _is_file(given):
        replay: View = parse(View, arguments[1:], f"annelid view {given}")
        return _serve(ReplayViewer(recording_of(given), **_place(replay)), not replay.no_open)
    parsed = scene_command(arguments, "view", View)
    if parsed is None:
        return 0
    scene, options, machine = parsed
    known = {**scenes(), scene.name: type(scene)}
    viewer = LiveViewer(known, scene, build=_builder(machine), **_place(options))
    return _serve(viewer, not options.no_open)


def _place(options: View) -> dict[str, Any]:
    return {"host": options.host, "port": options.port, "allow_hosts": options.allow_host}


def _is_file(given: str) -> bool:
    """Whether a file or a folder is meant rather than a scene; a missing file is then told by whoever opens it."""
    path = Path(given)
    named = path.suffix != "" or len(path.parts) > 1 or path.is_dir()
    return given not in scene_names() and not given.startswith("-") and given != "" and named and not _is_own(given)


def _is_own(given: str) -> bool:
    """Whether a file is a scene: one's own, or a voxel robot."""
    return is_own(given) or is_robot_file(given)


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
