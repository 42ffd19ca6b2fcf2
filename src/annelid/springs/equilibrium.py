"""Static equilibrium of a body under its forces and gravity, by Newton's method on the energy.

A few dozen sparse solves replace the minutes of ringing that a simulation needs to come to rest. Obstacles, actuation and
the user's forces are not seen here; a body that touches something must be simulated.
"""

from __future__ import annotations

import numpy as np

from annelid.core.errors import AnnelidError, InvalidValue
from annelid.springs.body import Body
from annelid.springs.modes import symmetric_factors
from annelid.springs.potential import Potential

_SHORTEST = 2.0**-40  # of a Newton step, before the search along it is given up
_FLOOR = 1e-9  # of the largest stiffness, added while the matrix is not positive definite


class NotConverged(AnnelidError, ArithmeticError):
    """An iteration ended before its result was good enough."""


def equilibrium(
    body: Body,
    *,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    start: np.ndarray | None = None,
    tolerance: float = 1e-8,
    limit: int = 500,
) -> np.ndarray:
    """Positions [m], shape [n, 3], in which the forces on all free masses cancel: a minimum of the energy.

    Args:
        body: The body, held somewhere: a free one has no equilibrium.
        gravity: Acceleration of gravity [m/s²].
        start: Positions to begin with; those of the body by default.
        tolerance: Largest force left on a mass, as a part of the mean load [-].
        limit: Most iterations.
    """
    potential = Potential(body, gravity)
    basis = potential.basis
    if basis.shape[1] == 0:
        return body.positions.copy()
    positions = np.array(body.positions if start is None else start, float)
    if positions.shape != body.positions.shape or not np.isfinite(positions).all():
        raise InvalidValue(f"start must be finite and of shape {list(body.positions.shape)}.")
    enough = tolerance * max(float(np.linalg.norm(basis.T @ potential.load.ravel())) / basis.shape[1] ** 0.5, 1e-300)
    residual = np.inf
    for _ in range(limit):
        force = basis.T @ potential.forces(positions).ravel()
        residual = float(np.abs(force).max())
        if residual <= enough:
            return positions
        step = (basis @ _newton_step(potential, positions, force)).reshape(-1, 3)
        moved = _descend(potential, positions, step, slope=float(force @ (basis.T @ step.ravel())))
        if moved is None:
            break
        positions = moved
    if residual <= 1e3 * enough:  # rounding of long springs can keep the last digits out of reach
        return positions
    raise NotConverged(
        f"no equilibrium was found: after {limit} iterations at most, a force of {residual:.3g} N is left on a mass; "
        "hold the body so that it cannot move freely, or start closer to the equilibrium."
    )


def _newton_step(potential: Potential, positions: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Solution of K q = force, with a convex substitute of K where the energy curves the wrong way."""
    basis = potential.basis
    matrix = (basis.T @ potential.stiffness(positions) @ basis).tocsc()
    try:
        factors = symmetric_factors(matrix)
        if (factors.U.diagonal() > 0.0).all():
            return np.asarray(factors.solve(force))
    except RuntimeError:  # exactly singular
        pass
    convex = (basis.T @ potential.stiffness(positions, convex=True) @ basis).tocsc()
    convex.setdiag(convex.diagonal() + _FLOOR * convex.diagonal().max())
    return np.asarray(symmetric_factors(convex).solve(force))


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
