"""What a fit knows and what it does not: standard deviations, correlations, and the direction that data leave open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_whole


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How well residuals determine coordinates, if what is left of them is noise without correlation.

    Attributes:
        noise: Standard deviation of one residual.
        covariance: Of the coordinates, shape [p, p]; infinite where nothing is known.
        sizes: Standard deviation along each of the directions, the largest first, shape [p].
        directions: Directions in the space of the coordinates, of length 1, by rows, shape [p, p].
    """

    noise: float
    covariance: np.ndarray
    sizes: np.ndarray
    directions: np.ndarray

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each coordinate, shape [p]."""
        return np.sqrt(np.diag(self.covariance))


def uncertainty(residuals: np.ndarray, jacobian: np.ndarray, nuisances: int = 0) -> Uncertainty:
    """What residuals and their rates say about coordinates.

    Args:
        residuals: What is left, shape [r].
        jacobian: Its rates, shape [r, p].
        nuisances: Numbers that were fitted along the way and are already taken out of residuals and rates.
    """
    residuals, jacobian = as_numbers("residuals", residuals), as_numbers("jacobian", jacobian)
    if residuals.ndim != 1 or jacobian.ndim != 2 or len(jacobian) != len(residuals):
        raise InvalidValue(
            f"residuals of shape [r] need rates of shape [r, p], not {list(residuals.shape)} and "
            f"{list(jacobian.shape)}."
        )
    if not is_whole(nuisances, 0):
        raise InvalidValue(f"nuisances must be a whole number of 0 or more, not {nuisances!r:.60}.")
    count = jacobian.shape[1]
    freedom = max(len(residuals) - count - nuisances, 1)
    noise = float(np.sqrt(residuals @ residuals / freedom))
    sizes, directions = np.linalg.eigh(jacobian.T @ jacobian)
    tiny = max(float(sizes.max(initial=0.0)), np.finfo(float).tiny) * np.finfo(float).eps * len(residuals)
    known = sizes > tiny
    spread = np.where(known, noise / np.sqrt(np.where(known, sizes, 1.0)), np.inf)
    with np.errstate(invalid="ignore"):
        parts = directions * np.where(known, spread, 0.0)
    covariance = parts @ parts.T
    lost = (np.abs(directions[:, ~known]) > 1e-6).any(axis=1)
    covariance[np.diag_indices(count)] = np.where(lost, np.inf, np.diag(covariance))
    return Uncertainty(noise, covariance, spread, directions.T)
