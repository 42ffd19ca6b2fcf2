"""Writing recordings: snapshots over time in one file, which `Recording` reads back.

The file survives a killed writer and a full disk: every frame is one record, written after all others (`records`), and
what the recorder remembers of the file follows the write. Arrays that did not change are stored once. Nothing is
compressed: it would save a third of the size of moving geometry, and writing would take several times as long.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.file_locks import is_there, try_lock
from annelid.core.files import make_folder_of
from annelid.core.interrupts import held_back
from annelid.core.locks import RankedLock
from annelid.core.recording.file_kinds import annelid_version
from annelid.core.recording.layout import WORD, Slot, describe, parse
from annelid.core.recording.reading import ENDING, MOMENT, REFERENCE, Event, Recording
from annelid.core.recording.records import END, EVENT, FRAME, HEADER, LAYOUT, MAGIC, VERSION, data_place, encoded
from annelid.core.snapshot import Array, Snapshot, host_array

__all__ = ["Event", "Recorder", "Recording"]

_TRIES = 100
_Key = tuple[str, str]


class Recorder:
    """Writes snapshots to a new recording; an older file of that name is replaced.

    Numbers are stored in float64, everything else in float32. A frame survives a kill of the process as soon as `write`
    returns; one that could not be written, because the disk is full, is missing, and those before and after it are not.
    Calls from several threads are taken one after another, and Ctrl-C comes after them, so that what is remembered of
    the file is what is in it.

    Args:
        path: File to write; missing folders are made. One that another recorder writes is refused.
        scene: Name of the scene, kept in the header.
        parameters: Parameters of the scene, kept in the header as JSON.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, scene: str = "", parameters: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        header = _header(scene, parameters or {})
        self._lock = RankedLock("recorder")
        self._closed = False
        self._layouts: dict[str, tuple[int, tuple[Slot, ...]]] = {}
        self._stored: dict[_Key, _Stored] = {}
        self._frames = self._events = self._segment = 0
        self._last_time, self._last_step, self._jumped = -np.inf, -1, False
        self._end = 0
        self._file = _opened(self.path)
        self._append(MAGIC, encoded(HEADER, header))

    @property
    def frame_count(self) -> int:
        """Frames written so far."""
        return self._frames

    def write(self, snapshot: Snapshot) -> None:
        """Append a frame; times may not decrease within a segment."""
        with held_back(firmly=True), self._lock:
            self._check_open()
            if not self._jumped and not snapshot.time >= self._last_time:
                raise InvalidValue(
                    f"a frame at {snapshot.time} s cannot follow one at {self._last_time} s in {self.path}: begin a "
                    "new segment."
                )
            text, arrays = describe(_distinct(snapshot))
            known = self._layouts.get(text)
            number, slots = known or (len(self._layouts), parse(text).slots)
            changed = self._changed(slots, arrays)
            announced = b"" if known else encoded(LAYOUT, text.encode())
            at = data_place(self._end + len(announced), _meta_bytes(slots, snapshot))
            fresh = _placed(slots, arrays, changed, at)
            segment = self._segment + int(self._jumped and self._frames > 0)
            meta = self._frame_meta(snapshot, segment, number, slots, fresh)
            data = [words.data for words in changed.values()]
            self._append(announced, encoded(FRAME, meta, sum(map(len, data)) * WORD.itemsize), *data)
            self._layouts[text] = number, slots
            self._stored.update(fresh)
            self._segment, self._last_time, self._jumped = segment, snapshot.time, False
            self._last_step = snapshot.step
            self._frames += 1

    def has(self, step: int) -> bool:
        """Whether the last frame is that of a step, and the simulation has not jumped since."""
        return not self._jumped and self._last_step == step

    def new_segment(self) -> None:
        """Let the next frame begin a new segment, at any time: the simulation has jumped."""
        with held_back(firmly=True), self._lock:
            self._jumped = True

    def event(self, time: float, name: str, text: str = "") -> None:
        """Append an event: something that happened at a time [s]."""
        with held_back(firmly=True), self._lock:
            self._check_open()
            meta = json.dumps({"time": float(time), "name": name, "text": text}).encode()
            self._append(encoded(EVENT, meta))
            self._events += 1

    @property
    def closed(self) -> bool:
        """Whether the recording is finished."""
        return self._closed

    def close(self) -> None:
        """Finish the recording; further frames are refused."""
        with held_back(firmly=True), self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._append(encoded(END, ENDING.pack(len(self._layouts), self._frames, self._events)))
            finally:
                self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidValue(f"the recording {self.path} is closed; start a new Recorder to record more.")

    def _append(self, *parts: Any) -> None:
        """Write all parts at the end, or take back what was written of them."""
        try:
            self._file.seek(self._end)
            for part in parts:
                view = memoryview(part).cast("B") if len(part) else b""
                while len(view):
                    view = view[self._file.write(view) :]
        except BaseException:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._end += sum(memoryview(part).nbytes for part in parts)

    def _changed(self, slots: tuple[Slot, ...], arrays: list[Array]) -> dict[_Key, np.ndarray]:
        """The words of the arrays that differ from what is stored last under their name."""
        changed = {}
        for slot, array in zip(slots, arrays, strict=True):
            key = (slot.part, slot.name)
            stored = self._stored.get(key)
            if stored and slot.topology and stored.source is array and stored.slot == slot:
                continue
            words = slot.encode(host_array(array))
            if len(words) != slot.words:
                raise InvalidValue(f"{slot.name} of {slot.part!r} must have the shape {slot.shape}.")
            if stored is None or stored.slot != slot or not np.array_equal(stored.words, words):
                changed[key] = words
        return changed

    def _frame_meta(
        self, snapshot: Snapshot, segment: int, layout: int, slots: tuple[Slot, ...], fresh: Mapping[_Key, _Stored]
    ) -> bytes:
        stored = [fresh.get(key) or self._stored[key] for key in ((slot.part, slot.name) for slot in slots)]
        references = np.array([one.reference for one in stored], REFERENCE)
        numbers = np.array([number.value for number in snapshot.numbers.values()], "<f8")
        begin = MOMENT.pack(snapshot.time, snapshot.step, segment, layout, len(references), len(numbers))
        return begin + references.tobytes() + numbers.tobytes()


