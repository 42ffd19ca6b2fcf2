"""Errors of the weight of a fluid: columns and hydrostatic pressure against the exact, clipped polyhedron."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import Correction, FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.shapes.values import Floats, Indices
from annelid.studies.support.hydraulic_constraint import pressure_direction, weight_direction
from annelid.studies.support.polyhedron import moments, moments_below

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Levels, as parts of the height of the cavity."""
GRAVITIES = ((0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (4.0, 3.0, -8.0))
"""Along two axes, and askew [m/s²]."""


@dataclass(frozen=True)
class Errors:
    """Relative errors.

    Attributes:
        weight: Of the weight.
        centre: Of its line of action, as a part of the cavity's size: error of the moment over weight and size.
    """

    weight: float
    centre: float


def column_errors(
    vertices: Floats, triangles: Indices, cells: int, device: wp.Device, correction: Correction
) -> Errors:
    """Errors of columns in a full cavity."""
    fluid, truth = Fluid(), moments(vertices, triangles)
    columns = FluidColumns(Cavity(triangles), fluid, cells=cells, correction=correction, device=device)
    forces = columns.load(vertices).forces
    return load_errors(vertices[columns.cavity.nodes], forces, fluid, truth.volume, truth.centre)


def partly_filled(vertices: Floats, triangles: Indices, cells: int, device: wp.Device) -> dict[str, Errors]:
    """Largest errors of columns, as found and corrected, and of pressure, over all levels and directions of gravity."""
    cavity = Cavity(triangles)
    found: dict[str, list[Errors]] = {"columns": [], "columns-uncorrected": [], "pressure": []}
    for gravity in GRAVITIES:
        heights = vertices @ Fluid(gravity=gravity).up
        for part in LEVELS:
            fluid = Fluid(gravity=gravity, level=float(heights.min() + part * np.ptp(heights)))
            truth = moments_below(vertices, triangles, float(fluid.level or 0.0), up=fluid.up)
            ways = {
                "columns": _column_forces(cavity, vertices, fluid, cells, device, "moment"),
                "columns-uncorrected": _column_forces(cavity, vertices, fluid, cells, device, "none"),
                "pressure": pressure_forces(cavity, vertices, fluid, device)[cavity.nodes],
            }
            points = vertices[cavity.nodes]
            for way, forces in ways.items():
                found[way].append(load_errors(points, forces, fluid, truth.volume, truth.centre))
    return {way: Errors(max(e.weight for e in each), max(e.centre for e in each)) for way, each in found.items()}


def load_errors(points: Floats, forces: Floats, fluid: Fluid, volume: float, centre: Floats) -> Errors:
    """Errors of forces on points that should be the weight of a volume of fluid with a known centre."""
    weight = fluid.specific_weight * volume
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    resultant = np.linalg.norm(forces.sum(axis=0) + weight * fluid.up)
    turning = np.linalg.norm(np.cross(points - centre, forces).sum(axis=0))
    return Errors(float(resultant / weight), float(turning / (weight * size)))


def constraint_errors(vertices: Floats, triangles: Indices, cells: int, device: wp.Device) -> tuple[float, float]:
    """Relative error of J_p against central differences of the volume, and of the sum of J_w against ρ g."""
    cavity, fluid = Cavity(triangles), Fluid()
    slope = pressure_direction(cavity, vertices)
    moves = np.random.default_rng(1).normal(size=(5, *vertices.shape))
    step = 1e-5 * float(np.ptp(vertices))
    differences = [
        (cavity.volume(vertices + step * m) - cavity.volume(vertices - step * m)) / (2 * step) for m in moves
    ]
    error = max(abs((slope * m).sum() / d - 1) for m, d in zip(moves, differences, strict=True))
    load = FluidColumns(cavity, fluid, cells=cells, correction="none", device=device).load(vertices)
    total = weight_direction(cavity, load, len(vertices)).sum(axis=0)
    return float(error), float(np.linalg.norm(total + fluid.specific_weight * fluid.up) / fluid.specific_weight)


def pressure_forces(cavity: Cavity, vertices: Floats, fluid: Fluid, device: wp.Device) -> Floats:
    """Forces of the hydrostatic pressure on all nodes [N], shape [n, 3]."""
    elements = CavityPressure(cavity, vertices, device, fluid=fluid)
    elements.evaluate(wp.array(vertices, dtype=wp.vec3d, device=device), tangent=False)
    forces = elements.forces.numpy().reshape(-1, 3)
    nodes = elements.nodes.ravel()
    return np.column_stack([np.bincount(nodes, forces[:, axis], minlength=len(vertices)) for axis in range(3)])


def _column_forces(
    cavity: Cavity, vertices: Floats, fluid: Fluid, cells: int, device: wp.Device, correction: Correction
) -> Floats:
    return FluidColumns(cavity, fluid, cells=cells, correction=correction, device=device).load(vertices).forces
