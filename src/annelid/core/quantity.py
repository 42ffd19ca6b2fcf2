"""Numbers of a simulation that have a name, a unit, limits and a value at rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number


@dataclass(frozen=True)
class Quantity:
    """A number with a name.

    Attributes:
        name: Name.
        low: Least value.
        high: Largest value.
        rest: Value that it has until it is given another.
        unit: Unit of the values; empty for a pure number.
        does: What it does, in words.
    """

    name: str
    low: float
    high: float
    rest: float = 0.0
    unit: str = ""
    does: str = ""

    def __post_init__(self) -> None:
        kind = type(self).__name__.lower()
        if not isinstance(self.name, str) or not self.name:
            raise InvalidValue(f"a {kind} needs a name, a word, not {self.name!r:.60}.")
        finite = all(map(is_number, (self.low, self.rest, self.high)))
        if not finite or not self.low <= self.rest <= self.high or self.low == self.high:
            raise InvalidValue(
                f"{kind} {self.name!r} needs finite numbers low ≤ rest ≤ high that are not all the same, not "
                f"{self.low}, {self.rest}, {self.high}."
            )


Q = TypeVar("Q", bound=Quantity)


def require_distinct(quantities: Iterable[Q]) -> tuple[Q, ...]:
    """Refuse two of one name."""
    found = tuple(quantities)
    names = [quantity.name for quantity in found]
    for one in found:
        if names.count(one.name) > 1:
            raise InvalidValue(f"two {type(one).__name__.lower()}s are named {one.name!r}; give each its own name.")
    return found
