"""The structures that the kernels of grains work on: bound to the arrays of one state, with room of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import warp as wp

from annelid.core.state import declared, state_arrays
from annelid.grains.controls import joints_among
from annelid.grains.kernels.cells import SCAN_SPAN, call_short_lists
from annelid.grains.kernels.collect import note_guests
from annelid.grains.kernels.converge import sweep_weights
from annelid.grains.kernels.layout import REACHES, SKIN, WORLD_REACHES, Bodies, Grains, Lists
from annelid.grains.kernels.rows import FoldedRows
from annelid.grains.kernels.sums import ContactSum
from annelid.grains.model import Model
from annelid.grains.state import State, row_counts

_BUFFERED = ("positions", "forecast", "turning")  # what a sweep reads of one buffer and writes to another


class Workspace:
    """Structures of one model.

    Args:
        model: The model.
        kind: Class of the states that they are bound to.

    Attributes:
        here: Grains.
        there: The buffers that grains come from and go to by turns.
        old: Room for grains while they change places.
        lists: Lists.
        kept: Room for lists while they are made.
        bodies: Bodies.
        rows: What brings neighbours of a state to where CUDA works on them, and back.
        trouble: First step whose result was not finite, -1 while all are, shape [1].
        pushes: Impulse [N s] and angular impulse [N m s] on each guest in the last step, and the impulse that the next
            one is expected to bring, three each.
        touches: Contacts of each guest in the last step.
    """

    def __init__(self, model: Model, kind: type[State]) -> None:
        self.model, self.device = model, model.device
        self.here: Any = Grains()
        self.there: Any = Grains()
        self._has_old = False
        self.old: Any = Grains()
        self.lists: Any = Lists()
        self.kept: Any = Lists()
        self.bodies = model.body_arrays()
        self.trouble = wp.full(1, -1, dtype=wp.int64, device=self.device)
        self.pushes, self.touches = self._zeros(3 * model.guests, wp.vec3), self._zeros(model.guests, wp.float32)
        self._of_grains = _shared(Grains, kind)
        self._of_lists = _shared(Lists, kind)
        self._of_bodies = _shared(Bodies, kind, prefix="body_")
        self._bound: State | None = None
        self.rows: FoldedRows | None = None
        self._has_old = False
        self._make_room()

    # --- sizes ---

    def row_counts(self, places: int, body_places: int) -> dict[str, int]:
        """How many there are of each kind of thing that rows of a state belong to, for lists with so much room."""
        return row_counts(self.model, len(self.bodies.points) * self.bodies.point_places, places, body_places)

    def world_of(self) -> dict[str, wp.array[Any]]:
        """World of each thing of the kinds that are brought back where worlds begin again."""
        model, bodies = self.model, self.bodies
        of_bodies = np.array([body.world for body in model.bodies], np.int32)
        owners = bodies.points.numpy()[:, 3].astype(int)
        worlds = np.arange(model.world_count, dtype=np.int32)
        found = {
            "grain": model.worlds,
            "row": np.sort(model.worlds, kind="stable"),
            "body": of_bodies,
            "point": np.repeat(of_bodies[owners], bodies.point_places),
            "channel": np.repeat(worlds, len(model.controls)),
            "joint": np.repeat(worlds, len(joints_among(model.world.controls))),
        }
        return {name: wp.array(worlds, dtype=wp.int32, device=self.device) for name, worlds in found.items()}

    # --- states ---

    def bind(self, state: State) -> bool:
        """Point the structures at the arrays of a state; returns whether they pointed elsewhere before."""
        if self._bound is state:
            return False
        self._bound = None  # until all is pointed there, should Ctrl-C come before
        arrays = state_arrays(state)
        for grains in (self.here, self.there):
            _point(grains, self._of_grains, arrays)
        for name, spare in self._spare.items():
            setattr(self.there, name, spare)
            wp.copy(spare, arrays[name])  # the ghost
        _point(self.lists, self._of_lists, arrays)
        if self.device.is_cuda:
            self.rows = self._unfolded(state)
        _point(self.bodies, self._of_bodies, arrays)
        self._keep_room(state)
        self.bodies.unlisted.fill_(1)
        wp.launch(call_short_lists, self.model.world_count, [self.model.parameters, self.lists], device=self.device)
        self.find_guests()
        self._bound = state
        return True

    def falls_short(self, state: State) -> bool:
        """Whether a state has lists that reach less far than is taken for granted here: it is of another device."""
        skins = state.reach.numpy()[REACHES + SKIN :: WORLD_REACHES]
        return bool(((skins > 0.0) & (skins < np.float32(self.model.parameters.skin))).any())

    def _unfolded(self, state: State) -> FoldedRows:
        self.lists.places = len(state.neighbours) // self.model.count
        return FoldedRows(self.lists, self.model.features.keeps_rolling, self.device)

    def find_guests(self) -> None:
        """Look up in which rows guests are, after rows were changed by someone else."""
        if self.model.guests:
            inputs = [self.model.parameters, self.here, self.lists]
            wp.launch(note_guests, self.model.count, inputs, device=self.device)

    def unbind(self) -> None:
        """Forget the state, because arrays of it were replaced."""
        self._bound = None

    def _keep_room(self, state: State) -> None:
        """Room as large as the state's, for what is kept while grains change places and lists are made."""
        n, arrays = self.model.count, state_arrays(state)
        if not self._has_old:
            self._has_old = True
            for name, source in self._of_grains.items():
                setattr(self.old, name, wp.zeros_like(arrays[source]))
        places, body_places = len(state.neighbours) // n, len(state.bodies) // n
        if self.kept.places != places or self.kept.body_places != body_places:
            growing = declared(type(state))
            for name, source in self._of_lists.items():
                if growing[source].grows:
                    setattr(self.kept, name, wp.zeros_like(arrays[source]))
            self.lists.body_spots = self._zeros(n * body_places, wp.vec3)
            if self.model.features.converging:
                self.lists.earlier = wp.zeros_like(state.impulses)
                self.lists.body_earlier = self._zeros(n * body_places, wp.vec3)
            self.bodies.touched_before = self._zeros(n * body_places, wp.int32)
        for lists in (self.lists, self.kept):
            lists.places, lists.body_places = places, body_places

    def _make_room(self) -> None:
        """Arrays of the structures that are no part of a state."""
        model, n = self.model, self.model.count
        self._spare = {name: self._zeros(n + 1, wp.vec4) for name in _BUFFERED}
        for grains in (self.here, self.there):
            grains.starts = self._zeros(n + 1 if model.features.bouncing else 0, wp.vec4)
        cells = model.world_count * model.parameters.cell_count
        lists = self.lists
        lists.starts, lists.cursors = self._zeros(cells + 1, wp.int32), self._zeros(cells + 1, wp.int32)
        lists.order, lists.keys = self._zeros(n, wp.int32), self._zeros(n, wp.int32)
        lists.placed = self._zeros(n if self.device.is_cuda else 0, wp.int32)
        lists.sums = self._zeros(model.world_count * (model.parameters.cell_count // SCAN_SPAN + 1), wp.int32)
        lists.first_of_world = model.first_of_world
        lists.trouble, lists.pushes, lists.touches = self.trouble, self.pushes, self.touches
        lists.guest_rows = self._zeros(model.guests, wp.int32)
        divided = n if model.guests and self.device.is_cuda else 0
        lists.near_boundary, lists.near_boundary_rows = self._zeros(divided, wp.int32), self._zeros(divided, wp.int32)
        lists.near_boundary_count = self._zeros(1, wp.int32)
        lists.totals = self._zeros(n if model.features.converging else 0, ContactSum)
        lists.changes = self._zeros((1 + model.sweeps // 2) * model.world_count, wp.float32)
        weights = sweep_weights(model.parameters.spread, model.sweeps) if model.converges else []
        lists.weights = wp.array(weights, dtype=wp.float32, device=self.device)
        lists.pair, lists.asked = self._zeros(1, wp.int32), self._zeros(1 + model.sweeps // 2, wp.int32)
        lists.active = self._zeros(2, wp.int32)
        self.kept.counts = self._zeros(n, wp.vec2i)
        self.kept.places = -1
        count = len(model.bodies)
        self.bodies.chunk_counts = self._zeros(count * self.bodies.chunks, wp.int32)
        self.bodies.totals = self._zeros(count * self.bodies.parts, ContactSum)
        self.bodies.touched_first_before = self._zeros(count + 1, wp.int32)
        self.bodies.unlisted = self._zeros(1, wp.int32)

    def _zeros(self, count: int, dtype: Any) -> wp.array[Any]:
        return wp.zeros(count, dtype=dtype, device=self.device)


def _shared(structure: Any, kind: type[State], *, prefix: str = "") -> dict[str, str]:
    """Arrays of a structure of the kernels that states hold: from the name there to the name in the state."""
    held = {f.name for f in fields(kind)}
    arrays = [name for name, variable in structure.vars.items() if wp.types.is_array(variable.type)]
    named = {name: prefix + name if prefix + name in held else name for name in arrays}
    return {name: source for name, source in named.items() if source in held}


def _point(structure: Any, names: Mapping[str, str], arrays: Mapping[str, wp.array[Any]]) -> None:
    for name, source in names.items():
        setattr(structure, name, arrays[source])
