"""Scenes on the command line: their names, and their parameters as options beside a command's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from annelid.commands.support.options import Machine, combined, helped, parse, part, split_name
from annelid.core.parameters import require_parameters
from annelid.core.scene import Scene
from annelid.core.snapshot import Look
from annelid.scenes.registry import scene_class, scene_names, scenes


def scene_command(arguments: list[str], command: str, own: type[Any]) -> tuple[Scene, Any, Machine] | None:
    """The scene, the command's own options and the machine; None after the scenes were listed instead."""
    name, rest = split_name(arguments, "scene", scene_names())
    if name is None:
        print(f"usage: annelid {command} NAME [OPTIONS]; annelid {command} NAME --help tells the options.\n")
        for known, kind in scenes().items():
            print(f"  {known:20s} {(kind.__doc__ or '').strip().splitlines()[0]}")
        return None
    kind = scene_class(name)
    options_class = combined("Options", helped(kind), own, Machine, doc=(kind.__doc__ or "").strip())
    options = parse(options_class, rest, f"annelid {command} {name}")
    scene = kind(**asdict(part(options, kind)))
    require_parameters(scene)  # scenes of one's own need not be `Checked`
    return scene, part(options, own), options.machine


def look_of(show: Sequence[str], field: str | None) -> Look:
    """The look behind `--show` and `--field`; arrays stay on the device, where the camera reads them."""
    return Look("surface" in show, "masses" in show, "springs" in show, field, host=False)
