"""Pushing a heap of grains over a line: an action is the velocity of a blade; reward: the share that comes over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from annelid import grains
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Lines, Part
from annelid.envs.goals import Limits
from annelid.envs.task import Task
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Box, Rigid, box_walls

LENGTH, WIDTH = 1.3, 0.6
"""The field, from x = 0 and about y = 0 [m]."""

_BLADE = (0.03, 0.24, 0.12)  # [m]
_START = 0.1  # of the blade [m]
_LAYERS = (7, 10, 3)  # grains of the heap along x, y, z
_SPEED = 0.4  # [m/s]
_SLICES = np.linspace(0.6, 1.0, 9)  # where shares of the heap are counted [m]
_CELLS = (10, 5)  # of the map of heights


@documented
class HeapPush(Task):
    """Push a heap over a line with a blade that is narrower than the heap; the line is elsewhere in each episode."""

    seconds = 15.0
    every = 0.1
    radius: float = parameter(0.02, "Radius of the grains [m].", unit="m", limits=(0.015, 0.02))
    friction: float = parameter(0.5, "Coulomb friction of grains, blade and ground.", limits=(0.0, 10.0))
    rolling: float = parameter(0.2, "Rolling resistance of the grains.", limits=(0.0, 10.0))

    observed: ClassVar[Mapping[str, str]] = {
        "blade": "place of the blade, x, y, z [m]",
        "velocity": "its velocity, x, y, z [m/s]",
        "middle": "middle of the heap, x, y, z [m]",
        "heights": f"highest grain in each of {_CELLS[0]} by {_CELLS[1]} cells of the field, along x and y [m]",
        "slices": f"share of the heap in {len(_SLICES) - 1} slices from x = 0.6 to 1 m, and beyond",
        "line": "x of the line [m]",
    }

    def goals(self) -> Limits:
        """The line."""
        return {"line": (0.75, 0.95)}

    def build(self, **machine: Any) -> Simulation[grains.Solver]:
        """The heap between walls, and the blade in front of it."""
        spots = jittered_lattice(_LAYERS, 2.05 * self.radius, seed=1)
        spots += np.array([0.35, 0.0, 0.0]) - [spots[:, 0].min(), spots[:, 1].mean(), 0.0]
        sand = grains.Grain(friction=self.friction, rolling=self.rolling)
        blade = Rigid(Box(_BLADE), position=(_START, 0.0, 0.02 + 0.5 * _BLADE[2]), motion="driven", name="blade")
        walls = box_walls((0.0, -0.5 * WIDTH, 0.0), (LENGTH, 0.5 * WIDTH, 1.0))
        ways = {"ahead": "x", "sideways": "y"}
        simulation = grains.simulation(
            grains.Bed(spots, self.radius, sand), obstacles=[*walls, blade], dt=2.5e-3,
            controls=[grains.velocity_control(n, blade, axis, low=-_SPEED, high=_SPEED) for n, axis in ways.items()],
            **machine,
        )  # fmt: skip
        sensors, corner = simulation.sensors, (0.5 * WIDTH, LENGTH)
        sensors.add("blade", grains.position_of(blade))
        sensors.add("velocity", grains.velocity_of(blade))
        sensors.add("middle", grains.grain_position())
        sensors.add("heights", grains.height_map((0.0, -corner[0]), (corner[1], corner[0]), _CELLS))
        sensors.add("slices", [grains.grain_share(inside=_slab(*ends)) for ends in _ends()])
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Share of the heap that came over the line, less what fell back."""
        line = now["line"][:, 0]
        return beyond(now["slices"], line) - beyond(before["slices"], line)

    def terminated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Whether the blade has left the field."""
        x, y = now["blade"][:, 0], now["blade"][:, 1]
        return (x < 0.0) | (x > LENGTH) | (abs(y) > 0.5 * (WIDTH - _BLADE[1]))

    def marks(self, goals: Mapping[str, np.ndarray]) -> Sequence[Part]:
        """The line on the ground."""
        x, high = float(goals["line"][0]), 1e-3
        points = np.array([(x, -0.5 * WIDTH, high), (x, 0.5 * WIDTH, high)])
        return [Lines("line", points, np.array([(0, 1)], np.int32), color=(0.8, 0.1, 0.1))]


def beyond(slices: Any, line: Any) -> Any:
    """Share of the heap beyond a line, from its shares in slices; within the slice of the line in proportion."""
    ends = np.append(_SLICES[1:], np.inf)
    widths = np.append(np.diff(_SLICES), 1.0)
    parts = np.clip((ends - line[:, None]) / widths, 0.0, 1.0)
    return (slices * parts).sum(axis=1)


def _ends() -> list[tuple[float, float]]:
    """Ends of each slice along x [m], the last one without end."""
    return list(zip(_SLICES, [*_SLICES[1:], 2.0 * LENGTH], strict=True))


def _slab(low: float, high: float) -> Box:
    """Everything between two places along x."""
    return Box((high - low, 10.0, 10.0), center=(0.5 * (low + high), 0.0, 0.0))
