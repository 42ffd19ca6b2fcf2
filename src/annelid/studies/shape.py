"""A field of stiffness that lets a finger bend to a given shape when its cable is pulled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.errors import AnnelidError
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.materials import material
from annelid.optimise import LBFGS, Free, minimise
from annelid.shapes import TetMesh, tet_beam
from annelid.studies.support.plots import COLORS, figure

_LENGTH, _WIDTH, _HEIGHT = 0.1, 0.015, 0.015
_MODULUS, _TENSION = 150e3, 1.5
_TURN = 1.3  # angle by which the end of the given shape is turned [rad]


def given_shape(along: np.ndarray) -> np.ndarray:
    """Where the axis should be [m], shape [n, 3]: a curve that bends the more, the nearer it is to the tip.

    Args:
        along: Distances from the base [m], shape [n].
    """
    fine = np.linspace(0.0, _LENGTH, 2001)
    angle = _TURN * (0.4 * fine / _LENGTH + 0.6 * (fine / _LENGTH) ** 2)
    step = fine[1]
    x = np.concatenate([[0.0], np.cumsum(np.cos(0.5 * (angle[1:] + angle[:-1])) * step)])
    z = -np.concatenate([[0.0], np.cumsum(np.sin(0.5 * (angle[1:] + angle[:-1])) * step)])
    return np.column_stack([np.interp(along, fine, x), np.zeros(len(along)), np.interp(along, fine, z)])


class Finger:
    """A finger in sections of their own stiffness, with a cable along its lower side.

    Args:
        sections: Sections along it.
        device: Where it is computed.
        threads: CPU threads.
    """

    def __init__(self, sections: int, device: Any, threads: int | None) -> None:
        self._device, self._threads = device, threads
        cells = 2 * sections
        mesh = tet_beam(_LENGTH, _WIDTH, _HEIGHT, cells=(cells, 2, 2))
        middle = mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0]
        regions = np.minimum((middle / _LENGTH * sections).astype(np.int32), sections - 1)
        self._mesh = TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions, cells=mesh.cells)
        along = np.linspace(0.0, _LENGTH, cells + 1)
        self.axis = mesh.nearest(np.column_stack([along, 0.0 * along, 0.0 * along]))
        below = np.column_stack([along, 0.0 * along, 0.0 * along - 0.5 * _HEIGHT])
        self._cable = [int(node) for node in mesh.nearest(below)]
        self.targets = given_shape(along)
        self.along, self.solves = along, 0

    def bent(self, moduli: np.ndarray) -> tuple[fem.Robot, np.ndarray]:
        """The finger with moduli of its sections [Pa], pulled, and where its nodes are [m]."""
        silicone = material("ecoflex-00-30")
        kinds = [silicone.with_(youngs_modulus=float(modulus), poisson_ratio=0.45) for modulus in moduli]
        solid = fem.Solid(self._mesh, kinds).fix(lambda p: p[:, 0] < 1e-9)
        cable = fem.Cable(name="cable", through=self._cable, tension=(0.0, 2.0 * _TENSION))
        robot = fem.Robot(solid, actuators=[cable], device=self._device, threads=self._threads)
        self.solves += 1
        fem.Forward(robot).settle({"cable": _TENSION})
        return robot, np.array(robot.positions)

    def loss(self, parameters: Mapping[str, Any]) -> tuple[float, dict[str, np.ndarray]]:
        """Half the mean squared distance of the axis from the given shape [mm²], and its rates by moduli."""
        try:
            robot, positions = self.bent(parameters["youngs_modulus"])
        except AnnelidError:  # too soft to settle
            return float("inf"), {"youngs_modulus": np.zeros(np.shape(parameters["youngs_modulus"]))}
        off = 1e3 * (positions[self.axis] - self.targets)
        rates = np.zeros(positions.shape)
        rates[self.axis] = 1e3 * off / len(off)
        found = fem.Sensitivity(robot).rates(rates)
        return 0.5 * float((off**2).sum(axis=1).mean()), {"youngs_modulus": np.asarray(found["youngs_modulus"])}


@dataclass(frozen=True, eq=False)
class Shaped:
    """What was found.

    Attributes:
        finger: The finger.
        moduli: Young's modulus of each section [Pa], shape [sections].
        errors: Root mean square distance of the axis from the given shape at each solve [mm], shape [solves].
        before: Where the axis was with one modulus for all [m], shape [n, 3].
        after: Where it is with those found [m], shape [n, 3].
    """

    finger: Finger
    moduli: np.ndarray
    errors: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def off(self) -> float:
        """Root mean square distance of the axis from the given shape [mm]."""
        return 1e3 * float(np.sqrt(((self.after - self.finger.targets) ** 2).sum(axis=1).mean()))


@dataclass(frozen=True)
class Shape(Checked):
    """The stiffness of a finger, section by section, so that it bends to a given shape when its cable is pulled."""

    name: ClassVar[str] = "shape"

    quick: bool = parameter(False, "Two sections and few solves.")
    sections: int = parameter(8, "Sections of their own stiffness.", least=1)
    iterations: int = parameter(40, "Iterations of L-BFGS.", least=1)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Shaped:
        """Descend from one modulus for all sections."""
        sections, iterations = (2, 2) if self.quick else (self.sections, self.iterations)
        finger = Finger(sections, device, threads)
        start = np.full(sections, _MODULUS)
        before = finger.bent(start)[1][finger.axis]
        free = {"youngs_modulus": Free(start, 0.1 * _MODULUS, 20.0 * _MODULUS)}
        found = minimise(finger.loss, free, method=LBFGS(iterations=iterations))
        moduli = found.parameters["youngs_modulus"]
        after = finger.bent(moduli)[1][finger.axis]
        progress.say(f"{found.evaluations} solves: {np.sqrt(2.0 * found.loss):.3f} mm from the given shape")
        return Shaped(finger, moduli, np.sqrt(2.0 * found.history[:, 0]), before, after)

    def measure(self, found: Shaped) -> list[Measurement]:
        """How far the axis is from the given shape, before and after."""
        held: dict[str, Any] = {} if self.quick else {"reference": 0.1, "bound": "at-most"}
        return [
            Measurement("distance-before", float(found.errors[0]), "mm"),
            Measurement("distance-after", found.off, "mm"),
            Measurement("part-left", found.off / float(found.errors[0]), **held),
            Measurement("solves", len(found.errors)),
            Measurement("modulus-at-base", float(found.moduli[0]), "Pa"),
            Measurement("modulus-at-tip", float(found.moduli[-1]), "Pa"),
        ]

    def plot(self, found: Shaped, folder: Path) -> list[Path]:
        """The axis before and after, the moduli, and the way down."""
        drawn = figure(folder / "shape.png", lambda axes: _draw(axes, found), size=(10.0, 3.2), grid=(1, 3))
        return [drawn]


def _draw(axes: Any, found: Shaped) -> None:
    form, field, way = axes[0]
    for curve, style, color, label in (
        (found.finger.targets, "-", "#888888", "given"),
        (found.before, "--", COLORS[1], "one modulus"),
        (found.after, "o", COLORS[0], "field of moduli"),
    ):
        form.plot(1e3 * curve[:, 0], 1e3 * curve[:, 2], style, color=color, label=label, markersize=3)
    form.set(xlabel="x [mm]", ylabel="z [mm]", title="axis of the finger", aspect="equal")
    form.legend()
    edges = 1e3 * np.linspace(0.0, _LENGTH, len(found.moduli) + 1)
    field.stairs(1e-3 * found.moduli, edges, color=COLORS[0], linewidth=2)
    field.set(xlabel="distance from the base [mm]", ylabel="Young's modulus [kPa]", yscale="log")
    finite = np.where(np.isfinite(found.errors), found.errors, np.nan)
    way.plot(np.arange(1, len(finite) + 1), np.fmin.accumulate(finite), color=COLORS[0])
    way.set(xlabel="solves", ylabel="distance from the given shape [mm]", yscale="log")
