"""Exports: what other programs read is what was recorded."""

from __future__ import annotations

import base64
import csv
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.recording import Recorder, Recording
from annelid.core.recording.reading import RecordingOpen
from annelid.core.snapshot import Field, Lines, Mesh, Number, Plane, Snapshot, Spheres
from annelid.view.files.export import ExportOptions, _moments, chosen_frame, export
from annelid.view.files.html import page
from annelid.view.files.page_data import chosen_frames, encoded, page_data

TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32)


def moment(index: int) -> Snapshot:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    corners[:, 0] += 0.1 * index
    body = Mesh(
        "body",
        corners,
        TRIANGLES,
        {"speed": Field(np.arange(4.0), "m/s"), "kind": Field([0, 1, 1, 0], labels=("a", "b"))},
    )
    grains = Spheres(
        "grains", np.array([[2.0, 0, 0], [3, 0, 0]]), np.array([0.1, 0.2]), {"speed": Field([5.0, np.nan])}
    )
    rope = Lines(
        "rope", np.array([[0.0, 0, 2], [1, 0, 2], [2, 0, 2]]), np.array([[0, 1], [1, 2]]), {"strain": Field([0.1, 0.2])}
    )
    ground = Plane("ground", (0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
    return Snapshot(
        0.1 * index, index, (body, grains, rope, ground), {"energy": Number(1.5 * index, "J"), "count": Number(3)}
    )


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with Recorder(tmp_path / "recording.rec", scene="test </script><b>") as recorder:
        for i in range(11):
            recorder.write(moment(i))
        recorder.event(0.5, "half", "way </script>")
    return tmp_path / "recording.rec"


def test_numbers_as_csv(recording: Path, tmp_path: Path) -> None:
    rows = list(csv.reader(export(recording, tmp_path / "numbers.csv").open()))
    assert rows[0] == ["time [s]", "energy [J]", "count"]
    assert len(rows) == 12
    assert [float(x) for x in rows[3]] == [0.2, 3.0, 3.0]


def test_frame_as_ply(recording: Path, tmp_path: Path) -> None:
    path = export(recording, tmp_path / "frame.ply", ExportOptions(frame=3))
    loaded = trimesh.load(path, process=False)
    np.testing.assert_array_equal(loaded.faces, TRIANGLES)
    np.testing.assert_allclose(loaded.vertices[:4], moment(3).parts[0].vertices, atol=1e-6)
    found = loaded.metadata["_ply_raw"]
    np.testing.assert_allclose(np.ravel(found["vertex"]["data"]["radius"]), [0, 0, 0, 0, 0.1, 0.2, 0, 0, 0])
    np.testing.assert_array_equal(np.ravel(found["vertex"]["data"]["speed"])[:5], [0, 1, 2, 3, 5])
    assert found["edge"]["length"] == 2


def read_vtu(path: Path) -> dict[str, np.ndarray]:
    kinds = {"Float32": "<f4", "Float64": "<f8", "Int32": "<i4", "Int64": "<i8", "UInt8": "u1"}
    arrays = {}
    for array in ElementTree.parse(path).iter("DataArray"):
        data = base64.b64decode(array.text or "")
        size = int(np.frombuffer(data[:8], "<u8")[0])
        assert size == len(data) - 8
        values = np.frombuffer(data[8:], kinds[array.attrib["type"]])
        width = int(array.attrib.get("NumberOfComponents", "1"))
        arrays[array.attrib["Name"]] = values.reshape(-1, width) if width > 1 else values
    return arrays


def test_frame_as_vtu(recording: Path, tmp_path: Path) -> None:
    found = read_vtu(export(recording, tmp_path / "frame.vtu", ExportOptions(at=0.31)))
    np.testing.assert_allclose(found["Points"][:4], moment(3).parts[0].vertices, atol=1e-6)
    np.testing.assert_array_equal(found["types"], [5] * 4 + [3] * 2 + [1] * 2)
    np.testing.assert_array_equal(found["offsets"], [3, 6, 9, 12, 14, 16, 17, 18])
    np.testing.assert_array_equal(found["connectivity"][:12].reshape(-1, 3), TRIANGLES)
    np.testing.assert_array_equal(found["connectivity"][12:], [6, 7, 7, 8, 4, 5])
    np.testing.assert_array_equal(found["part"], [0] * 4 + [2] * 2 + [1] * 2)
    np.testing.assert_allclose(found["strain of lines"][4:6], [0.1, 0.2])
    assert np.isnan(found["speed"][6:]).all()


def undone(blob: list) -> np.ndarray:
    """What the page's script does, in Python."""
    rows, columns, size, text = blob
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(size, rows * columns)
    steps = np.ascontiguousarray(planes.T).view(f"<u{size}").reshape(rows, columns)
    return np.cumsum(steps, axis=0, dtype=steps.dtype)


@given(hnp.arrays(st.sampled_from([np.uint8, np.uint16, np.uint32]), hnp.array_shapes(min_dims=2, max_dims=2)))
def test_page_arrays_come_back(array: np.ndarray) -> None:
    np.testing.assert_array_equal(undone(encoded(array)), array)


def test_page_data_is_what_was_recorded(recording: Path) -> None:
    data = page_data(Recording(recording), title="t", fps=30.0, color_field="speed")
    body = next(run for run in data["runs"] if run["name"] == "body")
    assert (body["first"], body["count"], body["size"]) == (0, 11, 4)
    span = np.subtract(body["high"], body["low"])
    positions = np.array(body["low"]) + undone(body["positions"]).reshape(11, 4, 3) / 65535.0 * span
    np.testing.assert_allclose(positions[7], moment(7).parts[0].vertices, atol=1e-4)
    np.testing.assert_array_equal(undone(body["index"]), TRIANGLES)
    np.testing.assert_array_equal(undone(body["fields"]["kind"])[0], [0, 1, 1, 0])
    grains = next(run for run in data["runs"] if run["name"] == "grains")
    np.testing.assert_array_equal(undone(grains["fields"]["speed"])[0], [254, 255])
    assert data["numbers"]["energy"]["values"][:3] == [0.0, 1.5, 3.0]
    assert data["events"] == [{"time": 0.5, "name": "half", "text": "way </script>"}]


def test_a_page_plays_at_most_the_frames_that_it_is_asked_for(recording: Path) -> None:
    np.testing.assert_array_equal(chosen_frames(Recording(recording), 5.0), [0, 2, 4, 6, 8, 10])
    np.testing.assert_array_equal(chosen_frames(Recording(recording), 1e300), np.arange(11))


def test_parts_that_change_make_new_runs(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.rec") as recorder:
        for i in range(4):
            recorder.write(moment(i))
        parts = (Mesh("body", np.zeros((3, 3)), np.array([[0, 1, 2]])),)
        recorder.write(Snapshot(0.5, parts=parts))
        recorder.write(Snapshot(0.6, parts=()))
        recorder.write(Snapshot(0.7, parts=parts))
    data = page_data(Recording(tmp_path / "r.rec"), title="", fps=30.0, color_field=None)
    spans = [(run["name"], run["first"], run["count"]) for run in data["runs"]]
    assert spans == [("body", 0, 4), ("grains", 0, 4), ("rope", 0, 4), ("body", 4, 1), ("body", 6, 1)]


def test_segments_are_exported_one_after_another(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.rec") as recorder:
        for segment in (range(4), range(1, 4)):
            for i in segment:
                recorder.write(moment(i))
            recorder.new_segment()
    data = page_data(Recording(tmp_path / "r.rec"), title="", fps=10.0, color_field=None)
    assert data["times"] == pytest.approx(0.1 * np.arange(7))
    rows = list(csv.reader(export(tmp_path / "r.rec", tmp_path / "numbers.csv").open()))
    assert rows[0] == ["time [s]", "segment", "energy [J]", "count"]
    assert [row[1] for row in rows[1:]] == ["0", "0", "0", "0", "1", "1", "1"]
    with Recording(tmp_path / "r.rec") as opened:
        steps = [snapshot.step for snapshot in _moments(opened, ExportOptions(fps=10.0), None)]
        assert steps == [0, 1, 2, 3, 1, 2, 3]
        assert chosen_frame(opened, ExportOptions(at=0.2)).step == 2
        assert chosen_frame(opened, ExportOptions(at=0.34)).step == 3  # within half of a frame


def test_a_recording_without_an_end_is_told(recording: Path, tmp_path: Path) -> None:
    whole = recording.read_bytes()
    recording.write_bytes(whole[: len(whole) // 2])
    with Recording(recording) as opened:
        count = len(opened)
    with pytest.warns(
        RecordingOpen, match=rf"recording\.rec was not closed, or is cut off.* {count} frames, until 0\.\d s"
    ):
        export(recording, tmp_path / "numbers.csv")


def test_html_is_one_closed_file(recording: Path, tmp_path: Path) -> None:
    text = export(recording, tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "<b>" not in text
    assert not re.search(r"https?:", text)
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match
    assert json.loads(match[1])["title"] == "test </script><b>"


def test_a_value_that_looks_like_a_mark_is_left_alone() -> None:
    assert "{{style}}" in page("{{style}} {{data}}", {"x": "{{script}}"})


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_videos_have_the_images_of_the_recording(recording: Path, tmp_path: Path, suffix: str) -> None:
    imageio = pytest.importorskip("imageio.v3")
    calls: list[tuple[float, float]] = []
    options = ExportOptions(fps=10.0, size=(96, 64), field="speed", device="cpu")
    path = export(recording, tmp_path / f"video{suffix}", options, told=lambda done, all_: calls.append((done, all_)))
    images = imageio.imread(path)
    assert images.shape[:3] == (11, 64, 96)
    assert len(calls) == 11
    assert np.abs(images[0].astype(int) - images[-1]).max() > 30


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda r, d: export(r, d / "x.obj"),
            InvalidValue,
            r"must end in one of \.html, \.mp4, \.gif, \.csv, \.vtu, \.ply",
        ),
        (lambda r, d: export(r, d / "x"), InvalidValue, "must end in one of"),
        (lambda r, d: export(r, d / "x.ply", ExportOptions(frame=99)), InvalidValue, "has 11 frames"),
        (lambda r, d: export(r, d / "x.ply", ExportOptions(frame=1, at=0.1)), InvalidValue, "not both"),
        (lambda r, d: export(r, d / "x.vtu", ExportOptions(at=99.0)), InvalidValue, "goes from 0 s to 1 s"),
        (lambda r, d: export(r, d / "x.vtu", ExportOptions(at=-0.06)), InvalidValue, "at -0.06 s nothing was recorded"),
        (lambda r, d: export(r, d / "x.html", ExportOptions(fps=0)), InvalidValue, "fps 0 must be positive"),
        (lambda r, d: export(r, d / "x.html", ExportOptions(field="sped")), UnknownName, "Did you mean 'speed'"),
    ],
)
def test_bad_requests_leave_nothing(
    recording: Path, tmp_path: Path, call: Callable[[Path, Path], Path], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        call(recording, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["recording.rec"]


def test_an_empty_recording_is_refused(tmp_path: Path) -> None:
    Recorder(tmp_path / "r.rec").close()
    with pytest.raises(InvalidValue, match="no frames"):
        export(tmp_path / "r.rec", tmp_path / "x.csv")
