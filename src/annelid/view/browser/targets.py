"""Handles that can be dragged in the page: points that a scene lets people move while it runs.

The scenes that have them are `Targeted`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from annelid.core.scene import Targeted
from annelid.view.browser.runner import Runner

_SIZE = 0.15  # of the scene's extent


class Targets:
    """The draggable points of a scene, the same for all its simulations.

    Args:
        server: The viser server.
        runner: Owner of the simulations.
        later: Has something done by the page's thread.
    """

    def __init__(self, server: Any, runner: Runner, later: Callable[[Callable[[], None]], None]) -> None:
        self._server, self._runner, self._later = server, runner, later
        self._handles: list[Any] = []
        self._waiting: dict[str, tuple[float, float, float]] = {}

    def show(self, scene: Any, extent: float) -> None:
        """Show the targets of a scene, none if it has none.

        Args:
            scene: The scene.
            extent: Size of what is drawn [m], which sets the size of the handles.
        """
        for handle in self._handles:
            handle.remove()
        self._handles, self._waiting = [], {}
        if not isinstance(scene, Targeted) or not self._runner.simulations:
            return
        simulation = self._runner.simulations[0]
        places = self._runner.call(lambda: dict(scene.targets(simulation))).result()
        for name, place in places.items():
            handle = self._server.scene.add_transform_controls(
                f"/all/targets/{name}", scale=_SIZE * extent, disable_rotations=True, position=tuple(place)
            )
            handle.on_update(lambda event, name=name: self._dragged(scene, name, event.target.position))
            self._handles.append(handle)

    def _dragged(self, scene: Targeted, name: str, position: np.ndarray) -> None:
        """Remember where it was dragged; only the latest place is passed on, however fast the mouse moves."""
        pending = name in self._waiting
        self._waiting[name] = (float(position[0]), float(position[1]), float(position[2]))
        if not pending:
            self._later(lambda: self._move(scene, name))

    def _move(self, scene: Targeted, name: str) -> None:
        place = self._waiting.pop(name, None)
        if place is not None:
            self._runner.call(lambda: self._move_all(scene, name, place)).result()

    def _move_all(self, scene: Targeted, name: str, place: tuple[float, float, float]) -> None:
        for simulation in self._runner.simulations:
            scene.move_target(simulation, name, place)
