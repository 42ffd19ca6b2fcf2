"""Sensors of bodies among grains, and of grains: where they are, how they move, what touches them, how high they lie.

Readings of a world are the same to the bit alone and among others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Sums, finish_mean, finish_sum
from annelid.core.numbers import is_number
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.core.state_view import Members, Parts, StateView, VectorSensor
from annelid.grains.kernels import sensing as kernels
from annelid.grains.rigid import Solid
from annelid.grains.solver import Solver
from annelid.shapes import Obstacle
from annelid.shapes.primitives import Box

_XYZ = ("x", "y", "z")
_UNITS = {"position": "m", "velocity": "m/s", "energy": "J", "share": ""}
_EVERYWHERE = 1.0e30


_VECTORS: dict[str, Callable[[Any], wp.array[Any]]] = {
    "position": lambda state: state.places,
    "velocity": lambda state: state.body_velocities,
    "spin": lambda state: state.body_spins,
    "force": lambda state: state.forces,
    "torque": lambda state: state.torques,
}


def _view(solver: Solver, sensor: VectorSensor) -> StateView:
    """A body of each world as sensors read it."""
    numbers = numbers_in_worlds(solver, sensor.where)
    members = Members(solver.device, list(numbers[:, None]))
    return StateView(lambda: members, _VECTORS[sensor.quantity], parts=1)


@dataclass(frozen=True, eq=False)
class BodySensor(Sensor):
    """Reads how a body is turned, or whether something touches it; made by `orientation_of` and `touch_of`.

    Attributes:
        quantity: "turn" or "touch".
        body: The body: an obstacle as it was given, its name, or its number among the bodies of a world.
    """

    quantity: str
    body: Obstacle | int | str

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of grains."""
        own, side = side_of(solver, Solver, f"{self.quantity} of a body")
        which = numbers_in_worlds(own, self.body)
        numbers = wp.array(which, dtype=wp.int32, device=own.device)
        body = own.model.bodies[int(which[0])]
        assert isinstance(body, Solid)
        axes = wp.quat(*Rotation.from_matrix(body.axes).inv().as_quat().tolist())

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            mine, launch = side(state), partial(wp.launch, dim=own.worlds, outputs=[out], device=own.device)
            if self.quantity == "turn":
                launch(kernels.read_turns, inputs=[numbers, axes, mine.turns, first])
            else:
                launch(kernels.read_touch, inputs=[numbers, mine.forces, mine.torques, first])

        return Reading(read, (4,), "", (*_XYZ, "w")) if self.quantity == "turn" else Reading(read, (1,))


@dataclass(frozen=True, eq=False)
class GrainsSensor(Sensor):
    """Reads a quantity of the grains of a world; made by `grain_position` and its like.

    Attributes:
        quantity: "position", "velocity", "energy" or "share".
        inside: Only grains whose centres are inside this box count; None for all.
    """

    quantity: str
    inside: Box | None = None

    def __post_init__(self) -> None:
        if not (self.inside is None or isinstance(self.inside, Box)):
            raise InvalidValue(f"inside must be a Box of annelid.shapes, or None for all grains, not {self.inside!r}.")

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of grains."""
        own, side = side_of(solver, Solver, f"{self.quantity} of grains")
        model, device = own.model, own.device
        bounds = np.array([[-_EVERYWHERE] * 3, [_EVERYWHERE] * 3] if self.inside is None else self.inside.bounds())
        low, high = (wp.vec3(*bound.tolist()) for bound in bounds)
        sums = wp.zeros((own.worlds, PARTS), dtype=Sums, device=device)
        guest, moving = int(model.parameters.first_guest), int(self.quantity == "velocity")
        grains = (model.count - model.guests) / model.world_count
        vector = self.quantity in ("position", "velocity")
        scales = wp.array([1.0 / grains if self.quantity == "share" else 1.0], dtype=wp.float64, device=device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            mine = side(state)
            rows = [mine.names, mine.positions, mine.velocities, mine.spins]
            inputs = [model.first_of_world, guest, low, high, moving, *rows]
            wp.launch(kernels.sum_grains, sums.shape, inputs, [sums], device=device)
            if vector:
                wp.launch(finish_mean, own.worlds, [sums, 2, 3, 1, 0.0, first], [out], device=device)
            else:
                start = 5 if self.quantity == "energy" else 0
                wp.launch(finish_sum, own.worlds, [sums, scales, start, 1, first], [out], device=device)

        return Reading(read, (3,) if vector else (1,), _UNITS[self.quantity], _XYZ if vector else ())


@dataclass(frozen=True, eq=False)
class HeightSensor(Sensor):
    """Reads how high grains lie above the cells of a grid; made by `height_map`."""

    low: tuple[float, float]
    high: tuple[float, float]
    cells: tuple[int, int]
    floor: float

    def __post_init__(self) -> None:
        numbers = np.array([*self.low, *self.high, self.floor], float)
        if not np.isfinite(numbers).all() or not (self.low[0] < self.high[0] and self.low[1] < self.high[1]):
            raise InvalidValue(f"a height map needs a corner below another, not {self.low} and {self.high}.")
        if min(self.cells) < 1:
            raise InvalidValue(f"a height map needs at least one cell along x and y, not {self.cells}.")

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of grains."""
        own, side = side_of(solver, Solver, "a height map")
        model, device, (nx, ny) = own.model, own.device, self.cells
        size = wp.vec2((self.high[0] - self.low[0]) / nx, (self.high[1] - self.low[1]) / ny)
        where = [int(model.parameters.first_guest), wp.vec2(*self.low), size, wp.vec2i(nx, ny)]

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            mine = side(state)
            wp.launch(kernels.clear_heights, (own.worlds, nx * ny), [self.floor, first], [out], device=device)
            inputs = [*where, first, mine.names, mine.positions, mine.velocities, out]
            wp.launch(kernels.raise_heights, model.count, inputs, device=device)

        return Reading(read, (nx, ny), "m")


