"""What acts at regular steps of a run: by the number of a step alone, so that repeated steps come out the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Act = Callable[[Any, int], None]
"""Called with a state and the number of steps done."""


@dataclass(frozen=True)
class Pacer:
    """Something that acts before steps whose number is a multiple of `every`."""

    act: Act
    every: int


def paced(pacers: Sequence[Pacer], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of steps between `begin` and `end` in which nothing acts but at their beginning."""
    step = begin
    while step < end:
        until = min([end, *(step - step % pacer.every + pacer.every for pacer in pacers)])
        yield step, until
        step = until
