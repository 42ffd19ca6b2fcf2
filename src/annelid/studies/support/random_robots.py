"""Soft robots that nobody designed: fingers, trunks, bellows and grippers of chance, with chambers and cables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from annelid import fem
from annelid.fem.actuation.actuator import Actuator
from annelid.materials import Material, material
from annelid.shapes import tet_fill

_CAP = 2.2  # of the size of elements: how thick the ends are
_CLEAR = 0.35  # of the pitch: how far from its end a robot is held
_DENSITY = 3.4  # nodes in the cube of the pitch, about
_PITCHES = 2.5e-3, 4.5e-3  # smallest and largest size of elements [m]
_LONGEST = 0.12  # [m]
_SLENDER = 10.0, 40.0  # least and most lengths of elements along a robot
_KINDS = "finger", "trunk", "bellows", "gripper"
_SILICONES = "ecoflex-00-30/yeoh", "dragon-skin-10/ogden"  # laws for large strains
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


def joined(places: np.ndarray, *, parts: Sequence[Distance]) -> np.ndarray:
    """Distance from several forms at once [m]."""
    return np.asarray(np.min([part(places) for part in parts], axis=0))


@dataclass(frozen=True)
class Draft:
    """What chance has chosen for a robot.

    Attributes:
        kind: "finger", "trunk", "bellows" or "gripper".
        length: [m].
        radius: Its radius, or half its width, that of a finger of a gripper [m].
        chambers: Chambers that are asked for; some may be lost where walls are thin.
        cables: Cables along its skin.
        modulus: Young's modulus [Pa].
        poisson_ratio: Poisson's ratio.
        law: Name of a silicone with a law for large strains, which has its own modulus; "" for none.
        pitch: Size of its elements [m].
        turn: Angle of the first chamber [rad].
        axes: Axes along which its tip is led.
        bounded: Whether its path leads along limits of its actuators.
    """

    kind: str
    length: float
    radius: float
    chambers: int
    cables: int
    modulus: float
    poisson_ratio: float
    law: str
    pitch: float
    turn: float
    axes: str
    bounded: bool

    @classmethod
    def drawn(cls, rng: np.random.Generator, number: int, nodes: tuple[int, int]) -> Draft:
        """A draft by chance.

        Args:
            rng: Chance.
            number: Which of several it is: kinds, laws and limits take turns.
            nodes: Fewest and most nodes, about.
        """
        kind = _KINDS[number % len(_KINDS)]
        chambers = {"finger": 2, "gripper": int(rng.choice([2, 4]))}.get(kind, int(rng.integers(2, 7)))
        cables = {"finger": 0, "gripper": 2 * int(rng.integers(0, 2))}.get(kind, int(rng.integers(0, 3)))
        flat = kind in ("finger", "gripper")
        led = "x" if flat else "xyz" if chambers + cables > 4 and rng.random() < 0.3 else "xy"
        law = _SILICONES[number // 6 % 2] if number % 6 == 5 else ""
        modulus = material(law).youngs_modulus if law else float(10.0 ** rng.uniform(4.7, 5.9))
        # walls are thicker than elements, so that they have no holes
        radius = (3.2 if flat else 5.0 if chambers > 5 else 4.4) * rng.uniform(1.0, 1.15)
        section = {"finger": 3.2, "gripper": 7.5}.get(kind, 2.7) * radius**2
        wanted = np.exp(rng.uniform(*np.log(nodes)))
        length = float(np.clip(wanted / (_DENSITY * section), *_SLENDER))
        pitch = min(rng.uniform(*_PITCHES), _LONGEST / length)
        return cls(
            kind=kind, length=length * pitch, radius=radius * pitch, chambers=chambers, cables=cables,
            modulus=modulus, poisson_ratio=rng.uniform(0.4, 0.49), law=law,
            pitch=pitch, turn=rng.uniform(0.0, 6.0), axes=led, bounded=number // 2 % 2 == 1,
        )  # fmt: skip

    def robot(self, *, device: Any = "cpu", threads: int | None = None) -> fem.Robot:
        """The robot, hanging from its upper end; its lower ends are the effectors.

        Args:
            device: "auto", "cpu", "cuda" or "cuda:N".
            threads: CPU threads; None takes all cores.
        """
        r, length, pitch = self.radius, self.length, self.pitch
        wide = 4.0 * r if self.kind == "gripper" else r
        mesh = tet_fill(
            Hollow(self._form(), self._holes(), (-wide, -r, -length), (wide, r, 0.0)),
            pitch=pitch, tolerance=None, cavity_tolerance=None,
        )  # fmt: skip
        solid = fem.Solid(mesh, self._material())
        solid.fix(solid.nodes[:, 2] > solid.nodes[:, 2].max() - _CLEAR * pitch)
        most = (0.08 if self.law else 0.12) * self.modulus  # below what walls bear
        actuators: list[Actuator] = [
            fem.Pneumatic(name=f"chamber-{number}", cavity=number, pressure=(0.0, most))
            for number in range(min(self.chambers, len(mesh.cavities())))
        ]
        actuators += self._cables(solid, np.unique(mesh.boundary()), max(self.cables, 4 - 2 * len(actuators)))
        effectors = []
        for number, middle in enumerate(self._middles):
            below = np.argmin(np.linalg.norm(solid.nodes - [middle, 0.0, -length], axis=1))
            effectors.append(fem.Point(name=f"tip-{number}", at=int(below), axes=self.axes))
        return fem.Robot(solid, actuators, effectors, device=device, threads=threads)

    @property
    def _middles(self) -> tuple[float, ...]:
        """Where along x its tips are [m]."""
        return (-2.5 * self.radius, 2.5 * self.radius) if self.kind == "gripper" else (0.0,)

    def _material(self) -> Material:
        if self.law:
            return material(self.law)
        return material("ecoflex-00-30").with_(youngs_modulus=self.modulus, poisson_ratio=self.poisson_ratio)

    def _form(self) -> Distance:
        r, length = self.radius, self.length
        if self.kind in ("finger", "gripper"):
            fingers = [
                partial(block, low=(middle - r, -0.8 * r, -length), high=(middle + r, 0.8 * r, 0.0))
                for middle in self._middles
            ]
            palm = partial(
                block, low=(self._middles[0] - r, -0.8 * r, -_CAP), high=(self._middles[-1] + r, 0.8 * r, 0.0)
            )
            return partial(joined, parts=[palm, *fingers])
        if self.kind == "bellows":
            return partial(ribbed, radius=r, length=length)
        return partial(rod, axis=(0.0, 0.0), radius=r, low=-length, high=0.0)

    def _holes(self) -> list[Distance]:
        r, cap = self.radius, _CAP * self.pitch
        low = cap - self.length
        if self.kind in ("finger", "gripper"):
            both = self.chambers == 2 * len(self._middles)  # else only on the outer sides
            lefts = [
                middle + left * r
                for middle in self._middles
                for left in (-0.65, 0.25)
                if both or (left < 0.0) == (middle < 0.0)
            ]
            return [partial(block, low=(left, -0.5 * r, low), high=(left + 0.4 * r, 0.5 * r, -cap)) for left in lefts]
        away = 0.55 * r
        narrow = 0.8 * self.pitch
        turns = self.turn + 2.0 * np.pi * np.arange(self.chambers) / self.chambers
        return [
            partial(rod, axis=(away * np.cos(turn), away * np.sin(turn)), radius=narrow, low=low, high=-cap)
            for turn in turns
        ]

    def _cables(self, solid: fem.Solid, skin: np.ndarray, count: int) -> list[Actuator]:
        made: list[Actuator] = []
        for number in range(count):
            turn = self.turn + 2.0 * np.pi * number / count
            side = 0.9 * self.radius * np.array([np.cos(turn), np.sin(turn)])
            side[0] += self._middles[number % len(self._middles)]
            line = [np.array([*side, height]) for height in np.linspace(-0.3 * self.length, -self.length, 4)]
            nodes = [int(skin[np.argmin(np.linalg.norm(solid.nodes[skin] - point, axis=1))]) for point in line]
            strongest = 0.06 * self.modulus * self.radius**2
            made.append(fem.Cable(name=f"cable-{number}", through=[(*side, 0.0), *nodes], tension=(0.0, strongest)))
        return made
