"""Handles on the rigid things of a simulation, with which people lead them while it runs.

A handle goes along with its thing. While someone drags it, it stays with the mouse and the thing is led towards it;
when it is let go, so is the thing. The physics that can be led so are `Grippable`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from annelid.core.solver import Grippable
from annelid.view.browser.runner import Runner

MOST = 8
"""Things that have a handle; of more, the first."""

_SIZE = 0.2  # of the scene's extent


class Grips:
    """Handles on the things of the first simulation, which lead those of the others alike.

    Args:
        server: The viser server.
        runner: Owner of the simulations.
        later: Has something done by the page's thread.
    """

    def __init__(self, server: Any, runner: Runner, later: Callable[[Callable[[], None]], None]) -> None:
        self._server, self._runner, self._later = server, runner, later
        self._handles: dict[str, Any] = {}
        self._held: dict[str, int] = {}  # by whom: the number of a browser
        self._waiting: dict[str, tuple[float, float, float]] = {}
        server.on_client_disconnect(lambda client: self._later(lambda: self._gone(client.client_id)))

    def show(self, extent: float) -> None:
        """Show handles on what can be led in the simulations that there are.

        Args:
            extent: Size of what is drawn [m], which sets the size of the handles.
        """
        for handle in self._handles.values():
            handle.remove()
        self._handles, self._held, self._waiting = {}, {}, {}
        for name, place in list(self._places().items())[:MOST]:
            handle = self._server.scene.add_transform_controls(
                f"/all/grips/{name.replace('/', '_')}", scale=_SIZE * extent, disable_rotations=True, position=place,
                depth_test=False,
            )  # fmt: skip
            handle.on_update(self._listener(name))
            self._handles[name] = handle

    def follow(self) -> None:
        """Put handles that nobody drags where their things are now."""
        if not self._handles:
            return
        for name, place in self._places().items():
            handle = self._handles.get(name)
            if handle is not None and name not in self._held and tuple(handle.position) != place:
                handle.position = place

    def _places(self) -> dict[str, tuple[float, float, float]]:
        """Where things are now [m]."""
        simulations = self._runner.simulations
        if not simulations or not isinstance(simulations[0].solver, Grippable):
            return {}
        first = simulations[0]
        found = self._runner.call(lambda: first.solver.grips(first.state)).result()
        return {name: (float(place[0]), float(place[1]), float(place[2])) for name, place in found.items()}

    def _listener(self, name: str) -> Callable[[Any], Coroutine[Any, Any, None]]:
        """Hears what is done with a handle; as a coroutine it does so in the order in which it is done."""

        async def hear(event: Any) -> None:
            if event.phase == "start":
                self._held[name] = -1 if event.client_id is None else event.client_id
            elif event.phase == "end":
                self._later(lambda: self._let_go(name))
            else:
                self._dragged(name, event.target.position)

        return hear

    def _dragged(self, name: str, position: Any) -> None:
        """Remember where it was dragged; only the latest place is passed on, however fast the mouse moves."""
        if name not in self._held:
            return
        pending = name in self._waiting
        self._waiting[name] = (float(position[0]), float(position[1]), float(position[2]))
        if not pending:
            self._later(lambda: self._lead(name))

    def _lead(self, name: str) -> None:
        place = self._waiting.pop(name, None)
        if place is not None and name in self._held:
            self._tell(name, place)

    def _let_go(self, name: str) -> None:
        if self._held.pop(name, None) is not None:
            self._tell(name, None)

    def _gone(self, client: int) -> None:
        """A browser was closed: nobody drags its handles any more."""
        for name in [name for name, holder in self._held.items() if holder == client]:
            self._let_go(name)

    def _tell(self, name: str, place: tuple[float, float, float] | None) -> None:
        def lead() -> None:
            for simulation in self._runner.simulations:
                simulation.solver.lead(name, place)

        self._runner.call(lead).result()
