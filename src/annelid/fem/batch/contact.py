"""Obstacles of a batch: what worlds touch, and launches of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.obstacles import friction_of
from annelid.fem.contact.state import Touching
from annelid.fem.kernels import batch_contact as kernels
from annelid.fem.state import State
from annelid.shapes import Rigid


def untouchable(rigids: Sequence[Rigid]) -> str | None:
    """What is in the way of obstacles in a batch, in words; None where nothing is."""
    for number, rigid in enumerate(rigids):
        if rigid.path is not None:
            return f"{rigid.called(number)}, follows a path, drive it by velocity and spin"
        if rigid.moves == "free":
            return f"{rigid.called(number)}, is free, fix or drive it"
    return None


class TouchingWorlds:
    """Contacts of all worlds.

    Args:
        contacts: What the solid touches; None where there are no obstacles.
        worlds: Number of worlds.
        width: The same, filled up to a multiple of a tile.
        node_count: Number of nodes of the solid.
        dt: Time step [s].
        device: Where it is computed.

    Attributes:
        touches: What contacts do to nodes, for kernels.
        there: Whether there are obstacles.
        progress: How far obstacles of each world have got on their way in this step, float32 of shape [width].
    """

    def __init__(
        self, contacts: Contacts | None, worlds: int, width: int, node_count: int, dt: float, device: wp.Device
    ) -> None:
        self.there, self.device, self._worlds, self._width = contacts is not None, device, worlds, width
        outer = np.zeros(0, np.int32) if contacts is None else contacts.outer
        places = np.full(node_count, -1, np.int32)
        places[outer] = np.arange(len(outer))
        touches: Any = kernels.Touches()
        touches.places = wp.array(places, dtype=wp.int32, device=device)
        touches.forces, touches.tangents = (
            wp.zeros((rows * len(outer), width), dtype=wp.float32, device=device) for rows in (3, 6)
        )
        self.touches = touches
        self.progress = wp.full(width, 1.0, dtype=wp.float32, device=device)
        self._still = wp.zeros((3 * node_count, width if self.there else 0), dtype=wp.float32, device=device)
        self._count, self._parts = len(outer), wp.zeros((len(outer), width), dtype=wp.float32, device=device)
        if contacts is not None:
            touched: Any = kernels.Touched()
            touched.nodes, touched.dt = node_count, dt
            touched.outer = wp.array(outer, dtype=wp.int32, device=device)
            touched.forms, touched.reach, touched.skin = (
                contacts.nodes.forms,
                contacts.nodes.reach,
                contacts.settings.skin,
            )
            pairs = [friction_of(contacts.solid.surface, rigid.surface) for rigid in contacts.rigids]
            touched.frictions = wp.array(np.array(pairs), dtype=wp.float64, device=device)
            self._touched, self._things = touched, len(contacts.rigids)
            rows = kernels.LENGTHS * -(-len(outer) // kernels.CHUNK)
            self._prices = wp.zeros((rows, width), dtype=wp.float32, device=device)
            self._lagging = wp.zeros((4 * self._things * len(outer), width), dtype=wp.float32, device=device)

    def begin(self, state: State, active: Any, moves: Any, part: Any, cut: Any) -> None:
        """Find the part of the first guess of moves that nothing is in the way of; obstacles go as much of theirs."""
        self.progress.zero_()
        self._free(state, active, self._still, moves)
        self._launch(kernels.start_progress, self._width, [self._count, self._parts, part, self.progress, cut])

    def evaluate(self, newton: int, state: State, running: Any, moves: Any) -> None:
        """Forces and tangents where nodes are, in an iteration of Newton's method."""
        touch = _touching(state)
        told = [running, self.progress, _things(touch), touch.stretches, touch.forces, state.positions, moves]
        inputs = [newton, self._touched, *told, self._lagging, self.touches]
        self._launch(kernels.touch_worlds, (self._count, self._worlds), inputs)

    def limit(self, state: State, active: Any, moves: Any, steps: Any, part: Any) -> None:
        """Find the part of a step that nothing is in the way of."""
        self._free(state, active, moves, steps)
        self._launch(kernels.least_free, self._width, [self._count, self._parts, part])

    def shorten(self, state: State, active: Any, moves: Any, steps: Any, gain: Any, part: Any) -> None:
        """Take less of a step where contacts that it leads into cost more than they let expect."""
        touch, chunks = _touching(state), -(-self._count // kernels.CHUNK)
        told = [active, part, self.progress, _things(touch), touch.stretches, state.positions, moves, steps]
        inputs = [kernels.LENGTHS, self._touched, *told, self._lagging, self.touches, self._prices]
        self._launch(kernels.price_worlds, (chunks, self._worlds), inputs)
        self._launch(kernels.choose_length, self._width, [chunks, active, self._prices, gain, part])

    def go_further(self, active: Any, part: Any) -> None:
        """Let obstacles follow a step."""
        self._launch(kernels.go_further, self._width, [active, part, self.progress])

    def end(self, state: State, moves: Any, cut: Any) -> None:
        """Write what a step has led to into the state, before positions are."""
        touch = _touching(state)
        told = [self.progress, _things(touch), state.positions, moves, touch.stretches, touch.forces]
        self._launch(kernels.keep_worlds, (self._count, self._worlds), [self._touched, *told])
        told = [self.progress, cut, _things(touch), touch.cut]
        size = (self._things, self._worlds)
        self._launch(kernels.end_things, size, [wp.float64(self._touched.dt), self._things, *told])

    def _free(self, state: State, active: Any, moves: Any, steps: Any) -> None:
        told = [active, self.progress, _things(_touching(state)), state.positions, moves, steps, self._parts]
        self._launch(kernels.free_worlds, (self._count, self._worlds), [self._touched, *told])

    def _launch(self, kernel: Any, size: Any, inputs: Sequence[Any]) -> None:
        wp.launch(kernel, size, inputs, device=self.device)


def _touching(state: State) -> Touching:
    assert isinstance(state.touch, Touching)
    return state.touch


def _things(touch: Touching) -> Any:
    things: Any = kernels.Things()
    things.places, things.turns = touch.places, touch.turns
    things.velocities, things.spins = touch.velocities, touch.spins
    return things