class _Stored:
    """An array as it lies in the file, and the object that it came from."""

    def __init__(self, slot: Slot, source: Array, words: np.ndarray, start: int) -> None:
        self.slot = slot
        self.source = source if slot.topology else None
        self.words = words
        self.reference = (start, zlib.crc32(words.data))


def _meta_bytes(slots: tuple[Slot, ...], snapshot: Snapshot) -> int:
    return MOMENT.size + len(slots) * REFERENCE.itemsize + 8 * len(snapshot.numbers)


def _placed(
    slots: tuple[Slot, ...], arrays: list[Array], changed: Mapping[_Key, np.ndarray], at: int
) -> dict[_Key, _Stored]:
    """The arrays that will be stored, one after another, from a place in the file on."""
    sources = {(slot.part, slot.name): (slot, array) for slot, array in zip(slots, arrays, strict=True)}
    placed = {}
    for key, words in changed.items():
        slot, array = sources[key]
        placed[key] = _Stored(slot, array, words.copy(), at)
        at += words.nbytes
    return placed


def _distinct(snapshot: Snapshot) -> Snapshot:
    names = [part.name for part in snapshot.parts]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidValue(f"two parts of the snapshot are named {twice!r}; give each its own name.")
    return snapshot


def _header(scene: str, parameters: Mapping[str, Any]) -> bytes:
    header = {"version": VERSION, "annelid": annelid_version(), "scene": scene, "parameters": dict(parameters)}
    text = json.dumps(header, default=lambda value: value.item() if isinstance(value, np.generic) else str(value))
    return text.encode()


def _opened(path: Path) -> BinaryIO:
    """An empty file of that name that nobody else writes, locked and without a buffer.

    Who reads the older file goes on reading it, where the system lets go of files that are open.
    """
    make_folder_of(path)
    if path.exists() and not path.is_file():
        raise InvalidValue(f"{path} is not a file; choose another name for the recording.")
    for _ in range(_TRIES):
        path.touch()
        try:
            file = path.open("rb+", buffering=0)
        except FileNotFoundError:
            continue  # another recorder has just taken it away
        if not try_lock(file.fileno()):
            file.close()
            raise InvalidValue(f"another recorder writes {path}: close that one first, or choose another name.")
        if is_there(file.fileno(), path):
            if file.seek(0, os.SEEK_END) == 0:
                return file
            with suppress(OSError):
                path.unlink()
            if path.exists():
                file.truncate(0)
        file.close()
    raise InvalidValue(f"{path} changes hands all the time: choose another name for the recording.")
