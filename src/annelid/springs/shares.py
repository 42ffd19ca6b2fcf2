"""How points share the motion of masses around them."""

from __future__ import annotations

import numpy as np


def affine_shares(offsets: np.ndarray, weights: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Shares of each neighbour that reproduce affine motions (moving least squares), shape [m, k].

    Args:
        offsets: From points to their neighbours [m], shape [m, k, 3].
        weights: How much each neighbour counts, shape [m, k].
        reach: A length of the size of the offsets [m], shape [m, 1].
    """
    terms = np.concatenate([np.ones((*offsets.shape[:2], 1)), offsets / reach[..., None]], axis=2)
    moments = np.einsum("mk,mki,mkj->mij", weights, terms, terms)
    moments += 1e-9 * np.eye(4)  # neighbours in one plane
    first = np.linalg.solve(moments, np.broadcast_to(np.eye(4)[:, :1], (len(moments), 4, 1)))
    return np.asarray(weights * (terms @ first)[..., 0])
