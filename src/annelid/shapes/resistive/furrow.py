"""What sand does beside a body that moves on in it, as an option of ground that gives."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from annelid.core.errors import InvalidValue
from annelid.shapes.surface import is_number, require_at_least_0


@dataclass(frozen=True)
class Furrow:
    """Sand that stays at its place: a body lies in the furrow that it has cut, and meets uncut sand ahead of it.

    Attributes:
        friction_way: Way along the ground over which friction is reached [m], about a radius of the grains; 0: at once.
        slump: Share of the hollow beside a steep face that sand fills while the face draws back, from 0 to 1.
    """

    _: KW_ONLY
    friction_way: float = 0.0
    slump: float = 0.2

    def __post_init__(self) -> None:
        require_at_least_0("friction_way of a furrow", self.friction_way)
        if not (is_number(self.slump) and 0.0 <= self.slump <= 1.0):
            raise InvalidValue(f"slump of a furrow must be a share from 0 to 1, not {self.slump!r}.")
