"""Runs for all combinations of some parameters, side by side in processes, in one table that can be gone on with.

def crawl(stiffness, friction):
simulation = ...
simulation.run(2.0)
return {"distance": ...}

rows = sweep(crawl, {"stiffness": [20.0, 40.0], "friction": [0.4, 0.8]}, table="crawl.csv", workers=2)
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.files import as_path, read_text, replaced, write_json
from annelid.core.identity import identity
from annelid.core.options import require_callable, require_kind, require_truth
from annelid.core.packages import installed
from annelid.core.workers import begin_worker

Row = dict[str, Any]
"""Parameters and numbers of a run by name; and under `failed` why it came to nothing, empty where it did not."""

FAILED = "failed"


def sweep(
    measure: Callable[..., Mapping[str, float]],
    vary: Mapping[str, Sequence[Any]],
    *,
    table: str | os.PathLike[str],
    workers: int = 1,
    resume: bool = False,
    told: Callable[[Row, int, int], None] | None = None,
) -> list[Row]:
    """Call a function with all combinations of some parameters, and write what it returns to a table.

    The table is rewritten after each run, whole or not at all. A run that fails with an error of Annelid has a row
    that says why, and the others go on.

    Args:
        measure: Takes the parameters by name and returns numbers by name. For several workers it is at the top of a
            module, as pickle asks for.
        vary: Values of each parameter.
        table: File of the table, .csv; where pyarrow is installed there is a .parquet beside it.
        workers: Number of processes that work side by side; 1 works in this one.
        resume: Go on with a table that is there, whose runs are not done again unless they failed; else such a table is
            refused.
        told: Called after each run with its row, how many are done, and how many there are.

    Returns:
        The rows, in the order of the combinations; after them those that were in the table before.
    """
    path, names = as_path(table), list(vary)
    require_callable("what is swept", measure)
    require_truth("resume", resume)
    _require_values(vary)
    if path.suffix != ".csv":
        raise InvalidValue(f"the table of a sweep is a file .csv, not {path.name!r}.")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidValue(f"workers must be a whole number of 1 or more, not {workers!r:.60}.")
    known = _known(path, identity(measure), names, resume=resume)
    wanted = [dict(zip(names, values, strict=True)) for values in product(*vary.values())]
    rows: dict[tuple[str, ...], Row | None] = {**dict.fromkeys(map(_key, wanted)), **known}
    missing = [given for given in wanted if rows[_key(given)] is None]
    for given, found in _measured(measure, missing, workers):
        row = rows[_key(given)] = {**given, **found}
        done = [each for each in rows.values() if each is not None]
        _write(path, done)
        if told is not None:
            told(row, len(done), len(rows))
    done = [each for each in rows.values() if each is not None]
    _write_parquet(path.with_suffix(".parquet"), done)
    return done


def _require_values(vary: Mapping[str, Sequence[Any]]) -> None:
    require_kind("what varies", vary, Mapping, "lists of values by name of the parameter")
    if not vary:
        raise InvalidValue('nothing varies: give values by name of the parameter, such as {"stiffness": [20.0, 40.0]}.')
    for name, values in vary.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise InvalidValue(f"the values of {name} must be a list of one or more, not {values!r:.60}.")
        if len({str(value) for value in values}) < len(values):
            raise InvalidValue(f"a value of {name} is there twice: {values!r:.60}.")


def _key(row: Row) -> tuple[str, ...]:
    """The parameters of a run as a table holds them."""
    return tuple(f"{name}={value}" for name, value in row.items())


def _known(path: Path, measured: str, names: list[str], *, resume: bool) -> dict[tuple[str, ...], Row]:
    """Runs of a table that is gone on with, by their parameters, those that failed aside."""
    notes = path.with_suffix(".json")
    if not path.exists():
        write_json(notes, {"identity": measured, "vary": names}, indent=None)
        return {}
    if not resume:
        raise AnnelidError(f"{path} holds a sweep already: go on with it by resume (--resume), or name another place.")
    try:
        before = json.loads(read_text(notes))
        rows = list(csv.DictReader(read_text(path).splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise FileFormatError(f"{path} is no table that a sweep can go on with: {error}.") from None
    if before != {"identity": measured, "vary": names}:
        raise FileFormatError(f"{path} is the table of another sweep, or of other options: name another place.")
    if any(None in row or None in row.values() or not {*names, FAILED} <= row.keys() for row in rows):
        raise FileFormatError(f"{path} is no table that a sweep can go on with: its rows do not fit its columns.")
    kept = [{name: _number(text) for name, text in row.items()} for row in rows if not row[FAILED]]
    texts = [{name: row[name] for name in names} for row in rows if not row[FAILED]]
    return {_key(text): row for text, row in zip(texts, kept, strict=True)}


def _number(text: str) -> Any:
    try:
        return float(text) if "." in text or "e" in text or "n" in text else int(text)
    except ValueError:
        return {"True": True, "False": False}.get(text, text)


def _measured(
    measure: Callable[..., Mapping[str, float]], wanted: list[Row], workers: int
) -> Iterator[tuple[Row, Row]]:
    """The parameters and the numbers of each run, as they are done."""
    if workers == 1 or len(wanted) < 2:
        yield from ((given, _called(measure, given)) for given in wanted)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy a CUDA context, which cannot work
    pool = futures.ProcessPoolExecutor(
        workers, mp_context=context, initializer=begin_worker, initargs=(list(sys.path),)
    )
    try:
        jobs: dict[futures.Future[Row], Row] = {pool.submit(_called, measure, given): given for given in wanted}
        waiting = set(jobs)
        while waiting:
            done, waiting = futures.wait(waiting, return_when=futures.FIRST_COMPLETED)
            yield from ((jobs[job], job.result()) for job in done)
    except futures.BrokenExecutor:
        raise AnnelidError(
            "a worker process died: try fewer workers (memory may be short), and go on with the table by resume."
        ) from None
    finally:
        for process in list((pool._processes or {}).values()):  # of an interruption, whose runs may take long
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _called(measure: Callable[..., Mapping[str, float]], given: Row) -> Row:
    try:
        found = measure(**given)
    except AnnelidError as error:
        return {FAILED: str(error)}
    require_kind("what a sweep measures", found, Mapping, "numbers by name")
    if taken := [name for name in found if name in given or name == FAILED]:
        raise InvalidValue(f"a sweep measures {taken[0]!r}, which is a name of a parameter already: give it another.")
    return {**found, FAILED: ""}


def _columns(rows: list[Row]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in row if name != FAILED)
    return [*names, FAILED]


def _write(path: Path, rows: list[Row]) -> None:
    with replaced(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=_columns(rows), restval="")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(path: Path, rows: list[Row]) -> None:
    """The same table in columns of numbers, where pyarrow is installed."""
    if not installed("pyarrow"):
        return
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    with replaced(path) as temporary:
        columns = {name: [row.get(name) for row in rows] for name in _columns(rows)}
        parquet.write_table(arrow.table(columns), temporary)
