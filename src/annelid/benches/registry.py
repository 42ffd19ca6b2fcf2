"""The list of benches. Benches are imported only when they are asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from annelid.core.errors import UnknownName

BENCHES = {
    "springs": "Springs per second against size",
    "gradients": "Motions of springs there and back: time, ratio and memory of gradients",
    "codesign": "Walks of 3-D voxel robots that a network steers, there and back",
    "edits": "Cost of edits, asynchronous running, and a stress from many threads",
    "voxels": "Voxel-steps per second of worms of all lengths, and of many robots at once",
    "voxels3d": "Voxel-steps per second of blocks of 3-D voxels, and of many robots at once",
    "grains": "Grain-steps per second against grains, bodies, sweeps, searches and methods",
    "coupling": "A worm of springs in a bed of grains against real time",
    "fem": "Assembly, factors, fluid weight, inverse steps of soft robots, steps in contact",
    "fem-batch": "World-steps per second of many soft fingers that are stepped together",
    "fem-gradients": "Gradients of solids at rest and through motions beside the way there",
    "envs": "Actions per second of the environments, one world and many",
    "tasks": "Returns of doing nothing, of chance and of scripted policies in the environments",
    "view": "Frames of the camera, and what a viewer costs a simulation",
}
"""What each bench measures, in one line."""


def bench_names() -> list[str]:
    """Names of all benches."""
    return sorted(BENCHES)


def bench_module(name: str) -> ModuleType:
    """The module of a bench by its name: it has a dataclass `Options` and a function `bench`."""
    if name not in BENCHES:
        raise UnknownName("bench", name, BENCHES)
    return import_module(f"annelid.benches.{name.replace('-', '_')}")
