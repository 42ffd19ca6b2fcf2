"""Other physics that are run, recorded, saved and loaded in turn beside the tower."""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from pathlib import Path
from typing import Any

import warp as wp

from annelid import coupling, grains, robots, springs
from annelid.commands.soaking.wanted import want
from annelid.core.simulation import Simulation
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Surface, box_walls

_RADIUS = 0.01
_STEPS = 10  # that a checkpoint is compared by
_RUN = 0.5  # seconds of an act


class Companion:
    """A simulation that is recorded, and a twin of it that loads what it saves.

    Args:
        name: Name of its physics.
        simulations: The two, built alike.
        folder: Where its files go.

    Attributes:
        checkpoints: Files that it has saved.
        loads: How often it has loaded one.
    """

    def __init__(self, name: str, simulations: tuple[Simulation[Any], Simulation[Any]], folder: Path) -> None:
        self.name, self.folder = name, folder
        self.simulation, self.twin = simulations
        self.checkpoints: list[Path] = []
        self.loads = 0
        self.recorder = self.simulation.record(folder / f"{name}.rec", every=20 * self.simulation.dt, scene=name)

    def act(self) -> None:
        """Run for a while, save, go on from there as the twin does, and go back to an earlier checkpoint."""
        self.simulation.start()
        wall.sleep(_RUN)
        want(self.simulation.pause().kind == "paused", f"a run of {self.name} ended by itself.")
        path = self.folder / f"{self.name}-{len(self.checkpoints)}.npz"
        self.simulation.save(path)
        self.checkpoints.append(path)
        self.twin.load(path)
        self.simulation.step(_STEPS)
        self.twin.step(_STEPS)
        same = self.simulation.state_hash() == self.twin.state_hash()
        want(same, f"{self.name} went on otherwise than from its checkpoint {path.name}.")
        self.simulation.load(self.checkpoints[len(self.checkpoints) // 2])
        self.loads += 1

    def close(self) -> None:
        """End what it does."""
        self.simulation.stop()
        self.recorder.close()


def all_companions(folder: Path, device: wp.Device, threads: int | None) -> list[Companion]:
    """Grains alone, and springs among grains."""
    builds: dict[str, Callable[[wp.Device, int | None], Simulation[Any]]] = {"grains": _bed, "coupling": _block_on_sand}
    return [Companion(name, (build(device, threads), build(device, threads)), folder) for name, build in builds.items()]


def _bed(device: wp.Device, threads: int | None) -> Simulation[grains.Solver]:
    """216 grains that fall into a box."""
    spots = jittered_lattice((6, 6, 6), 2.1 * _RADIUS, jitter=0.09 * _RADIUS, seed=1)
    edge = 6 * 2.1 * _RADIUS
    walls = box_walls((0.0, 0.0, 0.0), (edge, edge, 1.0))
    return grains.simulation(
        grains.Bed(spots, _RADIUS, grains.Grain(friction=0.5)),
        obstacles=walls,
        dt=2.5e-4,
        device=device,
        threads=threads,
    )


def _block_on_sand(device: wp.Device, threads: int | None) -> Simulation[coupling.Solver]:
    """A block of springs that falls on a bed."""
    box = robots.Sandbox(length=0.13, width=0.13, depth=0.05, radius=_RADIUS, seed=1)
    body = springs.block((4, 4, 4), 0.016, mass=1.0 / 64, stiffness=600.0, damping=1.0)
    return coupling.simulation(
        body.moved((-0.024, -0.024, 0.08)),
        box.bed(),
        obstacles=box.walls(),
        skin=Surface(friction=0.5),
        dt=1e-4,
        spring_dt=1e-4,
        device=device,
        threads=threads,
    )
