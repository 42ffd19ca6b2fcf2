"""The silicone cylinder that Marchal et al. measured: its sizes, its surface, and a simulated form beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes import TriangleMesh
from annelid.studies.support.surfaces import SurfaceError
from annelid.studies.support.tubes import circles, tube

RADIUS, LENGTH, MASS, GRAVITY = 0.019, 0.178, 0.216, 9.8
MEASURED_TIP = np.array([0.0, -0.119383, 0.126842])
"""Centre of the free end of the measured cylinder [m] (Marchal et al., data of the SOFA project)."""
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


def outline(mesh: TriangleMesh) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates z and y [mm] of the vertices near the plane x = 0."""
    near = mesh.vertices[np.abs(mesh.vertices[:, 0]) < 0.0015]
    return 1e3 * near[:, 2], 1e3 * near[:, 1]


def upright(mesh: TriangleMesh) -> np.ndarray:
    """Vertices with y, against gravity, turned into z."""
    return np.ascontiguousarray(mesh.vertices[:, [2, 0, 1]])
