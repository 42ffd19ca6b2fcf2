"""Free rigid bodies of a batch: their unknowns are two more nodes each, centre and rotation of the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.state import Touching
from annelid.fem.kernels import batch_bodies as kernels
from annelid.fem.kernels import batch_points as pointed
from annelid.fem.kernels.batch_contact import LAGS
from annelid.fem.kernels.batch_poses import Bodies
from annelid.fem.kernels.batch_ways import CHUNK

Vectors = Mapping[str, "wp.array[Any]"]


class FreeBodies:
    """The free bodies of all worlds.

    Args:
        contacts: What the solid touches; None where there are no obstacles.
        worlds: Number of worlds.
        width: The same, filled up to a multiple of a tile.
        node_count: Number of nodes of the solid.
        dt: Time step [s].
        device: Where it is computed.

    Attributes:
        count: How many there are in a world.
        known: What they are, for kernels.
        own: Their matrices, for kernels.
        point_count: Number of their points that touch other rigid things.
    """

    def __init__(
        self, contacts: Contacts | None, worlds: int, width: int, node_count: int, dt: float, device: wp.Device
    ) -> None:
        self.device, self._worlds, self._width = device, worlds, width
        self._dt, self._rate = wp.float64(dt), wp.float32(dt**-2)
        numbers = np.zeros(0, int) if contacts is None else contacts.bodies.numbers
        self.count, self.point_count = len(numbers), 0
        slots = np.full(0 if contacts is None else len(contacts.rigids), -1)
        slots[numbers] = np.arange(self.count)
        known: Any = Bodies()
        known.numbers, known.slots = self._array(numbers, wp.int32), self._array(slots, wp.int32)
        known.first = node_count
        self.known, self.own = known, kernels.Own()
        if contacts is not None and self.count:
            self._make(contacts)

    def _make(self, contacts: Contacts) -> None:
        bodies, outer = contacts.bodies, len(contacts.outer)
        self.known.masses = self._array(bodies.masses, wp.float64)
        self.known.inertias = self._array(bodies.inertias, wp.mat33d)
        points: Any = pointed.BodyPoints()
        points.forms, points.reach = bodies.points.forms, bodies.points.reach
        points.local, points.owners = self._array(bodies.local, wp.vec3d), self._array(bodies.owners, wp.int32)
        points.skins = bodies.points.points.skins
        points.frictions = self._array(bodies.frictions.ravel(), wp.float64)
        self.point_count, pairs = len(bodies.local), len(bodies.points.pair_forces)
        touches: Any = pointed.PointTouches()
        touches.on = wp.zeros((pairs, self._width), dtype=wp.int32, device=self.device)
        touches.forces, touches.tangents, self._lagging = (self._grid(rows * pairs) for rows in (3, 6, LAGS))
        own: Any = self.own
        size = 6 * self.count
        own.matrices, own.inverses = self._grid(size**2), self._grid(6 * size)
        own.wrenches, own.inertias, own.masses = (self._grid(rows) for rows in (size, 9 * self.count, self.count))
        self._points, self._touches = points, touches
        self._outer, self._chunks = contacts.outer, -(-outer // CHUNK)
        self._outer_nodes = self._array(contacts.outer, wp.int32)
        self._sums = self._grid(size * self._chunks)

    # --- a step ---

    def begin(self, things: Any, vectors: Vectors) -> None:
        """Where bodies would fly in a step."""
        written = [vectors[name] for name in ("flights", "moves", "displacements")]
        self._launch(kernels.begin_bodies, self._each_world, [self._dt, self.known, things, *written, self.own])

    def evaluate(self, newton: int, touch: Touching, now: Any, things: Any, running: Any) -> None:
        """Contacts of their points and their own matrices, in an iteration of Newton's method."""
        told = [running, now, things, touch.point_stretches, touch.point_forces, self._lagging, self._touches]
        self._launch(pointed.touch_bodies, (self.point_count, self._worlds), [newton, self._points, *told])
        inputs = [self._rate, self.known, self._points, running, now, things, self._touches, self.own]
        self._launch(kernels.gather_bodies, self._worlds, inputs)

    def end(self, touch: Touching, now: Any, things: Any) -> None:
        """Write what friction of their points keeps into the state."""
        inputs = [self._points, now, things, touch.point_stretches, touch.point_forces]
        self._launch(pointed.keep_bodies, (self.point_count, self._worlds), inputs)

    # --- iterations ---

    def leave(self, touches: Any, each: Any, running: Any, vectors: Vectors) -> None:
        """What is left of the forces on bodies, into their rows of the residual."""
        inputs = [touches, len(self._outer), running, self._sums]
        self._launch(kernels.push_bodies, (self._chunks, self._worlds), inputs)
        told = [running, self._sums, self.own, vectors["flights"], vectors["moves"]]
        made = [vectors[name] for name in ("turned", "steps", "direction")]
        inputs = [self._chunks, self._rate, self.known, each, *told, *made]
        self._launch(kernels.leave_bodies, self._each_world, inputs)

    def answer(self, running: Any, forces: Any, answers: Any) -> None:
        """What leads conjugate gradients in their rows."""
        inputs = [self.known, running, self.own, forces, answers]
        self._launch(kernels.answer_bodies, self._each_world, inputs)

    def multiply(self, touches: Any, running: Any, vectors: Vectors, sums: Sequence[Any], part: int) -> None:
        """Their rows of the tangent times the direction, and their part of both sums."""
        direction = vectors["direction"]
        inputs = [touches, len(self._outer), self._outer_nodes, running, direction, self._sums]
        self._launch(kernels.resist_bodies, (self._chunks, self._worlds), inputs)
        told = [running, self._sums, self.own, direction, vectors["products"], *sums]
        self._launch(kernels.multiply_bodies, self._worlds, [self._chunks, part, self._rate, self.known, *told])

    def free(self, first: int, active: Any, now: Any, ahead: Any, things: Any, parts: Any) -> None:
        """Parts of the way to where obstacles are ahead that are free for their points, from a row on."""
        inputs = [first, self._points, active, now, ahead, things, parts]
        self._launch(pointed.free_bodies, (self.point_count, self._worlds), inputs)

    def price(
        self,
        lengths: int,
        chunk: int,
        touch: Touching,
        active: Any,
        part: Any,
        poses: Sequence[Any],
        steps: Any,
        prices: Any,
    ) -> None:
        """What contacts of their points cost more after parts of a step than they let expect."""
        told = [active, part, *poses, touch.point_stretches, steps, self._lagging, self._touches, prices]
        self._launch(
            pointed.price_bodies, self._worlds, [lengths, self._worlds, chunk, self.known, self._points, *told]
        )

    @property
    def _each_world(self) -> tuple[int, int]:
        return self.count, self._worlds

    def _grid(self, rows: int) -> wp.array[Any]:
        return wp.zeros((rows, self._width), dtype=wp.float32, device=self.device)

    def _array(self, values: Any, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

    def _launch(self, kernel: Any, size: Any, inputs: Sequence[Any]) -> None:
        wp.launch(kernel, size, inputs, device=self.device)
