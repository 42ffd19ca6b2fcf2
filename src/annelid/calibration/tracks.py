"""Measured tracks: where markers were at moments, read from tables with units, gaps left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.described import Described
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import as_path, read_text, replaced
from annelid.core.options import is_among, require_words

LengthUnit = Literal["m", "cm", "mm"]
TimeUnit = Literal["s", "ms"]
LENGTHS: Mapping[str, float] = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
TIMES: Mapping[str, float] = {"s": 1.0, "ms": 1e-3}

_COLUMN = re.compile(r"\s*(?P<name>.*?)\s*(?:[\[(]\s*(?P<unit>[^\])]*?)\s*[\])])?\s*")
_MOST_MISSING = 0.5  # of a marker's moments
_LARGEST = 1 << 28  # bytes of a file


@dataclass(frozen=True, eq=False, repr=False)
class Tracks(Described):
    """Where markers were.

    Attributes:
        times: Moments [s], rising, shape [t].
        places: Places of the markers [m], shape [t, m, 3]; NaN where a marker was not seen.
        names: Names of the markers.
        source: Where they come from, in words.
    """

    times: np.ndarray
    places: np.ndarray
    names: tuple[str, ...]
    source: str = "tracks"

    def __post_init__(self) -> None:
        times, places = as_numbers("times of tracks", self.times), as_numbers("places of tracks", self.places)
        require_words("names of markers", self.names)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "names", tuple(self.names))
        if times.ndim != 1:
            raise InvalidValue(f"{self.source}: times must be a list of moments, not of shape {list(times.shape)}.")
        if places.shape != (len(times), len(self.names), 3):
            raise InvalidValue(
                f"{self.source}: places must have shape [{len(times)} moments, {len(self.names)} markers, 3], not "
                f"{list(places.shape)}."
            )
        self._require_moments()
        self._require_seen()

    def facts(self) -> Mapping[str, str]:
        """How many moments of how many markers."""
        missing = {"missing": f"{100 * (1 - self.seen.mean()):.1f} %"} if not self.seen.all() else {}
        span = f"{self.times[0]:g} to {self.times[-1]:g} s"
        return {"moments": str(len(self.times)), "time": span, "markers": ", ".join(self.names), **missing}

    @property
    def seen(self) -> np.ndarray:
        """Whether each marker was seen at each moment, shape [t, m]."""
        return np.asarray(np.isfinite(self.places).all(axis=2))

    def between(self, begin: float, end: float) -> Tracks:
        """The part of the tracks in a span of time [s]."""
        chosen = (self.times >= begin - 1e-9) & (self.times <= end + 1e-9)
        if not chosen.any():
            raise InvalidValue(
                f"{self.source} has no moments between {begin:g} and {end:g} s: it goes from {self.times[0]:g} to "
                f"{self.times[-1]:g} s."
            )
        return replace(self, times=self.times[chosen], places=self.places[chosen])

    def of(self, names: Sequence[str]) -> Tracks:
        """The tracks of some markers, in this order."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise InvalidValue(
                f"{self.source} has no marker {missing[0]!r}; it has {', '.join(self.names)}: name markers as there."
            )
        return replace(self, places=self.places[:, [self.names.index(name) for name in names]], names=tuple(names))

    def save(self, path: str | Path) -> Path:
        """Write a table that `read_tracks` reads, in metres and seconds."""
        header = ",".join(["t [s]", *(f"{name}_{axis} [m]" for name in self.names for axis in "xyz")])
        table = np.column_stack([self.times, self.places.reshape(len(self.times), -1)])
        with replaced(as_path(path)) as temporary:
            np.savetxt(temporary, table, delimiter=",", header=header, comments="", fmt="%.9g")
        return as_path(path)

    def _require_moments(self) -> None:
        if len(self.times) == 0:
            raise InvalidValue(f"{self.source} has no moments; give a table with rows.")
        wrong = np.flatnonzero(~(np.diff(self.times) > 0.0))
        if not np.isfinite(self.times).all() or len(wrong):
            at = int(wrong[0]) if len(wrong) else int(np.flatnonzero(~np.isfinite(self.times))[0])
            raise InvalidValue(
                f"the times of {self.source} do not rise after row {at + 1} ({self.times[at]:g} s); sort its rows, "
                "each moment once."
            )

    def _require_seen(self) -> None:
        missing = 1.0 - self.seen.mean(axis=0)
        worst = int(missing.argmax())
        if missing[worst] > _MOST_MISSING:
            raise InvalidValue(
                f"marker {self.names[worst]!r} of {self.source} is missing in {100 * missing[worst]:.0f} % of the "
                "moments: leave it out, or fill the gaps from the capture."
            )