def numbers_in_worlds(solver: Solver, wanted: Obstacle | int | str) -> np.ndarray:
    """Numbers of a body in each world, shape [worlds]."""
    model = solver.model
    number, (each, left) = model.number(wanted), divmod(len(model.bodies), model.world_count)
    if left or any(body.world != k // each for k, body in enumerate(model.bodies)):
        raise InvalidValue("sensors of bodies need as many bodies in each world: give one world and worlds=n.")
    body = model.bodies[number]
    if not isinstance(body, Solid):
        raise InvalidValue(
            f"{body.rigid.called(number)}, has no place of its own, and its forces are not summed: read a flat Box."
        )
    return (number % each + each * np.arange(model.world_count)).astype(np.int32)


BODIES: Parts[Obstacle | int | str] = Parts("bodies", (Solver,), _view)
position_of, velocity_of = BODIES.position_of, BODIES.velocity_of


def orientation_of(body: Obstacle | int | str) -> Sensor:
    """How the frame of a body is turned: a quaternion x, y, z, w, with w not negative."""
    return BodySensor("turn", body)


def spin_of(body: Obstacle | int | str) -> Sensor:
    """Angular velocity of a body [rad/s], x, y, z."""
    return VectorSensor("spin", BODIES, body)


def contact_force_of(body: Obstacle | int | str) -> Sensor:
    """Force of all contacts on a body during the last step [N], x, y, z."""
    return VectorSensor("force", BODIES, body)


def contact_torque_of(body: Obstacle | int | str) -> Sensor:
    """Torque of all contacts about its centre of mass during the last step [N m], x, y, z."""
    return VectorSensor("torque", BODIES, body)


def touch_of(body: Obstacle | int | str) -> Sensor:
    """1 where something touched a body during the last step, else 0."""
    return BodySensor("touch", body)


def grain_position(*, inside: Box | None = None) -> Sensor:
    """Centre of mass of the grains [m], x, y, z: all of them, or those inside a box; 0 where there are none."""
    return GrainsSensor("position", inside)


def grain_velocity(*, inside: Box | None = None) -> Sensor:
    """Velocity of that centre of mass [m/s], x, y, z."""
    return GrainsSensor("velocity", inside)


def grain_energy(*, inside: Box | None = None) -> Sensor:
    """Kinetic energy of the grains, that of their spins included [J]."""
    return GrainsSensor("energy", inside)


def grain_share(*, inside: Box) -> Sensor:
    """Part of the grains of a world whose centres are inside a box, from 0 to 1."""
    return GrainsSensor("share", inside)


def height_map(low: ArrayLike, high: ArrayLike, cells: tuple[int, int], *, floor: float = 0.0) -> Sensor:
    """Highest point of a grain above each cell of a grid [m], shape [nx, ny].

    Args:
        low: Corner with the smallest x and y [m].
        high: Corner with the largest [m].
        cells: Cells along x and y.
        floor: Height where there is no grain [m].
    """
    lowest, highest = _pair(low), _pair(high)
    if lowest is None or highest is None:
        raise InvalidValue(f"the corners of a height map are two numbers each, x and y, not {low!r} and {high!r}.")
    counts = _pair(cells)
    if counts is None or any(count % 1 for count in counts):
        raise InvalidValue(f"the cells of a height map are two whole numbers, along x and y, not {cells!r:.60}.")
    if not is_number(floor):
        raise InvalidValue(f"the floor of a height map must be a height [m], not {floor!r:.60}.")
    return HeightSensor(lowest, highest, (int(counts[0]), int(counts[1])), float(floor))


def _pair(given: Any) -> tuple[float, float] | None:
    """Two numbers, or None where it is something else."""
    row = isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim == 1)
    listed = list(given) if row else []
    return (float(listed[0]), float(listed[1])) if len(listed) == 2 and all(map(is_number, listed)) else None
