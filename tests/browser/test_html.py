"""The HTML recording, opened from a file, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid.core.recording import Recorder
from annelid.core.snapshot import Field, Lines, Mesh, Number, Plane, Snapshot, Spheres
from annelid.view.files.export import ExportOptions, export

from .conftest import differs, not_blank, settled, view_of, wait_until


def moment(time: float) -> Snapshot:
    """A tetrahedron that wanders, a ball that bobs and a line."""
    corners = np.array([[0, 0, 0.1], [1, 0, 0.1], [0, 1, 0.1], [0.3, 0.3, 1.0]], float)
    corners[:, 0] += time
    fields = {
        "height": Field(corners[:, 2], "m"),
        "kind": Field(np.array([0, 1, 2, 1]), labels=("red", "green", "<i>")),
    }
    body = Mesh("body", corners, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]), fields)
    ball = Spheres("ball", np.array([[-0.5, 0.5, 0.5 + 0.3 * np.sin(6 * time)]]), 0.3)
    rope = Lines("rope", np.array([[-1.0, 0, 0.2], [1, -1, 0.2]]), np.array([[0, 1]]))
    ground = Plane("ground", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    return Snapshot(time, parts=(body, ball, rope, ground), numbers={"height": Number(np.sin(time), "m")})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("html")
    with Recorder(folder / "r.rec", scene="<b>wanderer</b>") as recorder:
        for i in range(61):
            recorder.write(moment(i / 30))
        recorder.event(1.0, "half", "way")
    return export(folder / "r.rec", folder / "page.html", ExportOptions(field="height")).as_uri()


def shown_time(page: Any) -> float:
    return float(page.evaluate("document.body.dataset.time ?? '-1'"))


def test_it_plays_pauses_and_seeks(address: str, open_page: Callable[[str], Any], keep_picture: Callable) -> None:
    page = open_page(address)
    page.get_by_role("button", name="Play").wait_for()
    first = view_of(page)
    assert not_blank(first)
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: shown_time(page) > 0.3, "time passes")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    settled(page)
    assert differs(first, view_of(page))
    stopped = shown_time(page)
    page.wait_for_timeout(700)
    assert shown_time(page) == stopped
    page.locator("#time").fill("1000")
    wait_until(page, lambda: shown_time(page) == pytest.approx(2.0), "the slider moves time")
    assert "2.00 / 2.00 s" in page.locator("#clock").inner_text()
    keep_picture(page, "html-recording")


def test_colours_can_be_chosen_and_have_a_legend(address: str, open_page: Callable[[str], Any]) -> None:
    page = open_page(address)
    page.locator("#field").wait_for()
    by_height = view_of(page)
    assert "m" in page.locator("#legend").inner_text()
    page.locator("#field").select_option("kind")
    wait_until(page, lambda: differs(by_height, view_of(page)), "other colours")
    assert page.locator("#legend").inner_text().split() == ["red", "green", "<i>"]
    assert page.locator("#title").inner_text() == "<b>wanderer</b>"


def test_the_mouse_turns_and_zooms(address: str, open_page: Callable[[str], Any]) -> None:
    page = open_page(address)
    page.get_by_role("button", name="Play").wait_for()
    before = view_of(page)
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(420, 320, steps=4)
    page.mouse.up()
    wait_until(page, lambda: differs(before, view_of(page)), "the view turns")
    turned = view_of(page)
    page.mouse.wheel(0, 600)
    wait_until(page, lambda: differs(turned, view_of(page)), "the view zooms")
    page.mouse.dblclick(300, 300)
    wait_until(page, lambda: not differs(before, view_of(page)), "a double click goes back")
