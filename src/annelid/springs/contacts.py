"""The collisions of a model on its device: rules, the grid of cells, and lists that are made anew when they must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.springs.body import Body
from annelid.springs.collisions import Collide, pairing
from annelid.springs.kernels.collisions import force_kernel, meet_kernel
from annelid.springs.kernels.contact_lists import clear_stamps, refresh_kernels, tidy_kernel
from annelid.springs.kernels.layout import Layout
from annelid.springs.obstacles import damping_ratio

_STIFFNESS = (0.25, 0.25)  # by reduced mass over squared time step: always, and times what the springs leave
_MARGIN = 0.25  # how much further than contact the lists reach, by the distance of contact
_ROOM = 16  # entries that a list has at first
_PLACES = 8  # pairs whose friction a mass can track: those that touch it and come after it
_NOWHERE = 1.0e30


class Contacts:
    """Masses that touch each other.

    Args:
        body: The body of one world.
        worlds: How many copies of it there are, which do not touch each other.
        rules: Which groups touch, and how.
        types: Types of the kernels.
        device: Warp device.
        slack: What the springs leave of the squared stable time step, 0 to 1; contacts are as stiff as that allows.

    Attributes:
        overlaps: How deep each mass of a world begins inside one of another piece [m], shape [n].
        shortest: Smallest distance of contact [m].
    """

    def __init__(
        self, body: Body, worlds: int, rules: Sequence[Collide], types: Layout, device: wp.Device, slack: float
    ) -> None:
        self._types, self._device, self._share = types, device, _STIFFNESS[0] + _STIFFNESS[1] * slack
        self._rules = list(rules)
        pairs = pairing(body, rules)
        self.overlaps, self.shortest = pairs.overlaps, pairs.shortest
        pairs = pairs.repeated(worlds)
        count = worlds * body.mass_count
        struct = types.Contacts()
        struct.mass_count, struct.slot_count, struct.kind_count = count, len(pairs.masses), len(pairs.table)
        struct.slots_a_world = struct.slot_count // worlds
        struct.cell_count = 1 << max(6, int(len(pairs.masses)).bit_length())
        struct.margin = _MARGIN * pairs.shortest
        struct.cell = (pairs.longest + struct.margin) * 1.01
        slot_of = np.full(count, -1, np.int32)
        slot_of[pairs.masses] = np.arange(len(pairs.masses))
        integers = {
            "slot_of": slot_of,
            "kinds": pairs.kinds,
            "masses": pairs.masses,
            "pieces": pairs.pieces[pairs.masses],
            "apart_first": pairs.apart_first,
            "apart": pairs.apart,
            "table": pairs.table.ravel(),
            "heads": np.full(struct.cell_count, -1),
            "nexts": np.full(len(pairs.masses), -1),
            "counts": np.zeros(len(pairs.masses)),
            "flags": np.zeros(4),
        }
        for name, values in integers.items():
            setattr(struct, name, wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=device))
        struct.radii = wp.array(pairs.radii, dtype=types.real, device=device)
        struct.built = wp.full(len(pairs.masses), types.vec3(_NOWHERE), dtype=types.vec3, device=device)
        struct.forces = wp.zeros(len(pairs.masses), dtype=types.vec3, device=device)
        struct.rules = wp.array([self._rule(rule) for rule in rules], dtype=types.Rule, device=device)
        struct.places = _PLACES
        struct.place_strides = wp.vec2i(1, len(pairs.masses)) if device.is_cuda else wp.vec2i(_PLACES, 1)
        self._first_kinds = struct.kinds.numpy().copy()
        self.struct, self.array = struct, wp.zeros(1, dtype=types.Contacts, device=device)
        self._make_room(_ROOM)

    def bind(self, partners: wp.array[Any], slips: wp.array[Any]) -> None:
        """Track friction in these arrays of a state."""
        self.struct.partners, self.struct.slips = partners, slips
        self.array.assign([self.struct])

    def memory(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Arrays of a state with no contact in them: partners, and how far they were dragged along [m]."""
        count = self.struct.slot_count * _PLACES
        return (
            wp.full(count, -1, dtype=wp.int32, device=self._device),
            wp.zeros(count, dtype=self._types.vec3, device=self._device),
        )

    def world_of_memory(self) -> np.ndarray:
        """World of each element of those arrays, which lie slot by slot or place by place."""
        world = np.arange(self.struct.slot_count) // self.struct.slots_a_world
        return np.tile(world, _PLACES) if self._device.is_cuda else np.repeat(world, _PLACES)

    def take_world(self, source: Sequence[wp.array[Any]], target: Sequence[wp.array[Any]], world: int) -> None:
        """Copy those arrays of one world into arrays of that world alone, whose masses have other numbers."""
        mine = self.world_of_memory() == world
        partners, slips = (array.numpy()[mine] for array in source)
        worlds = self.struct.slot_count // self.struct.slots_a_world
        first = world * (self.struct.mass_count // worlds)
        target[0].assign(np.where(partners >= 0, partners - first, -1))
        target[1].assign(slips)

    def set_rules(self, rules: Sequence[Collide]) -> None:
        """Change friction, restitution and stiffness; the rest stays as it was built."""
        if [_shape(rule) for rule in rules] != [_shape(rule) for rule in self._rules]:
            raise InvalidValue("groups and radii of collisions cannot change while a simulation runs.")
        self._rules = list(rules)
        self.struct.rules.assign([self._rule(rule) for rule in rules])

    def forget(self, masses: np.ndarray) -> None:
        """Exclude masses that were removed from contacts."""
        known = np.asarray(masses)[np.asarray(masses) < self.struct.mass_count]
        kinds = self.struct.kinds.numpy()
        kinds[known] = 0
        self.struct.kinds.assign(kinds)

    def set_kinds(self, kinds: np.ndarray | None) -> None:
        """Set which masses touch others, None for all that did in the beginning; lists are made anew."""
        self.struct.kinds.assign(self._first_kinds if kinds is None else kinds)
        self.invalidate()

    def invalidate(self) -> None:
        """Make the lists anew before the next forces."""
        self.struct.built.fill_(self._types.vec3(_NOWHERE))

    def widen(self) -> None:
        """Make room where lists have become too long for theirs; waits for the device.

        Until then the kernels search the grid instead.
        """
        longest = int(self.struct.flags.numpy()[2])
        if longest > self.struct.capacity:
            self._make_room(2 * longest)

    def look(self, positions: wp.array[Any]) -> None:
        """Launch a look at the positions before the first pass, whose stamp is 1."""
        wp.launch(clear_stamps, 2, outputs=[self.struct.flags], device=self._device)
        wp.launch(tidy_kernel(self._types), self.struct.slot_count, [1, self.array, positions], device=self._device)

    def ready(
        self, stamp: int, model: Any, positions: wp.array[Any], velocities: wp.array[Any], *, keep: bool, push: bool
    ) -> None:
        """Launch what a pass needs: new lists if pass `stamp` has left them stale, tracking of friction, forces."""
        slots, device = self.struct.slot_count, self._device
        clear, link = refresh_kernels(self._types)
        wp.launch(clear, self.struct.cell_count, [stamp, self.array], device=device)
        wp.launch(link, slots, [stamp, self.array, positions], device=device)
        moment = [model, self.array, positions, velocities]
        wp.launch(meet_kernel(self._types), slots, [stamp, int(keep), *moment], device=device)
        if push:
            wp.launch(force_kernel(self._types), slots, moment, device=device)

    def _make_room(self, entries: int) -> None:
        struct, slots = self.struct, self.struct.slot_count
        struct.capacity = entries
        # On CUDA neighbouring threads then read neighbouring memory; a CPU core reads one list after the other.
        struct.slot_stride, struct.entry_stride = (1, slots) if self._device.is_cuda else (entries, 1)
        struct.lists = wp.zeros(slots * entries, dtype=wp.int32, device=self._device)
        self.array.assign([struct])
        self.invalidate()

    def _rule(self, rule: Collide) -> Any:
        struct = self._types.Rule()
        struct.stiffness = 0.0 if rule.stiffness is None else rule.stiffness
        struct.share = self._share if rule.stiffness is None else 0.0
        struct.damping_ratio = damping_ratio(rule.restitution)
        struct.friction = rule.friction
        struct.reach = 0.0 if rule.radius is None else 2.0 * rule.radius
        struct.itself = int(rule.itself)
        return struct


def _shape(rule: Collide) -> tuple[Any, ...]:
    """The part of a rule that the lists depend on."""
    return rule.first, rule.second, rule.radius, rule.itself
