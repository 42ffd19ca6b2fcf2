"""A lattice of springs on four legs, and how far a gait carries it: a table of commands that is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annelid import Rollout, Travel, springs
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.optimise import Free, RolloutLoss
from annelid.shapes import Box, Union, ground

PITCH = 0.05
"""Distance of two masses [m]."""

LOW, HIGH = 0.7, 1.3
"""Limits of commands: factors on the rest length of a row of springs in a leg."""

GRADIENT_COST = 3
"""Steps that a step there and back counts for: it takes as much time as three steps (`annelid bench gradients`)."""

_LENGTH, _WIDTH, _LEG = 6, 3, 2  # cells of the trunk along x and y, and of a leg along z
_DT = 5e-4
_DRAG = 15.0  # [1/s]; with less the walk forgets its beginning, and gradients say little
_INTERVAL = 50  # steps for which a command is held
_RANDOM = 0.1  # standard deviation of random commands


def walker() -> springs.Body:
    """88 masses and 528 springs: a trunk on four legs.

    20 controls: the four edges of each leg, and the upper and lower springs along both halves of the trunk.
    """
    trunk = Box(
        (_LENGTH * PITCH, _WIDTH * PITCH, PITCH),
        center=(0.5 * _LENGTH * PITCH, 0.5 * _WIDTH * PITCH, (_LEG + 0.5) * PITCH),
    )
    corners = {
        f"{end}-{side}": (x, y)
        for end, x in (("hind", 0), ("front", _LENGTH - 1))
        for side, y in (("right", 0), ("left", _WIDTH - 1))
    }
    legs = [
        Box((PITCH, PITCH, _LEG * PITCH), center=((x + 0.5) * PITCH, (y + 0.5) * PITCH, 0.5 * _LEG * PITCH))
        for x, y in corners.values()
    ]
    soft = material("ecoflex-00-30").with_(youngs_modulus=3e4, density=200.0)
    body = springs.lattice(Union((trunk, *legs)), PITCH, soft)
    body.damping[:] = 0.5
    _command(body, corners)
    return body


def _command(body: springs.Body, corners: Mapping[str, tuple[int, int]]) -> None:
    """Let commands change the rest lengths of edges of legs and of springs along the trunk."""
    ends = body.positions[body.springs] / PITCH
    along = np.abs(ends[:, 1] - ends[:, 0]) > 0.5
    x, y, z = ends.mean(axis=1).T
    upright = (along == [False, False, True]).all(axis=1) & (z < _LEG)
    lengthwise = (along == [True, False, False]).all(axis=1)
    for name, (cell_x, cell_y) in corners.items():
        for edge, (right, up) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
            here = (np.abs(x - cell_x - right) < 0.1) & (np.abs(y - cell_y - up) < 0.1)
            body.control(f"{name}-{edge}", upright & here, low=LOW, high=HIGH)
    for half, chosen in (("hind", x < 0.5 * _LENGTH), ("front", x > 0.5 * _LENGTH)):
        for side, height in (("lower", _LEG), ("upper", _LEG + 1)):
            here = chosen & (np.abs(z - height) < 0.1)
            body.control(f"{half}-{side}", lengthwise & here, low=LOW, high=HIGH)


@dataclass(frozen=True)
class Walk:
    """How long the walker walks, and how its gait is divided.

    Attributes:
        cycles: Times that the table of commands is repeated.
        intervals: Rows of the table, each held for 25 ms.
        device: Where it is simulated.
        threads: CPU threads.
    """

    cycles: int = 4
    intervals: int = 20
    device: Any = "cpu"
    threads: int | None = None

    @cached_property
    def body(self) -> springs.Body:
        """The walker."""
        return walker()

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a gait: intervals and controls."""
        return self.intervals, len(self.body.controls)

    @property
    def steps_of_interval(self) -> int:
        """Steps for which a command is held."""
        return _INTERVAL

    def steps(self, cycles: int | None = None) -> int:
        """Steps of a walk."""
        return _INTERVAL * self.intervals * (self.cycles if cycles is None else cycles)

    def simulation(self, worlds: int = 1) -> Simulation[springs.Solver]:
        """The walker on the ground at rest, with contacts as rollouts have them."""
        return springs.simulation(
            self.body, dt=_DT, velocity_damping=_DRAG, obstacles=[ground(0.8, stiffness=300.0)], worlds=worlds,
            dashpots="growing", device=self.device, threads=self.threads,
        )  # fmt: skip

    def random(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Random gaits, shape [count, intervals, controls]."""
        return np.clip(1.0 + _RANDOM * rng.standard_normal((count, *self.shape)), LOW, HIGH)

    def free(self, start: np.ndarray) -> dict[str, Free]:
        """A gait as a free parameter."""
        return {"gait": Free(start, LOW, HIGH, scale="linear", size=_RANDOM)}


class Walked:
    """Minus the distance that gaits carry the walker [m], with its gradient; counts the steps that it simulates.

    Args:
        walk: How it walks.
        worlds: Gaits that are tried at once; 1 takes and gives one without an axis of worlds.
        cycles: Times that a gait is repeated; None for those of the walk.

    Attributes:
        steps: Steps simulated so far, in all worlds; a step there and back counts for three.
    """

    def __init__(self, walk: Walk, worlds: int = 1, cycles: int | None = None) -> None:
        self._cycles, self._each = walk.cycles if cycles is None else cycles, worlds * walk.steps(cycles)
        self._begin = float(walk.body.positions[:, 0].mean())
        self._loss = RolloutLoss(Rollout(walk.simulation(worlds), walk.steps(cycles)), Travel("x"))
        self.steps = 0

    def __call__(self, parameters: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Losses and gradients."""
        self.steps += GRADIENT_COST * self._each
        losses, rates = self._loss(self._commands(parameters))
        by = rates["controls"]
        folded = by.reshape((*by.shape[:-2], self._cycles, -1, by.shape[-1])).sum(axis=-3)
        return losses + self._begin, {"gait": folded}

    def value(self, parameters: Mapping[str, Any]) -> np.ndarray:
        """Losses alone."""
        self.steps += self._each
        return self._loss.value(self._commands(parameters)) + self._begin

    def _commands(self, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Commands over the whole walk."""
        gait = np.asarray(parameters["gait"], float)
        return {"controls": np.tile(gait, (self._cycles, 1))}
