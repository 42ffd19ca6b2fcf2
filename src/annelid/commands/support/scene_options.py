"""Scenes on the command line: their names, and their parameters as options beside a command's own."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from annelid.commands.support.command_options import require_free_names
from annelid.commands.support.options import Machine, combined, helped, parse, part, split_name
from annelid.core.errors import FileFormatError
from annelid.core.own_files import is_own
from annelid.core.parameters import require_parameters
from annelid.core.recording.file_kinds import what_it_is
from annelid.core.scene import Scene
from annelid.scenes.registry import scene_class, scene_names, scenes
from annelid.scenes.support.robot_names import is_robot_file


def scene_command(arguments: list[str], command: str, own: type[Any]) -> tuple[Scene, Any, Machine] | None:
    """The scene, the command's own options and the machine; None after the scenes were listed instead."""
    name, rest = split_name(arguments, "scene", scene_names())
    if name is None:
        print(f"usage: annelid {command} NAME [OPTIONS]; annelid {command} NAME --help tells the options.")
        print("NAME is one of these scenes, or your own file: FILE.py, or FILE.py:SCENE where it has several;")
        robots = " or a folder of them" if command == "run" else ""
        print(f"or a voxel robot of VoxCAD, evosoro or voxcraft-sim: FILE.vxa, FILE.vxd or FILE.vxc{robots}.")
        if command == "view":
            print("A recording can be named instead, FILE.rec, or the folder of a run that was recorded.")
        print()
        for known, kind in scenes().items():
            print(f"  {known:20s} {(kind.__doc__ or '').strip().splitlines()[0]}")
        return None
    if not is_own(name) and (what := what_it_is(name)) is not None:
        raise FileFormatError(f"annelid {command} takes a scene, and {name} is none: it is {what}.")
    if name not in scene_names() and Path(name).is_dir():
        raise FileFormatError(
            f"annelid {command} takes a scene, and {name} is a folder; annelid run takes folders of voxel robots, with "
            "base.vxa and .vxd files, or .vxa files, in them."
        )
    kind = scene_kind(name)
    require_free_names(each.name for each in fields(kind))
    options_class = combined("Options", helped(kind), own, Machine, doc=(kind.__doc__ or "").strip())
    options = parse(options_class, rest, f"annelid {command} {name}")
    scene = kind(**asdict(part(options, kind)))
    require_parameters(scene)  # scenes of one's own need not be `Checked`
    return scene, part(options, own), options.machine


def scene_kind(name: str) -> type[Scene]:
    """The class of a scene; what only files need is imported for files alone, so that named scenes start sooner."""
    if is_own(name):
        from annelid.scenes.support.own import own_scene

        return own_scene(name)
    if is_robot_file(name):
        from annelid.scenes.support.voxel_files import robot_scene

        return robot_scene(name)
    return scene_class(name)
