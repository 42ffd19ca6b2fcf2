"""How rigid things move: paths as tables that kernels look in, and the rows of a state where all others are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_whole
from annelid.core.state import overwrite, rows
from annelid.shapes.form import Form
from annelid.shapes.kernels import moving
from annelid.shapes.kernels.moving import DRIVEN, FREE
from annelid.shapes.path import followed
from annelid.shapes.rigid import Obstacle, Rigid
from annelid.shapes.values import as_vector

ROWS = 1024
"""Steps that a table of a path reaches ahead."""


@dataclass(kw_only=True)
class Still:
    """What a state keeps of obstacles that are fixed or follow paths: nothing."""


@dataclass(kw_only=True)
class Bodies(Still):
    """Where free obstacles are, and where driven ones were when they took the velocity that they have.

    Attributes:
        places: Origins of their frames [m], centres of mass of shapes, vec3d of shape [worlds · bodies].
        turns: How these frames are turned, quatd.
        velocities: Velocities [m/s], vec3d.
        spins: Angular velocities [rad/s], vec3d.
        since: Step of its world at which a driven one was there.
        loads: Mass of what touched a free one in the last step [kg].
    """

    places: wp.array[Any] = rows("body", wp.vec3d)
    turns: wp.array[Any] = rows("body", wp.quatd)
    velocities: wp.array[Any] = rows("body", wp.vec3d)
    spins: wp.array[Any] = rows("body", wp.vec3d)
    since: wp.array[Any] = rows("body", wp.int64)
    loads: wp.array[Any] = rows("body", wp.float64)


@dataclass(frozen=True, eq=False)
class Moment:
    """Where a rigid thing is, and how it moves.

    Attributes:
        place: Origin of the frame of the kernels [m], shape [3]; the centre of mass of a shape.
        turn: How that frame is turned.
        velocity: Velocity of that place [m/s], shape [3].
        spin: Angular velocity [rad/s], shape [3].
    """

    place: np.ndarray
    turn: Rotation
    velocity: np.ndarray
    spin: np.ndarray


def frames(rigid: Rigid, times: np.ndarray) -> tuple[np.ndarray, Rotation]:
    """Where the frame of what follows a path is at times [s], positions [m] of shape [k, 3] and rotations."""
    assert rigid.path is not None
    positions, rotations = followed(rigid.path, times, rigid.name or f"a {rigid.kind}")
    return positions, Rotation.from_quat(rotations)


class MotionTable:
    """How some rigid things move, on a device; see `kernels.moving`.

    Args:
        rigids: The rigid things.
        forms: What kernels know of each; None of what they do not.
        dt: Time step [s].
        device: Warp device.
        worlds: Number of worlds, each with bodies of its own.

    Attributes:
        struct: The structure of the kernels.
        tracks: Track of each thing in that, its second number 0 where it stands still, shape [n, 2].
        free: Numbers of the free things.
    """

    def __init__(
        self, rigids: Sequence[Rigid], forms: Sequence[Form | None], dt: float, device: wp.Device, worlds: int = 1
    ) -> None:
        self._rigids, self._forms, self._dt, self._first = list(rigids), list(forms), dt, -1
        self._device, self._worlds = device, worlds
        self.free = [number for number, one in enumerate(rigids) if one.moves == "free"]
        self._own = [number for number, one in enumerate(rigids) if one.moves != "fixed" and one.path is None]
        self._paths = [number for number, one in enumerate(rigids) if one.path is not None]
        self.tracks = np.zeros((len(rigids), 2), int)
        for place, number in enumerate(self._own):
            self.tracks[number] = place, FREE if number in self.free else DRIVEN
        for place, number in enumerate(self._paths):
            self.tracks[number] = place * (ROWS + 1), ROWS + 1
        kind: Any = moving.Motions
        self.struct = kind()
        self.struct.moments = wp.zeros(len(self._paths) * (ROWS + 1), dtype=moving.Moment, device=device)
        self.struct.begin = wp.zeros(1, dtype=wp.int64, device=device)
        self.struct.clock = wp.zeros(1, dtype=wp.int64, device=device)
        self.struct.begun = wp.zeros(0, dtype=wp.int64, device=device)
        self.struct.count = len(self._own)
        if self._paths:
            self._tabulate(0)

    @property
    def there(self) -> bool:
        """Whether anything moves."""
        return bool(self.tracks[:, 1].any())

    @property
    def count(self) -> int:
        """Rows of each world in a state."""
        return len(self._own)

    # --- states ---

    def initial(self) -> Still:
        """What a state keeps at the beginning."""
        if not self._own:
            return Still()
        moments = [self._built(number) for number in self._own] * self._worlds
        columns = {
            "places": ([one.place for one in moments], wp.vec3d),
            "turns": ([one.turn.as_quat() for one in moments], wp.quatd),
            "velocities": ([one.velocity for one in moments], wp.vec3d),
            "spins": ([one.spin for one in moments], wp.vec3d),
            "since": (np.zeros(len(moments)), wp.int64),
            "loads": (np.zeros(len(moments)), wp.float64),
        }
        return Bodies(**{
            name: wp.array(np.array(values), dtype=dtype, device=self._device)
            for name, (values, dtype) in columns.items()
        })  # fmt: skip

    def bind(self, clock: wp.array[Any], begun: wp.array[Any], bodies: Still) -> None:
        """Follow the clock of a state, the beginnings of its worlds, and its bodies."""
        self.struct.clock, self.struct.begun = clock, begun
        if isinstance(bodies, Bodies):
            for name, array in vars(bodies).items():
                setattr(self.struct, name, array)

    def go_on_from(self, before: MotionTable) -> None:
        """Follow the same state as another table of as many things."""
        for name in ("clock", "begun", *(vars(Bodies)["__dataclass_fields__"] if self._own else ())):
            setattr(self.struct, name, getattr(before.struct, name))

    def number_of(self, body: Obstacle | int | str) -> int:
        """Number of a rigid thing: as it was given, or by its name or its number."""
        if is_whole(body, 0) and body < len(self._rigids):
            return int(body)
        named = [number for number, one in enumerate(self._rigids) if isinstance(body, str) and one.name == body != ""]
        if len(named) > 1:
            raise InvalidValue(f"{len(named)} obstacles are named {body!r}: name one by the object.")
        found = named or [number for number, one in enumerate(self._rigids) if one is body]
        if not found:
            raise UnknownName("obstacle", f"{body}", [one.name or f"{n}" for n, one in enumerate(self._rigids)])
        return found[0]

    def moment(self, number: int, state: Bodies | Still, clock: int, begun: np.ndarray, world: int = 0) -> Moment:
        """Where a thing is and how it moves, in a world.

        Args:
            number: Its number.
            state: What a state keeps of bodies.
            clock: Steps done.
            begun: Step at which each world began; empty where all began together.
            world: The world.
        """
        place, kind = self.tracks[number].tolist()
        if kind == 0:
            return self._built(number)
        if kind > 0:
            places, turns = self._along(number, self._dt * np.array([clock, clock + 1.0]))
            speed = (places[1] - places[0]) / self._dt
            return Moment(places[0], turns[0], speed, (turns[1] * turns[0].inv()).as_rotvec() / self._dt)
        assert isinstance(state, Bodies)
        row = world * self.count + place
        at, turn, velocity, spin = (
            array.numpy()[row] for array in (state.places, state.turns, state.velocities, state.spins)
        )
        since = clock if kind == FREE else int(state.since.numpy()[row]) + (int(begun[world]) if len(begun) else 0)
        time = (clock - since) * self._dt
        now = Rotation.from_rotvec(spin * time) * Rotation.from_quat(turn)
        return Moment(at + time * velocity, now, velocity, spin)

    def placed(self, number: int, moment: Moment) -> Rigid:
        """A rigid thing as it is then, to draw; the same one where it does not move."""
        rigid, form = self._rigids[number], self._forms[number]
        if form is None or not self.tracks[number, 1]:
            return rigid
        turn = moment.turn * form.axes.inv()
        position = tuple((moment.place - turn.apply(form.middle)).tolist())
        return replace(rigid, motion="fixed", position=position, rotation=tuple(turn.as_quat().tolist()))

    def drive(
        self, number: int, state: Still, clock: int, begun: np.ndarray, velocity: Any = None, spin: Any = None
    ) -> None:
        """Set how a driven thing moves from a step on, in all worlds; see `core.solver.Driving`."""
        rigid = self._rigids[number]
        if self.tracks[number, 1] != DRIVEN or not isinstance(state, Bodies):
            how = "follows a path" if rigid.path is not None else f"is {rigid.moves}"
            raise InvalidValue(f"{rigid.called(number)}, {how}: give it motion='driven'.")
        given = [
            None if one is None else as_vector(name, one) for name, one in (("velocity", velocity), ("spin", spin))
        ]
        columns = {name: np.array(array.numpy()) for name, array in vars(state).items()}
        for world in range(self._worlds):
            row = world * self.count + int(self.tracks[number, 0])
            now = self.moment(number, state, clock, begun, world)
            columns["places"][row], columns["turns"][row] = now.place, now.turn.as_quat()
            columns["since"][row] = clock - (begun[world] if len(begun) else 0)
            for name, value in zip(("velocities", "spins"), given, strict=True):
                if value is not None:
                    columns[name][row] = value
        for name, array in vars(state).items():
            overwrite(array, columns[name])

    # --- paths ---

    def reach(self, steps: int) -> int:
        """How many of some steps can be taken from where the clock stands before this is asked again."""
        if not self._paths:
            return steps
        clock = int(self.struct.clock.numpy()[0])
        first = clock - clock % (ROWS // 2)  # tables begin at the same steps whenever they are made: the same bits
        if first != self._first:
            self._tabulate(first)
        return min(steps, ROWS // 2 - (clock - first))

    def _built(self, number: int) -> Moment:
        rigid, form = self._rigids[number], self._forms[number]
        place, turn = (np.array(rigid.position), rigid.turn) if form is None else _posed(form, rigid)
        return Moment(place, turn, np.array(rigid.velocity), np.array(rigid.spin))

    def _along(self, number: int, times: np.ndarray) -> tuple[np.ndarray, Rotation]:
        form = self._forms[number]
        assert form is not None
        places, quaternions = form.pose(*frames(self._rigids[number], times))
        return places, Rotation.from_quat(quaternions)

    def _tabulate(self, first: int) -> None:
        kind: Any = moving.Moment
        table: Any = np.zeros(len(self.struct.moments), dtype=kind.numpy_dtype())
        for number in self._paths:
            begin, count = self.tracks[number].tolist()
            places, turns = self._along(number, self._dt * (first + np.arange(count + 1)))
            own = table[begin : begin + count]
            own["place"], own["turn"] = places[:-1], turns.as_quat()[:-1]
            own["velocity"] = np.diff(places, axis=0) / self._dt
            own["spin"] = (turns[1:] * turns[:-1].inv()).as_rotvec() / self._dt
        self.struct.moments.assign(table)
        self.struct.begin.assign(np.array([first], np.int64))
        self._first = first


def _posed(form: Form, rigid: Rigid) -> tuple[np.ndarray, Rotation]:
    place, quaternion = form.pose(np.array(rigid.position), rigid.turn)
    return place, Rotation.from_quat(quaternion)
