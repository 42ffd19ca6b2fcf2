"""A clamped silicone cylinder under gravity against its measured surface (Cronos, Table 1; Marchal et al.).

The error is the mean distance of the simulated from the measured surface and back, over the area of both (`surfaces`).
The simulated surface is that of the true cylinder, bound to the masses (`Skin`), not the steps of the lattice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp
from scipy.optimize import minimize_scalar

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.snapshot import Mesh, Snapshot
from annelid.materials import material
from annelid.shapes import Cylinder as CylinderShape
from annelid.shapes import TriangleMesh
from annelid.shapes.lattice import Lattice
from annelid.springs.equilibrium import equilibrium
from annelid.springs.quasi import quasi_lattice
from annelid.springs.stiffness import lattice_stiffness
from annelid.springs.volume import VolumeTerm, split_moduli
from annelid.studies.support.measured_cylinder import (
    GRAVITY,
    LENGTH,
    MASS,
    MEASURED_TIP,
    RADIUS,
    State,
    outline,
    read_reference,
    skin,
    upright,
)
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.skin import Skin
from annelid.studies.support.surfaces import surface_error

_TABLE = "Cronos, Table 1: mass-spring 1.68 (Cronos), 0.75 (Marchal), FEM 0.63, 2.87, 18.60"
_RANGE = (55e3, 110e3)  # moduli among which the fit looks [Pa]


@dataclass(frozen=True, eq=False)
class Rod:
    """The cylinder as a body, along z from its clamped end at z = 0.

    Attributes:
        name: Name of the model.
        body: The masses and springs, with the nominal modulus.
        volume: The term that resists changes of volume, or None.
        skin: The surface at rest.
    """

    name: str
    body: springs.Body
    volume: VolumeTerm | None
    skin: TriangleMesh


@dataclass(frozen=True, eq=False)
class Found:
    """States at the nominal and the fitted modulus, by model, and the measured surface."""

    nominal: dict[str, State]
    fitted: dict[str, State]
    tried: dict[str, list[State]]
    measured: TriangleMesh | None


@dataclass(frozen=True)
class Cylinder(Checked):
    """A clamped silicone cylinder bends under its weight; its surface stands beside the measured one."""

    name: ClassVar[str] = "cylinder"

    quick: bool = parameter(False, "Coarser lattices.")
    reference: Path | None = parameter(
        None, "The measured deformed surface, a closed mesh in metres; without it only the tip is compared."
    )

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Equilibrium at the nominal modulus, and at the one that fits best."""
        measured = None if self.reference is None else read_reference(self.reference)
        nominal, fitted, tried = {}, {}, {}
        for rod in self.rods():
            search = _Search(rod, measured)
            fitted[rod.name] = search.fit()
            nominal[rod.name] = search.at(material("silicone-marchal").youngs_modulus)
            tried[rod.name] = sorted(search.states, key=lambda state: state.modulus)
            best = fitted[rod.name]
            progress.say(f"{rod.name}: {1e-3 * best.modulus:.1f} kPa fits best, {1e3 * best.misfit:.3f} mm are left")
        return Found(nominal, fitted, tried, measured)

    def rods(self) -> list[Rod]:
        """The lattices that are compared: voxels, voxels with a volume term, quasi-uniform."""
        fine, coarse = (28, 28) if self.quick else (47, 37)  # cells along the cylinder
        return [
            _voxels("voxel", LENGTH / fine),
            _voxels_volume("voxel-volume", LENGTH / fine),
            _quasi("quasi-uniform", LENGTH / coarse),
        ]

    def measure(self, found: Found) -> list[Measurement]:
        """Tip and surface errors, at the nominal and at the fitted modulus."""
        rows = []
        for name, best in found.fitted.items():
            rows.append(Measurement(f"{name}-modulus-fitted", 1e-3 * best.modulus, "kPa", source="nominal: 60 kPa"))
            rows += [*_errors(name, "nominal", found.nominal[name]), *_errors(name, "fitted", best)]
        errors = [state.error.mean for state in found.fitted.values() if state.error is not None]
        if errors:
            source = "Cronos, Table 1: co-rotational tetrahedra"
            rows.append(
                Measurement("best-surface-mean-fitted", 1e3 * min(errors), "mm", 0.63, source=source, bound="at-most")
            )
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Outlines, the search for the modulus, and a picture of both surfaces."""
        path = figure(folder / "cylinder.png", lambda axes: _draw(axes, found), size=(10.0, 4.6), grid=(1, 2))
        return [path, _picture(found, folder / "cylinder-surfaces.png")]


def _errors(name: str, kind: str, state: State) -> list[Measurement]:
    """Distances of a state from what was measured; those of the surface with a reference only."""
    rows = [Measurement(f"{name}-tip-{kind}", 1e3 * state.tip_distance, "mm")]
    if state.error is None:
        return rows
    error, limit, source = state.error, (1.68 if kind == "fitted" else None), (_TABLE if kind == "fitted" else "")
    mean = Measurement(f"{name}-surface-mean-{kind}", 1e3 * error.mean, "mm", limit, source=source, bound="at-most")
    others = {
        "surface-95": (error.percentile, "95 % of both surfaces are closer"),
        "simulated-to-measured": (error.there, "mean of one direction"),
        "measured-to-simulated": (error.back, "mean of the other"),
    }
    return [
        *rows,
        mean,
        *(Measurement(f"{name}-{what}-{kind}", 1e3 * value, "mm", source=s) for what, (value, s) in others.items()),
    ]


class _Search:
    """States of a rod at several moduli, each found from the one before.

    A static state depends on modulus over gravity only, so gravity is changed and the body stays.
    """

    def __init__(self, rod: Rod, measured: TriangleMesh | None) -> None:
        self.rod, self.measured = rod, measured
        self.states: list[State] = []
        self._skin = Skin(rod.body, rod.skin.vertices)
        self._tip = Skin(rod.body, np.array([[0.0, 0.0, LENGTH]]))
        self._positions: np.ndarray | None = None

    def at(self, modulus: float) -> State:
        """The state at a modulus [Pa]."""
        pull = GRAVITY * material("silicone-marchal").youngs_modulus / modulus
        still = equilibrium(
            self.rod.body,
            gravity=(0.0, -pull, 0.0),
            start=self._positions,
            volume=self.rod.volume,
            tolerance=1e-5,
        )
        self._positions = still
        surface = TriangleMesh(self._skin.deformed(still), self.rod.skin.triangles)
        error = None if self.measured is None else surface_error(surface, self.measured)
        self.states.append(State(modulus, surface, self._tip.deformed(still)[0], error))
        return self.states[-1]

    def fit(self) -> State:
        """The state with the smallest misfit."""
        minimize_scalar(lambda e: self.at(e).misfit, bounds=_RANGE, method="bounded", options={"xatol": 300.0})
        return min(self.states, key=lambda state: state.misfit)


def _grid(pitch: float) -> tuple[Lattice, np.ndarray]:
    """Cells that the cylinder touches, and how much of each it fills: steps would make it up to 10 % too thick."""
    count = 2 * int(np.ceil(RADIUS / pitch))
    corner = np.array([-count * pitch / 2, -count * pitch / 2, 0.0])
    steps = (np.arange(8) + 0.5) * pitch / 8
    x, y = (corner[0] + pitch * np.arange(count)[:, None] + steps for _ in range(2))
    inside = np.hypot(x[:, None, :, None], y[None, :, None, :]) < RADIUS
    shares = np.repeat(inside.mean(axis=(2, 3))[:, :, None], round(LENGTH / pitch), axis=2)
    return Lattice(shares > 0.1, pitch, corner), shares


def _voxels(name: str, pitch: float, share_of_springs: float = 1.0) -> Rod:
    """A cubic lattice whose border cells are as stiff and heavy as the part of them that is inside."""
    grid, shares = _grid(pitch)
    links, kinds = grid.links
    constants = lattice_stiffness(material("silicone-marchal").youngs_modulus * share_of_springs, pitch)
    parts = grid.link_means(shares)
    masses = grid.node_sums(shares)
    body = springs.Body(
        positions=grid.nodes,
        masses=masses * (MASS / masses.sum()),
        springs=links,
        rest_lengths=pitch * np.sqrt(kinds.astype(float)),
        stiffness=parts * np.choose(kinds - 1, constants),
        volumes=grid.node_sums(shares * pitch**3),
        triangles=grid.surface,
    )
    return Rod(name, body.fix(lambda p: p[:, 2] < 0.5 * pitch), None, skin(pitch))


def _voxels_volume(name: str, pitch: float) -> Rod:
    """The same with a volume term, for the material's Poisson's ratio of 0.49."""
    silicone = material("silicone-marchal")
    modulus, kappa = split_moduli(silicone)
    rod = _voxels(name, pitch, modulus / silicone.youngs_modulus)
    grid, shares = _grid(pitch)
    return Rod(name, rod.body, VolumeTerm(grid, kappa * shares), rod.skin)


def _quasi(name: str, pitch: float) -> Rod:
    """Two spacings longer than the cylinder: masses without order are held by a slab of them, not by a plane."""
    spacing = pitch / 1.25  # the mean distance of masses is then about the pitch
    held = 2 * spacing
    shape = CylinderShape(RADIUS, LENGTH + held, center=(0.0, 0.0, (LENGTH - held) / 2))
    body = quasi_lattice(shape, spacing, "silicone-marchal", mass=MASS * (1 + held / LENGTH))
    return Rod(name, body.fix(lambda p: p[:, 2] < 0.0), None, skin(pitch))


def _draw(axes: Any, found: Found) -> None:
    side, search = axes[0]
    if found.measured is not None:
        side.plot(*outline(found.measured), "o", markersize=4, color="0.5", fillstyle="none", label="measured")
    side.plot(MEASURED_TIP[2] * 1e3, MEASURED_TIP[1] * 1e3, "k+", markersize=10, label="measured tip")
    for (name, state), color in zip(found.fitted.items(), COLORS, strict=False):
        side.plot(
            *outline(state.surface), ".", markersize=1, color=color, label=f"{name}, {1e-3 * state.modulus:.1f} kPa"
        )
        search.plot(
            [1e-3 * s.modulus for s in found.tried[name]],
            [1e3 * s.misfit for s in found.tried[name]],
            "o-",
            markersize=3,
            color=color,
            label=name,
        )
    side.set(xlabel="z [mm]", ylabel="y [mm]", aspect="equal", title="outline at the fitted modulus")
    search.axhline(1.68, color="0.4", linestyle="--", label="Cronos")
    search.axhline(0.63, color="0.4", linestyle=":", label="best finite elements")
    label = "tip distance [mm]" if found.measured is None else "mean surface distance [mm]"
    search.set(xlabel="Young's modulus [kPa]", ylabel=label, ylim=(0.0, 8.0), title="fit of the modulus")
    for axis in (side, search):
        axis.legend(fontsize=7)


def _picture(found: Found, path: Path) -> Path:
    """Both surfaces: the measured one white, the simulated one red (Cronos, Fig. 6)."""
    from annelid.view.picture import picture

    name, state = min(found.fitted.items(), key=lambda item: item[1].misfit)
    parts = [Mesh("simulated", upright(state.surface), state.surface.triangles, color=(0.75, 0.25, 0.20))]
    if found.measured is not None:
        parts.append(Mesh("measured", upright(found.measured), found.measured.triangles, color=(0.92, 0.92, 0.90)))
    picture(Snapshot(0.0, parts=tuple(parts)), path, name=f"measured (white) and {name} (red)", device="cpu")
    return path
