"""A soft hand in a real browser: a slider squeezes, and the mouse drags the thing beneath it while time passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from annelid.scenes.soft_hand import SoftHand

from .conftest import not_blank, on_screen, set_number, view_of, wait_until

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.live import LiveViewer


@pytest.fixture
def hand() -> Iterator[LiveViewer]:
    def build(scene: Any) -> Any:
        return scene.build(device="cpu", threads=1)

    with LiveViewer({}, SoftHand(fingers=2, by_hand=True), build=build, port=18140) as viewer:
        yield viewer


def test_a_slider_squeezes_and_the_mouse_drags_the_thing(
    hand: LiveViewer, open_page: Callable[[str], Any], keep_picture: Callable[[Any, str], None]
) -> None:
    page = open_page(hand.url)
    simulation, handle = hand.runner.simulations[0], hand._grips._handles["object"]

    def place() -> np.ndarray:
        return np.array(hand.runner.call(lambda: simulation.solver.grips(simulation.state)["object"]).result())

    def taken() -> bool:
        """Take the handle by its upper arrow and pull it up; it is missed where it is not drawn yet."""
        if hand._grips._held:  # a page that lags tells so late
            return True
        page.mouse.up()
        grip = np.add(handle.position, (0.0, 0.0, 0.6 * handle.scale))
        page.mouse.move(*on_screen(hand, page, grip))
        page.wait_for_timeout(300)
        page.mouse.down()
        page.mouse.move(*on_screen(hand, page, np.add(grip, (0.0, 0.0, 0.03))), steps=8)
        page.wait_for_timeout(1000)
        return bool(hand._grips._held)

    rest = place()
    page.get_by_role("button", name="Play").wait_for()
    wait_until(page, lambda: not_blank(view_of(page)), "something to be seen", seconds=120)
    set_number(page, "air-0 [Pa]", "8000")
    wait_until(page, lambda: simulation.controls.targets()[0, 0] == 8e3, "the slider commands a finger")
    wait_until(page, taken, "the mouse takes the handle")
    hand.runner.play()  # as the button does, which the mouse is too busy for
    wait_until(page, lambda: place()[2] > rest[2] + 5e-3, "the mouse lifts the thing")
    assert simulation.controls["air-0"][0] > 0.0
    keep_picture(page, "hand-dragged")
    page.mouse.up()
    wait_until(page, lambda: place()[2] < rest[2] + 2e-3, "it falls when it is let go")
    wait_until(page, lambda: bool(np.allclose(handle.position, place(), atol=2e-3)), "the handle goes along")
