"""Static equilibrium of a body under its forces and gravity, by Newton's method on the energy.

A few dozen sparse solves replace the minutes of ringing that a simulation needs to come to rest. Obstacles, actuation
and the user's forces are not seen here; a body that touches something must be simulated.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from annelid.core.arrays import as_numbers
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.shapes.values import require_count, require_positive
from annelid.springs.body import FREE, Body
from annelid.springs.factors import Factors, NotPositiveDefinite, narrow_order
from annelid.springs.potential import Potential
from annelid.springs.volume import VolumeTerm

_SHORTEST = 2.0**-40  # of a Newton step, before the search along it is given up
_ROUNDING = 1e-14
_FLOOR = 1e-9  # of the largest stiffness, added while the matrix is not positive definite


class NotConverged(AnnelidError, ArithmeticError):
    """An iteration ended before its result was good enough."""


def equilibrium(
    body: Body,
    *,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    start: np.ndarray | None = None,
    volume: VolumeTerm | None = None,
    tolerance: float = 1e-8,
    limit: int = 500,
) -> np.ndarray:
    """Positions [m], shape [n, 3], in which the forces on all free masses cancel: a minimum of the energy.

    Args:
        body: The body, held somewhere: a free one has no equilibrium.
        gravity: Acceleration of gravity [m/s²].
        start: Positions to begin with; those of the body by default.
        volume: A term that resists changes of volume.
        tolerance: Largest force left on a mass, as a part of the mean load, or of the mean force at the start [-].
        limit: Most iterations.
    """
    require_positive("tolerance", tolerance)
    require_count("limit", limit, least=1, most=10**9)
    potential = Potential(body, gravity, volume=volume)
    basis = potential.basis
    _require_held(potential)
    if basis.shape[1] == 0:
        return body.positions.copy()
    positions = np.array(body.positions if start is None else as_numbers("start", start))
    if positions.shape != body.positions.shape or not np.isfinite(positions).all():
        raise InvalidValue(f"start must be finite and of shape {list(body.positions.shape)}.")
    enough = _good_enough(potential, positions, tolerance)
    residual, order = np.inf, None
    for _ in range(limit):
        force = basis.T @ potential.forces(positions).ravel()
        residual = float(np.abs(force).max())
        if residual <= enough:
            return positions
        freedom, order = _newton_step(potential, positions, force, order)
        step = (basis @ freedom).reshape(-1, 3)
        moved = _descend(potential, positions, step, slope=float(force @ freedom))
        if moved is None:
            break
        positions = moved
    if residual <= 1e3 * enough:  # rounding of long springs can keep the last digits out of reach
        return positions
    raise NotConverged(
        f"no equilibrium was found: after {limit} iterations at most, a force of {residual:.3g} N is left on a mass; "
        "hold the body so that it cannot move freely, or start closer to the equilibrium."
    )


def _good_enough(potential: Potential, positions: np.ndarray, tolerance: float) -> float:
    """Force [N] that may be left on a mass; never less than springs of this size and stiffness are rounded by."""
    loads = (potential.basis.T @ force.ravel() for force in (potential.load, potential.forces(positions)))
    scale = max(float(np.sqrt(np.mean(load**2))) for load in loads)
    rounding = _ROUNDING * float((potential.body.stiffness * potential.body.rest_lengths).max(initial=0.0))
    return max(tolerance * scale, rounding)


def _require_held(potential: Potential) -> None:
    """Refuse a part of the body on which a force acts and that nothing holds."""
    body, load = potential.body, potential.load
    ends = (body.springs[:, 0], body.springs[:, 1])
    graph = sparse.coo_array((np.ones(body.spring_count), ends), shape=(body.mass_count, body.mass_count))
    count, part = connected_components(graph, directed=False)
    held = np.bincount(part, body.fixed | (body.guides != FREE), count) > 0
    push = np.stack([np.bincount(part, component, count) for component in load.T], axis=1)
    drifting = ~held & (np.abs(push).max(axis=1) > 1e-9 * np.abs(load).sum() / body.mass_count)
    if drifting.any():
        first = int(np.flatnonzero(drifting[part])[0])
        raise InvalidValue(
            f"there is no equilibrium: nothing holds the part of the body with mass {first}, on which a force of "
            f"{np.linalg.norm(push[part[first]]):.3g} N acts; fix masses of it, or leave out gravity."
        )


def _newton_step(
    potential: Potential, positions: np.ndarray, force: np.ndarray, order: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Solution of K q = force, with a convex substitute of K where the energy curves the wrong way; the order used."""
    basis = potential.basis
    matrix = (basis.T @ potential.stiffness(positions) @ basis).tocsc()
    order = narrow_order(matrix, potential.basis_points) if order is None else order
    try:
        return Factors(matrix, order).solve(force), order
    except NotPositiveDefinite:
        convex = basis.T @ potential.stiffness(positions, convex=True) @ basis
        floor = _FLOOR * convex.diagonal().max() * sparse.eye_array(convex.shape[0])
        return Factors((convex + floor).tocsc(), order).solve(force), order


def _descend(potential: Potential, positions: np.ndarray, step: np.ndarray, *, slope: float) -> np.ndarray | None:
    """A point along the step where the energy is lower, by halving; None where there is none."""
    energy = potential.energy(positions)
    length = 1.0
    rounding = 1e-14 * (abs(energy) + float(np.abs(potential.load * step).sum()))
    while length >= _SHORTEST:
        trial = positions + length * step
        if potential.energy(trial) <= energy - 1e-4 * length * slope + rounding:
            return trial
        length /= 2
    return None
