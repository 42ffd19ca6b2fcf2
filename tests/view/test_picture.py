"""Colour images: light, shadow, fields, edges, legends, and PNG files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Field, Lines, Plane, Snapshot, Spheres
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.light import Light
from annelid.view.camera.stage import Stage
from annelid.view.colors import Scale
from annelid.view.picture import Painter, picture, save_picture

from .conftest import box_mesh

Scene = Callable[..., Snapshot]
ABOVE = Camera((0.0, 0.0, 5.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def render(snapshot: Snapshot, device: str, camera: Camera = ABOVE, **options: object) -> np.ndarray:
    size = options.pop("size", (96, 96))
    field = options.pop("field", None)
    film = Film(camera, size=size, device=device, **options)  # type: ignore[arg-type]
    return film.render(Stage(snapshot, field=field, device=device)).numpy()[0].astype(int)  # type: ignore[arg-type]


def ball_over_ground() -> Snapshot:
    ground = Plane("ground", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.8, 0.8, 0.8))
    return Snapshot(0.0, parts=(ground, Spheres("ball", np.array([[0.0, 0.0, 0.5]]), 0.25, color=(0.8, 0.2, 0.2))))


def test_a_shadow_lies_where_the_sun_puts_it(device: str) -> None:
    """The shadow's middle is the ball's centre moved along the light onto the ground."""
    light = Light(sun=(-1.0, 0.0, 1.0))
    size = (400, 400)
    shaded = render(ball_over_ground(), device, size=size, light=light)
    plain = render(ball_over_ground(), device, size=size, light=replace(light, shadow_rays=0))
    rows, columns = np.nonzero((plain - shaded).sum(axis=-1) > 30)
    half = np.tan(0.5 * ABOVE.fov) * 5.0  # metres from the middle of the image to its edge, on the ground
    x = ((columns + 0.5) / 200.0 - 1.0) * half
    y = (1.0 - (rows + 0.5) / 200.0) * half
    assert y.mean() == pytest.approx(0.0, abs=0.01)
    assert x.max() == pytest.approx(0.5 + 0.25 * np.sqrt(2.0), abs=0.01)
    assert y.max() - y.min() == pytest.approx(0.5, abs=0.02)


def test_soft_shadows_have_a_border_between(device: str) -> None:
    light = Light(sun=(-1.0, 0.0, 1.0), shadow_rays=24, sun_radius=0.1)
    soft = render(ball_over_ground(), device, size=(400, 400), light=light)[200, 200:, 1]
    hard = render(ball_over_ground(), device, size=(400, 400), light=replace(light, shadow_rays=1))[200, 200:, 1]
    dark, bright = hard[80:].min(), hard[80:].max()
    between = lambda row: ((row[80:] > dark + 10) & (row[80:] < bright - 10)).sum()  # noqa: E731
    assert between(hard) <= 1
    assert between(soft) > 5


def test_a_convex_mesh_does_not_shadow_itself(device: str) -> None:
    """Faces that see the sun are as bright as without shadows: no acne."""
    snapshot = Snapshot(0.0, parts=(box_mesh(),))
    camera = Camera.framing(snapshot)
    light = Light()
    shaded = render(snapshot, device, camera, size=(240, 160), light=light)
    plain = render(snapshot, device, camera, size=(240, 160), light=replace(light, shadow_rays=0))
    assert (np.abs(shaded - plain).max(axis=-1) > 2).mean() < 1e-3


def test_a_field_colours_a_mesh(device: str) -> None:
    """Values between two vertices take the colours of the map between, not a mixture of the two ends."""
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), height=1.0)
    light = Light(shadow_rays=0, strength=0.0, zenith_strength=1.0, ground_strength=1.0)
    image = render(Snapshot(0.0, parts=(box_mesh(),)), device, camera, field="height", light=light)
    heights = 0.5 - (np.arange(96) + 0.5) / 96.0
    expected = 255.0 * Scale("height", "m", (-0.5, 0.5), "balance").colors(heights)
    assert np.abs(image[:, 48] - expected).max() < 8.0  # the sky is a little blue


def test_categories_have_sharp_borders(device: str) -> None:
    box = box_mesh()
    field = Field((box.vertices[:, 2] > 0.0).astype(np.int32), labels=("low", "high"))
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), height=1.0)
    snapshot = Snapshot(0.0, parts=(replace(box, fields={"side": field}),))
    image = render(snapshot, device, camera, field="side", light=Light(shadow_rays=0))
    assert len(np.unique(image[2:-2, 48], axis=0)) == 2


def test_flat_shading_differs_from_smooth(device: str) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    vertices = np.concatenate([np.c_[ring, -np.ones(24)], np.c_[ring, np.ones(24)]]).astype(np.float32)
    i = np.arange(24)
    j = (i + 1) % 24
    triangles = np.concatenate([np.stack([i, j, i + 24], 1), np.stack([j, j + 24, i + 24], 1)]).astype(np.int32)
    tube = Snapshot(0.0, parts=(replace(box_mesh(), vertices=vertices, triangles=triangles, fields={}),))
    camera = Camera((0.0, -8.0, 0.0), (0.0, 0.0, 0.0))
    film = Film(camera, size=(200, 100), device=device, light=Light(shadow_rays=0))
    rows = {}
    for shading in ("smooth", "flat"):
        stage = Stage(tube, shading=shading, device=device)  # type: ignore[arg-type]
        rows[shading] = film.render(stage).numpy()[0, 50, 80:120, 0].astype(int)
    jump = {shading: np.abs(np.diff(row)).max() for shading, row in rows.items()}
    assert jump["flat"] > 2 * jump["smooth"]
    assert (np.diff(rows["flat"]) == 0).sum() > 30  # one colour a facet


def test_more_samples_smooth_edges(device: str) -> None:
    """The area of a disc, counted in grey values, gets closer to the true one."""
    snapshot = Snapshot(0.0, parts=(Spheres("disc", np.zeros((1, 3)), 0.7, color=(0.0, 0.0, 0.0)),))
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), height=2.0)
    images = {n: render(snapshot, device, camera, size=(40, 40), samples=n) for n in (1, 16)}
    levels = {n: len(np.unique(image[20, :, 1])) for n, image in images.items()}
    assert levels[16] > levels[1]
    centre = images[16][20, 20]
    np.testing.assert_array_equal(centre, images[1][20, 20])


def test_display_values_come_back(device: str) -> None:
    """A background that was given as display values is shown as these, over the whole of the curve."""
    for color in np.random.default_rng(5).uniform(0.0, 1.0, (12, 3)) ** 3:
        shown = (float(color[0]), float(color[1]), float(color[2]))
        image = render(Snapshot(0.0), device, size=(8, 4), light=Light(zenith=shown, horizon=shown))
        assert np.abs(image - 255.0 * color).max() < 0.51


def test_only_what_is_no_mean_yet_is_smoothed(device: str) -> None:
    """The line where two planes meet gets more rays; the grid on a plane, a mean over each pixel as it is, does not."""
    floor = Plane("floor", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.9, 0.9, 0.9))
    wall = Plane("wall", (0.1, 0.0, 0.0), (-1.0, 0.3, 0.0), (0.3, 0.3, 0.3))
    both = {n: render(Snapshot(0.0, parts=(floor, wall)), device, samples=n) for n in (1, 4)}
    assert (np.abs(both[4] - both[1]).max(axis=-1) > 8).sum() > 30
    grid = {n: render(Snapshot(0.0, parts=(floor,)), device, samples=n) for n in (1, 4)}
    assert len(np.unique(grid[1])) > 3  # lines are seen
    np.testing.assert_array_equal(grid[4], grid[1])


def test_the_depth_of_a_colour_image_is_the_depth_image(device: str, scene: Scene) -> None:
    stage = Stage(scene(), device=device)
    film = Film(Camera.framing(scene()), size=(64, 48), samples=4, device=device)
    film.render(stage)
    depth = film.depth.numpy().copy()
    np.testing.assert_array_equal(depth, film.cast_depth(stage).numpy())


def test_blocks_with_few_things_and_with_many_find_the_same(device: str, scene: Scene) -> None:
    """A block tries what it lists, or asks the tree where that is too much; depth alone always asks the tree."""
    rng = np.random.default_rng(7)
    crowd = Spheres("crowd", rng.uniform([-1.0, -1.0, 0.0], [0.0, 1.0, 0.5], (400, 3)), 0.04)
    tangle = Lines("tangle", rng.uniform(-0.8, 0.8, (60, 3)), rng.integers(0, 60, (90, 2)))
    shot = replace(scene(), parts=(*scene().parts, crowd, tangle))
    stage = Stage(shot, device=device)
    for camera in (Camera.framing(shot, aspect=1.5), Camera.framing(shot, aspect=1.5, orthographic=True)):
        film = Film(camera, size=(93, 61), samples=2, light=Light(shadow_rays=8), device=device)  # blocks are cut off
        film.render(stage)
        depth = film.depth.numpy().copy()
        np.testing.assert_array_equal(depth, film.cast_depth(stage).numpy())
        assert len(np.unique(film.rgb.numpy().reshape(-1, 3), axis=0)) > 100


def test_picture_writes_what_it_returns(tmp_path: Path, device: str, scene: Scene) -> None:
    from PIL import Image

    path = tmp_path / "deep" / "scene.png"
    image = picture(scene(time=1.5), path, size=(150, 100), field="height", name="box", samples=2, device=device)
    assert image.shape == (100, 150, 3)
    assert image.dtype == np.uint8
    assert image.std() > 10.0
    np.testing.assert_array_equal(np.asarray(Image.open(path)), image)
    assert [file.name for file in path.parent.iterdir()] == ["scene.png"]


def test_legend_and_caption_are_drawn_over_the_picture(scene: Scene) -> None:
    options = {"size": (300, 200), "samples": 1, "device": "cpu", "camera": Camera.framing(scene())}
    bare = picture(scene(), field="height", legend=False, name=None, **options).astype(int)  # type: ignore[arg-type]
    full = picture(scene(), field="height", **options).astype(int)  # type: ignore[arg-type]
    changed = np.abs(full - bare).max(axis=-1) > 20
    assert changed[:100, 200:].any()  # legend, upper right
    assert changed[150:, :100].any()  # caption, lower left
    assert not changed[60:140, 60:180].any()


def test_categories_have_swatches() -> None:
    parts = (replace(box_mesh(), fields={"material": Field(np.arange(8) % 2, labels=("soft", "stiff"))}),)
    image = picture(Snapshot(0.0, parts=parts), size=(300, 200), field="material", samples=1, device="cpu")
    swatch = np.array([0.25, 0.55, 0.76]) * 255.0  # the second category's colour, unshaded
    assert (np.abs(image - swatch).max(axis=-1) < 2).sum() > 50


def test_a_painter_follows(scene: Scene) -> None:
    """With `follow` a scene that moves as a whole stays where it is in the image."""
    shots = [scene(shift) for shift in (0.0, 1.0)]
    shots = [replace(shot, parts=shot.parts[1:]) for shot in shots]  # the grid of the ground would move
    options = {"size": (120, 80), "samples": 1, "name": None, "device": "cpu"}
    still, moving = (Painter(follow=follow, **options) for follow in (True, False))  # type: ignore[arg-type]
    first, second = (still.paint(shot).astype(int) for shot in shots)
    assert (np.abs(first - second).max(axis=-1) > 8).mean() < 0.02
    first, second = (moving.paint(shot).astype(int) for shot in shots)
    assert (np.abs(first - second).max(axis=-1) > 8).mean() > 0.1


def test_a_painter_shows_many_in_a_grid(scene: Scene) -> None:
    painter = Painter(size=(200, 150), columns=2, names=["a", "b", "c"], field="height", samples=1, device="cpu")
    image = painter.paint([scene(), scene(), scene(2.0)])
    assert image.shape == (150, 200, 3)
    left, right = image[:36, :99], image[:36, 101:]
    np.testing.assert_array_equal(left, right)  # the same scene in two worlds, above the captions
    assert left.std() > 10.0
    with pytest.raises(InvalidValue, match="began with 3"):
        painter.paint([scene()])


def test_bad_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"must end in \.png or \.jpg"):
        save_picture(np.zeros((4, 4, 3), dtype=np.uint8), tmp_path / "a.bmp")
    with pytest.raises(InvalidValue, match="shadow_rays -1"):
        Light(shadow_rays=-1)
    assert list(tmp_path.iterdir()) == []
