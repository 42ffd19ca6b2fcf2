"""Recordings: snapshots over time in one HDF5 file, written by `Recorder` and read back by `Recording`.

The file survives a killed writer: it is written in HDF5's single-writer mode (SWMR), tables grow in large strides so
that the file's own structure rarely changes, a frame's data is flushed before the row that announces it, and every row
and array carries a checksum. Arrays that did not change are stored once. Nothing is compressed: gzip would save a third
of the size of moving geometry, and writing would take several times as long.

Datasets: `words` (all arrays, four bytes a number), `arrays` (where each array of each frame lies), `numbers`, `frames`
(one row a frame), `text` with `layouts` and `events` (JSON), `closed` (counts, once the writer has finished). How a
snapshot becomes arrays is in `layout`, reading in `reading`.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.files import replaced
from annelid.core.locks import RankedLock
from annelid.core.recording.layout import WORD, Slot, describe, parse
from annelid.core.recording.reading import (
    ARRAY,
    EVENT,
    FORMAT,
    FRAME,
    LAYOUT,
    TABLES,
    VERSION,
    Event,
    Recording,
    row_checksum,
)
from annelid.core.snapshot import Array, Snapshot, host_array

__all__ = ["Event", "Recorder", "Recording"]

_FRAMES_PER_STRIDE = 16
_MIN_STRIDE, _MAX_STRIDE = 1 << 14, 1 << 20  # words


class Recorder:
    """Writes snapshots to a new recording; an older file of that name is replaced.

    Numbers are stored in float64, everything else in float32. A frame survives a kill of the process as soon as `write`
    returns. Calls from several threads are taken one after another.

    Args:
        path: File to write; missing folders are made.
        scene: Name of the scene, kept in the header.
        parameters: Parameters of the scene, kept in the header as JSON.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, scene: str = "", parameters: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        self._header = _header(scene, parameters or {})
        self._lock = RankedLock("recorder")
        self._file: h5py.File | None = None
        self._closed = False
        self._tables: dict[str, h5py.Dataset] = {}
        self._strides: dict[str, int] = {}
        self._used = dict.fromkeys(TABLES, 0)
        self._layouts: dict[str, tuple[int, tuple[Slot, ...]]] = {}
        self._stored: dict[tuple[str, str], _Stored] = {}
        self._last_time = -np.inf

    @property
    def frame_count(self) -> int:
        """Frames written so far."""
        return self._used["frames"]

    def write(self, snapshot: Snapshot) -> None:
        """Append a frame; times may not decrease."""
        with self._lock:
            self._check_open()
            if not snapshot.time >= self._last_time:
                raise InvalidValue(
                    f"a frame at {snapshot.time} s cannot follow one at {self._last_time} s in {self.path}."
                )
            text, arrays = describe(_distinct(snapshot))
            slots = self._layouts[text][1] if text in self._layouts else parse(text).slots
            changed = self._changed(slots, arrays)
            self._opened(sum(slot.words for slot in slots if not slot.topology))
            layout = self._layout(text, slots)
            self._store(slots, arrays, changed)
            self._append_frame(snapshot, layout, slots)
            self._last_time = snapshot.time

    def event(self, time: float, name: str, text: str = "") -> None:
        """Append an event: something that happened at a time [s]."""
        with self._lock:
            self._check_open()
            self._opened(0)
            row = np.zeros(1, EVENT)
            row["time"] = time
            self._append_text("events", row, json.dumps({"name": name, "text": text}))
            self._flush("events")

    @property
    def closed(self) -> bool:
        """Whether the recording is finished."""
        return self._closed

    def close(self) -> None:
        """Finish the recording; further frames are refused."""
        with self._lock:
            if self._closed:
                return
            file = self._opened(0)
            self._closed = True
            file["closed"][:] = [1, self._used["frames"], self._used["layouts"], self._used["events"]]
            file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidValue(f"the recording {self.path} is closed; start a new Recorder to record more.")

    def _opened(self, words: int) -> h5py.File:
        """The file, made when the size of the first frame is known, because that sets the stride of growth."""
        if self._file is None:
            stride = min(max(_FRAMES_PER_STRIDE * words, _MIN_STRIDE), _MAX_STRIDE)
            self._file = _create(self.path, self._header, stride)
            self._tables = {name: self._file[name] for name in TABLES}
            self._strides = {name: table.chunks[0] for name, table in self._tables.items()}
        return self._file

    def _append(self, table: str, rows: np.ndarray) -> None:
        start, stride = self._used[table], self._strides[table]
        end = start + len(rows)
        strides = -(-end // stride)
        if strides > -(-start // stride):
            self._tables[table].resize((strides * stride,))
        if len(rows):
            self._tables[table][start:end] = rows
        self._used[table] = end

    def _changed(self, slots: tuple[Slot, ...], arrays: list[Array]) -> dict[tuple[str, str], np.ndarray]:
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

    def _store(self, slots: tuple[Slot, ...], arrays: list[Array], changed: dict[tuple[str, str], np.ndarray]) -> None:
        sources = {(slot.part, slot.name): (slot, array) for slot, array in zip(slots, arrays, strict=True)}
        at = self._used["words"]
        for key, words in changed.items():
            slot, array = sources[key]
            self._stored[key] = _Stored(slot, array, words.copy(), at, zlib.crc32(words.tobytes()))
            at += len(words)
        self._append("words", np.concatenate([np.empty(0, WORD), *changed.values()]))

    def _layout(self, text: str, slots: tuple[Slot, ...]) -> int:
        if text not in self._layouts:
            self._append_text("layouts", np.zeros(1, LAYOUT), text)
            self._layouts[text] = len(self._layouts), slots
        return self._layouts[text][0]

    def _append_text(self, table: str, row: np.ndarray, text: str) -> None:
        data = np.frombuffer(text.encode(), np.uint8)
        row["start"], row["length"] = self._used["text"], len(data)
        row["checksum"] = row_checksum(row, data)
        self._append("text", data)
        self._flush("text")
        self._append(table, row)

    def _append_frame(self, snapshot: Snapshot, layout: int, slots: tuple[Slot, ...]) -> None:
        references = np.array([self._stored[slot.part, slot.name].reference for slot in slots], ARRAY)
        numbers = np.array([number.value for number in snapshot.numbers.values()], "<f8")
        row = np.zeros(1, FRAME)
        row["time"], row["step"], row["layout"] = snapshot.time, snapshot.step, layout
        row["arrays"], row["numbers"] = self._used["arrays"], self._used["numbers"]
        row["array_count"], row["number_count"] = len(references), len(numbers)
        row["checksum"] = row_checksum(row, references, numbers)
        self._append("arrays", references)
        self._append("numbers", numbers)
        self._flush()  # all of the frame is in the file before the row that says so
        self._append("frames", row)
        self._flush("frames")

    def _flush(self, table: str | None = None) -> None:
        target: Any = self._tables[table] if table else self._file
        target.flush()


class _Stored:
    """An array as it lies in the file, and the object that it came from."""

    def __init__(self, slot: Slot, source: Array, words: np.ndarray, start: int, checksum: int) -> None:
        self.slot = slot
        self.source = source if slot.topology else None
        self.words = words
        self.reference = (start, checksum)


def _distinct(snapshot: Snapshot) -> Snapshot:
    names = [part.name for part in snapshot.parts]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidValue(f"two parts of the snapshot are named {twice!r}; give each its own name.")
    return snapshot


def _header(scene: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    try:
        annelid_version = version("annelid")
    except PackageNotFoundError:
        annelid_version = "unknown"
    header = {"annelid": annelid_version, "scene": scene, "parameters": dict(parameters)}
    text = json.dumps(header, default=lambda value: value.item() if isinstance(value, np.generic) else str(value))
    # Texts of fixed length: HDF5 keeps those of variable length where no checksum guards them.
    return {"format": np.bytes_(FORMAT), "version": VERSION, "header": np.bytes_(text)}


def _create(path: Path, header: Mapping[str, Any], stride: int) -> h5py.File:
    """A new recording without frames, put in place in one piece, then opened for a single writer and many readers."""
    with replaced(path) as temporary, h5py.File(temporary, "w", libver="v110") as file:
        file.attrs.update(header)
        for name, (dtype, rows) in TABLES.items():
            chunk = (stride if name == "words" else rows,)
            file.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=chunk)
        file["closed"].resize((4,))
        file["closed"][:] = 0
    return _open_single_writer(path)


def _open_single_writer(path: Path) -> h5py.File:
    """Open in SWMR mode at once: a kill between opening and a later switch would leave a file that cannot be opened."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_file_locking(True, True)  # lock, but do without on file systems that cannot
    access.set_cache(0, 1, 0, 0.0)  # rows go to the file as they are; a chunk cache would write whole strides each time
    return h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDWR | h5py.h5f.ACC_SWMR_WRITE, access))
