"""Measurements: what holds, what does not, and what is printed."""

from __future__ import annotations

import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement, Report


@pytest.mark.parametrize(
    ("options", "value", "passed"),
    [
        ({}, 1.0, None),
        ({"reference": 1.0}, 1.0, None),
        ({"reference": 1.0, "tolerance": 0.5}, 1.5, True),
        ({"reference": 1.0, "tolerance": 0.5}, 0.49, False),
        ({"reference": 1.0, "tolerance": 0.0}, 1.0, True),
        ({"reference": 1.0, "tolerance": 0.5}, math.nan, False),
        ({"reference": 1.0, "tolerance": 0.5}, math.inf, False),
        ({"reference": 1.0, "bound": "at-least"}, 1.0, True),
        ({"reference": 1.0, "bound": "at-least"}, 0.99, False),
        ({"reference": 1.0, "bound": "at-least", "tolerance": 0.02}, 0.99, True),
        ({"reference": 1.0, "bound": "at-least"}, math.nan, False),
        ({"reference": 1.0, "bound": "at-most"}, 1.0, True),
        ({"reference": 1.0, "bound": "at-most"}, 1.01, False),
        ({"reference": 1.0, "bound": "at-most", "tolerance": 0.02}, 1.01, True),
    ],
)
def test_what_holds(options: dict[str, object], value: float, passed: bool | None) -> None:
    assert Measurement("x", value, **options).passed is passed  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["springs-30x30x30", "static-10x4-30hz-all", "a", "2d", "ratio-0.95"])
def test_good_names(name: str) -> None:
    assert Measurement(name, 1.0).name == name


@pytest.mark.parametrize("name", ["", "Springs", "two words", "under_score", "-x", "x-", "é", "a--b", "a\n"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="lower-case ASCII words joined by hyphens"):
        Measurement(name, 1.0)


def test_an_unknown_bound_is_refused() -> None:
    with pytest.raises(InvalidValue, match="'below' of x must be"):
        Measurement("x", 1.0, bound="below")


@pytest.mark.parametrize(
    ("flags", "passed"), [([], None), ([None], None), ([True, None], True), ([True, False], False), ([False], False)]
)
def test_a_report_holds_when_all_that_is_judged_holds(flags: list[bool | None], passed: bool | None) -> None:
    values = {
        None: Measurement("a", 1.0),
        True: Measurement("b", 1.0, "", 1.0, 0.1),
        False: Measurement("c", 2.0, "", 1.0, 0.1),
    }
    assert Report("r", "cpu", 1.0, [values[flag] for flag in flags]).passed is passed


@given(st.floats(), st.none() | st.floats())
def test_json_is_one_object_whatever_the_numbers(value: float, reference: float | None) -> None:
    report = Report("r", "cpu", 1.5, [Measurement("a", value, "m", reference, 0.1, "by hand")])
    text = report.to_json()
    assert "\n" not in text
    assert "NaN" not in text
    assert "Infinity" not in text
    read = json.loads(text)
    assert list(read) == ["name", "device", "seconds", "passed", "measurements"]
    row = read["measurements"][0]
    assert {"name", "value", "unit", "reference", "tolerance", "source", "passed"} <= set(row)
    assert row["value"] == (value if math.isfinite(value) else None)
    assert (row["name"], row["unit"], row["tolerance"], row["source"]) == ("a", "m", 0.1, "by hand")


def test_the_table_shows_everything() -> None:
    rows = [
        Measurement("height", 1.25, "m", 1.0, 0.5, "by hand"),
        Measurement("rate", 9.0, "springs/s", 10.0, bound="at-least"),
    ]
    out = io.StringIO()
    Report("fall", "cpu", 2.0, rows).print(Console(file=out, width=120))
    for word in ("fall on cpu, 2.0 s", "height", "1.25", "1 ± 0.5", "by hand", "≥ 10", "yes", "no"):
        assert word in out.getvalue()
