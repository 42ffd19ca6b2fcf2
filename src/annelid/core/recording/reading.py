"""Reading recordings: the checks that an untrusted file must pass, and frames by number.

The file itself is explained in `records`, how a frame becomes arrays in `layout`.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import warnings
import zlib
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.files import as_path, open_regular
from annelid.core.recording.file_kinds import what_it_is
from annelid.core.recording.layout import WORD, Layout, Slot, assemble, parse
from annelid.core.recording.records import END, EVENT, FRAME, HEADER, LAYOUT, MAGIC, VERSION, Record, records
from annelid.core.snapshot import Snapshot

MOMENT = struct.Struct("<dqIIII")
"""Begin of a frame's meta: time [s], step, segment, layout, number of arrays, number of numbers."""

REFERENCE = np.dtype([("start", "<i8"), ("checksum", "<u4")])
"""Where an array of a frame lies in the file, and its checksum; the numbers follow in float64."""

ENDING = struct.Struct("<QQQ")
"""Meta of the last record: layouts, frames and events before it."""

_ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Event:
    """Something that happened while recording, at a time [s]."""

    time: float
    name: str
    text: str


@dataclass(frozen=True)
class Header:
    """Who wrote a recording and of what: the annelid version, the scene and its parameters."""

    version: int
    annelid: str
    scene: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The meta of a frame."""

    time: float
    step: int
    segment: int
    layout: int
    references: np.ndarray
    numbers: np.ndarray


class RecordingOpen(UserWarning):
    """A recording has no end: its writer was killed or is still writing, or the file was cut off."""


class Recording:
    """A recording read back; also one whose writer was killed or is still writing (as far as it had come at opening).

    A simulation that goes back in time, because a checkpoint was loaded or it was reset, begins a new *segment*. Time
    never decreases within a segment.

    Attributes:
        header: Versions, scene and parameters.
        times: Simulated time of each frame [s], shape [frames].
        steps: Step number of each frame, shape [frames].
        segments: Frames of each segment.
        reel: Time at which each frame comes when all segments are played one after another [s], shape [frames]; that
            of the simulation where there is one segment.
        events: Events in the order of writing.
        complete: Whether the writer closed the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        self._lock = threading.Lock()
        self._cache: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}
        self._layouts: list[Layout] = []
        self._frames: list[_Frame] = []
        self.events: tuple[Event, ...] = ()
        self.complete = False
        _require_recording(self.path)
        self._file = open_regular(self.path)
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            self._load()
        except (OSError, KeyError, ValueError, TypeError, struct.error, RecursionError) as error:
            self._file.close()
            if isinstance(error, _Refused):
                raise
            raise self._damaged((str(error).splitlines() or [type(error).__name__])[0].rstrip(".")) from error

    def __len__(self) -> int:
        return len(self._frames)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def warn_if_open(self) -> None:
        """Warn of a file that its writer has not closed, and say how much of it there is."""
        if not self.complete:
            until = f", until {self.times[-1]:g} s" if len(self) else ""
            warnings.warn(
                f"the recording {self.path} was not closed, or is cut off: it is read as far as it goes, "
                f"{len(self)} frames{until}.",
                RecordingOpen,
                stacklevel=3,
            )

    def frame(self, index: int) -> Snapshot:
        """The snapshot of a frame, negative numbers from the end; unchanged arrays are the same objects as before."""
        count = len(self)
        if not isinstance(index, Integral):
            raise InvalidValue(f"a frame is named by its number, from 0 to {count - 1}, not by {index!r:.60}.")
        if not -count <= index < count:
            raise InvalidValue(f"frame {index} does not exist: {self.path} has {count} frames.")
        frame = self._frames[index]
        layout = self._layouts[frame.layout]
        with self._lock:
            known, self._cache = self._cache, {}
            arrays = []
            for slot, (start, checksum) in zip(layout.slots, frame.references.tolist(), strict=True):
                key = (start, slot.shape)
                self._cache[key] = known[key] if key in known else self._read(slot, start, checksum)
                arrays.append(self._cache[key])
        return assemble(layout, arrays, time=frame.time, step=frame.step, numbers=frame.numbers.tolist())

    def index_at(self, time: float) -> int:
        """Number of the frame nearest to a simulated time [s]; that of the last segment where several are."""
        if not len(self):
            raise InvalidValue(f"{self.path} has no frames.")
        if not isinstance(time, Real):
            raise InvalidValue(f"a frame is found by a time [s], not by {time!r:.60}.")
        return len(self) - 1 - int(np.argmin(np.abs(self.times - time)[::-1]))

    def index_on_reel(self, time: float) -> int:
        """Number of the frame that is shown at a time of the reel [s]."""
        return max(0, int(np.searchsorted(self.reel, time + 1e-9, side="right")) - 1)

    def numbers(self) -> dict[str, np.ndarray]:
        """The named numbers over time, each of shape [frames]; NaN where a frame lacks one."""
        columns: dict[str, np.ndarray] = {}
        for which, layout in enumerate(self._layouts):
            frames = [i for i, frame in enumerate(self._frames) if frame.layout == which]
            for column, (name, _) in enumerate(layout.numbers):
                values = columns.setdefault(name, np.full(len(self), np.nan))
                values[frames] = [self._frames[i].numbers[column] for i in frames]
        return columns

    @property
    def units(self) -> dict[str, str]:
        """Unit of each named number."""
        return {name: unit for layout in self._layouts for name, unit in layout.numbers}

    def _load(self) -> None:
        header: Header | None = None
        events: list[Event] = []
        end = len(MAGIC)
        for record in records(self._file, self._size):
            if self.complete or (header is None) != (record.kind == HEADER):
                raise ValueError("its records are out of order")
            end = record.end
            if record.kind == HEADER:
                header = self._header(record)
            elif record.kind == LAYOUT:
                self._layouts.append(parse(record.meta.decode()))
            elif record.kind == FRAME:
                self._frames.append(self._frame(record))
            elif record.kind == EVENT:
                events.append(_event(record))
            elif record.kind == END:
                self.complete = ENDING.unpack(record.meta) == (len(self._layouts), len(self._frames), len(events))
                if not self.complete:
                    raise ValueError("frames or events are missing")
            else:
                raise ValueError(f"a record of the kind {record.kind} is unknown")
        if header is None or (self.complete and end != self._size):
            raise ValueError("its beginning or its end is not that of a recording")
        self.header, self.events = header, tuple(events)
        self._place()
        if len(self):
            self.frame(-1)  # the last that was written

    def _header(self, record: Record) -> Header:
        values = json.loads(record.meta)
        number = values["version"]
        if number != VERSION:
            raise _Refused(f"{self.path} has recording version {number}, this Annelid reads version {VERSION}.")
        if not isinstance(values["parameters"], dict):
            raise ValueError("its parameters are not a JSON object")
        return Header(VERSION, str(values["annelid"]), str(values["scene"]), values["parameters"])

    def _frame(self, record: Record) -> _Frame:
        time, step, segment, layout, array_count, number_count = MOMENT.unpack_from(record.meta)
        known = self._layouts[layout] if layout < len(self._layouts) else None
        if known is None or (array_count, number_count) != (len(known.slots), len(known.numbers)):
            raise ValueError(f"frame {len(self._frames)} is not of its layout")
        middle = MOMENT.size + array_count * REFERENCE.itemsize
        if len(record.meta) != middle + 8 * number_count:
            raise ValueError(f"frame {len(self._frames)} is not of its size")
        references = np.frombuffer(record.meta[MOMENT.size : middle], REFERENCE)
        for slot, (start, _) in zip(known.slots, references.tolist(), strict=True):
            if not 0 <= start <= start + slot.words * WORD.itemsize <= record.end:
                raise ValueError(f"{slot.name} of {slot.part!r} lies outside of the file")
        self._require_in_order(time, segment)
        return _Frame(time, step, segment, layout, references, np.frombuffer(record.meta[middle:], "<f8"))

    def _require_in_order(self, time: float, segment: int) -> None:
        before = self._frames[-1] if self._frames else None
        if not np.isfinite(time) or (segment != 0 if before is None else segment - before.segment not in (0, 1)):
            raise ValueError("its frames are not in the order of time")
        if before is not None and segment == before.segment and time < before.time:
            raise ValueError("its frames are not in the order of time")

    def _place(self) -> None:
        """Times, steps and segments of all frames, and the reel."""
        self.times = np.array([frame.time for frame in self._frames], float)
        self.steps = np.array([frame.step for frame in self._frames], np.int64)
        number = np.array([frame.segment for frame in self._frames], np.int64)
        edges = [0, *np.flatnonzero(np.diff(number)) + 1, len(self)] if len(self) else []
        self.segments = tuple(range(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True))
        self.reel = self.times.copy()
        for one, after in zip(self.segments[:-1], self.segments[1:], strict=True):
            pause = self.reel[one[-1]] - self.reel[one[-2]] if len(one) > 1 else 0.0
            begin = self.reel[one[-1]] + pause
            self.reel[after.start : after.stop] += begin - self.times[after.start]

    def _read(self, slot: Slot, start: int, checksum: int) -> np.ndarray:
        try:
            self._file.seek(start)
            words = np.frombuffer(self._file.read(slot.words * WORD.itemsize), np.uint8)
        except (OSError, ValueError) as error:
            raise self._damaged(str(error)) from error
        if len(words) != slot.words * WORD.itemsize or zlib.crc32(words.data) != checksum:
            raise self._damaged(f"{slot.name} of {slot.part!r} does not match its checksum")
        return slot.decode(words.view(WORD))

    def _damaged(self, why: str) -> _Refused:
        return _Refused(f"the recording {self.path} is damaged or cut off: {why}.")


class _Refused(FileFormatError):
    """A file that cannot be read; the sentence says all."""


def _require_recording(path: Path) -> None:
    """Refuse what is no recording, and say what it is where that can be told."""
    if not path.is_file():
        raise FileFormatError(f"there is no recording {path}.")
    with open_regular(path) as file:
        begin = file.read(len(MAGIC))
    if begin == MAGIC:
        return
    what = what_it_is(path)
    if what is not None:
        reason = f"it is {what}"
    elif begin.startswith(_ZIP):
        reason = "it is an archive of another program, or a damaged checkpoint"
    else:
        reason = "it is empty or cut off" if MAGIC.startswith(begin) else "it does not begin like one"
    raise FileFormatError(f"{path} is not an Annelid recording: {reason}.")


def _event(record: Record) -> Event:
    values = json.loads(record.meta)
    return Event(float(values["time"]), str(values["name"]), str(values["text"]))
