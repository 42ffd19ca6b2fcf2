"""How driven rigid things move: where they are at a time, and the table of that which kernels look in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.shapes.form import Form
from annelid.shapes.kernels import moving
from annelid.shapes.path import followed
from annelid.shapes.rigid import Rigid

ROWS = 1024
"""Steps that a table of a path reaches ahead."""


def frames(rigid: Rigid, times: np.ndarray) -> tuple[np.ndarray, Rotation]:
    """Where the frame of a driven thing is at times [s], positions [m] of shape [k, 3] and rotations."""
    if rigid.path is not None:
        positions, rotations = followed(rigid.path, times, rigid.name or f"a {rigid.kind}")
        return positions, Rotation.from_quat(rotations)
    turns = Rotation.from_rotvec(np.outer(times, rigid.spin)) * rigid.turn
    middle = Form(rigid).middle
    places = np.array(rigid.position) + rigid.turn.apply(middle) + np.outer(times, rigid.velocity)
    return places - turns.apply(middle), turns


def at_time(rigid: Rigid, time: float) -> Rigid:
    """A rigid thing where it is at a time [s], to draw; the same one where it does not move."""
    if rigid.moves != "driven":
        return rigid
    positions, turns = frames(rigid, np.array([time]))
    return replace(rigid, motion="fixed", position=tuple(positions[0]), rotation=tuple(turns.as_quat()[0]))


class MotionTable:
    """Moments of the driven ones of some rigid things, on a device; see `kernels.moving`.

    Args:
        rigids: The rigid things.
        forms: What kernels know of each; None of what they do not.
        dt: Time step [s].
        device: Warp device.

    Attributes:
        struct: The structure of the kernels.
        tracks: First moment and number of moments of each, 0 of what stands still, shape [n, 2].
    """

    def __init__(self, rigids: Sequence[Rigid], forms: Sequence[Form | None], dt: float, device: wp.Device) -> None:
        self._rigids, self._forms, self._dt, self._first = list(rigids), list(forms), dt, -1
        counts = [0 if one.moves != "driven" else 1 if one.path is None else ROWS + 1 for one in rigids]
        self.tracks = np.column_stack([np.cumsum([0, *counts])[:-1], counts])
        self._paths = any(one.path is not None for one in rigids)
        self.struct: Any = moving.Motions()
        self.struct.moments = wp.zeros(sum(counts), dtype=moving.Moment, device=device)
        self.struct.begin = wp.zeros(1, dtype=wp.int64, device=device)
        self.struct.clock = wp.zeros(1, dtype=wp.int64, device=device)
        self.struct.begun = wp.zeros(0, dtype=wp.int64, device=device)
        if sum(counts):
            self._tabulate(0)

    @property
    def there(self) -> bool:
        """Whether anything is driven."""
        return bool(self.tracks[:, 1].any())

    def bind(self, clock: wp.array[Any], begun: wp.array[Any]) -> None:
        """Follow the clock of a state, and the beginnings of its worlds."""
        self.struct.clock, self.struct.begun = clock, begun

    def reach(self, steps: int) -> int:
        """How many of some steps can be taken from where the clock stands before this is asked again."""
        if not self._paths:
            return steps
        clock = int(self.struct.clock.numpy()[0])
        first = clock - clock % (ROWS // 2)  # tables begin at the same steps whenever they are made: the same bits
        if first != self._first:
            self._tabulate(first)
        return min(steps, ROWS // 2 - (clock - first))

    def _tabulate(self, first: int) -> None:
        moment: Any = moving.Moment
        rows: Any = np.zeros(len(self.struct.moments), dtype=moment.numpy_dtype())
        for rigid, form, (begin, count) in zip(self._rigids, self._forms, self.tracks.tolist(), strict=True):
            if count:
                assert form is not None
                step = first if count > 1 else 0
                positions, turns = frames(rigid, self._dt * (step + np.arange(count + 1)))
                places, quaternions = form.pose(positions, turns)
                own = rows[begin : begin + count]
                own["place"], own["turn"] = places[:-1], quaternions[:-1]
                own["velocity"], own["spin"] = rigid.velocity, rigid.spin
                if rigid.path is not None:
                    own["velocity"] = np.diff(places, axis=0) / self._dt
                    own["spin"] = (turns[1:] * turns[:-1].inv()).as_rotvec() / self._dt
        self.struct.moments.assign(rows)
        self.struct.begin.assign(np.array([first], np.int64))
        self._first = first
