"""Where states of two stretches lie: of one that is run back, and of the one before it, which is run again meanwhile.

On CUDA both are done at once. A step run back frees a row, and the other stretch moves in from the far end: states of
one side lie from the first row upwards, those of the other from the last row downwards, and few more rows are
needed than for one stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annelid.core.adjoint import Plan

AHEAD = 4
"""Steps that the stretch that is run again is ahead of the free rows: so seldom do the two wait for each other."""


@dataclass(frozen=True, eq=False)
class Side:
    """What belongs to the stretch on one side.

    Attributes:
        rows: Row of each of its states.
        work: Its clock and its factors of signals, among what all steps work with.
        sight: Where it stands in the motion.
    """

    rows: Sequence[int]
    work: Any
    sight: Any


def row_count(plan: Plan, *, both: bool) -> int:
    """Rows that the states of a stretch take, or of two that share them where `both` are kept."""
    return plan.every + 1 + (AHEAD if both and plan.checkpoints > 1 else 0)
