"""Bodies from mixtures of Gaussians (Hiller and Lipson, as Medvet et al. describe it in sec. 3.1), many at once."""

from __future__ import annotations

import math

import numpy as np

from annelid.voxels.grids import largest_parts, margins, moved


def mixture_grids(genes: np.ndarray, width: int, height: int, *, threshold: float = 1.0) -> np.ndarray:
    """Grids of materials from mixtures, the largest connected part of each; -1 is an empty cell.

    A cell gets the material whose mixture Σ q/(σ √2π) exp(-d²/σ²) is largest there, if that reaches the threshold. Grid
    coordinates run from 0 to 1.

    Args:
        genes: x, y, σ, q of each Gaussian, shape [robots, materials, Gaussians, 4].
        width: Cells along x.
        height: Cells along y.
        threshold: What a mixture must reach to fill a cell.
    """
    x, y, sigma, amount = np.moveaxis(genes, -1, 0)
    width_of = np.where(sigma == 0.0, 1.0, sigma)  # a Gaussian of no width is nowhere: its weight is 0
    weight = np.where(sigma == 0.0, 0.0, amount / (width_of * math.sqrt(2.0 * math.pi)))
    across, up = _bells(x, width_of, width), _bells(y, width_of, height)
    across *= weight[..., None]
    total = np.swapaxes(across, 2, 3) @ up  # Gaussians are products of two bells
    filled = total.max(axis=1) >= threshold
    return largest_parts(np.where(filled, total.argmax(axis=1), -1).astype(np.int8))


def in_the_corner(grids: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Grids moved to their lower left corners, and values of their cells moved with them."""
    empty = margins(grids)
    return tuple(moved(array, empty) for array in (grids, *values))


def _bells(center: np.ndarray, sigma: np.ndarray, count: int) -> np.ndarray:
    """One-dimensional factors exp(-d²/σ²) of Gaussians at the places of cells, shape [..., count]."""
    places = np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])
    scale = 1.0 / sigma
    far = places * scale[..., None]
    far -= (center * scale)[..., None]
    with np.errstate(over="ignore", under="ignore"):
        np.square(far, out=far)
        np.negative(far, out=far)
        return np.asarray(np.exp(far, out=far))
