"""The one error of a soak: something is not as it was asked for."""

from __future__ import annotations

from annelid.core.errors import AnnelidError


class NotAsWanted(AnnelidError):
    """The library did not do what it promises; the sentence says what was found and what was wanted."""


def want(holds: bool, sentence: str) -> None:
    """Raise a sentence where something does not hold."""
    if not holds:
        raise NotAsWanted(sentence)
