"""Closed forms: inclines, rolling, bounces, free collisions and blocks, all in one simulation of many worlds."""

from __future__ import annotations

import pytest

from annelid.studies.support.grain_laboratory import EXPERIMENTS, Track, laboratory


@pytest.fixture(scope="module")
def tracks() -> list[Track]:
    return laboratory(device="cpu", threads=1)


@pytest.mark.parametrize("number", range(len(EXPERIMENTS)), ids=[repr(e) for e in EXPERIMENTS])
def test_closed_forms(number: int, tracks: list[Track]) -> None:
    rows = EXPERIMENTS[number].judge(tracks[number])
    assert rows
    for row in rows:
        assert row.passed, row
        if row.bound == "near":
            assert row.reference is not None
            assert row.value == pytest.approx(row.reference, rel=2e-3)
