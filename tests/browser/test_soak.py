"""What a soak does on its page, once, in a real browser in a process of its own."""

from __future__ import annotations

import threading

import pytest

from annelid.commands.soaking.tower import TowerScene
from annelid.commands.soaking.visitor import browser_path

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")
pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from annelid.commands.soaking.browsing import Browsing
from annelid.commands.soaking.soak import threads_left
from annelid.commands.soaking.wanted import NotAsWanted


def test_the_page_plays_sends_values_and_shows_something() -> None:
    path = browser_path()
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    before = set(threading.enumerate())
    simulation = TowerScene().build(device="cpu", threads=1)
    page = Browsing(simulation, path, seed=1)
    try:
        simulation.start()
        page.move_sliders()
        page.look()
        simulation.pause()
        page.play()
        with pytest.raises(NotAsWanted, match="the page does not do"):
            page._visit._do(act="click", button="No such button", patience="200")
    finally:
        simulation.stop()
        page.close()
    counts = page.counts
    del page, simulation
    assert (counts.values, counts.plays, counts.looks) == (4, 1, 1)
    assert threads_left(before) == []
