"""Reading recordings: the file format's tables, the checks that an untrusted file must pass, and frames by number.

Writing lives in `recording`, which explains the format.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.recording.layout import WORD, Layout, Slot, assemble, parse
from annelid.core.recording.superblock import settled
from annelid.core.snapshot import Snapshot

FORMAT = "annelid recording"
VERSION = 1

FRAME = np.dtype(
    {
        "names": ["time", "step", "arrays", "numbers", "layout", "array_count", "number_count", "checksum"],
        "formats": ["<f8", "<i8", "<i8", "<i8", "<u4", "<u4", "<u4", "<u4"],
    }
)
ARRAY = np.dtype([("start", "<i8"), ("checksum", "<u4")])
LAYOUT = np.dtype([("start", "<i8"), ("length", "<u4"), ("checksum", "<u4")])
EVENT = np.dtype([("time", "<f8"), ("start", "<i8"), ("length", "<u4"), ("checksum", "<u4")])

TABLES = {
    "words": (WORD, 1 << 14),
    "frames": (FRAME, 1024),
    "arrays": (ARRAY, 4096),
    "numbers": (np.dtype("<f8"), 4096),
    "layouts": (LAYOUT, 256),
    "events": (EVENT, 256),
    "text": (np.dtype("u1"), 1 << 14),
    "closed": (np.dtype("<i8"), 4),
}
"""Data type and stride (rows by which it grows) of each dataset; that of `words` follows the first frame's size."""

_MAX_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Event:
    """Something that happened while recording, at a time [s]."""

    time: float
    name: str
    text: str


@dataclass(frozen=True)
class Header:
    """Who wrote a recording and of what: the annelid version, the scene and its parameters."""

    format: str
    version: int
    annelid: str
    scene: str
    parameters: dict[str, Any]


