"""A solver without physics, so that the run loop can be tested by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid.core.snapshot import Look, Number, Snapshot
from annelid.core.state import copy_state, restore_worlds, rows
from annelid.core.summary import Summary


@wp.kernel(module="unique", enable_backward=False)
def grow(
    steps: int, fails_at: int, values: wp.array[wp.float64], clock: wp.array[wp.int64], trouble: wp.array[wp.int64]
):
    """v becomes 1.5 v + 1 in each step; at the failing step it stops being finite."""
    for _ in range(steps):
        clock[0] = clock[0] + wp.int64(1)
        for i in range(values.shape[0]):
            values[i] = values[i] * wp.float64(1.5) + wp.float64(1.0)
            if clock[0] == wp.int64(fails_at):
                values[i] = wp.float64(wp.inf)
                if trouble[0] < wp.int64(0):
                    trouble[0] = clock[0]


@dataclass
class GrowthState:
    """What changes."""

    values: wp.array = rows("value", wp.float64)
    clock: wp.array = rows("simulation", wp.int64)


class GrowthReadout:
    """Values as heights."""

    def positions(self, state: GrowthState) -> np.ndarray:
        values = state.values.numpy()
        return np.column_stack([np.zeros((len(values), 2)), values])

    def velocities(self, state: GrowthState) -> np.ndarray:
        return np.zeros((len(state.values), 3))

    def summary(self, state: GrowthState) -> Summary:
        nothing = np.zeros(3)
        return Summary(
            mass=1.0, center_of_mass=self.positions(state).mean(axis=0), momentum=nothing, angular_momentum=nothing,
            kinetic=0.0,
        )  # fmt: skip


class Growth:
    """A solver whose state after n steps is known in closed form: v = 3 * 1.5^n - 2 for a start at 1."""

    physics: str = "growth"
    fields: tuple[str, ...] = ("size",)
    batch: int = 8
    readout = GrowthReadout()
    model: Any = None

    @property
    def worlds(self) -> int:
        """Each value is a world."""
        return self.size

    def __init__(self, device: str = "cpu", *, size: int = 3, dt: float = 0.1, fails_at: int = -1) -> None:
        self.device, self.size, self.dt, self.fails_at = wp.get_device(device), size, dt, fails_at
        self._trouble = wp.full(1, -1, dtype=wp.int64, device=self.device)
        self.calls: list[int] = []

    def initial_state(self) -> GrowthState:
        return GrowthState(
            wp.array(np.ones(self.size), dtype=wp.float64, device=self.device),
            wp.zeros(1, dtype=wp.int64, device=self.device),
        )

    def advance(self, state: GrowthState, steps: int) -> None:
        self.calls.append(steps)
        inputs = [steps, self.fails_at, state.values, state.clock, self._trouble]
        wp.launch(grow, 1, inputs, device=self.device)

    def reset(self, state: GrowthState, mask: wp.array | None = None) -> None:
        if mask is None:
            copy_state(self.initial_state(), state)
        else:
            each = wp.array(np.arange(self.size), dtype=wp.int32, device=self.device)
            restore_worlds(self.initial_state(), state, mask, {"value": each})

    def diverged_at(self) -> int | None:
        step = int(self._trouble.numpy()[0])
        return step if step >= 0 else None

    def clear_divergence(self) -> None:
        self._trouble.fill_(-1)

    def describe_divergence(self, state: GrowthState) -> str:
        return f"the largest value is {state.values.numpy().max():g}"

    def fingerprint(self) -> str:
        return f"growth-{self.size}"

    def snapshot(self, state: GrowthState, look: Look) -> Snapshot:
        step = int(state.clock.numpy()[0])
        return Snapshot(step * self.dt, step, (), {"first": Number(float(state.values.numpy()[0]))})


@pytest.fixture
def growth(device: str) -> Callable[..., Any]:
    """A `Growth` solver on the device under test."""

    def make(**options: Any) -> Growth:
        return Growth(device, **options)

    return make


@pytest.fixture
def grown() -> Callable[[int], float]:
    """The value after n steps, step by step as the solver rounds it."""

    def value(steps: int) -> float:
        v = 1.0
        for _ in range(steps):
            v = v * 1.5 + 1.0
        return v

    return value
