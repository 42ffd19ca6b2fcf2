"""What sand does beside a body that moves on in it, as an option of ground that gives."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.surface import require_at_least_0


@dataclass(frozen=True)
class Furrow:
    """Sand that stays at its place: a body lies in the furrow that it has cut, and meets uncut sand ahead of it.

    Attributes:
        friction_way: Way along the ground over which friction is reached [m], about a radius of the grains; 0: at once.
        slump: Share of the hollow beside a steep face that sand fills while the face draws back, from 0 to 1.
        repose: Angle of repose [°]: sand stands no steeper before a nose, and drags a body with no more friction than
            the tangent of it, since grains then slide on each other. None: it stands as steep as the faces of the nose,
            and drags as the friction of the ground says.
    """

    _: KW_ONLY
    friction_way: float = 0.0
    slump: float = 0.2
    repose: float | None = None

    def __post_init__(self) -> None:
        require_at_least_0("friction_way of a furrow", self.friction_way)
        if not (is_number(self.slump) and 0.0 <= self.slump <= 1.0):
            raise InvalidValue(f"slump of a furrow must be a share from 0 to 1, not {self.slump!r}.")
        if self.repose is not None and not (is_number(self.repose) and 0.0 < self.repose < 90.0):
            raise InvalidValue(
                f"repose of a furrow must be an angle between 0 and 90 degrees, or None, not {self.repose!r}."
            )

    @property
    def steepest(self) -> float:
        """Slope that sand stands at, and coefficient of friction within it; infinite without an angle of repose."""
        return math.inf if self.repose is None else math.tan(math.radians(self.repose))
