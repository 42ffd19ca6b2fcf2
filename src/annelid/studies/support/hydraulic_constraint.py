"""The unified hydraulic constraint (Rodríguez et al., sec. IV): a pump that adds pressure and, with it, weight.

J_p is the direction of the pressure, the slope of the volume. J_w = w_i / v is the paper's linearisation of how the
weight on each node grows with the volume; it is not a gradient of anything. Displacements K⁻¹J_pᵀ per unit of pressure
change the volume by J_p K⁻¹J_pᵀ, which couples the two into one direction, J_aᵀ = J_pᵀ + J_wᵀ (J_p K⁻¹ J_pᵀ).

With the hydrostatic potential (`annelid.fem.fluids.hydrostatics`) the weight is part of K and J_p alone is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import ColumnLoad
from annelid.shapes.values import Floats

Solve = Callable[[Floats], Floats]
"""Solves with the stiffness: right-hand sides of shape [n, 3, m] to displacements of the same shape."""


@dataclass(frozen=True, eq=False)
class HydraulicConstraint:
    """Pressure and weight of a hydraulic cavity as one constraint.

    Attributes:
        direction: J_aᵀ, force on each node per unit of pressure [m²], shape [n, 3].
        displacement: K⁻¹ J_aᵀ [m/Pa], shape [n, 3].
        compliance: J_p K⁻¹ J_pᵀ, change of the volume per unit of pressure [m³/Pa].
    """

    direction: Floats
    displacement: Floats
    compliance: float


def pressure_direction(cavity: Cavity, positions: Floats) -> Floats:
    """J_p: force of a unit pressure on each node of the solid, a third of the area vectors around it [m²], [n, 3].

    Args:
        cavity: The cavity.
        positions: Positions of all nodes of the solid [m], shape [n, 3].
    """
    cavity.points(positions)
    a, b, c = np.moveaxis(np.asarray(positions, dtype=np.float64)[cavity.triangles], 1, 0)
    sixth = np.cross(b - a, c - a) / 6.0
    direction = np.zeros((len(positions), 3))
    for axis in range(3):
        weights = np.repeat(sixth[:, axis], 3)
        direction[:, axis] = np.bincount(cavity.triangles.ravel(), weights, minlength=len(positions))
    return direction


def weight_direction(cavity: Cavity, load: ColumnLoad, node_count: int) -> Floats:
    """J_w: growth of the force on each node of the solid with the volume of fluid [N/m³], shape [n, 3]; sums to ρ g.

    Args:
        cavity: The cavity.
        load: What columns found in it.
        node_count: Number of nodes n of the solid.
    """
    if not load.exact_volume > 0.0:
        raise InvalidValue(
            f"{cavity.name} holds {load.exact_volume:g} m³ of fluid; its weight cannot grow from nothing."
        )
    direction = np.zeros((node_count, 3))
    direction[cavity.nodes] = load.forces / load.exact_volume
    return direction


def hydraulic_constraint(pressure: Floats, weight: Floats, solve: Solve) -> HydraulicConstraint:
    """Merge pressure and weight, with two solves.

    Args:
        pressure: J_p [m²], shape [n, 3].
        weight: J_w [N/m³], shape [n, 3].
        solve: Solves with the stiffness K.
    """
    moved = np.asarray(solve(np.stack([pressure, weight], axis=-1)))
    compliance = float((pressure * moved[..., 0]).sum())
    return HydraulicConstraint(
        direction=pressure + compliance * weight,
        displacement=moved[..., 0] + compliance * moved[..., 1],
        compliance=compliance,
    )
