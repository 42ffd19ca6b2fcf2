"""Parts over time: consecutive frames in which a part keeps its topology form a run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from annelid.view.files.parts import Finite, index_of, points_of


@dataclass
class Run:
    """A part over consecutive frames with one topology.

    Attributes:
        part: The part in the first of them.
        first: Number of that frame among those that are exported.
        index: Triangles or segments.
        positions: Points [m] in each frame, shape [n, 3] each, float32.
        fields: Values of each field in each frame, float32.
    """

    part: Finite
    first: int
    index: np.ndarray
    positions: list[np.ndarray] = field(default_factory=list)
    fields: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def takes(self, part: Finite, frame: int) -> bool:
        """Whether a part of a frame continues this run."""
        follows = frame == self.first + len(self.positions) and type(part) is type(self.part)
        return (
            follows
            and len(points_of(part)) == len(self.positions[0])
            and set(part.fields) == set(self.fields)
            and (index_of(part) is self.index or np.array_equal(index_of(part), self.index))
        )

    def add(self, part: Finite) -> None:
        """Append a frame."""
        self.positions.append(np.asarray(points_of(part), np.float32))
        for name, values in part.fields.items():
            self.fields.setdefault(name, []).append(np.asarray(values.values, np.float32))


class Runs:
    """The runs of a recording, frame by frame."""

    def __init__(self) -> None:
        self.all: list[Run] = []
        self._current: dict[str, Run] = {}

    def add(self, part: Finite, frame: int) -> None:
        """Append a part of a frame to its run, or begin one."""
        run = self._current.get(part.name)
        if run is None or not run.takes(part, frame):
            run = self._current[part.name] = Run(part, frame, index_of(part))
            self.all.append(run)
        run.add(part)
