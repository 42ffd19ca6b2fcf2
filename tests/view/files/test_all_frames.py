"""Exports of all frames: USD, glTF, PVD, NumPy, Zarr and Rerun, read back by code of others or by the standard."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh

from annelid.core.errors import InvalidValue
from annelid.core.recording import Recorder, Recording
from annelid.core.snapshot import Field, Lines, Mesh, Number, Plane, Snapshot, Spheres
from annelid.view.colors import decode
from annelid.view.files.export import ExportOptions, export
from annelid.view.files.trajectories import trajectories

FRAMES = 6
STEP = 0.02
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32)
WALL = np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 1]])


def body_at(i: int) -> np.ndarray:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    return (corners + np.array([0.1 * i, 0.0, 0.01 * i * i])).astype(np.float32)


def grains_at(i: int) -> np.ndarray:
    return np.array([[2.0, 0, 0.5 - 0.03 * i], [3.0, 0.01 * i, 0]], np.float32)


def rope_at(i: int) -> np.ndarray:
    return np.array([[0.0, 0, 2], [1, 0, 2], [2, 0.1 * i, 2]], np.float32)


def moment(i: int) -> Snapshot:
    """A body, grains and a rope that move, a wall that does not, and a chip that is there from the fourth frame on."""
    parts = [
        Mesh("my body", body_at(i), TRIANGLES, {"speed of it": Field(np.arange(4.0) + i, "m/s")}),
        Spheres("grains", grains_at(i), np.array([0.1, 0.2]), {"speed of it": Field([5.0, np.nan])}),
        Lines("rope", rope_at(i), np.array([[0, 1], [1, 2]]), {"strain": Field([0.1 * i, 0.2])}),
        Mesh("wall", WALL, np.array([[0, 1, 2]])),
        Plane("ground", (0.0, 0.0, -1.0), (0.0, 0.0, 1.0)),
    ]
    if i >= 3:
        parts.append(Mesh("chip", body_at(i)[: i - 1], TRIANGLES[:1] % 2))
    return Snapshot(STEP * i, i, tuple(parts), {"energy": Number(1.5 * i, "J")})


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "recording.rec"
    with Recorder(path, scene="test") as recorder:
        for i in range(FRAMES):
            recorder.write(moment(i))
    return path


# --- arrays ---


def test_trajectories_as_npz(recording: Path, tmp_path: Path) -> None:
    with np.load(export(recording, tmp_path / "run.npz"), allow_pickle=False) as found:
        np.testing.assert_allclose(found["times"], STEP * np.arange(FRAMES), atol=1e-12)
        np.testing.assert_array_equal(found["my body/positions"], [body_at(i) for i in range(FRAMES)])
        np.testing.assert_array_equal(found["my body/triangles"], TRIANGLES)
        np.testing.assert_array_equal(found["grains/radii"], np.float32([0.1, 0.2]))
        np.testing.assert_array_equal(found["rope/fields/strain"][:, 0], np.float32(0.1 * np.arange(FRAMES)))
        np.testing.assert_array_equal(found["numbers/energy"], 1.5 * np.arange(FRAMES))
        pieces = [(found[f"chip{k}/frames"].tolist(), found[f"chip{k}/positions"].shape) for k in ("", ".1", ".2")]
        assert pieces == [([3], (1, 2, 3)), ([4], (1, 3, 3)), ([5], (1, 4, 3))]


def test_trajectories_skip_frames(recording: Path) -> None:
    with Recording(recording) as opened:
        found = trajectories(opened, every=2)
        alone = trajectories(opened, every=10**20)
    assert found["steps"].tolist() == [0, 2, 4]
    assert alone["steps"].tolist() == [0]
    np.testing.assert_array_equal(found["grains/positions"], [grains_at(i) for i in (0, 2, 4)])


def read_zarr(folder: Path) -> np.ndarray:
    """An array of Zarr, format 2, as its specification says."""
    about = json.loads((folder / ".zarray").read_text())
    rows, chunks = about["shape"][0], about["chunks"]
    names = [".".join([str(i), *["0"] * (len(chunks) - 1)]) for i in range(-(-rows // chunks[0]))]
    pieces = [np.frombuffer(zlib.decompress((folder / n).read_bytes()), about["dtype"]).reshape(chunks) for n in names]
    return np.concatenate(pieces)[:rows]


def test_trajectories_as_zarr(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annelid.view.files.trajectories._CHUNK", 200)  # several pieces, the last one not full
    folder = export(recording, tmp_path / "run.zarr")
    assert len(list((folder / "my body" / "positions").glob("[0-9]*"))) == 2
    with Recording(recording) as opened:
        for name, values in trajectories(opened).items():
            np.testing.assert_array_equal(read_zarr(folder / name), values, err_msg=name)
    export(recording, folder, ExportOptions(every=2))  # takes the place of the older one
    assert read_zarr(folder / "times").shape == (3,)
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(InvalidValue, match="no folder of Zarr"):
        export(recording, tmp_path / "mine.zarr")


def test_zarr_reads_what_is_written(recording: Path, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(export(recording, tmp_path / "run.zarr"), mode="r")
    np.testing.assert_array_equal(group["rope/positions"][:], [rope_at(i) for i in range(FRAMES)])
    assert group["chip.1/frames"][:].tolist() == [4]
    assert group.attrs["units"] == {"energy": "J"}


# --- ParaView ---


def test_frames_as_pvd(recording: Path, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    path = export(recording, tmp_path / "run.pvd")
    sets = list(ElementTree.parse(path).iter("DataSet"))
    times = [float(one.attrib["timestep"]) for one in sets]
    np.testing.assert_allclose(times, STEP * np.arange(FRAMES), atol=1e-9)
    for i in (0, FRAMES - 1):
        found = meshio.read(path.parent / sets[i].attrib["file"])
        expected = [body_at(i), grains_at(i), rope_at(i), WALL]
        np.testing.assert_allclose(found.points[:12], np.concatenate(expected), atol=1e-6)
    export(recording, path, ExportOptions(every=3))
    assert len(list((tmp_path / "run.frames").iterdir())) == 2


# --- glTF ---


def read_glb(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The JSON and the arrays of a GLB file, as the specification of glTF 2.0 says."""
    data = path.read_bytes()
    magic, version, total = struct.unpack_from("<4sII", data)
    assert (magic, version, total) == (b"glTF", 2, len(data))
    length, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    told = json.loads(data[20 : 20 + length])
    size, kind = struct.unpack_from("<I4s", data, 20 + length)
    assert (kind, size) == (b"BIN\0", told["buffers"][0]["byteLength"])
    block = data[28 + length :]
    arrays = []
    for accessor in told["accessors"]:
        view = told["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        values = np.frombuffer(
            block, {5126: "<f4", 5125: "<u4"}[accessor["componentType"]], view["byteLength"] // 4, view["byteOffset"]
        )
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        arrays.append(values.reshape(-1, width) if width > 1 else values)
        assert len(arrays[-1]) == accessor["count"]
        if "min" in accessor:
            np.testing.assert_array_equal(values.reshape(-1, width).min(axis=0), accessor["min"])
    return told, arrays


