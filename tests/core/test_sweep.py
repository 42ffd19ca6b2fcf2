"""Sweeps: all combinations in one table, side by side, gone on with after anything."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from annelid import sweep
from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue

CALLS: list[dict[str, Any]] = []


def product(a: float, b: int = 1, word: str = "") -> dict[str, float]:
    CALLS.append({"a": a, "b": b, "word": word})
    if a > 3:
        raise AnnelidError("a is too large.")
    return {"product": a * b, "letters": len(word)}


def process(a: float) -> dict[str, float]:
    return {"process": os.getpid(), "square": a * a}


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLS.clear()


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_combinations_are_in_one_table(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    vary: dict[str, list[Any]] = {"a": [1.5, 2.0, 4.0], "b": [2, 3], "word": ["x, y"]}
    rows = sweep(product, vary, table=tmp_path / "t.csv", told=lambda row, done, count: told.append((done, count)))
    assert [(row["a"], row["b"]) for row in rows] == [(a, b) for a in vary["a"] for b in vary["b"]]
    assert [row.get("product") for row in rows] == [3.0, 4.5, 4.0, 6.0, None, None]
    assert [row["failed"] for row in rows] == [""] * 4 + ["a is too large."] * 2
    assert told == [(number, 6) for number in range(1, 7)]
    written = read(tmp_path / "t.csv")
    assert list(written[0]) == ["a", "b", "word", "product", "letters", "failed"]
    assert [row["product"] for row in written] == ["3.0", "4.5", "4.0", "6.0", "", ""]
    assert written[0]["word"] == "x, y"


def test_a_table_is_gone_on_with(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    first = sweep(product, {"a": [1.0, 5.0], "b": [2]}, table=table)
    with pytest.raises(AnnelidError, match="holds a sweep already"):
        sweep(product, {"a": [1.0], "b": [2]}, table=table)
    CALLS.clear()
    rows = sweep(product, {"a": [2.0, 5.0], "b": [2]}, table=table, resume=True)
    assert [call["a"] for call in CALLS] == [2.0, 5.0]  # what failed is done again
    assert [row["a"] for row in rows] == [2.0, 5.0, 1.0]
    assert rows[2] == first[0]
    assert len(read(table)) == 3
    CALLS.clear()
    assert sweep(product, {"a": [1.0, 2.0], "b": [2]}, table=table, resume=True)[0] == first[0]
    assert CALLS == []


def test_what_was_done_before_an_error_of_python_is_kept(tmp_path: Path) -> None:
    def broken(a: float) -> dict[str, float]:
        return {"inverse": 1 / (a - 2)}

    with pytest.raises(ZeroDivisionError):
        sweep(broken, {"a": [1.0, 2.0]}, table=tmp_path / "t.csv")
    assert [row["inverse"] for row in read(tmp_path / "t.csv")] == ["-1.0"]


def test_the_table_of_something_else_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    sweep(product, {"a": [1.0]}, table=table)
    for other, vary in ((process, {"a": [1.0]}), (product, {"b": [1]})):
        with pytest.raises(FileFormatError, match="another sweep"):
            sweep(other, vary, table=table, resume=True)
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(FileFormatError, match="no table that a sweep can go on with"):
        sweep(product, {"a": [1.0]}, table=table, resume=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"vary": {}}, "nothing varies"),
        ({"vary": {"a": []}}, "values of a must be a list of one or more"),
        ({"vary": {"a": "12"}}, "values of a must be a list of one or more, not '12'"),
        ({"vary": {"a": [1, 1]}}, "a value of a is there twice"),
        ({"workers": 0}, "workers must be a whole number of 1 or more, not 0"),
        ({"table": "t.txt"}, "a file .csv, not 't.txt'"),
        ({"measure": 3}, "must be a function"),
    ],
)
def test_refused(options: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"measure": product, "vary": {"a": [1.0]}, "table": "t.csv", **options}
    with pytest.raises(InvalidValue, match=sentence):
        sweep(given.pop("measure"), given.pop("vary"), **given)
    assert not list(tmp_path.iterdir())


def test_a_number_that_is_called_like_a_parameter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="measures 'a', which is a name of a parameter"):
        sweep(lambda a: {"a": a}, {"a": [1.0]}, table=tmp_path / "t.csv")


def test_workers_are_other_processes(tmp_path: Path) -> None:
    rows = sweep(process, {"a": [1.0, 2.0, 3.0]}, table=tmp_path / "t.csv", workers=2)
    assert [row["square"] for row in rows] == [1.0, 4.0, 9.0]
    assert os.getpid() not in {row["process"] for row in rows}


def test_a_parquet_table_where_pyarrow_is_installed(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    sweep(product, {"a": [1.0, 5.0]}, table=tmp_path / "t.csv")
    assert parquet.read_table(tmp_path / "t.parquet").to_pydict()["product"] == [1.0, None]