def read_tracks(path: str | Path, *, unit: LengthUnit | None = None, time_unit: TimeUnit | None = None) -> Tracks:
    """Tracks from a table of comma-separated values.

    The first line names the columns: `t`, and `NAME_x`, `NAME_y`, `NAME_z` for each marker, each perhaps followed by
    its unit, as in `t [s], tip_x [mm]`. Empty cells and `nan` are gaps.

    Args:
        path: The file.
        unit: Unit of lengths: "m", "cm" or "mm"; None takes that of the first line, or metres.
        time_unit: Unit of times: "s" or "ms"; None takes that of the first line, or seconds.
    """
    path = as_path(path)
    header, rows = _rows(path)
    columns = [_COLUMN.fullmatch(name) for name in header]
    names = [found["name"] if found else "" for found in columns]
    units = [(found["unit"] or "") if found else "" for found in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"{path} names two columns {twice!r} in its first line: give each a name of its own.")
    if "t" not in names:
        raise FileFormatError(f"{path} has no column 't' in its first line; it needs t, NAME_x, NAME_y, NAME_z.")
    markers = [name.removesuffix("_x") for name in names if name.endswith("_x")]
    if not markers:
        raise FileFormatError(f"{path} names no markers in its first line; it needs columns NAME_x, NAME_y, NAME_z.")
    wanted = [f"{marker}_{axis}" for marker in markers for axis in "xyz"]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise FileFormatError(f"{path} has no column {absent[0]!r} in its first line, but {absent[0][:-1]}x is there.")
    scale = _scale(path, time_unit, units[names.index("t")], TIMES, "s", "time_unit")
    places = rows[:, [names.index(name) for name in wanted]]
    factors = [_scale(path, unit, units[names.index(name)], LENGTHS, "m", "unit") for name in wanted]
    return Tracks(
        scale * rows[:, names.index("t")], (places * factors).reshape(len(rows), -1, 3), tuple(markers), str(path)
    )


def _scale(path: Path, given: str | None, written: str, known: Mapping[str, float], plain: str, option: str) -> float:
    chosen = written or plain if given is None else given
    if not is_among(chosen, known):
        raise InvalidValue(f"unit {chosen!r} of {path} is none of {', '.join(known)}; give one of them as {option}.")
    if given and written and given != written:
        raise InvalidValue(f"{path} says {written!r} in its first line, and {option} says {given!r}: leave one out.")
    return known[chosen]


def _rows(path: Path) -> tuple[list[str], np.ndarray]:
    """The names in the first line, and the numbers below them; gaps are NaN."""
    try:
        text = read_text(path, most=_LARGEST, encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileFormatError(f"there is no {path}: give the path of a table of tracks.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read as a table of text: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} cannot be read as a table of text: {error}.") from error
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 2:
        raise FileFormatError(f"{path} has no numbers below a first line with names; give a table with rows.")
    header = [name.strip().strip('"') for name in lines[0][1].split(",")]
    if len(header) == 1 and ";" in header[0]:
        raise FileFormatError(
            f"{path} is separated by semicolons: save it with commas, and with points in its numbers."
        )
    return header, np.array([_row(path, number, line, len(header)) for number, line in lines[1:]])


def _row(path: Path, number: int, line: str, count: int) -> list[float]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != count:
        raise FileFormatError(f"line {number} of {path} has {len(cells)} values for {count} columns; is it cut off?")
    try:
        return [float(cell) if cell else np.nan for cell in cells]
    except ValueError as error:
        raise FileFormatError(f"line {number} of {path} is no row of numbers: {error}.") from None
