"""Inverse control with friction: trunks of chance push things of chance along a table."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.robots import mug, pusher
from annelid.shapes import Box, Cylinder
from annelid.shapes.mesh_files import write_triangles
from annelid.studies.support.plots import COLORS, figure

_MOST = 0.2  # distance of the tip from its target [mm]
_LIFT, _LIFTING = 0.012, 20  # how far a tip is lifted first [m], and in how many steps
_GAP, _APPROACH = 1.5e-3, 2.5e-3  # between trunk and thing at first, and how far the tip goes until it pushes [m]
_KINDS = "box", "cylinder", "mesh"
_LAYERS = 12, 16, 20, 24  # cells along a trunk
_PACE = 6e-3  # of a target [m/s]


@dataclass(frozen=True)
class Draft:
    """A trunk and what it pushes.

    Attributes:
        kind: "box", "cylinder" or "mesh", a mug that is read from a file.
        size: Width and height of the thing [m].
        mass: Its mass [kg].
        friction: Coulomb friction of all surfaces.
        heading: Direction of the path [rad].
        layers: Cells along the trunk.
        modulus: Its Young's modulus [Pa].
    """

    kind: str
    size: float
    mass: float
    friction: float
    heading: float
    layers: int
    modulus: float

    @classmethod
    def drawn(cls, rng: np.random.Generator, number: int) -> Draft:
        """A draft of chance; kinds come in turn."""
        return cls(
            kind=_KINDS[number % len(_KINDS)],
            size=float(rng.uniform(0.026, 0.04)),
            mass=float(rng.uniform(0.02, 0.08)),
            friction=float(rng.uniform(0.15, 0.7)),
            heading=float(rng.uniform(0.0, 2.0 * np.pi)),
            layers=int(rng.choice(_LAYERS)),
            modulus=float(rng.uniform(200e3, 500e3)),
        )

    def robot(self, device: wp.Device, threads: int | None) -> fem.Robot:
        """The trunk beside the thing."""
        options: dict[str, Any] = {
            "heading": self.heading, "gap": _GAP, "lift": _LIFT, "friction": self.friction, "mass": self.mass,
            "layers": self.layers, "modulus": self.modulus, "device": device, "threads": threads,
        }  # fmt: skip
        if self.kind == "mesh":
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "mug.stl"
                shape = mug(self.size, self.size)
                write_triangles(path, shape.vertices, shape.triangles)
                return pusher(str(path), **options)
        box, rod = Box((self.size, self.size, self.size)), Cylinder(0.5 * self.size, self.size)
        return pusher(box if self.kind == "box" else rod, **options)


@dataclass(frozen=True, eq=False)
class Pushed:
    """How a thing was pushed.

    Attributes:
        draft: Its draft.
        nodes: Nodes of the trunk.
        distances: Distance of the tip from its target of each step [m], shape [s].
        touches: In which steps the trunk pressed on the thing, shape [s].
        seconds: CPU time of each step [s], shape [s].
        way: How far the thing has come [m].
    """

    draft: Draft
    nodes: int
    distances: np.ndarray
    touches: np.ndarray
    seconds: np.ndarray
    way: float

    @property
    def kept(self) -> float:
        """Share of the steps since the first touch in which it touched [-]."""
        return float(self.touches[np.argmax(self.touches) :].mean()) if self.touches.any() else 0.0

    def in_words(self) -> str:
        """In one line."""
        draft = self.draft
        return (
            f"{draft.kind} of {1e3 * draft.size:.0f} mm and {1e3 * draft.mass:.0f} g, friction {draft.friction:.2f}, "
            f"{np.degrees(draft.heading):.0f}°, trunk of {self.nodes} nodes, {1e-3 * draft.modulus:.0f} kPa: at most "
            f"{1e3 * self.distances.max():.3f} mm from its targets, median {1e3 * np.median(self.distances):.4f} mm, "
            f"touched in {100 * self.kept:.1f} % of steps, pushed by {1e3 * self.way:.1f} mm, "
            f"{np.median(self.seconds):.2f} and at most {self.seconds.max():.1f} CPU-s a step"
        )


@dataclass(frozen=True)
class RandomPushes(Checked):
    """Trunks of chance push boxes, cylinders and a mug along straight paths on a table with friction."""

    name: ClassVar[str] = "random-pushes"

    quick: bool = parameter(False, "One trunk, and a path of a millimetre.")
    trunks: int = parameter(6, "How many trunks.", limits=(1, 10_000))
    seed: int = parameter(0, "Seed of trunks and things.", least=0)
    distance: float = parameter(0.03, "How far tips push [m].", unit="m", above=0.0)
    stride: float = parameter(2e-4, "How far a target moves in a step [m].", unit="m", above=0.0)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Pushed]:
        """Push one thing after the other."""
        found = []
        for number in range(1 if self.quick else self.trunks):
            draft = Draft.drawn(np.random.default_rng([self.seed, number]), number)
            found.append(self._push(draft, device, threads))
            progress.say(f"{number}: {found[-1].in_words()}")
        return found

    def measure(self, found: list[Pushed]) -> list[Measurement]:
        """The largest distances from targets, and how steadily things were touched."""
        source = "0.2 mm along a path of 3 cm"
        every = np.concatenate([each.distances for each in found])
        return [
            Measurement("largest-distance", 1e3 * float(every.max()), "mm", _MOST, source=source, bound="at-most"),
            Measurement("median-distance", 1e3 * float(np.median(every)), "mm"),
            Measurement("contact-kept", min(each.kept for each in found), "", 1.0, bound="at-least"),
            Measurement("shortest-way", 1e3 * min(each.way for each in found), "mm"),
            Measurement("median-step", float(np.median(np.concatenate([each.seconds for each in found]))), "CPU-s"),
        ]

    def plot(self, found: list[Pushed], folder: Path) -> list[Path]:
        """Distances of all tips over their steps."""
        return [figure(folder / "random-pushes.png", lambda axes: _draw(axes, found), size=(6.4, 4.2), grid=(1, 1))]

    def _push(self, draft: Draft, device: wp.Device, threads: int | None) -> Pushed:
        robot = draft.robot(device, threads)
        control = fem.Inverse(robot, fem.InverseSettings(dt=self.stride / _PACE))
        begin, ahead = robot.places()[0], np.array([np.cos(draft.heading), np.sin(draft.heading), 0.0])
        stood = _place(robot)
        for _ in range(_LIFTING):
            begin[2] += _LIFT / _LIFTING
            control.step(begin)
        whole = _APPROACH + (1e-3 if self.quick else self.distance)
        distances, touches, seconds = [], [], []
        for number in range(int(np.ceil(whole / self.stride))):
            began = time.process_time()
            step = control.step(begin + min(self.stride * (number + 1), whole) * ahead)
            seconds.append(time.process_time() - began)
            distances.append(step.distance)
            touches.append(bool(robot.contact_forces()[:, 1].any()))
        nodes, way = robot.model.node_count, float((_place(robot) - stood) @ ahead)
        return Pushed(draft, nodes, np.array(distances), np.array(touches), np.array(seconds), way)


def _place(robot: fem.Robot) -> np.ndarray:
    """Where the thing is [m], shape [3]."""
    return np.array(vars(robot.touch_state)["places"].numpy()[1])


def _draw(grid: Any, found: list[Pushed]) -> None:
    axes = np.ravel(grid)[0]
    for color, kind in zip(COLORS, _KINDS, strict=False):
        for number, each in enumerate([each for each in found if each.draft.kind == kind]):
            steps = np.arange(1, len(each.distances) + 1)
            axes.plot(steps, 1e3 * each.distances, color=color, lw=0.9, label=None if number else kind)
    axes.axhline(_MOST, color="black", ls=":", lw=1.0)
    axes.set(xlabel="step", ylabel="distance from the target [mm]", yscale="log")
    axes.legend()
