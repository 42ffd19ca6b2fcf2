"""Sensors of spring bodies: where groups of masses are, how they move, turn and stretch, and what touches them.

Of a body that was edited or broke they read what is left of the masses and springs that were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Sums, finish_mean, finish_sum
from annelid.core.sensors import Reading, Sensor, require_turn, side_of, tells_turn
from annelid.core.solver import Solver as AnySolver
from annelid.core.state_view import Members, Parts, StateView, VectorSensor
from annelid.springs.body import Where
from annelid.springs.followed import Followed
from annelid.springs.kernels.sensing import contact_kernel, strain_kernel
from annelid.springs.marks import places_in_rows
from annelid.springs.model import Model
from annelid.springs.solver import Solver


def chosen_masses(model: Model, where: Where) -> np.ndarray:
    """Masses that a sensor reads."""
    chosen = model.one.indices(where)
    if len(chosen) == 0:
        raise InvalidValue("a sensor needs at least one mass.")
    return chosen


def _view(solver: Solver, sensor: VectorSensor) -> StateView:
    """Masses as sensors read them."""
    model, turned = solver.model, sensor.quantity == "turn"
    chosen, places = chosen_masses(model, sensor.where), model.one.positions
    if turned:
        require_turn(places[chosen], "masses")

    def prepare(left: np.ndarray) -> Members:
        if sensor.each:
            rows = np.where(np.isin(chosen, left), chosen, -1)
            return Members(solver.device, [rows], stride=model.one.mass_count, each=True)
        if not turned:
            scale = 1.0 / len(left) if len(left) else np.nan
            return Members(solver.device, [left], stride=model.one.mass_count, scales=scale)
        rows, rests = chosen[:1], np.full((1, 3), np.nan)
        if tells_turn(places[left]):
            rows, rests = left, places[left] - places[left].sum(axis=0) / len(left)
        return Members(solver.device, [rows], stride=model.one.mass_count, rests=rests)

    followed = Followed(model, lambda network: network.masses, chosen, prepare)
    means = chosen, np.full(len(chosen), 1.0 / len(chosen))
    moving = sensor.quantity == "velocity"
    return StateView(
        followed.now, lambda state: state.velocities if moving else state.positions, means=None if turned else means
    )


@dataclass(frozen=True, eq=False)
class ContactSensor(Sensor):
    """Reads what obstacles do to a group of masses; made by `contact_force_of` and `touch_of`.

    Attributes:
        quantity: "force" or "touch".
        where: Which masses of the body.
    """

    quantity: str
    where: Where = None

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of springs."""
        own, _ = side_of(solver, Solver, f"{self.quantity} of masses")
        if own is not solver:
            raise InvalidValue(
                f"springs feel no obstacles of their own in a simulation of {solver.physics}: "
                f"use contact_force_of and touch_of of annelid.{solver.physics}."
            )
        model, device, touch = own.model, own.device, self.quantity == "touch"
        sums = wp.zeros((model.worlds, PARTS), dtype=Sums, device=device)
        add = contact_kernel(model.types, model.features.touching, model.features.growing, model.features.moving)
        start, count = (3, 1) if touch else (0, 3)

        def prepare(left: np.ndarray) -> tuple[wp.array[Any], wp.array[Any]]:
            scale = np.nan if len(left) == 0 else 1.0 / len(left) if touch else 1.0
            members = wp.array(left.astype(np.int32), dtype=wp.int32, device=device)
            return members, wp.array([scale], dtype=wp.float64, device=device)

        followed = Followed(model, lambda network: network.masses, chosen_masses(model, self.where), prepare)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            members, scales = followed.now()
            moving = state.positions, state.velocities, state.sand_forces
            inputs = [members, model.arrays, state.variation.values, *moving]
            wp.launch(add, (model.worlds, PARTS), inputs, [sums], device=device)
            wp.launch(finish_sum, model.worlds, [sums, scales, start, count, first], [out], device=device)

        return Reading(read, (1,)) if touch else Reading(read, (3,), "N", ("x", "y", "z"))


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
            wp.launch(finish_mean, model.worlds, [sums, 0, 1, 1, np.nan, first], [out], device=device)

        return Reading(read, (1,))


MASSES: Parts[Where] = Parts("masses", (Solver,), _view)
position_of, velocity_of, orientation_of = MASSES.position_of, MASSES.velocity_of, MASSES.orientation_of


def contact_force_of(where: Where = None) -> Sensor:
    """What obstacles push masses with along their normals, in all [N], x, y, z; friction is not in it.

    A `ResistiveGround` tells all that it did in the last step, friction too.
    """
    return ContactSensor("force", where)


def touch_of(where: Where = None) -> Sensor:
    """The share of masses that touch an obstacle, or on which a `ResistiveGround` acted last, from 0 to 1."""
    return ContactSensor("touch", where)


def strain_of(where: Where = None) -> Sensor:
    """Mean strain of the springs between masses, against their passive rest lengths."""
    return StrainSensor(where)
