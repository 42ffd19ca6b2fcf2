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

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import annelid.core.recording
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.recording import Recorder, Recording
from annelid.core.recording.records import FRAME, HEADER, LAYOUT, MAGIC, encoded, records
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
    path = tmp_path / "new" / "recording.rec"
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
    path = tmp_path / "r.rec"
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
    with Recorder(tmp_path / "r.rec") as recorder:
        for snapshot in moments:
            recorder.write(snapshot)
    recording = Recording(tmp_path / "r.rec")
    for i, snapshot in enumerate(moments):
        assert_same(recording.frame(i), snapshot)
    np.testing.assert_array_equal(recording.numbers()["n1"], [np.nan, 1, np.nan, 3, np.nan, 5, np.nan])


def test_a_buffer_that_is_reused_is_stored_again(tmp_path: Path) -> None:
    vertices = np.zeros((3, 3), np.float32)
    with Recorder(tmp_path / "r.rec") as recorder:
        for i in range(3):
            vertices[:] = i
            recorder.write(Snapshot(float(i), parts=(Mesh("a", vertices, np.array([[0, 1, 2]])),)))
    recording = Recording(tmp_path / "r.rec")
    assert [float(recording.frame(i).parts[0].vertices[0, 0]) for i in range(3)] == [0.0, 1.0, 2.0]


def test_reading_while_it_is_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.rec")
    for i in range(40):
        recorder.write(moment(i))
        with Recording(tmp_path / "r.rec") as recording:
            assert len(recording) == i + 1
            assert not recording.complete
    recorder.close()


def test_misuse_is_refused(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.rec")
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
    assert len(Recording(tmp_path / "r.rec")) == 1


# ------------------------------------------------------------------------------------------------ killed writers

_WRITERS = """
import os, sys
sys.path[:0] = [{tests!r}]
from test_recording import moment
from annelid.core.recording import Recorder
def say(word):  # in one piece, whenever it is killed
    os.write(1, f"{{word}}\\n".encode())
for path in {paths!r}:
    writer = os.fork()
    if writer:
        os.waitpid(writer, 0)
        say("killed")
        continue
    say(os.getpid())
    recorder, i = Recorder(path), 0
    while True:
        recorder.write(moment(i, size=4 + i % 3))
        i += 1
        if i % 4 == 0:
            recorder.event(0.5 * i, "fourth", str(i))
        say(i)
"""


def test_a_killed_writer_loses_no_finished_frame(tmp_path: Path) -> None:
    """Six writers, each killed at another moment; they are forks of one process, which imports once for all."""
    paths = [tmp_path / f"{seed}.rec" for seed in range(6)]
    code = _WRITERS.format(tests=str(Path(__file__).parent), paths=[str(path) for path in paths])
    source = str(Path(annelid.core.recording.__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": source}
    writers = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert writers.stdout is not None
    for seed, path in enumerate(paths):
        writer, lines = int(writers.stdout.readline()), [writers.stdout.readline()]
        time.sleep(random.Random(seed).uniform(0.0, 0.1))
        os.kill(writer, signal.SIGKILL)
        while lines[-1] != b"killed\n":
            lines.append(writers.stdout.readline())
            assert lines[-1], "the writers have ended"
        finished = int(lines[-2])
        with Recording(path) as recording:
            assert finished <= len(recording) <= finished + 1
            assert not recording.complete
            for i in {*range(min(20, len(recording))), *range(max(0, len(recording) - 20), len(recording))}:
                assert_same(recording.frame(i), moment(i, size=4 + i % 3))
            assert len(recording.events) >= finished // 4 - 1
    assert writers.wait() == 0


# ------------------------------------------------------------------------------------------------ full disks

_FULL = """
import resource, sys
import numpy as np
from annelid.core.recording import Recorder
from annelid.core.snapshot import Mesh, Number, Snapshot
limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
still = np.zeros((40, 3), np.int32)
recorder, written = Recorder(sys.argv[1]), []
for i in range(60):
    room = 3000 + 400 * i if i % 3 else 10**6  # every now and then the disk has room again
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    parts = Mesh("body", np.full((40, 3), float(i)), still), Mesh(f"part {i // 9}", np.ones((40, 3)), still.copy())
    try:
        recorder.write(Snapshot(float(i), i, parts, {"n": Number(i)}))
        written.append(i)
    except OSError:
        pass
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
recorder.close()
print(*written)
"""


def test_what_a_full_disk_did_not_take_is_missing_and_nothing_else(tmp_path: Path) -> None:
    """A limit to the size of files stands for a disk that is full now and then."""
    path = tmp_path / "r.rec"
    source = str(Path(annelid.core.recording.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", _FULL, path], env={**os.environ, "PYTHONPATH": source}, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    written = [int(word) for word in done.stdout.split()]
    assert 20 < len(written) < 50
    with Recording(path) as recording:
        assert recording.complete
        assert recording.steps.tolist() == written
        for i in range(len(recording)):
            body, part = recording.frame(i).parts
            assert (body.vertices == written[i]).all()
            assert part.name == f"part {written[i] // 9}"


def test_a_second_recorder_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.rec"
    first = Recorder(path)
    first.write(moment(0))
    with pytest.raises(InvalidValue, match=r"another recorder writes .*r\.rec"):
        Recorder(path)
    first.write(moment(1))
    first.close()
    assert len(Recording(path)) == 2
    with Recorder(path) as second:
        second.write(moment(5))
    assert Recording(path).steps.tolist() == [50]
    with pytest.raises(InvalidValue, match="is not a file"):
        Recorder(tmp_path)


def test_who_reads_a_recording_that_is_replaced_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "r.rec"
    with Recorder(path) as recorder:
        recorder.write(moment(0))
        recorder.write(moment(1))
    with Recording(path) as old:
        Recorder(path).close()
        assert_same(old.frame(0), moment(0))
        assert len(Recording(path)) == 0


def test_segments(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.rec") as recorder:
        recorder.new_segment()  # nothing was before
        for segment in ((0, 1, 2, 3), (2,), (1, 2)):
            for i in segment:
                recorder.write(moment(i))
            recorder.new_segment()
    with Recording(tmp_path / "r.rec") as recording:
        assert recording.segments == (range(4), range(4, 5), range(5, 7))
        assert recording.times.tolist() == [0.0, 0.5, 1.0, 1.5, 1.0, 0.5, 1.0]
        assert recording.reel.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.0, 2.5]
        assert [recording.index_on_reel(t) for t in (-1.0, 0.6, 1.9, 2.0, 9.0)] == [0, 1, 3, 5, 6]
        assert recording.index_at(1.0) == 6
        assert_same(recording.frame(4), moment(2))


# ------------------------------------------------------------------------------------------------ bad files


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "r.rec"
    with Recorder(path) as recorder:
        for i in range(3):
            recorder.write(moment(i))
    return path


def _again(path: Path, change: Callable[[int, bytes], bytes | None]) -> None:
    """Write the records of a file again, some with another meta or not at all, all with checksums that are right."""
    whole = path.read_bytes()
    with path.open("rb") as file:
        found = list(records(file, len(whole)))
    out = MAGIC
    for record in found:
        meta = change(record.kind, record.meta)
        if meta is not None:
            out += encoded(record.kind, meta, record.end - record.start) + whole[record.start : record.end]
    path.write_bytes(out)


def _newer(path: Path) -> None:
    _again(path, lambda kind, meta: meta.replace(b'"version": 2', b'"version": 99') if kind == HEADER else meta)


def _without(kind: int) -> Callable[[Path], None]:
    return lambda path: _again(path, lambda found, meta: None if found == kind else meta)


def _greedy(path: Path) -> None:
    _again(path, lambda kind, meta: meta.replace(b"[4,2]", b"[9999999,2]") if kind == LAYOUT else meta)


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(moment(1).parts[0].vertices.astype("<f4").tobytes()) + 5] ^= 1
    path.write_bytes(data)


def _late(path: Path) -> None:
    """The second frame after the third."""
    late = [np.float64(9.0).tobytes()]
    _again(path, lambda kind, meta: late.pop() + meta[8:] if kind == FRAME and meta[8] == 10 else meta)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.unlink(), "there is no recording"),
        (lambda path: path.write_bytes(b""), "is empty or cut off"),
        (lambda path: path.write_bytes(b"solid cube\n" * 50), "does not begin like one"),
        (
            lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(90)),
            "is an HDF5 file, as checkpoints",
        ),
        (
            lambda path: np.savez(path.open("wb"), a=np.zeros(3)),
            "an archive of another program, or a damaged",
        ),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "end is not that of a recording"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), "cut off"),
        (_newer, "has recording version 99, this Annelid reads version 2"),
        (_without(HEADER), "out of order"),
        (_without(LAYOUT), "not of its layout"),
        (_without(FRAME), "frames or events are missing"),
        (_greedy, "lies outside of the file"),
        (_flipped, "checksum"),
        (_late, "not in the order of time"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, sound: Path, damage: Callable[[Path], None], sentence: str) -> None:
    path = tmp_path / "r.rec"
    shutil.copy(sound, path)
    damage(path)
    with pytest.raises(FileFormatError, match=sentence):
        [recording.frame(i) for recording in [Recording(path)] for i in range(len(recording))]