class Recording:
    """A recording read back; also one whose writer was killed or is still writing (as far as it had come at opening).

    Attributes:
        header: Versions, scene and parameters.
        times: Time of each frame [s], shape [frames].
        steps: Step number of each frame, shape [frames].
        events: Events in the order of writing.
        complete: Whether the writer closed the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _open(self.path)
        self._cache: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}
        self._rows: np.ndarray
        self._layouts: list[Layout]
        self._references: np.ndarray
        self._numbers: np.ndarray
        try:
            self.header = _read_header(self._file, self.path)
            self._load()
        except FileFormatError:
            self._file.close()
            raise
        except (OSError, KeyError, RuntimeError, ValueError, TypeError, MemoryError) as error:
            self._file.close()
            raise self._damaged(_first_line(error)) from error

    def __len__(self) -> int:
        return len(self.times)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def frame(self, index: int) -> Snapshot:
        """The snapshot of a frame, negative numbers from the end; unchanged arrays are the same objects as before."""
        count = len(self)
        if not -count <= index < count:
            raise InvalidValue(f"frame {index} does not exist: {self.path} has {count} frames.")
        row = self._rows[index]
        layout = self._layouts[int(row["layout"])]
        references = self._references[int(row["arrays"]) :][: len(layout.slots)]
        cached, self._cache = self._cache, {}
        for slot, (start, checksum) in zip(layout.slots, references.tolist(), strict=True):
            key = (start, slot.shape)
            self._cache[key] = cached[key] if key in cached else self._read(slot, start, checksum)
        arrays = [
            self._cache[start, slot.shape] for slot, (start, _) in zip(layout.slots, references.tolist(), strict=True)
        ]
        numbers = self._numbers[int(row["numbers"]) :][: len(layout.numbers)]
        return assemble(layout, arrays, time=float(row["time"]), step=int(row["step"]), numbers=numbers.tolist())

    def index_at(self, time: float) -> int:
        """Number of the frame nearest to a time [s]."""
        if not len(self):
            raise InvalidValue(f"{self.path} has no frames.")
        return int(np.argmin(np.abs(self.times - time)))

    def numbers(self) -> dict[str, np.ndarray]:
        """The named numbers over time, each of shape [frames]; NaN where a frame lacks one."""
        columns: dict[str, np.ndarray] = {}
        for which, layout in enumerate(self._layouts):
            frames = np.flatnonzero(self._rows["layout"] == which)
            for column, (name, _) in enumerate(layout.numbers):
                values = columns.setdefault(name, np.full(len(self), np.nan))
                values[frames] = self._numbers[self._rows["numbers"][frames] + column]
        return columns

    @property
    def units(self) -> dict[str, str]:
        """Unit of each named number."""
        return {name: unit for layout in self._layouts for name, unit in layout.numbers}

    def _load(self) -> None:
        self._word_count = self._checked_size("words")
        self._words = self._file["words"]
        self._references = self._table("arrays")
        self._numbers = self._table("numbers")
        text = self._table("text")
        closed, frames, layouts, events = self._table("closed").tolist()
        self.complete = bool(closed)
        counts = (frames, layouts, events) if closed else (None, None, None)
        rows = self._table("layouts")
        self._layouts = [
            parse(_slice(text, row)) for row in self._sound(rows, counts[1], partial(_text_is_sound, text))
        ]
        self._rows = self._sound(self._table("frames"), counts[0], self._frame_is_sound)
        rows = self._table("events")
        self.events = tuple(_event(text, row) for row in self._sound(rows, counts[2], partial(_text_is_sound, text)))
        self.times = self._rows["time"].copy()
        self.steps = self._rows["step"].copy()
        if np.any(np.diff(self.times) < 0):
            raise self._damaged("its frames are not in the order of time")
        if len(self):
            self.frame(-1)  # the end is what a cut-off file lacks

    def _checked_size(self, name: str) -> int:
        """Rows of a dataset that may be read: no more than the file can hold, whatever it claims."""
        dataset, dtype = self._file.get(name), TABLES[name][0]
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype != dtype or dataset.ndim != 1 or not dataset.chunks:
            raise self._damaged(f"its dataset {name!r} is missing or of another kind")
        if dataset.chunks[0] * dtype.itemsize > _MAX_CHUNK_BYTES or dataset.id.get_create_plist().get_nfilters():
            raise self._damaged(f"its dataset {name!r} is stored in another way")
        return int(min(dataset.shape[0], dataset.id.get_storage_size() // dtype.itemsize))

    def _table(self, name: str) -> np.ndarray:
        size = self._checked_size(name)
        return np.asarray(self._file[name][:size])

    def _sound(self, rows: np.ndarray, closed: int | None, is_sound: Callable[[np.void], bool]) -> np.ndarray:
        """The rows that were written completely; the writer may have died in the one after them, the rest is empty."""
        kind = {FRAME: "frames", LAYOUT: "layouts", EVENT: "events"}[rows.dtype]
        written = len(rows) if closed is None else closed
        count = next((i for i, row in enumerate(rows[:written]) if not is_sound(row)), min(len(rows), written))
        rest = rows[count + 1 :].tobytes()
        if (closed is not None and count != closed) or rest.count(0) != len(rest):
            raise self._damaged(f"only the first {count} of its {kind} are sound")
        return rows[:count]

    def _frame_is_sound(self, row: np.void) -> bool:
        if row["layout"] >= len(self._layouts) or row["arrays"] < 0 or row["numbers"] < 0:
            return False
        layout = self._layouts[int(row["layout"])]
        if (row["array_count"], row["number_count"]) != (len(layout.slots), len(layout.numbers)):
            return False
        references = self._references[int(row["arrays"]) :][: len(layout.slots)]
        numbers = self._numbers[int(row["numbers"]) :][: len(layout.numbers)]
        return bool(row["checksum"] == row_checksum(row, references, numbers))

    def _read(self, slot: Slot, start: int, checksum: int) -> np.ndarray:
        if not 0 <= start <= start + slot.words <= self._word_count:
            raise self._damaged(f"{slot.name} of {slot.part!r} lies outside of the file")
        try:
            words = self._words[start : start + slot.words]
        except (OSError, RuntimeError) as error:
            raise self._damaged(_first_line(error)) from error
        if zlib.crc32(words) != checksum:
            raise self._damaged(f"{slot.name} of {slot.part!r} does not match its checksum")
        return slot.decode(words)

    def _damaged(self, why: str) -> FileFormatError:
        return FileFormatError(f"the recording {self.path} is damaged or cut off: {why}.")


def row_checksum(row: np.ndarray | np.void, *tables: np.ndarray) -> int:
    """Checksum of a row without its last column, and of what it refers to; never that of an empty row."""
    checksum = zlib.crc32(row.tobytes()[:-4], 1)
    for table in tables:
        checksum = zlib.crc32(np.ascontiguousarray(table).tobytes(), checksum)
    return checksum


def _text_is_sound(text: np.ndarray, row: np.void) -> bool:
    start, length = int(row["start"]), int(row["length"])
    inside = 0 <= start <= start + length <= len(text)
    return inside and bool(row["checksum"] == row_checksum(row, text[start : start + length]))


def _slice(text: np.ndarray, row: np.void) -> str:
    start = int(row["start"])
    return str(text[start : start + int(row["length"])].tobytes(), "utf-8")


def _event(text: np.ndarray, row: np.void) -> Event:
    entry = json.loads(_slice(text, row))
    return Event(float(row["time"]), str(entry["name"]), str(entry["text"]))


def _open(path: Path) -> h5py.File:
    if not path.is_file():
        raise FileFormatError(f"there is no recording {path}.")
    if not h5py.is_hdf5(path):
        raise FileFormatError(
            f"{path} is not an Annelid recording: it is not an HDF5 file, or damaged at its beginning."
        )
    try:
        return h5py.File(settled(path), "r", libver="v110", locking="best-effort")
    except (OSError, RuntimeError, ValueError) as error:
        raise FileFormatError(f"the recording {path} is damaged or cut off: {_first_line(error)}.") from error


def _read_header(file: h5py.File, path: Path) -> Header:
    found = _fixed_text(file, "format")
    if found != FORMAT:
        raise FileFormatError(f"{path} is not an Annelid recording: its format is {found!r}, expected {FORMAT!r}.")
    number = int(file.attrs["version"])
    if number != VERSION:
        advice = "upgrade Annelid to read it" if number > VERSION else "record it again"
        raise FileFormatError(f"{path} has recording version {number}, this Annelid reads version {VERSION}; {advice}.")
    header = json.loads(_fixed_text(file, "header"))
    if not isinstance(header["parameters"], dict):
        raise ValueError("its parameters are not a JSON object")
    return Header(FORMAT, number, str(header["annelid"]), str(header["scene"]), header["parameters"])


def _fixed_text(file: h5py.File, name: str) -> str:
    """An attribute of fixed length, else ""."""
    if name not in file.attrs:
        return ""
    kind = file.attrs.get_id(name).get_type()
    if not isinstance(kind, h5py.h5t.TypeStringID) or kind.is_variable_str():
        return ""
    return bytes(file.attrs[name]).decode()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
