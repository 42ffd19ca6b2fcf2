"""How a page looks: what is shown fills it, in colours that tell what moves, and balls are round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from annelid.core.snapshot import Plane, Snapshot, Spheres
from annelid.view.browser.drawers import MAX_POINTS, MAX_SPHERES, SphereDrawer, linear
from annelid.view.browser.framing import PANEL, framed
from annelid.view.browser.page import NO_FIELD, Page
from annelid.view.browser.relief import relief

viser = pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")


def seen_share(extent: tuple[np.ndarray, np.ndarray], aspect: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest place of a box in the picture of its camera, whose height goes from -1 to 1."""
    camera = framed(*extent, aspect)
    corners = np.array([[extent[i][0], extent[j][1], extent[k][2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    right, up, forward = camera.axes()
    away = corners - np.array(camera.position)
    places = np.stack([away @ right, away @ up], axis=1) / (away @ forward)[:, None] / np.tan(0.5 * camera.fov)
    return places.min(axis=0), places.max(axis=0)


@pytest.mark.parametrize("aspect", [1.2, 1.5, 16 / 9, 2.4])
def test_every_box_fills_what_the_panel_leaves_free(aspect: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        size, middle = 10.0 ** rng.uniform(-2.0, 1.0) * 10.0 ** rng.uniform(-1.0, 0.0, 3), rng.normal(size=3)
        low, high = seen_share((middle - 0.5 * size, middle + 0.5 * size), aspect)
        assert low[0] >= -aspect
        assert high[0] <= aspect - 2.0 * PANEL
        assert low[1] >= -1.0
        assert high[1] <= 1.0
        free = np.array([2.0 * aspect - 2.0 * PANEL, 2.0])
        assert ((high - low) / free).max() > 0.7


def test_a_point_can_be_framed() -> None:
    camera = framed(np.zeros(3), np.zeros(3), 1.5)
    assert np.isfinite(camera.position).all()


@pytest.fixture
def page() -> Iterator[Page]:
    made = Page("looks", host="127.0.0.1", port=18650)
    made.add_show_controls((), parts=True)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        (("strain", "speed", "actuation"), "actuation"),
        (("area", "control", "material"), "control"),
        (("height", "speed", "radius"), "speed"),
        (("displacement", "von-mises"), "displacement"),
        (("material",), NO_FIELD),
    ],
)
def test_the_first_colours_tell_what_moves(page: Page, fields: tuple[str, ...], chosen: str) -> None:
    page.set_fields(fields, anew=True)
    assert page.color.value == chosen


def test_a_choice_of_colours_is_kept_until_another_scene(page: Page) -> None:
    page.set_fields(("strain", "speed"), anew=True)
    page.color.value = NO_FIELD
    page.set_fields(("strain", "speed", "material"))
    assert page.color.value == NO_FIELD
    page.color.value = "strain"
    page.set_fields(("strain", "speed"))
    assert page.color.value == "strain"
    page.set_fields(("speed",))
    assert page.color.value == "speed"


@pytest.mark.parametrize(("count", "triangles"), [(10, 1280), (1000, 320), (20_000, 80), (MAX_SPHERES + 1, 0)])
def test_balls_are_lit_and_as_round_as_their_number_allows(page: Page, count: int, triangles: int) -> None:
    drawer: Any = SphereDrawer(page.server.scene, "/balls")
    part = Spheres("balls", np.random.default_rng(1).normal(size=(count, 3)), 0.1)
    drawer.draw(part, None)
    if triangles:
        assert isinstance(drawer._handle, viser.BatchedMeshHandle)
        assert len(drawer._handle.faces) == triangles
        assert not drawer._handle.flat_shading
    else:
        assert isinstance(drawer._handle, viser.PointCloudHandle)
    drawer.draw(part, None)
    page.drawing.arrange([Snapshot(0.0, parts=(Plane("ground", (0, 0, 0), (0, 0, 1)), part))])


def test_a_heap_of_dots_is_lit_as_a_whole(page: Page) -> None:
    """The side of a heap that faces the light is brighter than the other; a thinned heap takes its own radii along."""
    rng = np.random.default_rng(2)
    outward = rng.normal(size=(2 * MAX_POINTS + 10, 3))
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    centers = (rng.uniform(size=len(outward)) ** (1 / 3))[:, None] * outward
    brightness = relief(centers, 0.01, np.array([0.0, 0.0, 2.0]))
    skin = np.linalg.norm(centers, axis=1) > 0.95
    above, aside = brightness[skin & (centers[:, 2] > 0.8)], brightness[skin & (np.abs(centers[:, 2] + 0.2) < 0.1)]
    assert np.median(above) > 0.9
    assert np.median(aside) < 0.6
    assert np.isfinite(relief(np.array([[np.nan] * 3, [0.0] * 3]), 0.01, np.ones(3))).all()
    drawer: Any = SphereDrawer(page.server.scene, "/heap")
    drawer.draw(Spheres("heap", centers, np.full(len(centers), 0.01)), None)
    assert len(drawer._handle.points) <= MAX_POINTS
    assert np.ptp(drawer._handle.colors.astype(int), axis=0).min() > 40


def test_colours_of_balls_are_shares_of_light() -> None:
    np.testing.assert_array_equal(linear(np.array([[0, 255, 188]], np.uint8)), [[0, 255, 128]])