@pytest.mark.parametrize("closed", [False, True])
def test_a_file_that_was_cut_off_has_the_frames_before(tmp_path: Path, closed: bool) -> None:
    recorder = Recorder(tmp_path / "live.rec")
    for i in range(9):
        recorder.write(moment(i))
    if closed:
        recorder.close()
    data = (tmp_path / "live.rec").read_bytes()
    path, last = tmp_path / "cut.rec", 0
    for length in range(len(data) // 6, len(data), 23):
        path.write_bytes(data[:length])
        with Recording(path) as recording:
            assert not recording.complete
            assert last <= len(recording) <= last + 1
            last = len(recording)
            if last:
                assert_same(recording.frame(-1), moment(last - 1))
    assert last >= 8
    recorder.close()


def test_damage_never_goes_unnoticed(tmp_path: Path, sound: Path) -> None:
    """A flipped byte is refused, wherever it is."""
    path, whole = tmp_path / "r.rec", sound.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(FileFormatError):
            [recording.frame(i) for recording in [Recording(path)] for i in range(len(recording))]


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
    with Recorder(tmp_path / "r.rec") as recorder:
        snapshot = Snapshot(0.0, 0, (Spheres(name, centers, 0.1),), {k: Number(v) for k, v in values.items()})
        recorder.write(snapshot)
    with Recording(tmp_path / "r.rec") as recording:
        found = recording.frame(0)
    np.testing.assert_array_equal(found.parts[0].centers, centers)
    assert found.parts[0].name == name
    assert list(found.numbers) == list(values)
    np.testing.assert_array_equal([n.value for n in found.numbers.values()], list(values.values()))
