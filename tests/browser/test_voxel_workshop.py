"""The workshop for voxels in a real browser: a robot is painted, plays, is saved and loaded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.scenes.voxel_workshop import VoxelWorkshop

from .conftest import arrived, differs, on_screen, view_of, wait_until

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.live import LiveViewer


@pytest.fixture(scope="module")
def workshop() -> Iterator[LiveViewer]:
    scene = VoxelWorkshop(x=5, y=3, z=4)
    with LiveViewer({}, scene, build=lambda s: s.build(device="cpu", threads=1), port=18140) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def page(workshop: LiveViewer, shared_page: Callable[[str], Any]) -> Any:
    page = shared_page(workshop.url)
    arrived(page)
    return page


def filled(workshop: LiveViewer) -> int:
    return int((workshop._painting.canvas.vxa.structure.cells > 0).sum())


def test_a_robot_is_painted_played_saved_and_loaded(
    workshop: LiveViewer, page: Any, tmp_path: Path, keep_picture: Callable[[Any, str], None]
) -> None:
    assert filled(workshop) == 23
    before = view_of(page)
    page.mouse.click(*on_screen(workshop, page, np.array([0.02, 0.01, 0.025])))  # the top of the middle of the table
    wait_until(page, lambda: filled(workshop) == 24, "a voxel that was clicked")
    assert workshop._painting.canvas.vxa.structure.cells[2, 1, 3] == 1
    wait_until(page, lambda: differs(before, view_of(page)), "the voxel to be seen")
    keep_picture(page, "voxel-workshop")

    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: workshop.runner.simulations[0].step_count > 0, "it plays")
    assert workshop.runner.simulations[0].solver.model.voxel_count == 24
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Reset").click()
    wait_until(page, lambda: workshop._painting.editing, "back to painting")

    with page.expect_download() as download:
        page.get_by_role("button", name="Save as .vxa").click()
    download.value.save_as(tmp_path / "mine.vxa")
    assert (voxels3d.Vxa.read(tmp_path / "mine.vxa").structure.cells > 0).sum() == 24

    page.get_by_role("button", name="Clear").click()
    page.get_by_text("is empty").wait_for()
    page.get_by_role("button", name="Play").click()
    page.get_by_text("there is nothing to play").first.wait_for()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Load .vxa, .vxd or .vxc").click()
    chooser.value.set_files(tmp_path / "mine.vxa")
    wait_until(page, lambda: filled(workshop) == 24, "the file is loaded")
