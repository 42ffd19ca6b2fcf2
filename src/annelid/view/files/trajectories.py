"""A recording as arrays over time, for learning: `.npz` of NumPy, and Zarr, which is read piece by piece.

    times, reel, steps, segments      of each frame
    numbers/NAME                      the named numbers, shape [frames]
    PART/positions                    shape [frames, n, 3], float32
    PART/triangles, segments, radii   what joins the points, or how large they are
    PART/fields/NAME                  shape [frames, n]
    PART/frames                       which of all frames these are, shape [frames]

A part that changes its topology goes on as `PART.1`, `PART.2` and so on, each with frames of its own.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.files import make_folder_of, new_folder_beside, replaced
from annelid.core.recording import Recording
from annelid.core.snapshot import Mesh, Spheres
from annelid.view.files.parts import finite_parts, radii_of
from annelid.view.files.reel import Reel
from annelid.view.files.runs import Run, Runs

_CHUNK = 4 << 20  # bytes of a piece of a Zarr array, about


def trajectories(recording: Recording, *, every: int = 1) -> dict[str, np.ndarray]:
    """A recording as arrays by name; see the top of this file.

    Args:
        recording: The recording.
        every: Keep one frame of so many.
    """
    return _arrays(Reel(recording, every=every))


def write_npz(reel: Reel, path: Path) -> None:
    """Write the arrays as `.npz`, compressed."""
    arrays = _arrays(reel)
    with replaced(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def write_zarr(reel: Reel, path: Path) -> None:
    """Write the arrays as a folder of Zarr, format 2, which all versions of Zarr read; an older one is replaced."""
    arrays = _arrays(reel)
    units = {name: unit for name, unit in reel.recording.units.items() if unit}
    about = {"scene": reel.recording.header.scene, "annelid": reel.recording.header.annelid, "units": units}
    with _replaced_folder(path) as folder:
        for group in _groups(arrays):
            _write_json(folder / group / ".zgroup", {"zarr_format": 2})
        _write_json(folder / ".zattrs", about)
        for name, values in arrays.items():
            _write_array(folder / name, values)


def _arrays(reel: Reel) -> dict[str, np.ndarray]:
    reel.require_memory("trajectories")
    recording, picks = reel.recording, reel.picks
    segments = np.concatenate([np.full(len(one), i) for i, one in enumerate(recording.segments)])
    arrays = {
        "times": recording.times[picks],
        "reel": reel.times,
        "steps": np.asarray(recording.steps)[picks],
        "segments": segments[picks],
    }
    for name, values in recording.numbers().items():
        arrays[f"numbers/{_word(name)}"] = values[picks]
    runs = Runs()
    for number, (_, snapshot) in enumerate(reel.frames()):
        for part in finite_parts(snapshot):
            runs.add(part, number)
    seen: dict[str, int] = {}
    for run in runs.all:
        name = _word(run.part.name)
        again = seen[name] = seen.get(name, -1) + 1
        arrays |= {f"{name}.{again}/{key}" if again else f"{name}/{key}": v for key, v in _run_arrays(run).items()}
    return arrays


def _run_arrays(run: Run) -> dict[str, np.ndarray]:
    arrays = {"frames": run.first + np.arange(len(run.positions)), "positions": np.stack(run.positions)}
    if isinstance(run.part, Spheres):
        arrays["radii"] = np.array(radii_of(run.part))
    else:
        arrays["triangles" if isinstance(run.part, Mesh) else "segments"] = run.index
    return arrays | {f"fields/{_word(name)}": np.stack(values) for name, values in run.fields.items()}


def _word(name: str) -> str:
    """A name that can be one of a file in an archive or a folder: no separators, and not hidden."""
    clean = "".join("_" if c in '/\\:*?"<>|' or ord(c) < 32 else c for c in name).lstrip(".")
    return clean or "unnamed"


# ------------------------------------------------------------------------------------------------ Zarr, format 2


def _groups(arrays: Mapping[str, np.ndarray]) -> set[str]:
    return {str(parent) for name in arrays for parent in Path(name).parents}


def _write_array(folder: Path, values: np.ndarray) -> None:
    """One array: what it is, and its pieces along time, each deflated."""
    data = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    rows = len(data)
    piece = max(1, min(rows, _CHUNK * rows // max(data.nbytes, 1)))
    chunks = [piece, *data.shape[1:]]
    about = {
        "zarr_format": 2, "shape": list(data.shape), "chunks": [max(1, c) for c in chunks], "dtype": data.dtype.str,
        "compressor": {"id": "zlib", "level": 1}, "fill_value": 0, "order": "C", "filters": None,
    }  # fmt: skip
    _write_json(folder / ".zarray", about)
    if not data.size:
        return
    for number, start in enumerate(range(0, rows, piece)):
        part = data[start : start + piece]
        if len(part) < piece:  # pieces are all of one size; what is beyond the end is not read
            part = np.concatenate([part, np.zeros((piece - len(part), *data.shape[1:]), data.dtype)])
        name = ".".join([str(number), *["0"] * (data.ndim - 1)])
        (folder / name).write_bytes(zlib.compress(part.tobytes(), 1))


def _write_json(path: Path, values: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=1), encoding="utf-8")


_TRIES = 100


@contextmanager
def _replaced_folder(path: Path) -> Iterator[Path]:
    """A new folder that takes the place of an older one of Zarr if the block succeeds; anything else is kept."""
    if path.exists() and not (path / ".zgroup").is_file():
        raise InvalidValue(f"{path} is there and is no folder of Zarr: choose another name.")
    make_folder_of(path)
    with new_folder_beside(path) as folder:
        temporary = folder / "new"
        temporary.mkdir()
        yield temporary
        for number in range(_TRIES):
            with suppress(FileNotFoundError):
                path.replace(folder / f"old{number}")
            with suppress(OSError):  # somebody else has just put theirs there
                temporary.replace(path)
                return
        raise InvalidValue(f"{path} changes hands all the time: choose another name.")
