"""Held nodes that are carried along paths: where they belong at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.shapes.path import Path, followed

WHOSE = "a hold"


@dataclass(frozen=True, eq=False)
class Carried:
    """Held components of some nodes that follow a path together, as parts of one rigid body.

    Attributes:
        nodes: The nodes, shape [k].
        columns: Which components of them are held, shape [c].
        path: Place and turn of that body at a time; only what they change since time 0 counts.
    """

    nodes: np.ndarray
    columns: np.ndarray
    path: Path

    def places(self, rest: np.ndarray, time: float) -> np.ndarray:
        """Where nodes at rest [m], shape [n, 3], belong at a time [s]: their carried components, shape [k, c]."""
        (begin, end), turns = followed(self.path, np.array([0.0, time]), WHOSE)
        turn = Rotation.from_quat(turns[1]) * Rotation.from_quat(turns[0]).inv()
        chosen = rest[self.nodes]
        # As a sum of what moves and what turns, so that nodes of a path that stays keep their places to the bit.
        moved = chosen + (end - begin) + (turn.apply(chosen - begin) - (chosen - begin))
        return np.asarray(moved[:, self.columns])

    def without(self, nodes: np.ndarray, columns: np.ndarray) -> list[Carried]:
        """What is left of it once components of some nodes are held otherwise."""
        hit = np.isin(self.nodes, nodes)
        left = [Carried(self.nodes[~hit], self.columns, self.path)]
        left.append(Carried(self.nodes[hit], np.setdiff1d(self.columns, columns), self.path))
        return [one for one in left if len(one.nodes) and len(one.columns)]


def anchors(rest: np.ndarray, every: Sequence[Carried], time: float) -> np.ndarray:
    """Where nodes are held at a time [s], offsets aside [m], shape [n, 3]: at rest, unless something carries them."""
    places = rest.copy()
    for one in every:
        places[np.ix_(one.nodes, one.columns)] = one.places(rest, time)
    return places
