"""What trials so far let one expect of robots that were not tried: a Gaussian process over how alike robots are.

Two robots are as alike as the share of their traits that agree (for bodies: of their cells). Fitnesses of robots that
differ in a share d covary as exp(-d / reach); reach and noise are those under which the trials are most likely, as far
as some of them tell.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

_REACHES = (0.03, 0.1, 0.3, 1.0)
_NOISES = (0.02, 0.2)  # variance that likeness does not explain, over that which it does
_ENOUGH = 200  # trials that reach and noise are chosen by


def forecast(traits: np.ndarray, fitness: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Expected fitness of robots and its standard deviation, both of shape [m].

    Args:
        traits: Whole numbers that tell tried robots apart, shape [n, k].
        fitness: How they did, shape [n].
        asked: Traits of the robots that are asked for, shape [m, k].
    """
    mean, scale = float(fitness.mean()), float(fitness.std()) or 1.0
    values = (fitness - mean) / scale
    apart, away = unlike(traits, traits), unlike(asked, traits)
    some = slice(None, None, -(-len(values) // _ENOUGH))
    fits = [(_fitted(apart[some, some], values[some], r, n)[0], r, n) for r in _REACHES for n in _NOISES]
    _, reach, noise = max(fits)
    _, factor, weights = _fitted(apart, values, reach, noise)
    near = np.exp(-away / reach)
    known = linalg.solve_triangular(factor, near.T, lower=True)
    left = np.sqrt(np.maximum(1.0 - (known**2).sum(axis=0), 0.0))
    return mean + scale * (near @ weights), scale * left


def unlike(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Share of traits in which robots differ, shape [n, m]."""
    same = np.zeros((len(one), len(other)))
    for value in np.unique(one):
        same += (one == value).astype(np.float32) @ (other == value).astype(np.float32).T
    return np.asarray(1.0 - same / one.shape[1])


def _fitted(apart: np.ndarray, values: np.ndarray, reach: float, noise: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Logarithm of the likelihood of the values but for a constant, a Cholesky factor, and weights of the trials."""
    factor = linalg.cholesky(np.exp(-apart / reach) + noise * np.eye(len(values)), lower=True)
    weights = linalg.cho_solve((factor, True), values)
    return float(-0.5 * values @ weights - np.log(np.diag(factor)).sum()), factor, weights
