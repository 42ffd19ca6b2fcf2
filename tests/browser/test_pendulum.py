"""A controlled robot in a real browser: its target is dragged with the mouse, and it follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from annelid.scenes.registry import scene_class, scenes

from .conftest import arrived, on_screen, wait_until

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")
pytest.importorskip("daqp", reason="needs daqp: pip install annelid[fem]")

from annelid.view.browser.live import LiveViewer


@pytest.fixture
def pendulum() -> Iterator[LiveViewer]:
    def build(scene: Any) -> Any:
        return scene.build(device="cpu", threads=1)

    with LiveViewer(scenes(), scene_class("pendulum")(), build=build, port=18130) as viewer:
        yield viewer


def drag(viewer: LiveViewer, page: Any, offset: np.ndarray) -> None:
    """Take the target by the arrow along an axis, and pull it by an offset along that axis [m]."""
    handle = viewer._targets._handles[0]
    middle = np.array(handle.position)
    grip = middle + 0.6 * handle.scale * np.abs(offset) / np.linalg.norm(offset)
    page.mouse.move(*on_screen(viewer, page, grip))
    page.wait_for_timeout(300)
    page.mouse.down()
    page.mouse.move(*on_screen(viewer, page, grip + offset), steps=12)
    page.mouse.up()


def test_the_target_is_dragged_and_the_robot_follows(
    pendulum: LiveViewer, open_page: Callable[[str], Any], keep_picture: Callable[[Any, str], None]
) -> None:
    page = open_page(pendulum.url)
    arrived(page)
    simulation = pendulum.runner.simulations[0]
    solver = simulation.solver

    def look() -> tuple[np.ndarray, np.ndarray]:
        def both() -> tuple[np.ndarray, np.ndarray]:
            return solver.targets(simulation.state)["tip"].copy(), solver.robot.places()[0].copy()

        return pendulum.runner.call(both).result()

    rest, _ = look()
    page.wait_for_timeout(500)
    drag(pendulum, page, np.array([0.0, 0.0, -0.004]))
    wait_until(page, lambda: look()[0][2] < rest[2] - 0.001, "the mouse moves the target")
    assert simulation.state.aimed.numpy()[0] == 1
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: np.linalg.norm(np.subtract(*look())) < 1e-4, "the tip follows")
    page.get_by_text("all targets are reached", exact=False).first.wait_for()
    page.get_by_role("tab", name="Numbers").click()
    page.get_by_text("pressure-left", exact=True).wait_for()
    page.get_by_text("growth-left", exact=True).wait_for()
    page.locator(".uplot canvas").first.wait_for()
    wait_until(page, lambda: len(pendulum._plots._history.times) > 5, "pressures and volumes over time")
    keep_picture(page, "pendulum-reached")
    drag(pendulum, page, np.array([0.0, 0.0, -0.04]))
    wait_until(page, lambda: bool(solver.readout.active_limits(simulation.state)), "farther than the limits allow")
    page.get_by_text("limits: ", exact=False).first.wait_for()
    keep_picture(page, "pendulum-limits")
