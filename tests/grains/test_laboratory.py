"""Closed forms: inclines, rolling, bounces, free collisions and blocks, all in one simulation of many worlds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annelid.studies.support.grain_laboratory import EXPERIMENTS, Bounce, Track, laboratory

SHORT = [replace(e, height=0.12) if isinstance(e, Bounce) else e for e in EXPERIMENTS]
"""The experiments of the study, with bounces that are over in half the time."""


@pytest.fixture(scope="module")
def tracks() -> list[Track]:
    """A third of the experiments at a time: each point of a block looks at all bodies of all worlds."""
    found: list[Track | None] = [None] * len(SHORT)
    for first in range(3):
        found[first::3] = laboratory(SHORT[first::3], seconds=0.33, every=5, device="cpu", threads=1)
    return [track for track in found if track is not None]


@pytest.mark.parametrize("number", range(len(SHORT)), ids=[repr(e) for e in SHORT])
def test_closed_forms(number: int, tracks: list[Track]) -> None:
    rows = SHORT[number].judge(tracks[number])
    assert rows
    for row in rows:
        assert row.passed, row
        if row.bound == "near":
            assert row.reference is not None
            assert row.value == pytest.approx(row.reference, rel=2e-3)
