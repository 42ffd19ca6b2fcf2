"""Obstacles of a batch: what worlds touch, and launches of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.batch.bodies import FreeBodies, Vectors
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.obstacles import poses_of
from annelid.fem.contact.state import Touching
from annelid.fem.kernels import batch_contact as kernels
from annelid.fem.kernels import batch_ways as ways
from annelid.fem.kernels.batch_poses import Things, pose_lengths, pose_things, vary_things
from annelid.fem.state import State
from annelid.shapes import Rigid
from annelid.shapes.surface import friction_between


def untouchable(rigids: Sequence[Rigid]) -> str | None:
    """What is in the way of obstacles in a batch, in words; None where nothing is."""
    for number, rigid in enumerate(rigids):
        if rigid.path is not None:
            return f"{rigid.called(number)}, follows a path, drive it by velocity and spin"
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
        touches: What contacts do to nodes and bodies, for kernels.
        there: Whether there are obstacles.
        bodies: The free ones among them.
        progress: How far obstacles of each world have got on their way in this step, float32 of shape [width].
    """

    def __init__(
        self, contacts: Contacts | None, worlds: int, width: int, node_count: int, dt: float, device: wp.Device
    ) -> None:
        self.there, self.device, self._worlds, self._width = contacts is not None, device, worlds, width
        self.bodies = FreeBodies(contacts, worlds, width, node_count, dt, device)
        self._dt, self._things = wp.float64(dt), 0 if contacts is None else len(contacts.rigids)
        outer = np.zeros(0, np.int32) if contacts is None else contacts.outer
        self._count, self._chunks = len(outer), -(-len(outer) // ways.CHUNK)
        self.touches = self._made_touches(outer, node_count)
        self.progress = wp.full(width, 1.0, dtype=wp.float32, device=device)
        if contacts is None:
            return
        self._touched = self._made_touched(contacts, node_count)
        self._still = self._grid(3 * (node_count + 2 * self.bodies.count))
        self._parts = self._grid(self._count + self.bodies.point_count)
        self._prices = self._grid(ways.LENGTHS * (self._chunks + 1))
        self._asked = wp.zeros(width, dtype=wp.int32, device=device)
        self._lagging = self._grid(kernels.LAGS * self._things * self._count)
        self._now, self._ahead, self._then = (self._poses(times) for times in (1, 1, ways.LENGTHS))
        sizes = self._worlds * self._things, self._worlds, self._worlds
        self._sizes, self._frictions, self._masses = (wp.zeros(n, dtype=wp.float64, device=device) for n in sizes)

    def _made_touches(self, outer: np.ndarray, node_count: int) -> Any:
        places = np.full(node_count, -1, np.int32)
        places[outer] = np.arange(len(outer))
        touches: Any = kernels.Touches()
        touches.places = wp.array(places, dtype=wp.int32, device=self.device)
        touches.forces, touches.tangents = (self._grid(rows * len(outer)) for rows in (3, 6))
        touches.bodies, touches.first = self.bodies.count, node_count
        pairs = len(outer) * self.bodies.count
        touches.on = wp.zeros((pairs, self._width), dtype=wp.int32, device=self.device)
        touches.arms, touches.pair_forces, touches.pair_tangents = (self._grid(rows * pairs) for rows in (3, 3, 6))
        return touches

    def _made_touched(self, contacts: Contacts, node_count: int) -> Any:
        touched: Any = kernels.Touched()
        touched.nodes, touched.dt = node_count, self._dt
        touched.outer = wp.array(contacts.outer, dtype=wp.int32, device=self.device)
        touched.forms, touched.reach, touched.skin = contacts.nodes.forms, contacts.nodes.reach, contacts.settings.skin
        pairs = [friction_between(contacts.solid.surface, rigid.surface) for rigid in contacts.rigids]
        touched.frictions = wp.array(np.array(pairs), dtype=wp.float64, device=self.device)
        return touched

    # --- a step ---

    def begin(self, state: State, active: Any, vectors: Vectors, part: Any, cut: Any) -> None:
        """Find the part of the first guess of moves that nothing is in the way of; obstacles go as much of theirs."""
        self.progress.zero_()
        self._pose(state, self._still, self._still, 0.0, self._now)
        self._free(state, active, self._still, vectors["moves"])
        inputs = [len(self._parts), self._parts, part, self.progress, cut]
        self._launch(ways.start_progress, self._width, inputs)

    def fly(self, state: State, vectors: Vectors) -> None:
        """Find how obstacles differ from world to world, and guess how free bodies move in a step."""
        if not self.there:
            return
        things, values = self._known(_touching(state)), state.variation.values
        inputs = [self.bodies.known, len(values) // self._worlds, values, things]
        self._launch(vary_things, (self._things, self._worlds), inputs)
        if self.bodies.count:
            self.bodies.begin(things, vectors)

    def evaluate(self, newton: int, state: State, running: Any, moves: Any) -> None:
        """Forces and tangents where nodes are, in an iteration of Newton's method."""
        touch = _touching(state)
        self._pose(state, moves, self._still, 0.0, self._now)
        told = [running, self._now, self._known(touch), touch.stretches, touch.forces, state.positions, moves]
        inputs = [newton, self._touched, self.bodies.known, *told, self._lagging, self.touches]
        self._launch(kernels.touch_worlds, (self._count, self._worlds), inputs)
        if self.bodies.count:
            self.bodies.evaluate(newton, touch, self._now, self._known(touch), running)

    def limit(self, state: State, active: Any, moves: Any, steps: Any, part: Any) -> None:
        """Find the part of a step that nothing is in the way of."""
        self._free(state, active, moves, steps)
        self._launch(ways.least_free, self._width, [len(self._parts), self._parts, part])

    def shorten(self, state: State, active: Any, moves: Any, steps: Any, gain: Any, part: Any) -> None:
        """Take less of a step where contacts that it leads into cost more than they let expect."""
        for lengths, of in ((1, active), (ways.LENGTHS, self._asked)):
            chunks = self._price(lengths, state, of, moves, steps, part)
            if lengths == 1:
                self._launch(ways.ask_for_length, self._width, [chunks, active, self._prices, gain, self._asked])
            else:
                self._launch(ways.choose_length, self._width, [chunks, self._asked, self._prices, gain, part])

    def _price(self, lengths: int, state: State, active: Any, moves: Any, steps: Any, part: Any) -> int:
        """Find what contacts cost after so many parts of a step, in chunks whose number is returned."""
        touch, things = _touching(state), self._known(_touching(state))
        told = [active, part, self.progress, things, moves, steps, self._then]
        inputs = [lengths, self._worlds, self._dt, self.bodies.known, *told]
        self._launch(pose_lengths, (self._things, self._worlds), inputs)
        told = [active, part, self.progress, self._now, self._then, things]
        moved = [touch.stretches, state.positions, moves, steps, self._lagging, self.touches, self._prices]
        inputs = [lengths, self._worlds, self._touched, self.bodies.known, *told, *moved]
        self._launch(ways.price_worlds, (self._chunks, self._worlds), inputs)
        if self.bodies.count:
            poses = self._now, self._then, things
            self.bodies.price(lengths, self._chunks, touch, active, part, poses, steps, self._prices)
        return self._chunks + int(self.bodies.count > 0)

    def go_further(self, active: Any, part: Any) -> None:
        """Let obstacles follow a step."""
        self._launch(ways.go_further, self._width, [active, part, self.progress])

    def end(self, state: State, moves: Any, cut: Any, lost: Any) -> None:
        """Write what a step has led to into the state, before positions are."""
        touch = _touching(state)
        self._pose(state, moves, self._still, 0.0, self._now)
        told = [self._now, self._known(touch), state.positions, moves, touch.stretches, touch.forces]
        self._launch(kernels.keep_worlds, (self._count, self._worlds), [self._touched, *told])
        if self.bodies.count:
            self.bodies.end(touch, self._now, self._known(touch))
        told = [self._now, moves, cut, lost, self._known(touch), touch.cut]
        self._launch(kernels.end_things, (self._things, self._worlds), [self._dt, self.bodies.known, *told])

    def _free(self, state: State, active: Any, moves: Any, steps: Any) -> None:
        self._pose(state, moves, steps, 1.0, self._ahead)
        things = self._known(_touching(state))
        told = [active, self._now, self._ahead, things, state.positions, moves, steps, self._parts]
        self._launch(ways.free_worlds, (self._count, self._worlds), [self._touched, *told])
        if self.bodies.count:
            self.bodies.free(self._count, active, self._now, self._ahead, things, self._parts)

    def _pose(self, state: State, moves: Any, steps: Any, part: float, poses: Any) -> None:
        """Find where obstacles are, a part of what is left of their way further on."""
        told = [self.progress, self._known(_touching(state)), moves, steps, poses]
        inputs = [self._dt, wp.float64(part), self.bodies.known, *told]
        self._launch(pose_things, (self._things, self._worlds), inputs)

    def _known(self, touch: Touching) -> Any:
        things: Any = Things()
        things.places, things.turns = touch.places, touch.turns
        things.velocities, things.spins = touch.velocities, touch.spins
        things.sizes, things.frictions, things.masses = self._sizes, self._frictions, self._masses
        return things

    def _poses(self, times: int) -> Any:
        rows = times * self._worlds * self._things
        places, turns = (wp.zeros(rows, dtype=dtype, device=self.device) for dtype in (wp.vec3d, wp.quatd))
        return poses_of(places, turns)

    def _grid(self, rows: int) -> wp.array[Any]:
        return wp.zeros((rows, self._width), dtype=wp.float32, device=self.device)

    def _launch(self, kernel: Any, size: Any, inputs: Sequence[Any]) -> None:
        wp.launch(kernel, size, inputs, device=self.device)


def _touching(state: State) -> Touching:
    assert isinstance(state.touch, Touching)
    return state.touch
