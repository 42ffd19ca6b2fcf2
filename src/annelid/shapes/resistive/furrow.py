"""What sand does beside a body that moves on in it, as an option of ground that gives."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from annelid.core.parameters import Checked, documented, parameter


@documented
@dataclass(frozen=True)
class Furrow(Checked):
    """Sand that stays at its place: a body lies in the furrow that it has cut, and meets uncut sand ahead of it."""

    of_what: ClassVar[str] = "a furrow"

    _: KW_ONLY
    friction_way: float = parameter(
        0.0,
        "Way along the ground over which friction is reached [m], about a radius of the grains; 0: at once.",
        unit="m",
        least=0.0,
    )
    slump: float = parameter(
        0.2,
        "Share of the hollow beside a steep face that sand fills while the face draws back, from 0 to 1.",
        limits=(0.0, 1.0),
    )
    repose: float | None = parameter(
        None,
        "Angle of repose [°]: sand stands no steeper before a nose, and drags a body with no more friction than "
        "the tangent of it, since grains then slide on each other. None: it stands as steep as the faces of the "
        "nose, and drags as the friction of the ground says.",
        unit="°",
        above=0.0,
        most=89.0,
    )

    @property
    def steepest(self) -> float:
        """Slope that sand stands at, and coefficient of friction within it; infinite without an angle of repose."""
        return math.inf if self.repose is None else math.tan(math.radians(self.repose))
