"""Soft robots that nobody designed: fingers, trunks and bellows of chance, with chambers and cables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from annelid import fem
from annelid.fem.robots.actuators import Actuator
from annelid.materials import material
from annelid.shapes import tet_fill

_CAP = 8e-3  # how thick the ends are [m]
_CLEAR = 0.35  # of the pitch: how far from its end a robot is held
Distance = Callable[[np.ndarray], np.ndarray]


class Hollow:
    """A form with chambers, as a distance.

    Args:
        form: Distance from its outside.
        chambers: Distances from the chambers.
        low: Its lowest corner [m].
        high: Its highest corner [m].
    """

    def __init__(
        self, form: Distance, chambers: Sequence[Distance], low: Sequence[float], high: Sequence[float]
    ) -> None:
        self._form, self._chambers = form, chambers
        self._low, self._high = np.array(low, float), np.array(high, float)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of a box that holds it [m]."""
        return self._low, self._high

    def signed_distance(self, points: Any) -> np.ndarray:
        """Distance of points from its surface [m], below 0 inside, shape [n]."""
        places = np.asarray(points, float)
        found = self._form(places)
        for chamber in self._chambers:
            found = np.maximum(found, -chamber(places))
        return found


def rod(places: np.ndarray, *, axis: Sequence[float], radius: float, low: float, high: float) -> np.ndarray:
    """Distance from a rod along z [m]."""
    across = np.linalg.norm(places[:, :2] - np.asarray(axis), axis=1) - radius
    along = np.maximum(low - places[:, 2], places[:, 2] - high)
    outside = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
    return np.asarray(np.minimum(np.maximum(across, along), 0.0) + outside)


def block(places: np.ndarray, *, low: Sequence[float], high: Sequence[float]) -> np.ndarray:
    """Distance from a block [m]."""
    first, last = np.asarray(low), np.asarray(high)
    beyond = np.abs(places - 0.5 * (first + last)) - 0.5 * (last - first)
    return np.asarray(np.minimum(beyond.max(axis=1), 0.0) + np.linalg.norm(np.maximum(beyond, 0.0), axis=1))


def ribbed(places: np.ndarray, *, radius: float, length: float) -> np.ndarray:
    """Distance from a rod with five waists, about [m]."""
    waist = 0.05 * radius * (1.0 + np.cos(10.0 * np.pi * places[:, 2] / length))
    return rod(places, axis=(0.0, 0.0), radius=radius, low=-length, high=0.0) + waist


