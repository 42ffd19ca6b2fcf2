"""What a soak does on the page of its tower: it plays, pauses, moves sliders, chooses colours and looks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from annelid.commands.soaking.tower import Tower, TowerScene, scene_of
from annelid.commands.soaking.visit import Visit, until
from annelid.commands.soaking.wanted import want
from annelid.core.parameters import values

_VALUES = {"gravity": np.arange(3.0, 14.0, 1.5), "wind": np.arange(-2.0, 2.5, 0.5)}
_FEWEST_COLORS = 20


@dataclass
class PageCounts:
    """How often things were done on the page.

    Attributes:
        values: Values that were sent from sliders and have arrived.
        plays: How often the page advanced the simulation.
        looks: Pictures on which something was to be seen.
        heaps: Memory of the page at each look [B].
    """

    values: int = 0
    plays: int = 0
    looks: int = 0
    heaps: list[int] = field(default_factory=list)


class Browsing:
    """A page of a tower, open in a browser.

    Args:
        simulation: The tower.
        browser: Path of the browser.
        seed: Of all choices.
    """

    def __init__(self, simulation: Tower, browser: str, seed: int) -> None:
        from annelid.view.browser.live import LiveViewer  # needs viser, and nobody else here does

        self.counts = PageCounts()
        self._simulation, self._random = simulation, np.random.default_rng(seed)
        self._sent: dict[str, float] = {}
        self.viewer = LiveViewer({}, TowerScene(), build=lambda scene: simulation, name="soak")
        try:
            self._visit = Visit(browser, self.viewer.url)
        except BaseException:
            self.viewer.close()
            raise

    def close(self) -> None:
        """Leave the page, and stop serving it."""
        try:
            self._visit.close()
        finally:
            self.viewer.close()

    def play(self) -> None:
        """Let the page advance the tower, and move sliders meanwhile; it must not run in its own thread."""
        runner = self.viewer.runner
        self._visit.click("Play")
        until(lambda: runner.playing, "the page to play")
        begin = self._simulation.step_count
        until(lambda: self._simulation.step_count > begin + 100 or runner.error is not None, "the page to take steps")
        self.move_sliders()
        self._visit.click("Pause")
        until(lambda: not runner.playing, "the page to pause")
        runner.call(lambda: None).result()  # the turn that was under way is over
        want(runner.error is None, f"the page could not play: {runner.error}")
        self.counts.plays += 1

    def move_sliders(self) -> None:
        """Send values from the page and wait until they act."""
        for name, choices in _VALUES.items():
            # A box that has this value already sends nothing, also where a checkpoint has brought back another one.
            value = float(self._random.choice(choices[choices != self._sent.get(name)]))
            self._sent[name] = value
            self._visit.set(f"{name} [m/s²]", f"{value:g}")
            self._wait_for(name, value)
            self.counts.values += 1

    def look(self) -> None:
        """Choose a colour, and see whether there is something to be seen."""
        self._visit.choose("Colour", str(self._random.choice(["none", *self._simulation.fields])))
        colors, heap = self._visit.look()
        want(colors >= _FEWEST_COLORS, f"the page shows {colors} colours: there is nothing to be seen.")
        self.counts.looks += 1
        self.counts.heaps.append(heap)

    def _wait_for(self, name: str, value: float) -> None:
        def arrived() -> bool:
            return bool(abs(values(scene_of(self._simulation))[name] - value) < 0.01)

        until(arrived, f"{name} = {value:g} from the page")
