"""Recordings: what is written comes back, a killed writer loses nothing that it had finished, bad files are refused."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import annelid.core.recording
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.recording import Recorder, Recording
from annelid.core.recording.superblock import lookup3
from annelid.core.snapshot import Field, Lines, Mesh, Number, Plane, Snapshot, Spheres

TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def moment(index: int, *, size: int = 4) -> Snapshot:
    """A frame with every kind of part, different for each index."""
    rng = np.random.default_rng(index)
    surface = Mesh("body", rng.random((size, 3)), TRIANGLES, {"speed": Field(rng.random(size), "m/s", (0.0, 2.0))})
    material = Field(np.arange(3) % 2, labels=("steel", "nylon"))
    masses = Spheres("masses", rng.random((3, 3)), rng.random(3), {"material": material}, (0.1, 0.2, 0.3))
    grains = Spheres("grains", rng.random((2, 3)), 0.25)
    springs = Lines("springs", rng.random((3, 3)), np.array([[0, 1], [1, 2]]), {"strain": Field(rng.random(2))})
    ground = Plane("ground", (0.0, 0.0, 0.1), (0.0, 0.0, 1.0))
    numbers = {"energy": Number(index * 0.1, "J"), "height": Number(float(rng.random()), "m")}
    return Snapshot(0.5 * index, 10 * index, (surface, masses, grains, springs, ground), numbers)


def assert_same(found: Snapshot, expected: Snapshot) -> None:
    """Equal up to the rounding to float32."""
    assert (found.time, found.step, dict(found.numbers)) == (expected.time, expected.step, dict(expected.numbers))
    assert [type(p) for p in found.parts] == [type(p) for p in expected.parts]
    for a, b in zip(found.parts, expected.parts, strict=True):
        assert (a.name, a.color) == (b.name, b.color)
        if isinstance(b, Plane):
            assert a == b
        for name in ("vertices", "triangles", "centers", "radii", "points", "segments"):
            if hasattr(b, name):
                dtype = np.int32 if name in ("triangles", "segments") else np.float32
                np.testing.assert_array_equal(np.asarray(getattr(a, name), dtype), np.asarray(getattr(b, name), dtype))
        for name, field in getattr(b, "fields", {}).items():
            np.testing.assert_array_equal(a.fields[name].values, np.asarray(field.values, np.float32))
            assert a.fields[name].labels == field.labels
            assert (a.fields[name].unit, a.fields[name].limits) == (field.unit, field.limits)


def test_frames_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "recording.h5"
    with Recorder(path, scene="worm", parameters={"amplitude": np.float32(0.5), "mode": "crawl"}) as recorder:
        for i in range(5):
            recorder.write(moment(i))
        recorder.event(1.25, "spring broken", "number 7 at 12 % strain")
    with Recording(path) as recording:
        assert len(recording) == 5
        assert recording.complete
        assert_same(recording.frame(3), moment(3))
        assert_same(recording.frame(-1), moment(4))
        np.testing.assert_array_equal(recording.times, 0.5 * np.arange(5))
        np.testing.assert_allclose(recording.numbers()["energy"], 0.1 * np.arange(5))
        assert recording.units == {"energy": "J", "height": "m"}
        assert (recording.events[0].time, recording.events[0].name) == (1.25, "spring broken")
        assert (recording.header.scene, recording.header.parameters) == ("worm", {"amplitude": 0.5, "mode": "crawl"})
        assert recording.index_at(1.1) == 2
        with pytest.raises(InvalidValue, match="has 5 frames"):
            recording.frame(5)


def test_topology_is_stored_once_and_keeps_its_identity(tmp_path: Path) -> None:
    triangles = np.zeros((50_000, 3), np.int32)
    path = tmp_path / "r.h5"
    with Recorder(path) as recorder:
        for i in range(20):
            body = Mesh("body", np.full((3, 3), float(i)), triangles if i % 2 else triangles.copy())
            recorder.write(Snapshot(float(i), parts=(body,)))
    assert path.stat().st_size < 2 * triangles.nbytes
    recording = Recording(path)
    assert recording.frame(0).parts[0].triangles is recording.frame(1).parts[0].triangles


def test_parts_come_go_and_change_their_size(tmp_path: Path) -> None:
    one = Mesh("a", np.zeros((3, 3)), np.array([[0, 1, 2]]))
    other = Mesh("a", np.ones((4, 3)), TRIANGLES)
    extra = Lines("b", np.zeros((2, 3)), np.array([[0, 1]]))
    frames = [(one,), (one, extra), (other, extra), (other,), (), (one,), (extra, one)]
    moments = [Snapshot(float(i), parts=parts, numbers={f"n{i % 2}": Number(i)}) for i, parts in enumerate(frames)]
    with Recorder(tmp_path / "r.h5") as recorder:
        for snapshot in moments:
            recorder.write(snapshot)
    recording = Recording(tmp_path / "r.h5")
    for i, snapshot in enumerate(moments):
        assert_same(recording.frame(i), snapshot)
    np.testing.assert_array_equal(recording.numbers()["n1"], [np.nan, 1, np.nan, 3, np.nan, 5, np.nan])


def test_a_buffer_that_is_reused_is_stored_again(tmp_path: Path) -> None:
    vertices = np.zeros((3, 3), np.float32)
    with Recorder(tmp_path / "r.h5") as recorder:
        for i in range(3):
            vertices[:] = i
            recorder.write(Snapshot(float(i), parts=(Mesh("a", vertices, np.array([[0, 1, 2]])),)))
    recording = Recording(tmp_path / "r.h5")
    assert [float(recording.frame(i).parts[0].vertices[0, 0]) for i in range(3)] == [0.0, 1.0, 2.0]


def test_reading_while_it_is_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.h5")
    for i in range(40):
        recorder.write(moment(i))
        with Recording(tmp_path / "r.h5") as recording:
            assert len(recording) == i + 1
            assert not recording.complete
    recorder.close()


def test_misuse_is_refused(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.h5")
    recorder.write(moment(3))
    with pytest.raises(InvalidValue, match="cannot follow"):
        recorder.write(moment(2))
    with pytest.raises(InvalidValue, match="two parts"):
        recorder.write(Snapshot(9.0, parts=(Plane("p", (0, 0, 0), (0, 0, 1)), Plane("p", (0, 0, 0), (0, 0, 1)))))
    with pytest.raises(InvalidValue, match="must have the shape"):
        recorder.write(Snapshot(9.0, parts=(Spheres("s", np.zeros((4, 2)), 0.1),)))
    recorder.close()
    with pytest.raises(InvalidValue, match="is closed"):
        recorder.write(moment(4))
    assert len(Recording(tmp_path / "r.h5")) == 1


# ------------------------------------------------------------------------------------------------ killed writers

_WRITERS = """
import os, sys
sys.path[:0] = [{tests!r}]
from test_recording import moment
from annelid.core.recording import Recorder
for path in {paths!r}:
    writer = os.fork()
    if writer:
        os.waitpid(writer, 0)
        print("killed", flush=True)
        continue
    print(os.getpid(), flush=True)
    recorder, i = Recorder(path), 0
    while True:
        recorder.write(moment(i, size=4 + i % 3))
        i += 1
        if i % 4 == 0:
            recorder.event(0.5 * i, "fourth", str(i))
        print(i, flush=True)
