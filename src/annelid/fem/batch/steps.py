"""Steps of many worlds at once: launches without a look at the host, so that a graph takes all of them in.

A step of backward Euler is solved by a fixed number of Newton's iterations, each by a fixed number of conjugate
gradients with the exact tangent. What leads them is the inverse of the matrix at rest, which all worlds share; it is
turned with the nodes: into the frame in which the surroundings of a node are at rest, and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.memory import require_memory
from annelid.fem.actuation.actuator import Drive
from annelid.fem.actuation.channels import Channels
from annelid.fem.batch.actors import ActorLists
from annelid.fem.batch.cells import cells_of
from annelid.fem.batch.contact import TouchingWorlds
from annelid.fem.batch.faces import PressedFaces
from annelid.fem.batch.inverse import filled, multiplier, rest_inverse, stands_rounding
from annelid.fem.batch.settings import Together
from annelid.fem.batch.woodbury import Woodbury
from annelid.fem.contact.contacts import Contacts
from annelid.fem.dynamics import Inertia
from annelid.fem.kernels import batch_nodes as nodal
from annelid.fem.kernels import batch_worlds as worldly
from annelid.fem.kernels.batch_actors import find_datums
from annelid.fem.kernels.batch_cells import force_kernel, inspect_kernel, limit_kernel, product_kernel
from annelid.fem.model import Model
from annelid.fem.state import State

_BLOCK = 64  # threads of a block of cells: each holds its cell in 100 to 170 registers
_ROUNDING = 6e-8  # of the size of a solid: where its nodes are in single precision
_VECTORS = ("displacements", "flights", "moves", "turned", "answers", "direction", "products", "steps")


class Steps:
    """Takes steps of the states of many worlds.

    Args:
        model: The model, with the inertia among its element sets.
        inertia: The inertia.
        drives: Actuators.
        channels: Their channels.
        contacts: What worlds touch, if there are obstacles.
        worlds: Number of worlds.
        settings: How.

    Attributes:
        lost: First step of each world whose result is not finite, -1 while all are, int64 of shape [worlds].
    """

    def __init__(
        self,
        model: Model,
        inertia: Inertia,
        drives: Sequence[Drive],
        channels: Channels,
        contacts: Contacts | None,
        worlds: int,
        settings: Together,
    ) -> None:
        self.model, self.device, self.worlds, self.settings = model, model.device, worlds, settings
        count = model.node_count
        self._width = filled(worlds, self.device)
        touching = contacts, worlds, self._width, count, model.world.step, self.device
        self._contact = TouchingWorlds(*touching)
        self._bodies = self._contact.bodies
        self._all = count + 2 * self._bodies.count  # a body is two more nodes
        self._rows = filled(3 * self._all, self.device)
        faces = PressedFaces(drives)
        self._cells = cells_of(model.solid, faces, self.device)
        numbers = 8 * self._rows + 4 * self._all + self._cells.slots + 11 * self._cells.count
        if contacts is not None and settings.contacts:
            numbers += 3 * len(contacts.outer) + 9 * settings.contacts**2
        needed = 4.0 * (numbers * self._width + self._rows**2)
        require_memory(f"{worlds} worlds of {count} nodes stepped together", needed, "simulate fewer worlds")
        self._lists = ActorLists(drives, channels, faces.left(), count, self.device)
        found = rest_inverse(model, inertia, self._rows)
        inverse, rounded = self._array(found, wp.float32), self.device.is_cuda and stands_rounding(found)
        self._multiply = multiplier(inverse, settings.product, self.device, rounded=rounded)
        self._woodbury = None
        if contacts is not None and settings.contacts:
            taken = contacts.outer, settings.contacts, self._bodies, self._width
            self._woodbury = Woodbury(inverse, settings.product, *taken, rounded=rounded)
        self._features = replace(self._lists.features, touch=self._contact.there, bodies=self._bodies.count > 0)
        self._chunks = -(-self._all // nodal.CHUNK) + int(self._features.bodies)  # theirs are the last
        self._dt = model.world.step
        self._rates = [wp.float32(inertia.dt**-2), wp.float32(inertia.damping / inertia.dt)]
        size = float(np.ptp(model.solid.nodes, axis=0).max())
        self._least = wp.float32(model.solid.mass * (_ROUNDING * size / inertia.dt) ** 2)
        self._dead_loads: np.ndarray | None = None
        self._dead = wp.zeros(count, dtype=wp.vec3, device=self.device)
        self._make_nodes()
        self._make_worlds(len(drives))

    def _make_nodes(self) -> None:
        solid, cells = self.model.solid, self._cells
        self._nodes: Any = nodal.Nodes()
        self._nodes.rest = self._array(solid.nodes.astype(np.float32), wp.vec3)
        self._nodes.masses = self._array(solid.weights().astype(np.float32), wp.float32)
        held = np.zeros(self._all, np.int32)
        held[: self.model.node_count] = self.model.held.numpy()
        self._nodes.held = self._array(held, wp.int32)
        self._nodes.first, self._nodes.slots = (self._array(part, wp.int32) for part in cells.slot_lists)
        first, near, weights = cells.node_lists
        self._near = [self._array(first, wp.int32), self._array(near, wp.int32), self._array(weights, wp.float32)]
        self._vectors = {name: self._grid(self._rows) for name in _VECTORS}
        self._slots = self._grid(cells.slots)
        unturned = np.tile(np.array([0.0, 0.0, 0.0, 1.0], np.float32), self._all)
        self._turns = self._array(np.repeat(unturned[:, None], self._width, axis=1), wp.float32)
        self._means, self._shares, self._cell_parts = (self._grid(n * cells.count) for n in (9, 1, 1))
        self._parts, self._inertial = self._grid(self._chunks), self._grid(self._chunks)

    def _make_worlds(self, actuators: int) -> None:
        width = self._width
        self._lanes = worldly.LANES if self.device.is_cuda else 1
        self._sums = width // self._lanes, worldly.SHARES if self.device.is_cuda else 1, self._lanes
        each: Any = worldly.Each()
        self._each = each
        each.pull = wp.zeros(width, dtype=wp.vec3, device=self.device)
        for name in ("stiffness", "mass", "damping", "fraction"):
            setattr(each, name, wp.zeros(width, dtype=wp.float32, device=self.device))
        each.efforts, each.datums = self._grid(actuators), self._grid(actuators)
        scalars: Any = worldly.Scalars()
        self._scalars = scalars
        for name in ("first", "before", "goal", "beta", "alpha", "gain", "part"):
            setattr(scalars, name, wp.zeros(width, dtype=wp.float32, device=self.device))
        self._active, self._running, self._cut = (wp.zeros(width, dtype=wp.int32, device=self.device) for _ in range(3))
        self._every_lost = wp.full(width, -1, dtype=wp.int64, device=self.device)
        self.lost = self._every_lost[: self.worlds]

    def refresh(self) -> None:
        """Follow forces that were given to the model since."""
        if self._dead_loads is not self.model.dead_loads:
            self._dead_loads = self.model.dead_loads
            self._dead.assign(self._dead_loads.astype(np.float32))

    def find_again(self, mask: wp.array[Any] | None) -> None:
        """Forget that worlds were lost: masked ones, or all."""
        if mask is None:
            self._every_lost.fill_(-1)
        else:
            self._launch(worldly.find_again, self.worlds, [mask, self._every_lost])

    def take(self, state: State) -> None:
        """Launch one step."""
        self._begin(state)
        for newton in range(self.settings.newtons):
            if newton == 0 or self._goes_on(self._active):
                self._newton(newton, state)
        self._end(state)

    def _goes_on(self, worlds: wp.array[Any]) -> bool:
        """Whether any of the worlds has something left to do; on CUDA nobody waits to know."""
        return not self.device.is_cpu or bool(worlds.numpy().any())

    def _begin(self, state: State) -> None:
        model, vectors = self.model, self._vectors
        gravity = wp.vec3d(*model.gravity.tolist())
        times = [wp.float64(self._dt), wp.float64(model.world.ramp)]
        told = [state.variation.values, state.commands, state.clock, state.begun, state.efforts]
        inputs = [self.worlds, gravity, *times, self._lists.limits, *told, self._each, self._active]
        self._launch(worldly.begin_worlds, self._width, inputs)
        if self._lists.heavy:
            inputs = [self.worlds, *self._lists.liquids, self._nodes.rest, self._each]
            self._launch(find_datums, self._each.datums.shape, inputs)
        held = [self._nodes, self._lists.slides, times[0], self._each, model.rest, model.offsets, state.efforts]
        inputs = [*held, state.positions, state.velocities]
        where = [vectors[name] for name in ("displacements", "flights", "moves")]
        self._launch(nodal.begin_nodes, (model.node_count, self.worlds), [*inputs, *where])
        self._contact.fly(state, vectors)
        for shape, group, count in self._groups:
            inputs = [group, vectors["displacements"], vectors["moves"], self._means, self._cell_parts]
            self._launch(inspect_kernel(shape), (count, self._width), inputs, _BLOCK)
        part, size, every = self._scalars.part, (model.node_count, self._width), (self._all, self._width)
        inputs = [self._cells.count, self._cell_parts, part, self._contact.progress]
        self._launch(worldly.least_ratio, self._width, inputs)
        self._launch(nodal.turn_nodes, size, [*self._near, self._means, self._turns])
        self._launch(nodal.shorten_guess, every, [self._nodes, part, vectors["moves"]])
        if self._contact.there:
            self._contact.begin(state, self._active, vectors, part, self._cut)
            self._launch(nodal.shorten_guess, every, [self._nodes, part, vectors["moves"]])
        rows = 3 * self._all, self._width
        self._launch(nodal.take_guess, rows, [vectors["moves"], vectors["displacements"]])

    def _newton(self, newton: int, state: State) -> None:
        vectors, nodes, cells = self._vectors, self._nodes, self._cells
        self._launch(worldly.start_running, self._width, [self._active, self._running])
        for shape, group, count in self._groups:
            inputs = [group, self._each.stiffness, self._running, vectors["displacements"], self._shares, self._slots]
            self._launch(force_kernel(shape, cells.forms), (count, self._width), inputs, _BLOCK)
        if self._contact.there:
            self._contact.evaluate(newton, state, self._running, vectors["moves"])
        acting = [nodes, *self._rates, self._each]
        moved = [self._turns, *(vectors[name] for name in ("displacements", "flights", "moves"))]
        made = [vectors[name] for name in ("turned", "steps", "direction")]
        acted = self._lists.actors, self._contact.touches
        inputs = [*acting, *acted, self._dead, self._running, self._slots, *moved, *made]
        self._launch(nodal.residual_kernel(self._features), (self.model.node_count, self._width), inputs)
        if self._features.bodies:
            self._bodies.leave(self._contact.touches, self._each, self._running, vectors)
        if self._woodbury is not None:
            self._woodbury.begin(self._running, self._contact.touches, self._turns)
        for iteration in range(self.settings.gradients):
            if self._goes_on(self._running):
                self._gradients(newton, iteration, acting, state)
        part = self._scalars.part
        if self._contact.there:
            self._contact.limit(state, self._active, vectors["moves"], vectors["steps"], part)
        else:
            part.fill_(1.0)
        for shape, group, count in self._groups:
            inputs = [group, part, vectors["displacements"], vectors["steps"], self._cell_parts]
            self._launch(limit_kernel(shape), (count, self._width), inputs, _BLOCK)
        self._launch(worldly.least_part, self._width, [cells.count, self._cell_parts, part, self._cut])
        if self._contact.there:
            moved = [vectors["moves"], vectors["steps"], self._scalars.gain, part]
            self._contact.shorten(state, self._active, *moved)
            self._contact.go_further(self._active, part)
        inputs = [self._active, self._scalars, vectors["steps"], vectors["displacements"], vectors["moves"]]
        self._launch(nodal.move_nodes, (3 * self._all, self._width), inputs)

    def _gradients(self, newton: int, iteration: int, acting: Sequence[Any], state: State) -> None:
        """One iteration of conjugate gradients."""
        vectors, settings, size = self._vectors, self.settings, (self._all, self._width)
        turned, answers, direction, products = (vectors[n] for n in ("turned", "answers", "direction", "products"))
        if self._woodbury is not None:
            self._woodbury.take(self._running, self._contact.touches, self._turns, vectors)
        self._multiply(turned, answers)
        if self._features.bodies:
            self._bodies.answer(self._running, turned, answers)
        if self._woodbury is not None:
            self._woodbury.give_back(self._running, vectors)
        inputs = [3 * self._all, self._running, turned, answers, self._parts]
        self._launch(nodal.dot_rows, self._parts.shape, inputs)
        goals = [wp.float32(settings.rough), wp.float32(settings.fine), self._least, self._chunks]
        steered = [state.clock, self._contact.progress, self._running, self._scalars, self._every_lost, self._active]
        self._launch(worldly.steer, self._sums, [self._lanes, newton, iteration, *goals, self._parts, *steered])
        inputs = [self._nodes, self._running, self._scalars, self._turns, answers, direction]
        self._launch(nodal.direct, size, inputs)
        for shape, group, count in self._groups:
            where = [vectors["displacements"], self._shares, direction, self._slots]
            inputs = [group, self._nodes.rest, self._lists.densities, self._each, self._running, *where]
            product = product_kernel(shape, self._cells.forms, pressed=self._features.pressed)
            self._launch(product, (count, self._width), inputs, _BLOCK)
        bending = self._lists.bending, self._contact.touches
        inputs = [*acting, *bending, self._running, self._slots, vectors["displacements"], direction]
        found = [products, self._parts, self._inertial]
        self._launch(nodal.tangent_kernel(self._features), self._parts.shape, [*inputs, *found])
        if self._features.bodies:
            sums = self._parts, self._inertial
            self._bodies.multiply(self._contact.touches, self._running, vectors, sums, self._chunks - 1)
        inputs = [self._lanes, self._chunks, self._parts, self._inertial, self._running, self._scalars]
        self._launch(worldly.measure, self._sums, inputs)
        inputs = [self._running, self._scalars, self._turns, direction, products, vectors["steps"], turned]
        self._launch(nodal.go_on, size, inputs)

    def _end(self, state: State) -> None:
        model, dt, progress = self.model, wp.float64(self._dt), self._contact.progress
        if self._contact.there:
            self._contact.end(state, self._vectors["moves"], self._cut, self._every_lost)
        held = [self._nodes, self._lists.slides, dt, self._each, model.rest, model.offsets, state.efforts]
        inputs = [*held, self._every_lost, self._vectors["moves"], state.positions, state.velocities]
        self._launch(nodal.end_nodes, (model.node_count, self.worlds), inputs)
        told = [self._active, self._running, self._scalars, progress, self._cut, state.clock, state.unsettled]
        self._launch(worldly.end_worlds, self._width, [self.worlds, self._least, *told])

    @property
    def _groups(self) -> Any:
        return zip(self._cells.shapes, self._cells.groups, self._cells.counts, strict=True)

    def _launch(self, kernel: Any, size: Any, inputs: Sequence[Any], block: int = 256) -> None:
        wp.launch(kernel, size, inputs, device=self.device, block_dim=block)

    def _grid(self, rows: int) -> wp.array[Any]:
        return wp.zeros((rows, self._width), dtype=wp.float32, device=self.device)

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)
