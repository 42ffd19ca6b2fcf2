"""Streams of actuation: whole lines of CSV or JSON, and functions."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue

from .robots import trunk


def steps(sinks: list, count: int = 2) -> list[fem.Step]:
    robot = trunk(effectors=[fem.Points(name="ends", at=[(0.15, 0.0, 0.0), (0.1, 0.0, 0.0)])])
    control = fem.Inverse(robot, sinks=sinks)
    target = robot.places() + np.array([0.0, 0.001, 0.0])
    return [control.step(target) for _ in range(count)]


def test_every_step_is_a_row(tmp_path: Path) -> None:
    text, seen = io.StringIO(), []
    with fem.CsvStream(tmp_path / "a.csv") as table, fem.JsonStream(text) as lines:
        results = steps([table, lines, seen.append])
    assert seen == results
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    objects = [json.loads(line) for line in text.getvalue().splitlines()]
    assert len(rows) == len(objects) == 2
    for row, found, step in zip(rows, objects, results, strict=True):
        assert float(row["up-effort"]) == found["up-effort"] == step.efforts["up"]
        assert float(row["left-stroke"]) == step.strokes["left"]
        assert float(row["ends-1-y"]) == step.places["ends"][1, 1]
        assert found["active"] == "; ".join(step.active)


def test_lines_are_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lengths = []
    stream = fem.JsonStream(path)
    steps([stream, lambda _: lengths.append(len(path.read_text().splitlines()))])
    stream.close()
    assert lengths == [1, 2]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be written"):
        fem.CsvStream(tmp_path / "missing" / "a.csv")