"""


def test_a_killed_writer_loses_no_finished_frame(tmp_path: Path) -> None:
    """Six writers, each killed at another moment; they are forks of one process, which imports once for all."""
    paths = [tmp_path / f"{seed}.h5" for seed in range(6)]
    code = _WRITERS.format(tests=str(Path(__file__).parent), paths=[str(path) for path in paths])
    source = str(Path(annelid.core.recording.__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": source}
    writers = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert writers.stdout is not None
    for seed, path in enumerate(paths):
        writer, lines = int(writers.stdout.readline()), [writers.stdout.readline()]
        time.sleep(random.Random(seed).uniform(0.0, 0.3))
        os.kill(writer, signal.SIGKILL)
        lines += iter(writers.stdout.readline, b"killed\n")
        finished = int(lines[-1])
        with Recording(path) as recording:
            assert finished <= len(recording) <= finished + 1
            assert not recording.complete
            for i in range(len(recording)):
                assert_same(recording.frame(i), moment(i, size=4 + i % 3))
            assert len(recording.events) >= finished // 4 - 1
    assert writers.wait() == 0


def test_superblock_checksum_is_that_of_hdf5(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="v110"):
        pass
    block = (tmp_path / "a.h5").read_bytes()[:48]
    assert lookup3(block[:44]) == int.from_bytes(block[44:], "little")


# ------------------------------------------------------------------------------------------------ bad files


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "r.h5"
    with Recorder(path) as recorder:
        for i in range(3):
            recorder.write(moment(i))
    return path


def _foreign(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["format"] = np.bytes_("something else")


def _newer(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 99


def _headless(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        del file["frames"]


def _greedy(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["words"].resize((1 << 50,))
        file["frames"].resize((1 << 50,))
        file["numbers"].resize((1 << 50,))


def _flipped(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["words"][5] ^= 1
        file["words"][70] ^= 1
        file["words"][150] ^= 1


def _lying(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        row = file["frames"][1]
        row["time"] = 0.25
        file["frames"][1] = row


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.unlink(), "there is no recording"),
        (lambda path: path.write_bytes(b""), "not an HDF5 file"),
        (lambda path: path.write_bytes(b"solid cube\n" * 50), "not an HDF5 file"),
        (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "cut off"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), "cut off"),
        (_foreign, "format is 'something else'"),
        (_newer, "has recording version 99.*upgrade"),
        (_headless, "'frames' is missing"),
        (_flipped, "checksum"),
        (_lying, "sound"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, sound: Path, damage: Callable[[Path], None], sentence: str) -> None:
    path = tmp_path / "r.h5"
    shutil.copy(sound, path)
    damage(path)
    with pytest.raises(FileFormatError, match=sentence):
        [recording.frame(i) for recording in [Recording(path)] for i in range(len(recording))]


def test_claims_larger_than_the_file_are_not_believed(tmp_path: Path, sound: Path) -> None:
    path = tmp_path / "r.h5"
    shutil.copy(sound, path)
    _greedy(path)
    assert_same(Recording(path).frame(2), moment(2))


def test_a_killed_and_cut_off_file_is_refused_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "live.h5")
    for i in range(50):
        recorder.write(moment(i))
    data = (tmp_path / "live.h5").read_bytes()
    for part in (0.3, 0.6, 0.9):
        path = tmp_path / f"{part}.h5"
        path.write_bytes(data[: int(part * len(data))])
        try:
            with Recording(path) as recording:
                assert_same(recording.frame(-1), moment(len(recording) - 1))
        except FileFormatError as error:
            assert "damaged or cut off" in str(error)  # noqa: PT017
    recorder.close()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_never_goes_unnoticed(tmp_path: Path, sound: Path, data: st.DataObject) -> None:
    """A flipped bit is either refused or did not matter."""
    place = data.draw(st.integers(0, sound.stat().st_size - 1))
    damaged = bytearray(sound.read_bytes())
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / "r.h5"
    path.write_bytes(damaged)
    try:
        with Recording(path) as recording:
            assert len(recording) == 3
            for i in range(3):
                assert_same(recording.frame(i), moment(i))
    except FileFormatError:
        pass


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.text(max_size=8),
    points=st.lists(st.tuples(*[st.floats(width=32)] * 3), max_size=5),
    values=st.dictionaries(st.text(max_size=5), st.floats(), max_size=3),
)
def test_any_snapshot_comes_back(
    tmp_path: Path, name: str, points: list[tuple[float, float, float]], values: dict[str, float]
) -> None:
    centers = np.array(points, np.float32).reshape(-1, 3)
    with Recorder(tmp_path / "r.h5") as recorder:
        snapshot = Snapshot(0.0, 0, (Spheres(name, centers, 0.1),), {k: Number(v) for k, v in values.items()})
        recorder.write(snapshot)
    with Recording(tmp_path / "r.h5") as recording:
        found = recording.frame(0)
    np.testing.assert_array_equal(found.parts[0].centers, centers)
    assert found.parts[0].name == name
    assert list(found.numbers) == list(values)
    np.testing.assert_array_equal([n.value for n in found.numbers.values()], list(values.values()))
