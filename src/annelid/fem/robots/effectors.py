"""What of a soft robot is to be brought somewhere: points, and the orientation of three points.

Every effector is a few weighted sums of the positions of nodes, so that its slope never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_word
from annelid.fem.actuation.points import attached, names_node, node_number
from annelid.fem.solid import Solid


@dataclass(frozen=True, kw_only=True)
class Effector(Named):
    """What all effectors have.

    Attributes:
        name: Name, for messages, plots and streams.
        weight: How much a distance to its target counts against that of others.
        axes: Which coordinates count.
    """

    name: str
    weight: float = 1.0
    axes: str = "xyz"

    def __post_init__(self) -> None:
        require_word("the name of an effector", self.name)
        if not (is_number(self.weight) and self.weight > 0.0):
            raise InvalidValue(f"weight of {self.name} = {self.weight!r} cannot be used; give a number above 0.")
        if not isinstance(self.axes, str) or not self.axes or set(self.axes) - set("xyz"):
            raise InvalidValue(f"axes of {self.name} must be some of 'x', 'y', 'z', such as 'xz', not {self.axes!r}.")

    def rows(self, solid: Solid) -> tuple[np.ndarray, np.ndarray]:
        """Nodes [p, m] and weights [p, m] of the sums."""
        raise NotImplementedError

    def goal(self, target: ArrayLike, rest: np.ndarray) -> np.ndarray:
        """Where the sums are to be [m], shape [p, 3], for a target as people give it.

        Args:
            target: The target.
            rest: The sums of the solid at rest [m], shape [p, 3].
        """
        raise NotImplementedError

    def _finite(self, target: ArrayLike, shapes: Sequence[tuple[int, ...]], what: str) -> np.ndarray:
        try:
            array = np.asarray(target, float)
        except (TypeError, ValueError, OverflowError):
            array = np.empty(0)
        if array.shape not in shapes or not np.isfinite(array).all():
            raise InvalidValue(f"the target of {self.name} must be {what}, not {target!r}.")
        return array


@dataclass(frozen=True, kw_only=True)
class Point(Effector):
    """A point of the solid; its target is a position [m].

    Attributes:
        at: The point at rest [m], or the number of a node.
    """

    at: Any

    def rows(self, solid: Solid) -> tuple[np.ndarray, np.ndarray]:
        """The nodes around the point."""
        return _attached(solid, [self.at], self.name)

    def goal(self, target: ArrayLike, rest: np.ndarray) -> np.ndarray:
        """The target itself."""
        return self._finite(target, [(3,)], "three finite numbers [m]")[None]


def _require_points(name: str, given: Any) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InvalidValue(f"{name} needs a list of points [m] or of numbers of nodes, not {given!r:.60}.")


@dataclass(frozen=True, kw_only=True)
class Points(Effector):
    """Several points of the solid; their target is a position for each [m], shape [p, 3].

    Attributes:
        at: The points at rest [m], or numbers of nodes.
    """

    at: Sequence[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_points(self.name, self.at)
        if len(self.at) == 0:
            raise InvalidValue(f"{self.name} has no points; give at least one.")

    def rows(self, solid: Solid) -> tuple[np.ndarray, np.ndarray]:
        """The nodes around the points."""
        return _attached(solid, self.at, self.name)

    def goal(self, target: ArrayLike, rest: np.ndarray) -> np.ndarray:
        """The target itself."""
        return self._finite(target, [rest.shape], f"finite numbers [m] of shape {list(rest.shape)}")


@dataclass(frozen=True, kw_only=True)
class Orientation(Effector):
    """How three points of the solid are turned; the target is a rotation from rest: a matrix, or a vector [rad].

    Where the middle of the points is does not count; add a `Point` for that.

    Attributes:
        at: Three points at rest [m], or numbers of nodes, that are not on one line.
    """

    at: Sequence[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_points(self.name, self.at)
        if len(self.at) != 3:
            raise InvalidValue(f"{self.name} has {len(self.at)} points; an orientation needs three.")

    def rows(self, solid: Solid) -> tuple[np.ndarray, np.ndarray]:
        """The three points, less their middle."""
        nodes, weights = _attached(solid, self.at, self.name)
        places = (weights[..., None] * solid.nodes[nodes]).sum(axis=1)
        sides = places[1:] - places[0]
        if np.linalg.norm(np.cross(*sides)) <= 1e-6 * np.linalg.norm(sides[0]) * np.linalg.norm(sides[1]):
            raise InvalidValue(f"the three points of {self.name} are on one line; choose others.")
        every = np.tile(nodes.reshape(1, -1), (3, 1))
        shares = np.tile(-weights.reshape(1, -1) / 3.0, (3, 1))
        width = nodes.shape[1]
        for i in range(3):
            shares[i, i * width : (i + 1) * width] += weights[i]
        return every, shares

    def goal(self, target: ArrayLike, rest: np.ndarray) -> np.ndarray:
        """The points at rest, turned."""
        array = self._finite(target, [(3,), (3, 3)], "a rotation: three finite numbers [rad], or a matrix [3, 3]")
        if array.shape == (3,):
            array = Rotation.from_rotvec(array).as_matrix()
        elif np.abs(array @ array.T - np.eye(3)).max() > 1e-6 or np.linalg.det(array) < 0.0:
            raise InvalidValue(f"the target of {self.name} is a matrix that is no rotation.")
        return rest @ array.T

    def angle(self, places: np.ndarray, goal: np.ndarray) -> float:
        """Angle by which the points are turned away from their goal [rad]."""
        return float(Rotation.align_vectors(goal, places)[0].magnitude())


def _attached(solid: Solid, points: Sequence[Any], name: str) -> tuple[np.ndarray, np.ndarray]:
    width = solid.elements.shape[1]
    nodes, weights = np.zeros((len(points), width), np.int32), np.zeros((len(points), width))
    for i, point in enumerate(points):
        if names_node(point):
            nodes[i], weights[i, 0] = node_number(solid, point, name), 1.0
        else:
            found, shares = attached(solid, [point], name)
            nodes[i], weights[i] = found[0], shares[0]
    return nodes, weights


class EffectorRows:
    """The sums of all effectors of a robot.

    Args:
        effectors: The effectors.
        solid: The solid.

    Attributes:
        nodes: Nodes of each sum, shape [p, m].
        weights: Weight of each node, shape [p, m]; 0 where a sum has fewer nodes.
        first: First sum of each effector, and the number of sums at the end.
        scale: Weight of each coordinate of each sum, shape [p, 3]; 0 where it does not count.
        rest: The sums at rest [m], shape [p, 3].
    """

    def __init__(self, effectors: Sequence[Effector], solid: Solid) -> None:
        names = [effector.name for effector in effectors]
        if len(set(names)) < len(names):
            raise InvalidValue(f"two effectors have one name among {', '.join(names)}; give each its own.")
        self.effectors = tuple(effectors)
        parts = [effector.rows(solid) for effector in effectors]
        width = max((nodes.shape[1] for nodes, _ in parts), default=1)
        self.nodes = np.concatenate([np.zeros((0, width), np.int32), *(_wide(n, width) for n, _ in parts)])
        self.weights = np.concatenate([np.zeros((0, width)), *(_wide(w, width) for _, w in parts)])
        self.first = np.concatenate([[0], np.cumsum([len(nodes) for nodes, _ in parts])]).astype(int)
        counts = [np.array([axis in e.axes for axis in "xyz"], float) * e.weight for e in effectors]
        repeated = [np.tile(c, (len(n), 1)) for c, (n, _) in zip(counts, parts, strict=True)]
        self.scale = np.concatenate([np.zeros((0, 3)), *repeated])
        self.rest = self.places(solid.nodes)

    def places(self, positions: np.ndarray) -> np.ndarray:
        """The sums [m], shape [p, 3], at positions of all nodes [m], shape [n, 3]."""
        return np.asarray((self.weights[..., None] * positions[self.nodes]).sum(axis=1))

    def goals(self, targets: Any) -> np.ndarray:
        """Where the sums are to be [m], shape [p, 3], from targets by name, or the target of the only effector."""
        if not isinstance(targets, dict):
            if len(self.effectors) != 1:
                raise InvalidValue("there are several effectors: give their targets by name, {name: target}.")
            targets = {self.effectors[0].name: targets}
        names = self.require_known(targets)
        goals = self.rest.copy()
        for i, effector in enumerate(self.effectors):
            if effector.name not in targets:
                raise InvalidValue(
                    f"effector {effector.name!r} has no target; give one for each of {', '.join(names)}."
                )
            some = slice(self.first[i], self.first[i + 1])
            goals[some] = effector.goal(targets[effector.name], self.rest[some])
        return goals

    def require_known(self, targets: Iterable[str]) -> list[str]:
        """The names of all effectors; refuses targets of others."""
        names = [effector.name for effector in self.effectors]
        for name in targets:
            if name not in names:
                raise UnknownName("effector", name, names)
        return names

    def distances(self, places: np.ndarray, goals: np.ndarray) -> dict[str, float]:
        """Distance of each effector from its target [m]: the root mean square of its points, on the axes that count."""
        apart = np.where(self.scale > 0.0, goals - places, 0.0)
        return {
            effector.name: float(np.sqrt((apart[self.first[i] : self.first[i + 1]] ** 2).sum(axis=1).mean()))
            for i, effector in enumerate(self.effectors)
        }


def _wide(array: np.ndarray, width: int) -> np.ndarray:
    return np.pad(array, ((0, 0), (0, width - array.shape[1])))