def played(told: dict[str, Any], arrays: list[np.ndarray], node: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times and values of what moves a node."""
    animation = told["animations"][0]
    found = {}
    for channel in animation["channels"]:
        if channel["target"]["node"] == node:
            sampler = animation["samplers"][channel["sampler"]]
            found[channel["target"]["path"]] = arrays[sampler["input"]], arrays[sampler["output"]]
    return found


def test_frames_as_glb(recording: Path, tmp_path: Path) -> None:
    path = export(recording, tmp_path / "run.glb", ExportOptions(field="speed of it"))
    told, arrays = read_glb(path)
    nodes = {node.get("name"): (number, node) for number, node in enumerate(told["nodes"])}
    for name, at in (("my body", body_at), ("rope", lambda i: rope_at(i)[[0, 1, 1, 2]])):
        number, node = nodes[name]
        primitive = told["meshes"][node["mesh"]]["primitives"][0]
        times, weights = played(told, arrays, number)["weights"]
        np.testing.assert_allclose(times, STEP * np.arange(FRAMES), atol=1e-6)
        base = arrays[primitive["attributes"]["POSITION"]].astype(float)
        moves = np.stack([arrays[target["POSITION"]] for target in primitive["targets"]])
        for i, mix in enumerate(weights.reshape(FRAMES, -1)):
            np.testing.assert_allclose(base + np.tensordot(mix, moves, 1), at(i), atol=1e-6)
    assert "targets" not in told["meshes"][nodes["wall"][1]["mesh"]]["primitives"][0]
    for ball, number in enumerate(nodes["grains"][1]["children"]):
        times, ways = played(told, arrays, number)["translation"]
        np.testing.assert_allclose(ways, [grains_at(i)[ball] for i in range(FRAMES)], atol=1e-6)
        assert told["nodes"][number]["scale"] == pytest.approx([0.1 * (ball + 1)] * 3)
    chips = [number for number, node in enumerate(told["nodes"]) if node.get("name") == "chip"]
    sizes = [played(told, arrays, number)["scale"][1][:, 0].tolist() for number in chips]
    assert sizes == [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]]


def test_the_first_frame_of_a_glb_stands_upright_elsewhere(recording: Path, tmp_path: Path) -> None:
    scene = trimesh.load_scene(export(recording, tmp_path / "run.glb"))
    frame, name = scene.graph["my body"]
    found = trimesh.transform_points(scene.geometry[name].vertices, frame)
    x, y, z = body_at(0).T  # glTF has y upwards
    order = np.lexsort(np.round(found, 5).T)
    expected = np.stack([x, z, -y], axis=1)
    np.testing.assert_allclose(found[order], expected[np.lexsort(np.round(expected, 5).T)], atol=1e-6)


def test_many_balls_are_points_of_one_mesh(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annelid.view.files.glb._MOST_BALLS", 1)
    told, arrays = read_glb(export(recording, tmp_path / "run.glb"))
    primitive = next(m for m in told["meshes"] if m.get("name") == "grains")["primitives"][0]
    assert primitive["mode"] == 0
    base, last = arrays[primitive["attributes"]["POSITION"]], arrays[primitive["targets"][-1]["POSITION"]]
    np.testing.assert_allclose(base + last, grains_at(FRAMES - 1), atol=1e-6)


# --- USD and Rerun ---


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_frames_as_usd(recording: Path, tmp_path: Path, suffix: str) -> None:
    usd = pytest.importorskip("pxr.Usd")
    geom = pytest.importorskip("pxr.UsdGeom")
    path = export(recording, tmp_path / f"run{suffix}", ExportOptions(field="speed of it"))
    assert path.read_bytes().startswith(b"#usda" if suffix == ".usda" else b"PXR-USDC")
    stage = usd.Stage.Open(str(path))
    assert (geom.GetStageUpAxis(stage), geom.GetStageMetersPerUnit(stage)) == ("Z", 1.0)
    rate = stage.GetTimeCodesPerSecond()
    assert (rate, stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (50.0, 0.0, FRAMES - 1)
    body, grains, rope, wall, chip = (
        stage.GetPrimAtPath(f"/world/{name}") for name in ("my_body", "grains", "rope", "wall", "chip")
    )
    points = body.GetAttribute("points")
    np.testing.assert_allclose(np.array(points.GetTimeSamples()) / rate, STEP * np.arange(FRAMES), atol=1e-9)
    balls = geom.PointInstancer(grains)
    for i in range(FRAMES):
        np.testing.assert_allclose(points.Get(i), body_at(i), atol=1e-6)
        np.testing.assert_allclose(balls.GetPositionsAttr().Get(i), grains_at(i), atol=1e-6)
        np.testing.assert_allclose(balls.GetScalesAttr().Get(i)[1], [0.2] * 3, atol=1e-7)
        np.testing.assert_allclose(geom.BasisCurves(rope).GetPointsAttr().Get(i), rope_at(i)[[0, 1, 1, 2]], atol=1e-6)
        shown = geom.Imageable(chip).ComputeVisibility(i) == "inherited"
        assert shown == (i >= 3)
        if shown:
            assert len(geom.Mesh(chip).GetPointsAttr().Get(i)) == i - 1
    np.testing.assert_array_equal(np.reshape(geom.Mesh(body).GetFaceVertexIndicesAttr().Get(0), (-1, 3)), TRIANGLES)
    assert len(wall.GetAttribute("points").GetTimeSamples()) == 1
    speed = geom.PrimvarsAPI(body).GetPrimvar("speed_of_it")
    assert (speed.GetInterpolation(), list(speed.Get(2))) == ("vertex", [2.0, 3.0, 4.0, 5.0])
    colors = np.array(geom.PrimvarsAPI(body).GetPrimvar("displayColor").Get(FRAMES - 1))
    with Recording(recording) as opened:
        from annelid.view.files.reel import Reel

        reel = Reel(opened, field="speed of it")
        np.testing.assert_allclose(colors, decode(reel.colors(opened.frame(-1).parts[0])), atol=1e-6)
    camera = geom.Camera(stage.GetPrimAtPath("/world/camera")).GetCamera(0)
    assert camera.verticalAperture == pytest.approx(0.24)  # tenths of a metre: 24 mm
    corner = camera.frustum.ComputeViewMatrix() * camera.frustum.ComputeProjectionMatrix()
    for point in (*body_at(0), *grains_at(5)):
        assert np.abs(corner.Transform(tuple(float(x) for x in point))).max() < 1.0


def test_parts_that_stop_are_held_until_they_move_again(tmp_path: Path) -> None:
    usd = pytest.importorskip("pxr.Usd")
    places = [0.0, 0.0, 0.0, 1.0, 1.0]
    with Recorder(tmp_path / "r.rec") as recorder:
        for i, x in enumerate(places):
            recorder.write(Snapshot(0.1 * i, parts=(Mesh("wall", WALL + np.array([x, 0, 0]), np.array([[0, 1, 2]])),)))
    stage = usd.Stage.Open(str(export(tmp_path / "r.rec", tmp_path / "r.usdc")))
    points = stage.GetPrimAtPath("/world/wall").GetAttribute("points")
    assert points.GetTimeSamples() == [0.0, 2.0, 3.0]
    assert [points.Get(i)[0][0] for i in range(5)] == places


def test_frames_as_rrd(recording: Path, tmp_path: Path) -> None:
    chunks = pytest.importorskip("rerun.chunk")
    path = export(recording, tmp_path / "run.rrd")
    found: dict[str, dict[float, np.ndarray]] = {}
    columns = {
        "/world/my\\ body": "Mesh3D:vertex_positions",
        "/world/grains": "Points3D:positions",
        "/world/wall": "Mesh3D:vertex_positions",
        "/numbers/energy": "Scalars:scalars",
    }
    for chunk in chunks.RrdReader(path).stream().to_chunks():
        if chunk.entity_path in columns:
            table = chunk.to_record_batch()
            times = table.column("time").cast("int64").to_pylist()
            values = table.column(columns[chunk.entity_path]).to_pylist()
            found.setdefault(chunk.entity_path, {}).update(zip((1e-9 * t for t in times), values, strict=True))
    body, grains, wall, energy = (dict(sorted(found[path].items())) for path in columns)
    for one, at in ((body, body_at), (grains, grains_at), (energy, lambda i: [1.5 * i])):
        np.testing.assert_allclose(list(one), STEP * np.arange(FRAMES), atol=1e-9)
        for i, values in enumerate(one.values()):
            np.testing.assert_allclose(values, at(i), atol=1e-6)
    assert len(wall) == 1
