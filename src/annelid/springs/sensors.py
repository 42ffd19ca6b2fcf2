"""Sensors of spring bodies: where groups of masses are, how they move, turn and stretch, and what touches them.

Of a body that was edited or broke they read what is left of the masses and springs that were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Sums, finish_mean, finish_sum, finish_turn
from annelid.core.sensors import Mean, Reading, Sensor, require_turn, side_of, tells_turn
from annelid.core.solver import Solver as AnySolver
from annelid.springs.body import Where
from annelid.springs.followed import Followed
from annelid.springs.kernels.sensing import strain_kernel, sum_kernel
from annelid.springs.marks import places_in_rows
from annelid.springs.solver import Solver

_XYZ = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class GroupSensor(Sensor):
    """Reads a quantity of a group of masses; made by `position_of` and its like.

    Attributes:
        quantity: "position", "velocity", "turn", "force" or "touch".
        where: Which masses of the body.
    """

    quantity: str
    where: Where = None

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of springs."""
        own, side = side_of(solver, Solver, f"{self.quantity} of masses")
        if own is not solver and self.quantity in ("force", "touch"):
            raise InvalidValue(
                f"springs feel no obstacles of their own in a simulation of {solver.physics}: "
                f"use contact_force_of and touch_of of annelid.{solver.physics}."
            )
        model, device = own.model, own.device
        chosen = model.one.indices(self.where)
        if len(chosen) == 0:
            raise InvalidValue("a sensor needs at least one mass.")
        if self.quantity == "turn":
            require_turn(model.one.positions[chosen], "masses")
        sums = wp.zeros((model.worlds, PARTS), dtype=Sums, device=device)
        kind = {"position": "position", "velocity": "velocity", "turn": "moment"}.get(self.quantity, "contact")
        touching = model.features.touching if kind == "contact" else ()
        add = sum_kernel(model.types, kind, touching, model.features.growing, model.features.moving)
        start, count = (3, 1) if self.quantity == "touch" else (0, 3)

        def prepare(left: np.ndarray) -> tuple[wp.array[Any], wp.array[Any], float]:
            count = len(left)
            if self.quantity == "turn" and not tells_turn(model.one.positions[left]):
                left, places = chosen[:1], np.full((1, 3), np.nan)
            else:
                places = model.one.positions[left] - model.one.positions[left].sum(axis=0) / max(count, 1)
            members = wp.array(left.astype(np.int32), dtype=wp.int32, device=device)
            scale = np.nan if count == 0 else 1.0 if self.quantity == "force" else 1.0 / count
            return members, wp.array(places, dtype=wp.vec3d, device=device), scale

        followed = Followed(model, lambda network: network.masses, chosen, prepare)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            mine, (members, rests, scale) = side(state), followed.now()
            moving = mine.positions, mine.velocities, mine.sand_forces
            inputs = [members, rests, model.arrays, mine.variation.values, *moving]
            wp.launch(add, (model.worlds, PARTS), inputs, [sums], device=device)
            if self.quantity == "turn":
                wp.launch(finish_turn, model.worlds, [sums, first], [out], device=device)
            else:
                wp.launch(finish_sum, model.worlds, [sums, scale, start, count, first], [out], device=device)

        unit = {"position": "m", "velocity": "m/s", "force": "N"}.get(self.quantity, "")
        parts = {"turn": (*_XYZ, "w"), "touch": ()}.get(self.quantity, _XYZ)
        part = {"position": "positions", "velocity": "velocities"}.get(self.quantity, "")
        means = (Mean(part, chosen, np.full(len(chosen), 1.0 / len(chosen))),) if part and own is solver else ()
        return Reading(read, (max(1, len(parts)),), unit, parts, means)


@dataclass(frozen=True, eq=False)
class StrainSensor(Sensor):
    """Reads the mean strain of springs; made by `strain_of`."""

    where: Where = None

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of springs."""
        own, side = side_of(solver, Solver, "strain of springs")
        model, device = own.model, own.device
        body = model.one
        chosen = body.springs_of(self.where)
        if len(chosen) == 0:
            raise InvalidValue("a sensor of strain needs at least one spring between the masses that were chosen.")
        # The host looks now and then, or never where worlds learn side by side: what has broken is read from its marks.
        network, marked = model.network, model.features.breaking
        sums = wp.zeros((model.worlds, PARTS), dtype=Sums, device=device)
        add = strain_kernel(model.types.vec4, marked)
        ends, built = body.springs[chosen], places_in_rows(network, chosen) if marked else np.zeros(0, np.int32)

        def prepare(left: np.ndarray) -> tuple[wp.array[Any], wp.array[Any], wp.array[Any]]:
            springs = np.where(np.isin(chosen, left)[:, None], ends, -1)
            mass = ends[:, 0]
            places = np.where(network.row_of[mass] == model.rows.row_of[mass], built, -1) if marked else built
            return (
                wp.array(springs, dtype=wp.vec2i, device=device),
                wp.array(network.rest_lengths(chosen), dtype=wp.float64, device=device),
                wp.array(places.astype(np.int32), dtype=wp.int32, device=device),
            )

        followed = Followed(model, lambda network: network.springs, chosen, prepare)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            (springs, lengths, places), mine = followed.now(), side(state)
            inputs = [springs, lengths, places, body.mass_count, mine.positions, mine.broken]
            wp.launch(add, (model.worlds, PARTS), inputs, [sums], device=device)
            wp.launch(finish_mean, model.worlds, [sums, first], [out], device=device)

        return Reading(read, (1,))


def position_of(where: Where = None) -> Sensor:
    """Mean position of masses [m], x, y, z: all of them, a group, a mask, indices or those that a function chooses."""
    return GroupSensor("position", where)


def velocity_of(where: Where = None) -> Sensor:
    """Mean velocity of masses [m/s], x, y, z."""
    return GroupSensor("velocity", where)


def orientation_of(where: Where = None) -> Sensor:
    """How masses have turned since they were built: a quaternion x, y, z, w of the rotation that fits them best."""
    return GroupSensor("turn", where)


def contact_force_of(where: Where = None) -> Sensor:
    """What obstacles push masses with along their normals, in all [N], x, y, z; friction is not in it.

    A `ResistiveGround` tells all that it did in the last step, friction too.
    """
    return GroupSensor("force", where)


def touch_of(where: Where = None) -> Sensor:
    """The share of masses that touch an obstacle, or on which a `ResistiveGround` acted last, from 0 to 1."""
    return GroupSensor("touch", where)


def strain_of(where: Where = None) -> Sensor:
    """Mean strain of the springs between masses, against their passive rest lengths."""
    return StrainSensor(where)
