"""What the material of a solid remembers, as part of a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import rows


@dataclass(kw_only=True)
class History:
    """What an elastic material remembers: nothing."""


@dataclass(kw_only=True)
class StressHistory(History):
    """What a material with a Prony series remembers, see `kernels.relaxation`; stresses of a stiffness factor of 1.

    Attributes:
        past: Second Piola-Kirchhoff stress of the law at the end of the last step [Pa], mat33d of shape [worlds · p].
        parts: What each term of the series adds to the stress [Pa], mat33d of shape [worlds · p · terms].
    """

    past: wp.array[Any] = rows("point", wp.mat33d)
    parts: wp.array[Any] = rows("term", wp.mat33d)