@dataclass(frozen=True)
class Draft:
    """What chance has chosen for a robot.

    Attributes:
        kind: "finger", "trunk" or "bellows".
        length: [m].
        radius: Its radius, or half its width [m].
        chambers: Chambers that are asked for; some may be lost where walls are thin.
        cables: Cables along its skin.
        modulus: Young's modulus [Pa].
        poisson_ratio: Poisson's ratio.
        pitch: Size of its elements [m].
        turn: Angle of the first chamber [rad].
        axes: Axes along which its tip is led.
    """

    kind: str
    length: float
    radius: float
    chambers: int
    cables: int
    modulus: float
    poisson_ratio: float
    pitch: float
    turn: float
    axes: str

    @classmethod
    def drawn(cls, rng: np.random.Generator, pitches: tuple[float, float]) -> Draft:
        """A draft by chance; elements are between two sizes [m]."""
        kind = str(rng.choice(["finger", "trunk", "bellows"]))
        chambers = 2 if kind == "finger" else int(rng.integers(2, 7))
        cables = 0 if kind == "finger" else int(rng.integers(0, 3))
        led = "x" if kind == "finger" else "xyz" if chambers + cables > 4 and rng.random() < 0.3 else "xy"
        return cls(
            kind=kind, length=rng.uniform(0.06, 0.11), radius=rng.uniform(0.012, 0.02),
            chambers=chambers, cables=cables,
            modulus=float(10.0 ** rng.uniform(4.7, 5.9)), poisson_ratio=rng.uniform(0.4, 0.49),
            pitch=rng.uniform(*pitches), turn=rng.uniform(0.0, 6.0), axes=led,
        )  # fmt: skip

    def robot(self) -> fem.Robot:
        """The robot, hanging from its upper end; its lower end is the effector "tip"."""
        r, length, pitch = self.radius, self.length, self.pitch
        mesh = tet_fill(
            Hollow(self._form(), self._holes(), (-r, -r, -length), (r, r, 0.0)),
            pitch=pitch, tolerance=None, cavity_tolerance=None,
        )  # fmt: skip
        silicone = material("ecoflex-00-30").with_(youngs_modulus=self.modulus, poisson_ratio=self.poisson_ratio)
        solid = fem.Solid(mesh, silicone)
        solid.fix(solid.nodes[:, 2] > solid.nodes[:, 2].max() - _CLEAR * pitch)
        most = 0.18 * self.modulus
        actuators: list[Actuator] = [
            fem.Pneumatic(name=f"chamber-{number}", cavity=number, pressure=(0.0, most))
            for number in range(min(self.chambers, len(mesh.cavities())))
        ]
        actuators += self._cables(solid, np.unique(mesh.boundary()), max(self.cables, 4 - 2 * len(actuators)))
        below = np.argmin(np.linalg.norm(solid.nodes - [0.0, 0.0, -length], axis=1))
        return fem.Robot(solid, actuators, [fem.Point(name="tip", at=int(below), axes=self.axes)], device="cpu")

    def _form(self) -> Distance:
        r, length = self.radius, self.length
        if self.kind == "finger":
            return partial(block, low=(-r, -0.8 * r, -length), high=(r, 0.8 * r, 0.0))
        if self.kind == "bellows":
            return partial(ribbed, radius=r, length=length)
        return partial(rod, axis=(0.0, 0.0), radius=r, low=-length, high=0.0)

    def _holes(self) -> list[Distance]:
        r, low = self.radius, _CAP - self.length
        if self.kind == "finger":
            return [
                partial(block, low=(left * r, -0.5 * r, low), high=((left + 0.4) * r, 0.5 * r, -_CAP))
                for left in (-0.65, 0.25)
            ]
        away = 0.55 * r
        narrow = max(min(0.24 * r, 0.7 * away * np.sin(np.pi / max(self.chambers, 3))), 0.575 * self.pitch)
        turns = self.turn + 2.0 * np.pi * np.arange(self.chambers) / self.chambers
        return [
            partial(rod, axis=(away * np.cos(turn), away * np.sin(turn)), radius=narrow, low=low, high=-_CAP)
            for turn in turns
        ]

    def _cables(self, solid: fem.Solid, skin: np.ndarray, count: int) -> list[Actuator]:
        made: list[Actuator] = []
        for number in range(count):
            turn = self.turn + 2.0 * np.pi * number / count
            side = 0.9 * self.radius * np.array([np.cos(turn), np.sin(turn)])
            line = [np.array([*side, height]) for height in np.linspace(-0.3 * self.length, -self.length, 4)]
            nodes = [int(skin[np.argmin(np.linalg.norm(solid.nodes[skin] - point, axis=1))]) for point in line]
            strongest = 0.06 * self.modulus * self.radius**2
            made.append(fem.Cable(name=f"cable-{number}", through=[(*side, 0.0), *nodes], tension=(0.0, strongest)))
        return made


def reachable(robot: fem.Robot, rng: np.random.Generator, count: int, stride: float) -> list[np.ndarray]:
    """Places of the tip [m] that forward solves have reached under efforts of chance; it is left at the first.

    Args:
        robot: The robot; it is moved.
        rng: Chance.
        count: How many places.
        stride: Most that the tip moves from one to the next [m].
    """
    forward, most = fem.Forward(robot), np.array([limits.high for limits, _ in robot.limits])
    first = rng.uniform(0.05, 0.3, len(most)) * most
    forward.settle(first)
    here, goal, share = first, rng.uniform(0.0, 0.8, len(most)) * most, 0.05
    places = [robot.places()[0].copy()]
    while len(places) <= count:
        forward.settle(here + share * (goal - here))
        moved = float(np.linalg.norm(robot.places()[0] - places[-1]))
        if moved > stride:
            share *= min(0.9, 0.9 * stride / moved)
            forward.settle(here)
            continue
        here = here + share * (goal - here)
        places.append(robot.places()[0].copy())
        share = min(2.0 * share, 0.5) if moved < 0.5 * stride else share
        if np.linalg.norm(goal - here) < 1e-2 * np.linalg.norm(most):
            goal, share = rng.uniform(0.0, 0.8, len(most)) * most, 0.02
    forward.settle(first)
    return places
