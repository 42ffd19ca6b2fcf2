"""The workshop in a real browser: a body is built, held, let go of, and obeys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annelid.scenes.registry import scene_class, scenes
from annelid.shapes import Box

from .conftest import arrived, choose, differs, not_blank, set_number, settled, view_of, wait_until

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.live import LiveViewer


@pytest.fixture(scope="module")
def workshop() -> Iterator[LiveViewer]:
    with LiveViewer(scenes(), scene_class("workshop")(), build=lambda s: s.build(device="cpu"), port=18100) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def page(workshop: LiveViewer, shared_page: Callable[[str], Any]) -> Any:
    page = shared_page(workshop.url)
    arrived(page)
    return page


def test_a_box_is_built_held_and_bends(
    workshop: LiveViewer, page: Any, keep_picture: Callable[[Any, str], None]
) -> None:
    beam = view_of(page)
    set_number(page, "Pitch [m]", "0.5")
    page.get_by_role("button", name="Build", exact=True).click()
    page.get_by_text("use at most 0.04 m").first.wait_for()
    set_number(page, "Pitch [m]", "0.01")
    choose(page, "Shape", "box")
    set_number(page, "Height [m]", "0.02")
    page.get_by_role("button", name="Build", exact=True).click()
    wait_until(page, lambda: workshop._scene.shape == "box" and workshop._scene.height == 0.02, "another body")
    wait_until(page, lambda: differs(beam, view_of(page)), "another body to be seen")
    page.get_by_role("button", name="Fix", exact=True).click()
    page.get_by_text("masses are fixed").wait_for()
    settled(page)
    rest = view_of(page)
    assert not_blank(rest)
    simulation = workshop.runner.simulations[0]
    held = workshop.runner.call(workshop._workshop._pieces[0].held).result()
    assert len(held) > 10
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: differs(rest, view_of(page)), "it moves after play")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    stopped = simulation.step_count
    settled(page)
    assert simulation.step_count == stopped
    assert (workshop.runner.call(workshop._workshop._pieces[0].held).result() == held).all()
    keep_picture(page, "workshop")


def test_a_file_is_uploaded(workshop: LiveViewer, page: Any, tmp_path: Path) -> None:
    """What the real client sends for an upload and for a bad number is understood; its panel scrolls to its end."""
    Box((0.06, 0.06, 0.06)).surface().write(tmp_path / "part.stl")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload STL, OBJ or PLY").click()
    chooser.value.set_files(tmp_path / "part.stl")
    wait_until(page, lambda: workshop._scene.shape == "file", "the file is built")
    page.set_viewport_size({"width": 1200, "height": 800})
    last = page.get_by_role("button", name="Release")
    assert last.bounding_box()["y"] > 800

    def scrolled(by: int) -> bool:
        """Turn the wheel over the panel, again where the page was still being laid out; whether the end shows."""
        page.mouse.move(1020, 500)
        page.mouse.wheel(0, by)
        return bool(last.bounding_box()["y"] < 780)

    wait_until(page, lambda: scrolled(2000), "the panel scrolls")
    wait_until(page, lambda: not scrolled(-4000), "the panel scrolls back")
    page.get_by_role("tab", name="Run").click()
    set_number(page, "Steps a click", "0")
    page.get_by_text("'Steps a click' must be a whole number").first.wait_for()
    assert workshop._steps.value == 100
