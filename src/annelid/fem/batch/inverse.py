"""The inverse of the matrix of a step at rest, which all worlds share, and products with it."""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np
import warp as wp

from annelid.core.linalg.blas import one_thread
from annelid.core.packages import installed, optional
from annelid.fem.assembly import Assembly
from annelid.fem.batch.settings import Product
from annelid.fem.dynamics import Inertia
from annelid.fem.kernels.batch_products import TILE, multiply_rows, multiply_tiles
from annelid.fem.model import Model

_BLOCK = 256  # threads that multiply a tile


class Multiplier(Protocol):
    """Multiplies the shared inverse, or some of its rows, with vectors of all worlds."""

    def __call__(self, vectors: wp.array[Any], out: wp.array[Any]) -> None:
        """Write the product with vectors, float32 of shape [rows of the matrix, worlds]."""
        ...


def rest_inverse(model: Model, inertia: Inertia, rows: int) -> np.ndarray:
    """Inverse of the matrix of tetrahedra and inertia at rest, float32 of shape [rows, rows]; held components are zero.

    Args:
        model: The model.
        inertia: Its inertia.
        rows: Number of rows, at least three a node; those beyond are zero.
    """
    assembly = Assembly(model.node_count, [model.tetrahedra, inertia], model.crew)
    assembly.evaluate(model.rest)
    free = np.flatnonzero(~model.solid.held.ravel())
    matrix = assembly.matrix()[free][:, free].toarray()
    inverse = np.zeros((rows, rows), np.float32)
    with one_thread():  # bits of a sum are those of its order, which is not to depend on the cores of a machine
        found = np.linalg.inv(matrix)
    inverse[np.ix_(free, free)] = 0.5 * (found + found.T)
    return inverse


def filled(count: int, device: wp.Device) -> int:
    """A number of rows or worlds, filled up to a multiple of a tile where products are made of tiles."""
    return -(-count // TILE) * TILE if device.is_cuda else count


def stands_rounding(inverse: np.ndarray) -> bool:
    """Whether an inverse stays definite where its numbers have the ten binary digits of TF32.

    That of a solid with parts of very different stiffness does not: what leads conjugate gradients would lead them
    astray.
    """
    bits = np.ascontiguousarray(inverse, np.float32).view(np.uint32)
    short = ((bits & np.uint32(0xFFFFE000)) + (bits & np.uint32(0x1000)) * np.uint32(2)).view(np.float32)
    free = np.flatnonzero(np.diag(inverse) > 0.0)
    scale = 1.0 / np.sqrt(np.diag(inverse)[free].astype(float))
    try:
        np.linalg.cholesky(scale[:, None] * short[np.ix_(free, free)] * scale)
    except np.linalg.LinAlgError:
        return False
    return True


def multiplier(matrix: wp.array[Any], product: Product, device: wp.Device, *, rounded: bool) -> Multiplier:
    """What multiplies with the inverse, or some of its rows, on its device.

    Args:
        matrix: The rows, float32 of shape [rows, columns].
        product: What multiplies on CUDA.
        device: Where they are.
        rounded: Whether factors may have the ten binary digits of TF32.
    """
    if device.is_cpu:
        return functools.partial(_by_rows, matrix)
    if product == "tiles" or (product == "auto" and not installed("torch")):
        return functools.partial(_by_tiles if rounded else _by_rows, matrix)
    return TorchProduct(matrix, rounded=rounded)


class TorchProduct:
    """Products by cuBLAS, in TF32 where that will do, on the stream of Warp, so that graphs take them in."""

    def __init__(self, matrix: wp.array[Any], *, rounded: bool) -> None:
        self._rounded = rounded
        self._torch = optional("torch", purpose="product='torch'", extra="rl")
        self._device = matrix.device
        self._matrix = wp.to_torch(matrix)
        self._views: dict[int, Any] = {}

    def __call__(self, vectors: wp.array[Any], out: wp.array[Any]) -> None:
        """Write the product with vectors."""
        torch = self._torch
        stream = torch.cuda.ExternalStream(wp.get_stream(self._device).cuda_stream, device=str(self._device))
        rule, before = torch.backends.cuda.matmul, torch.backends.cuda.matmul.allow_tf32
        rule.allow_tf32 = self._rounded
        try:
            with torch.no_grad(), torch.cuda.stream(stream):
                torch.mm(self._matrix, self._view(vectors), out=self._view(out))
        finally:
            rule.allow_tf32 = before

    def _view(self, array: wp.array[Any]) -> Any:
        """The array as a tensor; made once, since they stay where they are."""
        key = int(array.ptr or 0)
        if key not in self._views:
            self._views[key] = wp.to_torch(array)
        return self._views[key]


def _by_rows(matrix: wp.array[Any], vectors: wp.array[Any], out: wp.array[Any]) -> None:
    wp.launch(multiply_rows, out.shape, [matrix, vectors, out], device=vectors.device)


def _by_tiles(matrix: wp.array[Any], vectors: wp.array[Any], out: wp.array[Any]) -> None:
    tiles = out.shape[0] // TILE, out.shape[1] // TILE
    inputs = [vectors.shape[0] // TILE, matrix, vectors, out]
    wp.launch_tiled(multiply_tiles, dim=tiles, inputs=inputs, block_dim=_BLOCK, device=vectors.device)
