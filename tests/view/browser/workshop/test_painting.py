"""The page that paints voxels, without a browser: what its buttons do, and what it says where something cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from annelid.scenes.voxel_workshop import VoxelWorkshop

from ....threads import until
from ..client import connected
from ..fakes import Hop

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.live import LiveViewer
from annelid.view.browser.workshop.blocks import outer

DOWN = np.array([0.0, 0.0, -1.0])


@pytest.fixture
def viewer() -> Iterator[LiveViewer]:
    def build(scene: Any) -> Any:
        return scene.build() if isinstance(scene, Hop) else scene.build(device="cpu", threads=1)

    known: Any = {"voxel-workshop": VoxelWorkshop, "hop": Hop}
    with LiveViewer(known, VoxelWorkshop(x=6, y=4, z=4), build=build, port=18320) as made:
        yield made


@pytest.fixture
def told(viewer: LiveViewer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sentences: list[str] = []
    monkeypatch.setattr(viewer.page, "tell", sentences.append)
    return sentences


def do(viewer: LiveViewer, task: Callable[[], None]) -> None:
    """Have the page's thread do something, and wait for it."""
    done: list[bool] = []
    viewer.page.later(task)
    viewer.page.later(lambda: done.append(True))
    until(lambda: bool(done))


def count(viewer: LiveViewer) -> int:
    return len(viewer._painting.canvas.voxels()["cells"])


def test_clicks_paint_and_playing_ends_painting(viewer: LiveViewer) -> None:
    tools = viewer._painting
    assert tools.editing
    assert viewer.page.field is None  # materials have their colours
    do(viewer, lambda: tools._click(np.array([0.02, 0.01, 1.0]), DOWN))
    assert count(viewer) == 24
    tools.color.value = "phase"
    do(viewer, viewer._take_steps)
    assert viewer.page.field == "phase"
    first = viewer.runner.simulations[0]
    assert (first.step_count, first.solver.model.voxel_count, tools.editing) == (100, 24, False)
    do(viewer, lambda: tools._click(np.array([0.02, 0.01, 1.0]), DOWN))
    assert count(viewer) == 24  # while it plays a click is no more than a click
    do(viewer, viewer._reset)
    assert (first.step_count, tools.editing) == (0, True)
    tools.tool.value = "erase"
    do(viewer, tools._fill)
    assert "1 voxels changed" in tools.note.content
    do(viewer, lambda: tools._step("Undo"))
    do(viewer, lambda: tools._step("Redo"))
    do(viewer, lambda: tools._step("Redo"))
    assert tools.note.content.startswith("Nothing to redo. 23 voxels")
    tools.size.value = (2.0, 2.0, 2.0)
    do(viewer, tools._resize)
    assert "voxels have no room on it" in tools.note.content
    assert tools.layer.max == 1


def test_what_cannot_play_is_said_and_stays(viewer: LiveViewer, told: list[str]) -> None:
    tools = viewer._painting
    tools.first.value = tools.last.value = (5.0, 3.0, 0.0)
    do(viewer, tools._fill)
    do(viewer, viewer._toggle)
    assert told[-1].startswith("the body has 2 parts that share no face, the smallest of 1 at cell (5, 3, 0)")
    assert "not played" in tools.note.content
    assert (tools.editing, viewer.runner.playing, count(viewer)) == (True, False, 24)
    do(viewer, tools._clear)
    do(viewer, viewer._toggle)
    assert told[-1].startswith("there is nothing to play")
    do(viewer, lambda: tools._step("Undo"))
    assert count(viewer) == 24
    with connected(viewer.url) as client:
        client.upload(tools.load, "../<x>.vxa", b"<VXA/>")
        until(lambda: len(told) == 3)
    assert "annelid-" not in told[-1]
    assert "has no element VXC/Structure" in told[-1]
    assert count(viewer) == 24


def test_the_page_closes_and_opens_with_its_scene_and_keeps_the_body_side_by_side(viewer: LiveViewer) -> None:
    tools = viewer._painting
    do(viewer, tools._clear)
    do(viewer, tools._fill)
    viewer._count.value = 2
    until(lambda: len(viewer.runner.simulations) == 2)
    do(viewer, viewer._take_steps)
    assert [s.solver.model.voxel_count for s in viewer.runner.simulations] == [1, 1]
    viewer._choice.value = "hop"
    until(lambda: viewer._name == "hop" and not tools.open)
    viewer._choice.value = "voxel-workshop"
    until(lambda: tools.open and tools.editing)
    assert count(viewer) == 23
    assert viewer._controls == {}


def test_only_voxels_that_can_be_seen_are_drawn() -> None:
    cells = np.argwhere(np.ones((3, 3, 3), bool))
    assert 13 not in outer(cells)
    assert len(outer(cells)) == 26
    assert len(outer(cells[:0])) == 0
