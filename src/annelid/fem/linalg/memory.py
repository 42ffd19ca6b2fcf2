"""What a linear solver carries from one matrix to the next, so that states can hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import new_state, rows


@dataclass(kw_only=True)
class FactorMemory:
    """The matrices from which factors were made: from them the same factors can be made again.

    All arrays are empty for a solver that factors every matrix.

    Attributes:
        age: Matrices since the factor at hand was put to use, -1 where there is none; shape [1].
        shift: Added to the diagonal of the matrix that was factored [N/m], shape [1].
        matrix: Stored blocks of the matrix that was factored [N/m], shape [b].
        rotations: How each node had rotated then, shape [n].
    """

    age: wp.array[Any] = rows("factor", wp.int64)
    shift: wp.array[Any] = rows("factor", wp.float64)
    matrix: wp.array[Any] = rows("block", wp.mat33d)
    rotations: wp.array[Any] = rows("node", wp.mat33d)


def no_memory(device: wp.Device) -> FactorMemory:
    """The memory of a solver that factors every matrix."""
    return new_state(FactorMemory, {"factor": 0, "block": 0, "node": 0}, device)


class Forgetful:
    """A solver that factors every matrix and so carries nothing from one to the next."""

    def memory(self, device: wp.Device) -> FactorMemory:
        """An empty memory."""
        return no_memory(device)

    def remember(self, memory: FactorMemory) -> None:
        """Nothing to write."""

    def recall(self, memory: FactorMemory) -> None:
        """Nothing to read."""
