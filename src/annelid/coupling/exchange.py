"""What passes between the surface of a body and grains in each of their steps: pushes one way, places the other."""

from __future__ import annotations

from typing import Any

import warp as wp

from annelid import grains
from annelid.core.replay import Replays, Stage
from annelid.coupling.guests import Guests
from annelid.coupling.kernels.exchange import exchange_kernels
from annelid.coupling.kernels.lanes import CUDA_LANES
from annelid.grains.kernels.collect import note_guests
from annelid.grains.kernels.layout import Grains, Lists

_ROWS = ("positions", "velocities", "spins", "forecast", "turning", "facets", "names")


class Exchange:
    """Launches the kernels between guests and what they hang on.

    Args:
        guests: The guests.
        bed: The grains.
        solver: The solver of grains and guests.
        real: Precision of positions and velocities of what guests hang on.

    Attributes:
        guests: The structure of the guests that kernels read.
    """

    def __init__(self, guests: Guests, bed: grains.Bed, solver: grains.Solver, real: Any) -> None:
        self._model, self._solver, self.device = solver.model, solver, solver.device
        self._surface = len(guests.members)
        self.guests = guests.arrays(bed, solver.pushes, self.device)
        self._lanes = CUDA_LANES if self.device.is_cuda else 1
        self._kernels = exchange_kernels(real, self._lanes)
        self._launches = Replays(self.device, kept=8, graph=False)  # on CUDA the batch of the grains is the graph

    def press(
        self, rows: Any, x: wp.array[Any], last: wp.array[Any], felt: tuple[wp.array[Any], wp.array[Any]], *,
        drift: float = 0.0,
    ) -> None:  # fmt: skip
        """Turn what pushed guests in the last step of the grains into forces.

        Args:
            rows: The structure of the grains at the end of the step.
            x: Positions of what guests hang on, and their inverse masses.
            last: Velocity of each guest a step ago [m/s].
            felt: Where forces go: on what guests hang on, and on members of the surface [N].
            drift: How far a guest goes on, in steps, until half of its impulse has acted.
        """
        twist, press, _ = self._kernels
        dt, where = self._model.dt, self._solver.lists.guest_rows
        arguments = [dt, drift, where, self.guests, x, last, rows]
        self.launch(twist, self._model.guests * self._lanes, arguments, [x, last, rows.positions])
        self.launch(press, self._surface * self._lanes, [dt, self.guests, x, *felt], [x, *felt])

    def seat(self, rows: Any, x: wp.array[Any], v: wp.array[Any], last: wp.array[Any]) -> None:
        """Bring guests to what they hang on, after it has moved with the velocities v [m/s]."""
        lists = self._solver.lists
        places = [x, v, last, *(getattr(rows, name) for name in _ROWS), lists.built, lists.flags, lists.counts]
        arguments = [0, lists.guest_rows, self._model.parameters, lists, self.guests, x, v, last, rows]
        self.launch(self._kernels[2], self._model.guests * self._lanes, arguments, places)

    def settle(self, bed: grains.State, x: wp.array[Any], v: wp.array[Any], last: wp.array[Any]) -> None:
        """Bring guests to what they hang on after it was moved by hand: they have no past."""
        rows, lists = Grains(), Lists()
        for name in _ROWS:
            setattr(rows, name, getattr(bed, name))
        lists.built, lists.flags, lists.counts = bed.built, bed.flags, bed.counts
        lists.guest_rows = wp.zeros(self._model.guests, dtype=wp.int32, device=self.device)
        wp.launch(note_guests, self._model.count, [self._model.parameters, rows, lists], device=self.device)
        arguments = [1, lists.guest_rows, self._model.parameters, lists, self.guests, x, v, last, rows]
        wp.launch(self._kernels[2], self._model.guests * self._lanes, arguments, device=self.device)

    def load(self) -> None:
        """Load the kernels, which cannot happen while steps are captured."""
        for kernel in self._kernels:
            kernel.module.load(self.device, block_dim=256)

    def launch(self, kernel: wp.Kernel, count: int, arguments: list[Any], arrays: list[wp.array[Any]]) -> None:
        """Launch a kernel; with the same arrays, those in structures included, it is the same launch as before."""
        self._launches.run(lambda: [Stage(kernel, count, arguments)], *arrays, name=kernel)
