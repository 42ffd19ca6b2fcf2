"""Throughput of the 3-D voxel robots: voxel-steps per second of single blocks and of many robots at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid import voxels3d
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.timing import steps_per_second
from annelid.shapes import ground

Cells = tuple[int, int, int]

_SMALL: Cells = (6, 6, 4)
_CUBE: Cells = (10, 10, 10)
_BLOCK: Cells = (100, 100, 100)
_ORIGINAL = {_SMALL: 3.30e6, _CUBE: 2.78e6}  # voxel-steps a second
_SOURCE = "Voxelyze, one Neoverse-N1 core"
_PRECISIONS = ("float32", "float64")


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench voxels3d`."""

    seconds: float = 1.0
    """Wall time for each rate [s]."""
    robots: int | None = None
    """Robots side by side; by default 1,024 on CUDA and 16 on CPUs."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Rates of blocks on the floor in both precisions, with what materials and collisions cost, and of many robots."""
    if options.robots is not None and options.robots < 1:
        raise InvalidValue(f"--robots must be 1 or more, not {options.robots}.")
    machine: dict[str, Any] = {"device": device, "threads": threads}
    single = (_BLOCK,) if device.is_cuda else (_SMALL, _CUBE)
    many = options.robots or (1024 if device.is_cuda else 16)
    for precision in _PRECISIONS:
        for cells in single:
            rate = _rate(block(cells), options.seconds, precision=precision, **machine)
            like = None if device.is_cuda else _ORIGINAL.get(cells)
            yield Measurement(
                f"voxels3d-{_name(cells)}-{precision}", rate, "voxel-steps/s", like, source=_SOURCE if like else ""
            )
        rate = _rate([block(_SMALL)] * many, options.seconds, precision=precision, **machine)
        yield Measurement(f"voxels3d-{many}-of-{_name(_SMALL)}-{precision}", rate, "voxel-steps/s")
    yield from _features(many, options.seconds, machine)


def block(cells: Cells, **material: Any) -> voxels3d.Robot:
    """A full block of soft cubes whose columns swell one after the other."""
    phase = np.broadcast_to(np.linspace(0.0, 1.0, cells[0], endpoint=False)[:, None, None], cells)
    soft = voxels3d.Voxel(youngs_modulus=1e6, **material)
    return voxels3d.Robot(np.zeros(cells, int), (soft,), amplitude=5.0, frequency=2.0, phase=phase)


def _features(many: int, seconds: float, machine: dict[str, Any]) -> Iterator[Measurement]:
    """What costs more: a Poisson's ratio, voxels that touch each other, links as in the original."""
    plain = [block(_SMALL)] * many
    cases: dict[str, tuple[list[voxels3d.Robot], dict[str, Any]]] = {
        "poisson": ([block(_SMALL, poisson_ratio=0.35)] * many, {}),
        "collisions": (plain, {"collisions": "self"}),
        "compatible": (plain, {"links": "compatible"}),
    }
    for name, (robots, world) in cases.items():
        rate = _rate(robots, seconds, **world, **machine)
        yield Measurement(f"voxels3d-{many}-of-{_name(_SMALL)}-{name}", rate, "voxel-steps/s")


def _rate(robots: voxels3d.Robot | list[voxels3d.Robot], seconds: float, **world: Any) -> float:
    """Voxel-steps a second on the floor."""
    simulation = voxels3d.simulation(robots, obstacles=[ground(1.0, sliding_friction=0.5)], **world)
    return steps_per_second(simulation, seconds) * simulation.solver.model.voxel_count


def _name(cells: Cells) -> str:
    return "x".join(map(str, cells))
