"""The stage follows snapshots: refits, precisions, many worlds, changed topology, bad input."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidMesh, InvalidValue, UnknownName
from annelid.core.snapshot import Field, Lines, Mesh, Plane, Snapshot, Spheres
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.stage import Stage

from ..conftest import box_mesh, random_cameras

SIZE = (64, 48)
Scene = Callable[..., Snapshot]


def depth_of(stage: Stage, cameras: list[Camera]) -> np.ndarray:
    return Film(cameras, size=SIZE, device=stage.device).cast_depth(stage).numpy()


def test_update_equals_a_new_stage(device: str, scene: Scene) -> None:
    cameras = random_cameras(4, seed=5)
    stage = Stage(scene(), device=device)
    geometry = stage.geometry
    stage.update(scene(0.3))
    assert stage.geometry is geometry
    np.testing.assert_array_equal(depth_of(stage, cameras), depth_of(Stage(scene(0.3), device=device), cameras))


def test_points_of_all_worlds_move_at_once(device: str) -> None:
    rng = np.random.default_rng(8)
    box, centers = box_mesh(), rng.uniform(-1.0, 1.0, (2, 40, 3))
    vertices = np.asarray(box.vertices)

    def worlds(shift: float) -> list[Snapshot]:
        mesh = replace(box, vertices=vertices + shift)
        return [Snapshot(0.0, parts=(mesh, Spheres("grains", c - shift, 0.1))) for c in centers]

    stage = Stage(worlds(0.0), device=device)
    stage.move(np.tile(vertices + 0.2, (2, 1)), centers.reshape(-1, 3) - 0.2)
    cameras = [replace(camera, world=world) for world, camera in enumerate(random_cameras(2, seed=8))]
    np.testing.assert_array_equal(depth_of(stage, cameras), depth_of(Stage(worlds(0.2), device=device), cameras))


def test_many_updates_keep_the_sphere_tree_right(device: str) -> None:
    rng = np.random.default_rng(6)
    cameras = random_cameras(2, seed=6)
    centers = rng.uniform(-1.0, 1.0, (300, 3))
    stage = Stage(Snapshot(0.0, parts=(Spheres("grains", centers, 0.08),)), device=device)
    for _ in range(35):  # more than are refitted in a row
        centers = centers + rng.normal(scale=0.05, size=centers.shape)
        moved = Snapshot(0.0, parts=(Spheres("grains", centers, 0.08),))
        stage.update(moved)
    np.testing.assert_array_equal(depth_of(stage, cameras), depth_of(Stage(moved, device=device), cameras))


def test_changed_topology_is_laid_out_anew(device: str, scene: Scene) -> None:
    cameras = random_cameras(2, seed=7)
    stage = Stage(scene(), device=device)
    cut = scene()
    mesh = cut.parts[1]
    assert isinstance(mesh, Mesh)
    cut = replace(cut, parts=(cut.parts[0], replace(mesh, triangles=mesh.triangles[:6])))
    stage.update(cut)
    np.testing.assert_array_equal(depth_of(stage, cameras), depth_of(Stage(cut, device=device), cameras))


def test_equal_triangles_in_another_array_are_the_same_topology(device: str, scene: Scene) -> None:
    stage = Stage(scene(), device=device)
    geometry, again = stage.geometry, scene(0.1)
    mesh = again.parts[1]
    assert isinstance(mesh, Mesh)
    stage.update(
        replace(again, parts=(again.parts[0], replace(mesh, triangles=mesh.triangles.copy()), *again.parts[2:]))
    )
    assert stage.geometry is geometry


@pytest.mark.parametrize("kind", ["vec3", "vec3d", "rows32", "rows64"])
def test_arrays_on_the_device_of_any_precision(device: str, scene: Scene, kind: str) -> None:
    def upload(values: np.ndarray) -> Any:
        if kind.startswith("vec3"):
            return wp.array(values, dtype=wp.vec3 if kind == "vec3" else wp.vec3d, device=device)
        dtype = np.float32 if kind == "rows32" else np.float64
        return wp.array(values.astype(dtype), device=device)

    host = scene()
    ground, mesh, balls, rope = host.parts
    assert isinstance(mesh, Mesh)
    assert isinstance(balls, Spheres)
    assert isinstance(rope, Lines)
    parts = (
        ground,
        replace(mesh, vertices=upload(mesh.vertices)),
        replace(balls, centers=upload(balls.centers), radii=wp.array(balls.radii.astype(np.float64), device=device)),
        replace(rope, points=upload(rope.points), segments=wp.array(rope.segments, device=device)),
    )
    cameras = random_cameras(2, seed=8)
    expected = depth_of(Stage(host, device=device), cameras)
    np.testing.assert_array_equal(depth_of(Stage(replace(host, parts=parts), device=device), cameras), expected)


def test_worlds_do_not_see_each_other(device: str, scene: Scene) -> None:
    ball_only = Snapshot(0.0, parts=(Spheres("ball", np.array([[0.0, 0.0, 0.0]]), 0.4),))
    worlds = [scene(), ball_only, Snapshot(0.0), scene(0.4)]
    camera = Camera((2.5, -4.0, 2.0), (0.0, 0.0, 0.0))
    stage = Stage(worlds, device=device)
    depth = depth_of(stage, [replace(camera, world=world) for world in range(4)])
    for world, snapshot in enumerate(worlds):
        np.testing.assert_array_equal(depth[world], depth_of(Stage(snapshot, device=device), [camera])[0])
    assert np.isposinf(depth[2]).all()
    worlds = [scene(0.2), ball_only, Snapshot(0.0), scene(-0.2)]
    stage.update(worlds)
    depth = depth_of(stage, [replace(camera, world=world) for world in range(4)])
    for world, snapshot in enumerate(worlds):
        np.testing.assert_array_equal(depth[world], depth_of(Stage(snapshot, device=device), [camera])[0])


def test_update_and_depth_can_be_captured(device: str, scene: Scene) -> None:
    """A recorded update reads the arrays again when it is replayed."""
    vertices = wp.array(box_mesh().vertices, dtype=wp.vec3, device=device)
    values = wp.zeros(8, dtype=wp.float32, device=device)
    triangles = wp.array(box_mesh().triangles, device=device)
    field = Field(values, "m", limits=(0.0, 1.0))
    snapshot = Snapshot(0.0, parts=(Mesh("box", vertices, triangles, {"height": field}),))
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0))
    stage = Stage(snapshot, field="height", device=device)
    film = Film(camera, size=SIZE, device=device, threads=1)
    film.render(stage)
    with wp.ScopedCapture(device=device) as capture:
        stage.update(snapshot)
        film.render(stage)
    row, column = SIZE[1] // 2, SIZE[0] // 2
    before = film.depth.numpy()[0, row, column], film.rgb.numpy()[0, row, column].copy()
    vertices.assign(box_mesh().vertices + np.float32([0.0, 1.0, 0.0]))
    values.fill_(1.0)
    wp.capture_launch(capture.graph)
    after = film.depth.numpy()[0, row, column], film.rgb.numpy()[0, row, column]
    assert before[0] == pytest.approx(4.5, abs=1e-4)
    assert after[0] == pytest.approx(5.5, abs=1e-4)
    assert np.abs(before[1].astype(int) - after[1]).max() > 50


def test_a_diverged_snapshot_can_still_be_drawn(device: str, scene: Scene) -> None:
    snapshot = scene()
    ground, mesh, balls, rope = snapshot.parts
    assert isinstance(mesh, Mesh)
    assert isinstance(balls, Spheres)
    broken = mesh.vertices.copy()
    broken[0] = np.nan
    far_out = balls.centers.copy()
    far_out[1] = np.inf
    bad = (ground, replace(mesh, vertices=broken), replace(balls, centers=far_out), rope)
    stage = Stage(snapshot, device=device)
    stage.update(replace(snapshot, parts=bad))
    assert np.isfinite(depth_of(stage, [Camera((3.0, -4.0, 2.0), (0.0, 0.0, 0.0))])).any()
    on_device = (replace(mesh, vertices=wp.array(broken, dtype=wp.vec3, device=device)),)
    assert np.isfinite(depth_of(Stage(Snapshot(0.0, parts=on_device), device=device), random_cameras(1, seed=9))).any()


def test_limits_only_widen(device: str) -> None:
    def shot(top: float) -> Snapshot:
        box = box_mesh()
        return Snapshot(0.0, parts=(replace(box, fields={"height": Field(np.linspace(0.0, top, 8), "m")}),))

    stage = Stage(shot(1.0), field="height", device=device)
    limits = []
    for top in (1.0, 3.0, 2.0):
        stage.update(shot(top))
        assert stage.scale is not None
        limits.append(stage.scale.limits)
    assert limits == [(0.0, 1.0), (0.0, 3.0), (0.0, 3.0)]


def test_bad_input(scene: Scene) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'height'"):
        Stage(scene(), field="hight", device="cpu")
    with pytest.raises(InvalidValue, match="at least one snapshot"):
        Stage([], device="cpu")
    with pytest.raises(InvalidValue, match="'smooth' or 'flat'"):
        Stage(scene(), shading="shiny", device="cpu")  # type: ignore[arg-type]
    triangle = np.array([[0, 1, 9]], dtype=np.int32)
    with pytest.raises(InvalidMesh, match="'bad' refers to the point 9"):
        Stage(Snapshot(0.0, parts=(Mesh("bad", np.zeros((3, 3)), triangle),)), device="cpu")
    with pytest.raises(InvalidValue, match="must be \\[n, 3\\]"):
        Stage(Snapshot(0.0, parts=(Spheres("flat", np.zeros((3, 2)), 1.0),)), device="cpu")
    film = Film(Camera((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), world=1), size=SIZE, device="cpu")
    with pytest.raises(InvalidValue, match="looks at world 1"):
        film.cast_depth(Stage(scene(), device="cpu"))


def test_empty_parts_are_nothing(device: str) -> None:
    none = np.zeros((0, 3), dtype=np.float32)
    parts = (
        Mesh("mesh", none, np.zeros((0, 3), dtype=np.int32)),
        Spheres("spheres", none, np.zeros(0)),
        Lines("lines", none, np.zeros((0, 2), dtype=np.int32)),
        Plane("ground", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    )
    stage = Stage(Snapshot(0.0, parts=parts), device=device)
    depth = depth_of(stage, [Camera((0.0, 0.0, 2.0), (0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0))])
    np.testing.assert_allclose(depth, 2.0, rtol=1e-6)
