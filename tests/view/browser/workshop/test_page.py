"""The page of the workshop without a browser: its buttons act on the workpiece, its errors are sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid.scenes.workshop import Workshop
from annelid.scenes.worm import Worm
from annelid.shapes import Box

from ....threads import until
from ..client import connected

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.live import LiveViewer

SMALL = Workshop(length=0.1, width=0.02, height=0.02, pitch=0.01, drop=0.02)


@pytest.fixture
def viewer() -> Iterator[LiveViewer]:
    known = {"workshop": Workshop, "worm": Worm}
    with LiveViewer(known, SMALL, build=lambda s: s.build(device="cpu", threads=1), port=18300) as made:
        yield made


@pytest.fixture
def told(viewer: LiveViewer) -> list[str]:
    sentences: list[str] = []
    viewer.page.tell = sentences.append  # type: ignore[method-assign]
    return sentences


def do(viewer: LiveViewer, task: Callable[[], None]) -> None:
    """Have the page's thread do something, and wait for it."""
    done: list[bool] = []
    viewer.page.later(task)
    viewer.page.later(lambda: done.append(True))
    until(lambda: bool(done))


def body(viewer: LiveViewer) -> Any:
    return viewer.runner.simulations[0].solver.model.body


def test_tools_act_on_the_part_in_the_box(viewer: LiveViewer) -> None:
    tools = viewer._workshop
    masses = body(viewer).mass_count
    do(viewer, lambda: tools._hold("Fix"))
    assert tools.note.content == "27 masses are fixed."
    do(viewer, tools._paint)
    assert body(viewer).materials == ("ecoflex-00-30", "tpu")
    assert "material" in viewer.page.color.options
    do(viewer, tools._actuate)
    assert "actuation" in viewer.page.color.options
    do(viewer, viewer._reset)
    assert body(viewer).fixed.sum() == 27
    do(viewer, lambda: tools._hold("Cut away"))
    assert body(viewer).mass_count < masses
    do(viewer, tools._build_body)
    assert body(viewer).mass_count == masses
    assert not body(viewer).fixed.any()


def test_work_goes_on_while_it_runs(viewer: LiveViewer) -> None:
    viewer.runner.play()
    do(viewer, lambda: viewer._workshop._hold("Cut away"))
    assert viewer.runner.playing
    first = viewer.runner.simulations[0]
    until(lambda: first.step_count > 10)


def test_the_handle_pulls(viewer: LiveViewer) -> None:
    tools = viewer._workshop
    do(viewer, lambda: tools._grab_on(np.array([0.0, -1.0, 0.03]), np.array([0.0, 1.0, 0.0])))
    assert tools.handle.shown
    tools.handle._dragged(np.array([0.0, 0.0, 0.3]))
    tools.handle._dragged(np.array([0.0, 0.0, 0.2]))
    do(viewer, lambda: None)
    at, goal = viewer.runner.call(tools._pieces[0].grip).result() or (None, None)
    assert goal == pytest.approx([0.0, 0.0, 0.2])
    do(viewer, lambda: viewer.runner.step(2000).result())
    pulled, _ = viewer.runner.call(tools._pieces[0].grip).result() or (None, None)
    assert at is not None
    assert pulled is not None
    assert pulled[2] > at[2] + 0.03
    do(viewer, tools._release)
    assert not tools.handle.shown


def test_errors_are_sentences_and_leave_the_body_alone(viewer: LiveViewer, told: list[str]) -> None:
    tools, first = viewer._workshop, viewer.runner.simulations[0]
    tools.controls["pitch"].value = 0.5
    do(viewer, tools._build_body)
    assert "use at most 0.02 m" in told[-1]
    assert "not built" in tools.note.content
    tools.controls["pitch"].value = 0.01
    tools.box.middle.value = (9.0, 9.0, 9.0)
    do(viewer, lambda: tools._hold("Fix"))
    assert "no mass is inside the box" in told[-1]
    assert viewer.runner.simulations[0] is first
    assert viewer._scene == SMALL


def test_a_file_is_uploaded(viewer: LiveViewer, told: list[str], tmp_path: Path) -> None:
    tools = viewer._workshop
    Box((60.0, 20.0, 20.0)).surface().write(tmp_path / "part.stl")
    whole = (tmp_path / "part.stl").read_bytes()
    opened = whole[:80] + np.uint32(11).tobytes() + whole[84:-50]
    tools.unit.value = "mm"
    do(viewer, lambda: tools._uploaded("my <part>.stl", opened))
    assert "3 edges are open" in told[-1]
    assert "annelid-" not in told[-1]
    tools.controls["repair"].value = True
    do(viewer, tools._build_body)
    assert body(viewer).mass_count == 7 * 3 * 3
    tools.controls["repair"].value = False
    do(viewer, lambda: tools._uploaded("../../part.stl", whole))
    assert viewer._scene.shape == "file"
    assert Path(viewer._scene.file).parent == Path(tools.uploads.folder.name)  # type: ignore[union-attr]
    do(viewer, lambda: tools._uploaded("part.exe", b"nothing"))
    assert "part.exe" in told[-1]
    folder = Path(viewer._scene.file).parent
    viewer.close()
    assert not folder.exists()


def test_the_ground_and_gravity(viewer: LiveViewer, told: list[str]) -> None:
    tools = viewer._workshop
    tools.controls["ground"].value = False
    until(lambda: not viewer.runner.simulations[0].solver.model.world.obstacles)
    viewer._controls["gravity"].value = 0.0
    until(lambda: viewer.runner.simulations[0].solver.model.world.gravity[2] == 0.0)
    do(viewer, tools._build_body)
    world = viewer.runner.simulations[0].solver.model.world
    assert world.gravity[2] == 0.0
    assert not world.obstacles
    assert told == []


def test_the_workshop_closes_and_opens_with_its_scene(viewer: LiveViewer) -> None:
    viewer._choice.value = "worm"
    until(lambda: viewer._name == "worm" and not viewer._workshop.open)
    do(viewer, lambda: None)
    assert "amplitude" in viewer._controls
    viewer._choice.value = "workshop"
    until(lambda: viewer._workshop.open and bool(viewer._workshop._pieces))
    assert set(viewer._controls) == {"friction", "gravity"}


@pytest.mark.parametrize("name", ["..", "", "a/../..", "..\\x.stl", "\x00.stl", "é" * 300 + ".ply", ".stl"])
def test_whatever_an_upload_is_called_it_is_told_what_is_wrong(viewer: LiveViewer, told: list[str], name: str) -> None:
    with connected(viewer.url) as client:
        client.upload(viewer._workshop.upload, name, b"nothing of use")
        until(lambda: bool(told))
    assert "unexpectedly" not in told[0]
    assert all(path.is_file() for path in Path(viewer._workshop.uploads.folder.name).iterdir())  # type: ignore[union-attr]
    do(viewer, lambda: viewer._workshop._hold("Fix"))
    assert viewer._workshop.note.content == "27 masses are fixed."


def test_a_mesh_whose_repair_fails_leaves_the_body_alone(
    viewer: LiveViewer, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Workshop:
        raise ZeroDivisionError("in the repair")

    first = viewer.runner.simulations[0]
    monkeypatch.setattr(Workshop, "with_file", fail)
    with connected(viewer.url) as client:
        client.upload(viewer._workshop.upload, "part.stl", b"solid")
        until(lambda: bool(told))
    assert told == ["this failed unexpectedly (ZeroDivisionError: in the repair)."]
    do(viewer, viewer._take_steps)
    assert viewer.runner.simulations[0] is first
    assert first.step_count == 100
