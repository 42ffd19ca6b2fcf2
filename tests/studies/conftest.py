"""What the tests of the studies share."""

from __future__ import annotations

import pytest
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.measurement import Measurement, Report
from annelid.core.progress import Progress


@pytest.fixture
def silence() -> Progress:
    return Progress("study", 1.0, quiet=True)


@pytest.fixture
def chosen(device: str) -> wp.Device:
    return choose_device(device)


@pytest.fixture
def cpu() -> wp.Device:
    return choose_device("cpu")


def by_name(rows: list[Measurement]) -> dict[str, Measurement]:
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    Report("study", "cpu", 0.0, rows).to_json()  # NumPy's numbers would not go into a file
    return {row.name: row for row in rows}
