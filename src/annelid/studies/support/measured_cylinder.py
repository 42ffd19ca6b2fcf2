"""The silicone cylinder that Marchal et al. measured: its sizes and its surface, and simulated ones fitted to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.core.snapshot import Color, Mesh, Snapshot
from annelid.materials import material
from annelid.shapes import TriangleMesh
from annelid.studies.support.plots import COLORS
from annelid.studies.support.surfaces import SurfaceError, surface_error
from annelid.studies.support.tubes import circles, tube

RADIUS, LENGTH, MASS, GRAVITY = 0.019, 0.178, 0.216, 9.8
MEASURED_TIP = np.array([0.0, -0.119383, 0.126842])
"""Centre of the free end of the measured cylinder [m] (Marchal et al., data of the SOFA project)."""
_SIMULATED: Color = (0.75, 0.25, 0.20)
_MEASURED: Color = (0.92, 0.92, 0.90)
_UNITS = {"millimetres": 1e3, "centimetres": 1e2, "inches": 1 / 0.0254, "feet": 1 / 0.3048}  # in a metre


@dataclass(frozen=True, eq=False)
class State:
    """The cylinder at rest under gravity with one modulus: its surface, tip [m] and error (with a reference only)."""

    modulus: float
    surface: TriangleMesh
    tip: np.ndarray
    error: SurfaceError | None

    @property
    def tip_distance(self) -> float:
        """Distance of the tip from the measured one [m]."""
        return float(np.linalg.norm(self.tip - MEASURED_TIP))

    @property
    def misfit(self) -> float:
        """What the fit makes small [m]."""
        return self.tip_distance if self.error is None else self.error.mean


class Fit(ABC):
    """States of a model of the cylinder at several moduli, each found from the one before.

    A static state depends on modulus over gravity only, so gravity is changed and the model stays.

    Args:
        measured: The measured surface; without it only the tip is compared.

    Attributes:
        states: All states so far.
        moduli: Moduli among which the fit looks [Pa].
        exact: How exactly it finds the best of them [Pa].
    """

    moduli: ClassVar[tuple[float, float]]
    exact: ClassVar[float]

    def __init__(self, measured: TriangleMesh | None) -> None:
        self.states: list[State] = []
        self._measured = measured

    @abstractmethod
    def settled(self, pull: float) -> tuple[TriangleMesh, np.ndarray]:
        """Surface and tip [m] at rest under a gravity along -y [m/s²], with the nominal modulus."""

    def at(self, modulus: float) -> State:
        """The state at a modulus [Pa]."""
        surface, tip = self.settled(GRAVITY * material("silicone-marchal").youngs_modulus / modulus)
        error = None if self._measured is None else surface_error(surface, self._measured)
        self.states.append(State(modulus, surface, tip, error))
        return self.states[-1]

    def best(self) -> State:
        """The state with the smallest misfit."""
        options = {"xatol": self.exact}
        minimize_scalar(lambda e: self.at(e).misfit, bounds=self.moduli, method="bounded", options=options)
        return min(self.states, key=lambda state: state.misfit)


@dataclass(frozen=True, eq=False)
class Fitted:
    """States at the nominal and the fitted modulus and all that were tried, by model, and the measured surface."""

    nominal: dict[str, State]
    best: dict[str, State]
    tried: dict[str, list[State]]
    measured: TriangleMesh | None

    @property
    def least_error(self) -> float | None:
        """Mean distance of the surface that fits best [m]; None without a measured one."""
        return min((state.error.mean for state in self.best.values() if state.error is not None), default=None)

    def draw_outlines(self, axis: Any, states: Mapping[str, State]) -> None:
        """Sections of surfaces in the plane of bending, beside the measured one and its tip."""
        if self.measured is not None:
            axis.plot(*_outline(self.measured), "o", markersize=4, color="0.5", fillstyle="none", label="measured")
        axis.plot(MEASURED_TIP[2] * 1e3, MEASURED_TIP[1] * 1e3, "k+", markersize=10, label="measured tip")
        for (name, state), color in zip(states.items(), COLORS, strict=False):
            label = f"{name}, {1e-3 * state.modulus:.1f} kPa"
            axis.plot(*_outline(state.surface), ".", markersize=1, color=color, label=label)
        axis.set(xlabel="z [mm]", ylabel="y [mm]", aspect="equal", title="outline at the fitted modulus")
        axis.legend(fontsize=7)

    def draw_search(self, axis: Any, published: Mapping[str, float]) -> None:
        """Misfits against moduli, beside misfits that others have published [mm], by name."""
        for number, (name, states) in enumerate(self.tried.items()):
            moduli, misfits = ([1e-3 * s.modulus for s in states], [1e3 * s.misfit for s in states])
            axis.plot(moduli, misfits, "o-", markersize=2, linewidth=1, color=COLORS[number % len(COLORS)], label=name)
        for (name, value), style in zip(published.items(), (":", "--"), strict=False):
            axis.axhline(value, color="0.4", linestyle=style, label=name)
        label = "tip distance [mm]" if self.measured is None else "mean surface distance [mm]"
        axis.set(xlabel="Young's modulus [kPa]", ylabel=label, ylim=(0.0, 9.0), title="fit of the modulus")
        axis.legend(fontsize=6, ncols=2, loc="upper right")

    def picture(self, name: str, path: Path) -> Path:
        """Both surfaces: the measured one white, that of a model red (Cronos, Fig. 6)."""
        from annelid.view.picture import picture

        shown = [("simulated", self.best[name].surface, _SIMULATED)]
        if self.measured is not None:
            shown.append(("measured", self.measured, _MEASURED))
        parts = tuple(Mesh(part, _upright(mesh), mesh.triangles, color=color) for part, mesh, color in shown)
        picture(Snapshot(0.0, parts=parts), path, name=f"measured (white) and {name} (red)", device="cpu")
        return path


def fitted(fits: Mapping[str, Fit], measured: TriangleMesh | None, progress: Progress) -> Fitted:
    """States of models at the modulus that fits best and at the nominal one."""
    nominal, best, tried = {}, {}, {}
    for name, fit in fits.items():
        found = best[name] = fit.best()
        nominal[name] = fit.at(material("silicone-marchal").youngs_modulus)
        tried[name] = sorted(fit.states, key=lambda state: state.modulus)
        progress.say(f"{name}: {1e-3 * found.modulus:.1f} kPa fits best, {1e3 * found.misfit:.3f} mm are left")
    return Fitted(nominal, best, tried, measured)


def read_reference(path: Path) -> TriangleMesh:
    """The measured surface, refused if it cannot be this cylinder in metres."""
    mesh = TriangleMesh.read(path).require_closed()
    low, high = mesh.bounds()
    area = 2 * np.pi * RADIUS * (LENGTH + RADIUS)
    scale = float(np.sqrt(mesh.area / area))
    if not 0.9 < scale < 1.1:
        size = f"{scale:.4g} times too large" if scale > 1 else f"{1 / scale:.4g} times too small"
        unit = next((f", as if in {name}" for name, factor in _UNITS.items() if 0.9 < scale / factor < 1.1), "")
        raise InvalidValue(
            f"the surface of {path} has {mesh.area:.4g} m², that of the cylinder {area:.4g} m²: its lengths are about "
            f"{size}{unit}; give the deformed cylinder in metres."
        )
    if abs(low[2]) > 0.005 or abs(low[0] + high[0]) > 0.01 or high[1] > 0.03 or low[1] > -0.05:
        raise InvalidValue(
            f"the surface of {path} lies between {low} and {high} m: the clamped end must be at z = 0 around the "
            "origin, and the cylinder must hang down towards -y."
        )
    return mesh


def skin(pitch: float) -> TriangleMesh:
    """The surface of the cylinder in small triangles."""
    heights = np.linspace(0.0, LENGTH, 1 + round(LENGTH / (0.5 * pitch)))
    discs = np.linspace(0.0, RADIUS, 1 + round(RADIUS / (0.5 * pitch)))
    profile = np.concatenate(
        [
            np.column_stack([discs[1:-1], np.zeros(len(discs) - 2)]),
            np.column_stack([np.full(len(heights), RADIUS), heights]),
            np.column_stack([discs[-2:0:-1], np.full(len(discs) - 2, LENGTH)]),
        ]
    )
    around = round(2 * np.pi * RADIUS / (0.5 * pitch))
    rings = circles(profile[:, 0], profile[:, 1], around)
    return tube(rings, np.zeros(3), np.array([0.0, 0.0, LENGTH]))


def _outline(mesh: TriangleMesh) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates z and y [mm] of the vertices near the plane x = 0."""
    near = mesh.vertices[np.abs(mesh.vertices[:, 0]) < 0.0015]
    return 1e3 * near[:, 2], 1e3 * near[:, 1]


def _upright(mesh: TriangleMesh) -> np.ndarray:
    """Vertices with y, against gravity, turned into z."""
    return np.ascontiguousarray(mesh.vertices[:, [2, 0, 1]])
