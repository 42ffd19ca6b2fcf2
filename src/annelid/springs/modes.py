"""Natural frequencies and modes of a body: the lowest solutions of K u = ω² M u."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from annelid.core.arrays import as_numbers
from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.springs.body import Body
from annelid.springs.factors import Factors, NotPositiveDefinite, narrow_order
from annelid.springs.potential import Potential
from annelid.springs.volume import VolumeTerm

_DENSE = 300  # unknowns up to which all eigenvalues at once are cheaper than a few
_ZERO = 1e-11  # of the highest squared frequency: rounding, not motion


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Brief):
    """Free vibrations of small amplitude.

    Attributes:
        frequencies: Frequencies [Hz], rising, shape [count]; 0 for motions that no spring resists, and negative,
            -σ/2π, for those that grow as exp(σ t) because the state is not stable.
        shapes: Displacement of every mass, shape [count, n, 3], with Σ m |u|² = 1 kg; 0 where masses are fixed.
    """

    frequencies: np.ndarray
    shapes: np.ndarray


def modes(
    body: Body, count: int = 6, *, positions: np.ndarray | None = None, volume: VolumeTerm | None = None
) -> Modes:
    """The lowest modes of a body, its fixed and guided masses respected.

    Args:
        body: The body. Its constant forces and gravity matter only through the positions.
        count: Number of modes.
        positions: The state [m], shape [n, 3], best one of equilibrium: springs under tension or compression change the
            frequencies, as the tuning of a string does. None takes the positions of the body.
        volume: A term that resists changes of volume.
    """
    state = _checked(body, positions)
    potential = Potential(body, volume=volume)
    basis, masses = potential.basis, potential.basis_masses
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= len(masses):
        raise InvalidValue(
            f"count = {count!r:.60} modes cannot be had: the body has {len(masses)} directions of motion."
        )
    scale = sparse.diags_array(1.0 / np.sqrt(masses))
    matrix = (scale @ (basis.T @ potential.stiffness(state) @ basis) @ scale).tocsc()
    values, vectors = _lowest(matrix, count, potential.basis_points)
    limit = _ZERO * float(matrix.diagonal().max(initial=0.0))
    values = np.where(np.abs(values) < limit, 0.0, values)
    shapes = (basis @ (scale @ vectors)).T.reshape(count, body.mass_count, 3)
    return Modes(np.sign(values) * np.sqrt(np.abs(values)) / (2 * np.pi), shapes)


def _lowest(matrix: sparse.csc_array, count: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = matrix.shape[0]
    if size <= _DENSE or count > size // 3:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[:count], vectors[:, :count]
    factors, shift = _shifted(matrix, narrow_order(matrix, points))
    inverse = LinearOperator((size, size), factors.solve, dtype=float)
    start = np.random.default_rng(0).normal(size=size)  # the same result every time
    values, vectors = eigsh(matrix, count, sigma=shift, OPinv=inverse, v0=start)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _shifted(matrix: sparse.csc_array, order: np.ndarray) -> tuple[Factors, float]:
    """Factors of matrix - shift, with a shift below the lowest eigenvalue.

    It lies just below zero, because a body that is free to move has a singular matrix, and further down where the state
    is not stable.
    """
    largest = float(matrix.diagonal().max())
    for part in 10.0 ** np.arange(-9, 2):
        try:
            shift = -part * largest
            return Factors((matrix - shift * sparse.eye_array(matrix.shape[0])).tocsc(), order), shift
        except NotPositiveDefinite:
            continue
    raise InvalidValue("the modes of this state cannot be found: it is far from any stable one.")


def _checked(body: Body, positions: np.ndarray | None) -> np.ndarray:
    require_kind("the body", body, Body, "a springs.Body")
    if positions is None:
        return np.asarray(body.positions)
    state = as_numbers("positions", positions)
    if state.shape != (body.mass_count, 3) or not np.isfinite(state).all():
        raise InvalidValue(
            f"positions must be finite and of shape [{body.mass_count}, 3], not of shape {list(state.shape)}."
        )
    return state
