"""The live viewer in a real browser: it shows the scene, it obeys, and it moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annelid.core.recording import Recorder
from annelid.core.snapshot import Look
from annelid.scenes.registry import scene_class, scenes

from .conftest import arrived, choose, differs, not_blank, pause, set_number, settled, view_of, wait_until

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.live import LiveViewer
from annelid.view.browser.replay import ReplayViewer


@pytest.fixture(scope="module")
def worm() -> Iterator[LiveViewer]:
    with LiveViewer(scenes(), scene_class("worm")(), build=lambda s: s.build(device="cpu"), port=18100) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def page(worm: LiveViewer, shared_page: Callable[[str], Any]) -> Any:
    page = shared_page(worm.url)
    arrived(page)
    return page


def test_the_worm_plays_pauses_and_obeys(worm: LiveViewer, page: Any, keep_picture: Callable[[Any, str], None]) -> None:
    rest = view_of(page)
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: differs(rest, view_of(page)), "it moves after play")
    moving = view_of(page)
    wait_until(page, lambda: differs(moving, view_of(page)), "it goes on moving")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    stopped = worm.runner.simulations[0].step_count
    settled(page)
    assert worm.runner.simulations[0].step_count == stopped
    plain = view_of(page)
    choose(page, "Colour", "speed")
    wait_until(page, lambda: differs(plain, view_of(page)), "other colours")
    page.get_by_text("m/s", exact=True).wait_for()
    keep_picture(page, "worm-speed")


def test_several_can_watch(worm: LiveViewer, page: Any, browser: Any) -> None:
    pause(page)
    second = browser.new_page()
    try:
        second.goto(worm.url)
        second.get_by_role("button", name="Play").click(timeout=90_000)
        page.get_by_role("button", name="Pause").wait_for()
        wait_until(page, lambda: len(worm.page.server.get_clients()) == 2, "two viewers")
    finally:
        second.close()
    wait_until(page, lambda: len(worm.page.server.get_clients()) == 1, "one viewer less")
    before = worm.runner.simulations[0].step_count
    wait_until(page, lambda: worm.runner.simulations[0].step_count > before, "the simulation does not mind")


def test_a_slider_changes_the_motion_and_numbers_are_plotted(worm: LiveViewer, page: Any) -> None:
    """Without gravity nothing holds the worm down: it pushes itself off the ground."""
    pause(page)

    def height() -> float:
        return float(worm.runner.call(worm.runner.simulations[0].snapshot_numbers).result()["center-z"].value)

    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: worm.runner.simulations[0].time > 0.5, "it crawls")
    low = height()
    set_number(page, "gravity [m/s²]", "0")
    wait_until(page, lambda: worm._scene.gravity == 0.0, "the slider reaches the scene")
    wait_until(page, lambda: height() > 1.15 * low, "it leaves the ground")
    page.get_by_role("tab", name="Numbers").click()
    page.get_by_text("kinetic-energy", exact=True).wait_for()
    page.locator(".uplot canvas").first.wait_for()
    wait_until(page, lambda: len(worm._plots._history.times) > 5, "numbers over time")


def test_scenes_and_grids(worm: LiveViewer, page: Any, keep_picture: Callable[[Any, str], None]) -> None:
    pause(page)
    alone = view_of(page)
    page.get_by_role("tab", name="Scenes").click()
    choose(page, "Vary", "amplitude")
    set_number(page, "Side by side", "4")
    wait_until(page, lambda: len(worm.runner.simulations) == 4, "four worms")
    wait_until(page, lambda: differs(alone, view_of(page)), "four worms to be seen")
    settled(page)
    keep_picture(page, "worm-grid")
    choose(page, "Scene", "voxel-worm")
    wait_until(page, lambda: worm._name == "voxel-worm" and len(worm._variants) == 4, "a scene of another physics")
    settled(page)
    rest = view_of(page)
    assert not_blank(rest)
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: differs(rest, view_of(page)), "voxels move after play")
    keep_picture(page, "voxel-worms")


def test_a_recording_is_replayed(
    tmp_path: Path, open_page: Callable[[str], Any], keep_picture: Callable[[Any, str], None]
) -> None:
    simulation = scene_class("bounce")(masses=4).build(device="cpu")
    with Recorder(tmp_path / "r.rec", scene="bounce") as recorder:
        for _ in range(30):
            recorder.write(simulation.snapshot(Look(fields=("speed",))))
            simulation.run(1 / 30)
    with ReplayViewer(tmp_path / "r.rec", port=18140) as viewer:
        page = open_page(viewer.url)
        arrived(page)
        first = view_of(page)
        page.get_by_role("button", name="Play").click()
        wait_until(page, lambda: differs(first, view_of(page)), "it plays")
        wait_until(page, lambda: not viewer.playing, "it ends")
        assert viewer.time == pytest.approx(viewer.recording.times[-1])
        set_number(page, "Time [s]", "0")
        wait_until(page, lambda: viewer._shown == 0, "the slider moves time")
        keep_picture(page, "replay")
