"""Sliders for the controls of a simulation: each commands one channel, smoothly, while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from annelid.core.controls import Control
from annelid.core.simulation import Simulation
from annelid.view.browser.runner import Runner

MOST = 40
"""Sliders that a page has room for; a robot with more channels shows the first ones."""

_RAMP = 0.05  # in which channels follow a slider [s]


class Commands:
    """A folder of sliders, one for each channel; the same commands for all simulations that stand side by side.

    Args:
        gui: The controls of the viser server.
        runner: Owner of the simulations.
        later: Has something done by the page's thread.
    """

    def __init__(self, gui: Any, runner: Runner, later: Callable[[Callable[[], None]], None]) -> None:
        self._gui, self._runner, self._later = gui, runner, later
        self._folder = gui.add_folder("Commands")
        self._folder.visible = False
        self._sliders: dict[Control, Any] = {}

    def show(self, simulations: Sequence[Simulation[Any]]) -> None:
        """Show the channels of simulations that are alike, none if they have none."""
        channels = simulations[0].controls.channels[:MOST]
        if channels != tuple(self._sliders):
            for slider in self._sliders.values():
                slider.remove()
            with self._folder:
                self._sliders = {channel: self._slider(channel) for channel in channels}
        self._folder.visible = bool(channels)
        if not channels:
            return
        now = self._runner.call(lambda: simulations[0].controls.targets()[0]).result()
        for value, slider in zip(now.tolist(), self._sliders.values(), strict=False):
            slider.value = value

    def _slider(self, channel: Control) -> Any:
        label = f"{channel.name} [{channel.unit}]" if channel.unit else channel.name
        step = (channel.high - channel.low) / 200.0
        slider = self._gui.add_slider(label, channel.low, channel.high, step, channel.rest, hint=channel.does or None)
        slider.on_update(lambda event: self._moved(channel, event))
        return slider

    def _moved(self, channel: Control, event: Any) -> None:
        if event.client is None:  # set by the program
            return
        value = float(event.target.value)
        self._later(lambda: self._runner.call(lambda: self._command(channel.name, value)).result())

    def _command(self, name: str, value: float) -> None:
        for simulation in self._runner.simulations:
            simulation.controls.command({name: value}, ramp=_RAMP)
