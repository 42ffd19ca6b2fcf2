"""Which boxes overlap: the broad phase of contact of a surface with itself."""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid.fem.kernels.overlaps import count_overlaps, list_overlaps

_ROUNDING = 1e-6  # of a coordinate: boxes are kept in single precision


class Boxes:
    """Boxes around things, in single precision, never smaller than they are.

    Args:
        lowers: Least corners [m], shape [b, 3].
        uppers: Largest corners [m], shape [b, 3].
        device: Where they are compared.
    """

    def __init__(self, lowers: np.ndarray, uppers: np.ndarray, device: wp.Device) -> None:
        self.device = device
        ends = (lowers - _ROUNDING * np.abs(lowers), uppers + _ROUNDING * np.abs(uppers))
        self.lowers, self.uppers = (wp.array(each.astype(np.float32), dtype=wp.vec3, device=device) for each in ends)

    def overlapping(self, others: Boxes | None = None) -> np.ndarray:
        """Pairs of a box of these and one of others that overlap, in order, shape [p, 2]; by default two of these."""
        chosen = self if others is None else others
        tree = wp.Bvh(chosen.lowers, chosen.uppers)
        count = len(self.lowers)
        counts = wp.zeros(count, dtype=wp.int32, device=self.device)
        boxes = [tree.id, self.lowers, self.uppers, others is None]
        wp.launch(count_overlaps, count, boxes, [counts], device=self.device)
        ends = np.cumsum(counts.numpy())
        found = wp.zeros(int(ends[-1]), dtype=wp.int32, device=self.device)
        firsts = wp.array(ends - counts.numpy(), dtype=wp.int32, device=self.device)
        wp.launch(list_overlaps, count, [*boxes, firsts], [found], device=self.device)
        keys = np.repeat(np.arange(count), counts.numpy()) * len(chosen.lowers) + found.numpy()
        keys.sort()
        return np.stack(np.divmod(keys, len(chosen.lowers)), axis=1)
