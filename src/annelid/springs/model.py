"""A body compiled for a device: rows of springs, constants and obstacles as Warp arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.elements import grown, scatter
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.identity import identity, settings_of
from annelid.core.memory import require_memory
from annelid.core.numbers import is_whole
from annelid.core.quantity import require_distinct
from annelid.core.stability import Cause, StepReport
from annelid.shapes.free_bodies import FreeBodies
from annelid.shapes.kernels import free_bodies
from annelid.shapes.motions import MotionTable
from annelid.springs.body import Body, memory_of
from annelid.springs.contacts import Contacts
from annelid.springs.drives import Motors, motor_controls
from annelid.springs.features import distinct_signals, fast_springs, features_of
from annelid.springs.hardness import hardness
from annelid.springs.kernels.gather import WIDTH
from annelid.springs.kernels.layout import Layout, layout
from annelid.springs.network import Network, Patch
from annelid.springs.network_record import network_record, restore_network
from annelid.springs.obstacles import RESTITUTION, Contact
from annelid.springs.rows import Rows, compile_rows
from annelid.springs.sand import (
    corners_with_hollows,
    require_memory_of_hollows,
    require_surface,
    sand_numbers,
    take_ground,
)
from annelid.springs.stability import (
    UNSCALED,
    Scales,
    explain_step,
    halves,
    relaxation,
    squared_frequency,
    stable_step,
    usual_step,
    what_limits_the_step,
)
from annelid.springs.world import World

_LANES_OF_WORLDS = 2  # CUDA threads a mass where there are many masses (measured on an H200: 1,024 walkers)
_MASS_ARRAYS = ("row_of", "forces", "guides", "guide_axes")


class Model:
    """A body in a world, ready for the kernels.

    Args:
        body: The body; many separate bodies joined into one cost nothing extra.
        world: Surroundings and integration.
        device: Warp device.
        worlds: Copies of the body side by side that know nothing of each other; None for one by itself, which on CUDA
            differs from a batch of one in its lanes, and whose time is that of the simulation.
        lanes: CUDA threads that share a mass; None chooses by the size of the body. The last bits depend on it.
        apart: Numbers of all springs that must agree, besides their constants, for two rows to be stored once.
    """

    def __init__(
        self,
        body: Body,
        world: World,
        device: wp.Device,
        *,
        worlds: int | None = None,
        lanes: int | None = None,
        apart: Sequence[np.ndarray] = (),
    ) -> None:
        if body.mass_count == 0:
            raise InvalidValue("the body has no masses.")
        body.validate()
        self.one, self.batched = body.copy(), worlds is not None  # its own, since bodies may be changed afterwards
        self.worlds = 1 if worlds is None else require_worlds(worlds, body)
        self.body = self.one if self.worlds == 1 else body.replicated(np.zeros((self.worlds, 3)))
        self.world, self.device = world, device
        self.features = features_of(body, world, worlds=self.batched)
        self.types: Layout = layout(self.features.real)
        # Whatever their number: a world must come out the same in a batch of one and among others.
        usual = _lanes(body.mass_count) if worlds is None else _LANES_OF_WORLDS
        self.lanes = (lanes or usual) if device.is_cuda else 1
        self.controls = require_distinct([*body.controls, *motor_controls(world.motors)])
        if world.sand is not None:
            require_surface(body, world.sand)
            require_memory_of_hollows(world)
        self.signal_of, kinds, parameters = distinct_signals(self.body)
        self.rows = self._compile_rows(apart)
        self.world = self._hardened(world)
        self.relaxation = relaxation(self.one, self.world, self._rows_of_one, self.features.substeps)
        self.features = replace(self.features, delayed=self.relaxation > 0.0)
        self.dt = self._usual_step() if world.dt == "auto" else world.dt
        self.motions = self._motions()
        self.free = self._free()
        self.network = self._network()
        self.masses, self.fixed = self.body.masses.copy(), self.body.fixed.copy()
        self.arrays = self._upload(kinds, parameters)
        self.contacts = self._contacts()
        self.motors = self._motors()

    @property
    def mass_count(self) -> int:
        """Number of mass slots that the kernels visit: the masses, and room that edits have made."""
        return int(self.arrays.mass_count)

    @property
    def spring_count(self) -> int:
        """Number of springs."""
        return self.network.springs.live_count

    @property
    def signal_count(self) -> int:
        """Number of distinct signals of a world, the passive one included."""
        return int(self.arrays.signal_count)

    @property
    def facet_count(self) -> int:
        """Number of triangles of the surface as it was built."""
        return len(self.body.triangles)

    @property
    def settled_shape(self) -> tuple[int, int]:
        """Masses, and entries of the longest row with room for some more, where delayed dashpots keep lengths."""
        longest = int(self.network.extents()[:, 1].max(initial=0))
        return (self.mass_count, 8 * (longest // 8 + 1)) if self.features.delayed else (0, 0)

    @property
    def outer_count(self) -> int:
        """Number of masses that have triangles, in sand."""
        return 0 if self.world.sand is None else int(self._sand.outer.size)

    @property
    def hollow_count(self) -> int:
        """Numbers that corners of triangles, and masses, remember of the sand below them."""
        return corners_with_hollows(self.body, self.world.sand)

    @property
    def sunk_count(self) -> int:
        """Number of masses on which ground that resists may act."""
        return 0 if self.world.sand is None else self.body.mass_count

    def bind_sand(self, hollows: wp.array[Any], pushes: wp.array[Any]) -> None:
        """Keep the hollows below the surface, and what sand does to masses, in arrays of a state, if there is sand."""
        if self.world.sand is not None:
            self._sand.hollows, self._sand.pushes = hollows, pushes
            self.arrays.sand.assign([self._sand])

    def bind_rates(self, rates: wp.array[Any], entries: wp.array[Any], mates: wp.array[Any]) -> None:
        """Book what ground that resists does on the way back in these arrays, where there is sand."""
        self._sand.rates, self._sand.entries, self._sand.mates = rates, entries, mates
        self.arrays.sand.assign([self._sand])

    @property
    def numpy_real(self) -> type:
        """NumPy type of the chosen precision."""
        return np.float32 if self.features.real is wp.float32 else np.float64

    @property
    def layout_name(self) -> str:
        """The memory layout in words, for tables."""
        order = "interleaved" if self.rows.stride > 1 else "row-major"
        return f"{len(self.rows.examples)} rows {order}, {self.lanes} lane(s)"

    def bytes_per_spring(self) -> float:
        """Memory that must move in a step and spring: state read and written once, each distinct row once."""
        real = np.dtype(self.numpy_real).itemsize
        state = self.mass_count * (2 * 7 * real + 4)
        rows = len(self.rows.offsets) * (4 + 2 * real)
        return (state + rows) / max(self.spring_count, 1)

    def stable_step(self, scales: Scales = UNSCALED) -> float:
        """Longest stable time step [s], estimated, with factors on the constants of the body."""
        return stable_step(self.one, self.world, self._rows_of_one, self.features.substeps, scales, self.relaxation)

    def _hardened(self, world: World) -> World:
        """The world with contacts that are as stiff as suits the body, where nobody says how stiff they are."""
        if world.hardness != "auto" or not any(contact.per_mass for contact in world.contacts):
            return world
        squared = squared_frequency(self.one, self._rows_of_one, self.features.substeps)
        return replace(world, hardness=hardness(self.one, world, squared))

    def _usual_step(self) -> float:
        """The time step that dt="auto" takes [s]."""
        return usual_step(self.one, self.world, self._rows_of_one, self.features.substeps)

    def what_limits_the_step(self) -> str:
        """What shortens the stable time step most, in words."""
        return what_limits_the_step(self.one, self.world, self._rows_of_one, self.features.substeps)

    def halves(self) -> list[Cause]:
        """All that the stable step depends on, each with the stable step that half of it allows."""
        return halves(self.one, self.world, self._rows_of_one, self.features.substeps)

    def explain_step(self) -> StepReport:
        """What limits the time step."""
        return explain_step(self.one, self.world, self._rows_of_one, self.features.substeps, self.dt)

    @property
    def _rows_of_one(self) -> Rows:
        """Rows of the masses of the first world: the step, and what depends on it, is that of one world alone."""
        return self.rows if self.worlds == 1 else replace(self.rows, row_of=self.rows.row_of[: self.one.mass_count])

    def fingerprint(self) -> str:
        """A hash of the body as it was built, and of the world and the signals as they are now."""
        world, signals = settings_of(self.world, but=["dt", "relaxation"]), self.arrays.signal_parameters
        return identity(self._built, world, signals, self.features.growing, self.relaxation)

    @cached_property
    def _built(self) -> str:
        worlds = self.worlds if self.batched else None
        return identity(settings_of(self.one, but=["coverings"]), worlds)

    def write_rows(self, patch: Patch) -> bool:
        """Write the new rows of a patch to the device; False if there is no room and arrays must move first.

        No mass uses them yet, so that this may happen while the kernels run.
        """
        network, arrays = self.network, self.arrays
        if len(network.starts) > len(arrays.rows) or network.entries_used > len(arrays.offsets):
            return False
        scatter(arrays.rows, patch.rows, patch.extents)
        scatter(arrays.offsets, patch.entries, patch.offsets)
        elastic = np.stack([patch.constants["stiffness"], patch.constants["pull"]], axis=1)
        scatter(arrays.elastic, patch.entries, elastic)
        for name, member in (("damping", "damping"), ("signal", "signals"), ("limit", "limits")):
            if name in patch.constants:
                scatter(getattr(arrays, member), patch.entries, patch.constants[name])
        return True

    def move_rows(self) -> None:
        """Lay all rows out anew with more room; graphs captured before are void."""
        network = self.network
        network.row_room = max(network.row_room, 3 * len(network.starts) // 2)
        network.entry_room = max(network.entry_room, 3 * network.entries_used // 2)
        self.arrays.rows = self._roomy(network.extents(), wp.vec2i, network.row_room)
        self.upload_entries(self.arrays)

    def switch_rows(self, patch: Patch) -> None:
        """Let masses use their new rows."""
        scatter(self.arrays.row_of, patch.masses, patch.mass_rows)

    def grow(self, room: int) -> None:
        """Make room for that many masses; new slots hold nothing and do not move."""
        for name in _MASS_ARRAYS:
            array = getattr(self.arrays, name)
            if len(array):
                setattr(self.arrays, name, grown(array, room, fill=self.network.empty_row if name == "row_of" else 0))
        self.masses = np.concatenate([self.masses, np.ones(room - len(self.masses))])
        self.fixed = np.concatenate([self.fixed, np.ones(room - len(self.fixed), bool)])
        self.arrays.mass_count = room

    def changes(self) -> dict[str, np.ndarray]:
        """What edits and breaking have made of the body; nothing while it is as it was built."""
        if not self.network.edited:
            return {}
        record = network_record(self.network) | {"mass": self.masses.copy(), "fixed": self.fixed.copy()}
        if self.features.pushed:
            record["forces"] = self.arrays.forces.numpy()
        if self.contacts is not None:
            record["kinds"] = self.contacts.struct.kinds.numpy()
        return record

    def restore_changes(self, record: Mapping[str, np.ndarray]) -> None:
        """Make the body what it was when `changes` returned this, or as it was built for an empty record.

        Nothing is changed if the record is refused. Graphs captured before are void.
        """
        body, fresh = self.body, self._network()
        masses, fixed = body.masses.copy(), body.fixed.copy()
        forces = body.forces
        if record:
            masses, fixed, forces = self._recorded(record)
            restore_network(fresh, record, len(masses))
            fresh.edited = True
        room = len(masses)
        self.network.become(fresh)
        self.masses, self.fixed, self.arrays.mass_count = masses, fixed, room
        network = self.network
        self.arrays.row_of = self._roomy(network.row_of[:room], wp.int32, room, fill=network.empty_row)
        self.arrays.rows = self._roomy(network.extents(), wp.vec2i, network.row_room)
        self.upload_entries(self.arrays)
        if forces.any() and not self.features.pushed:
            self.features = replace(self.features, pushed=True)
        if self.features.pushed:
            self.arrays.forces = self._roomy(forces, self.types.vec3, room)
        if self.features.guided:
            self.arrays.guides = self._roomy(body.guides, wp.int32, room)
            self.arrays.guide_axes = self._roomy(body.guide_axes, self.types.vec3, room)
        if self.contacts is not None:
            self.contacts.set_kinds(record.get("kinds"))
        self.keep_surface()

    def keep_surface(self) -> None:
        """Leave out the triangles of masses that edits have removed, where there is sand; slots may hold others now."""
        if self.world.sand is None:
            return
        table, corners = self.network.masses, self.body.triangles
        there = (table.alive & (table.generation == 0))[corners].all(axis=1)
        nowhere = corners[:, [0, 0, 0]]  # triangles without an area
        self._sand.corners.assign(np.where(there[:, None], corners, nowhere).astype(np.int32))

    def _recorded(self, record: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Masses, whether they are fixed, and forces of a record."""
        masses, fixed = record.get("mass", np.zeros(0)), record.get("fixed", np.zeros(0))
        forces = record.get("forces", np.zeros((len(masses), 3)))
        kinds = None if self.contacts is None else self.contacts.struct.kinds.numpy()
        good = (
            masses.dtype == float
            and fixed.dtype == bool
            and masses.shape == fixed.shape == (len(masses),)
            and len(masses) >= self.body.mass_count
            and (masses > 0.0).all()
            and forces.shape == (len(masses), 3)
            and np.isfinite(forces).all()
            and (kinds is None or record.get("kinds", np.zeros(0)).shape == kinds.shape)
        )
        if not good:
            raise FileFormatError("the checkpoint is damaged: its masses do not fit together.")
        return masses.copy(), fixed.copy(), forces

    def set_forces(self, index: np.ndarray, forces: np.ndarray) -> bool:
        """Set external forces [N]; True if the kernels had to change because there were none before."""
        fresh = not self.features.pushed
        if fresh:
            if not forces.any():
                return False
            self.features = replace(self.features, pushed=True)
            self.arrays.forces = wp.zeros(self.mass_count, dtype=self.types.vec3, device=self.device)
        scatter(self.arrays.forces, index, forces.astype(self.numpy_real))
        return fresh

    def set_actuation(self, body: Body) -> None:
        """Take over the parameters of the signals of a body that differs from that of a world in nothing else."""
        if not np.array_equal(body.signal_kinds, self.one.signal_kinds):
            raise InvalidValue("springs cannot become actuated or passive, or change their function, while they run.")
        signal_of, example = self.signal_of[: self.one.spring_count], np.zeros(self.signal_count, np.int64)
        example[signal_of[::-1]] = np.arange(len(signal_of))[::-1]
        parameters = body.signal_parameters[example]
        if not np.allclose(parameters[signal_of], body.signal_parameters, rtol=1e-5, atol=1e-9):
            raise InvalidValue("springs that share a signal must go on sharing it: build the simulation anew.")
        parameters[0] = 0.0
        self.arrays.signal_parameters.assign(parameters)

    def set_world(self, world: World) -> None:
        """Change gravity, damping, drag or the constants of obstacles while the compiled kernels stay valid."""
        world = self._hardened(world)
        now, wanted = self.features, features_of(self.one, world, worlds=self.batched)
        own = {name: getattr(now, name) for name in ("conditions", "pushed", "varied", "delayed")}
        wanted = replace(wanted, **own)  # not of the world
        both = self.world.sand is not None and world.sand is not None
        hollows = corners_with_hollows(self.body, world.sand)
        if both and (wanted.resisted != now.resisted or hollows != self.hollow_count):
            raise InvalidValue(
                "whether sand has an angle of repose, a stiffness or a furrow cannot change while a simulation runs."
            )
        if (
            wanted != now
            or len(world.obstacles) != len(self.world.obstacles)
            or world.dt not in (self.dt, self.world.dt)
            or world.relaxation not in (self.relaxation, self.world.relaxation)
        ):
            raise InvalidValue(
                "time step, integrator, precision, relaxation and number of obstacles cannot change while a simulation "
                "runs."
            )
        if sum(len(contact.values) for contact in world.contacts) != len(self.arrays.grid_values):
            raise InvalidValue("the heights or cells of obstacles cannot change in number while a simulation runs.")
        self.world = world
        if wanted.moving:
            before, self.motions = self.motions, self._motions()
            self.motions.go_on_from(before)
            self.arrays.motions = self.motions.struct
            self.free = self._free()
            self.make_room_for_wrenches()
        self.arrays.parameters.assign(self._parameters())
        if world.obstacles:
            self.arrays.obstacles.assign(self._obstacles())
        if len(self.arrays.grid_values):
            self.arrays.grid_values.assign(self._grid_values())
        if world.sand is not None:
            take_ground(self._sand, world.sand, self.types)
            self.arrays.sand.assign([self._sand])
        if self.contacts is not None:
            self.contacts.set_rules(world.collisions)
        if self.motors is not None:
            self.motors.set_motors(world.motors)

    def _contacts(self) -> Contacts | None:
        """Collisions, as stiff as what the springs leave of the stable time step allows."""
        if not self.world.collisions:
            return None
        stable = self.stable_step()  # 0 where no step is stable
        slack = 1.0 - (self.dt / stable) ** 2 if self.dt < stable else 0.0
        return Contacts(self.one, self.worlds, self.world.collisions, self.types, self.device, slack)

    def _motors(self) -> Motors | None:
        if not self.world.motors:
            return None
        given = self.world.motors, self.features.motors, self.controls
        return Motors(self.one, self.worlds, *given, self.types, self.device)

    def _network(self) -> Network:
        """The network as it was built."""
        return Network(self.rows, self.body.springs, self._constants(), self.body.rest_lengths)

    def _constants(self) -> dict[str, np.ndarray]:
        """The constants of each spring that the kernels need, in their precision."""
        body, real, features = self.body, self.numpy_real, self.features
        constants = {
            "stiffness": body.stiffness.astype(real),
            "pull": (body.stiffness * body.rest_lengths).astype(real),
        }
        if features.damped:
            constants["damping"] = body.damping.astype(real)
        if features.actuated:
            constants["signal"] = self.signal_of
        if features.breaking:
            limits = body.rest_lengths * (1.0 + body.yield_strains)
            constants["limit"] = (limits**2).astype(real)
        return constants

    def _compile_rows(self, apart: Sequence[np.ndarray]) -> Rows:
        constants = [*self._constants().values(), *apart]
        interleaved = self.device.is_cuda and self.lanes <= 2
        return compile_rows(
            self.body.mass_count, self.body.springs, constants, interleaved=interleaved, fast=fast_springs(self.body)
        )

    def _all_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The row and the place of every entry, row after row."""
        starts, counts = self.rows.extents.T
        row = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, starts[row] + within * self.rows.stride

    def _upload(self, signal_kinds: np.ndarray, signal_parameters: np.ndarray) -> Any:
        body, types, network = self.body, self.types, self.network
        arrays = types.Arrays()
        arrays.mass_count, arrays.stride, arrays.signal_count = body.mass_count, network.stride, len(signal_kinds)
        arrays.world_count, arrays.masses_a_world = self.worlds, self.one.mass_count
        arrays.control_count = len(self.controls)
        arrays.row_of = self._array(network.row_of, wp.int32)
        arrays.rows = self._roomy(network.extents(), wp.vec2i, network.row_room)
        self.upload_entries(arrays)
        self._upload_fast(arrays)
        arrays.signal_kinds = self._array(signal_kinds, wp.int32)
        arrays.signal_parameters = self._array(signal_parameters, wp.vec4d)
        arrays.forces = self._array(body.forces if self.features.pushed else [], types.vec3)
        arrays.guides = self._array(body.guides if self.features.guided else [], wp.int32)
        arrays.guide_axes = self._array(body.guide_axes if self.features.guided else [], types.vec3)
        arrays.obstacles = wp.array(self._obstacles(), dtype=types.Obstacle, device=self.device)
        arrays.grid_values = self._array(self._grid_values(), wp.float32)
        arrays.motions = self.motions.struct
        arrays.weights = self._array(body.masses if self.free else [], types.real)
        arrays.parameters = wp.array(self._parameters(), dtype=types.Parameters, device=self.device)
        if self.world.sand is not None:
            self._sand = sand_numbers(body, self.worlds, self.world.sand, types, self.device)
            arrays.sand = wp.array([self._sand], dtype=types.Sand, device=self.device)
        return arrays

    def upload_entries(self, arrays: Any) -> None:
        """Lay the entries of all rows out on the device, with room for rows that edits will add."""
        network, types = self.network, self.types
        room = network.entry_room = max(network.entry_room, len(network.offsets))  # edits use all that is there
        elastic = np.stack([network.entries["stiffness"], network.entries["pull"]], axis=1)
        arrays.offsets = self._roomy(network.offsets, wp.int32, room)
        arrays.elastic = self._roomy(elastic, types.vec2, room)
        for name, dtype in (("damping", types.real), ("signal", wp.int32), ("limit", types.real)):
            column = network.entries.get(name)
            member = "signals" if name == "signal" else "limits" if name == "limit" else name
            setattr(arrays, member, self._array([], dtype) if column is None else self._roomy(column, dtype, room))

    def _upload_fast(self, arrays: Any) -> None:
        """Which entries take smaller steps, and the masses that have such entries."""
        fast = fast_springs(self.body)
        if fast is None:
            for name in ("fast_counts", "fast_groups", "fast_masses"):
                setattr(arrays, name, self._array([], wp.int32))
            return
        first, entry = self._all_entries()
        counts = np.bincount(first, fast[self.rows.springs[entry]], minlength=len(self.rows.examples)).astype(np.int32)
        masses = np.flatnonzero(counts[self.rows.row_of])
        arrays.fast_counts = self._array(np.append(counts, np.zeros(len(self.network.starts) - len(counts))), wp.int32)
        arrays.fast_masses = self._array(masses, wp.int32)
        arrays.fast_groups = self._array(np.unique(masses // WIDTH), wp.int32)

    def _roomy(self, values: np.ndarray, dtype: Any, room: int, *, fill: int = 0) -> wp.array[Any]:
        """An array with unused elements after the values."""
        array = wp.zeros(max(room, len(values)), dtype=dtype, device=self.device)
        if fill:
            array.fill_(fill)
        wp.copy(array, wp.array(values, dtype=dtype, device="cpu"), count=len(values))
        return array

    def _array(self, values: Any, dtype: Any) -> wp.array[Any]:
        values = np.asarray(values)
        if len(values) == 0:
            return wp.empty(0, dtype=dtype, device=self.device)
        return wp.array(values, dtype=dtype, device=self.device)

    def _parameters(self) -> list[Any]:
        parameters, world = self.types.Parameters(), self.world
        parameters.dt = self.dt
        parameters.catching = self.dt / (self.relaxation + self.dt)
        parameters.settling = 1.0 / self.relaxation if self.relaxation > 0.0 else 0.0
        parameters.gravity = self.types.vec3(*world.gravity)
        parameters.velocity_damping = world.velocity_damping
        parameters.drag = world.drag
        parameters.obstacle_count = sum(contact.function is None for contact in world.contacts)
        return [parameters]

    def _obstacles(self) -> list[Any]:
        """Built-in obstacles first, then the user's surfaces, whose place the kernels count from there."""
        ordered = self._ordered
        first = np.cumsum([0, *(len(contact.values) for contact in ordered)])
        rows = zip(ordered, first, self.motions.tracks.tolist(), strict=False)
        made = [self._obstacle(contact, int(start), track) for contact, start, track in rows]
        for number, obstacle in enumerate(made):
            self._free_obstacle(ordered[number], number, obstacle)
        return made

    def _free_obstacle(self, contact: Contact, number: int, obstacle: Any) -> None:
        """What kernels know of an obstacle as a body; contacts with free ones are softer, as these are lighter."""
        obstacle.body, obstacle.share = -1, 1.0
        if contact.free is not None:
            obstacle.body = self.motions.free.index(number)
            obstacle.give, obstacle.most = 1.0 / contact.free.mass, contact.free.give
            if contact.per_mass:
                obstacle.stiffness = contact.stiffness / (1.0 + contact.lightness(self.one))

    @property
    def _ordered(self) -> list[Contact]:
        """Built-in obstacles first, then the user's surfaces."""
        return sorted(self.world.contacts, key=lambda contact: contact.function is not None)

    def _motions(self) -> MotionTable:
        """How obstacles move."""
        ordered = self._ordered
        rigids, forms = [one.rigid for one in ordered], [one.form for one in ordered]
        return MotionTable(rigids, forms, self.dt, self.device, self.worlds)

    def _free(self) -> FreeBodies | None:
        """Free obstacles; None where there is none."""
        ordered = self._ordered
        if not self.motions.free:
            return None
        rigids, forms = [one.rigid for one in ordered], [one.form for one in ordered]
        return FreeBodies(rigids, forms, self.motions, RESTITUTION, self.device)

    def make_room_for_wrenches(self) -> None:
        """Make room for what masses do to free obstacles, for as many masses as there are now."""
        if self.free is not None:
            added = self.mass_count - self.body.mass_count
            self.free.make_room(self.mass_count, self.one.mass_count + added, self.worlds)
            self.arrays.free = wp.array([self.free.struct], dtype=free_bodies.FreeBodies, device=self.device)

    def _grid_values(self) -> np.ndarray:
        """Heights and signed distances of all obstacles [m], in their order."""
        return np.concatenate([np.zeros(0, np.float32), *(contact.values for contact in self._ordered)])

    def _obstacle(self, contact: Contact, first: int, track: Sequence[int]) -> Any:
        obstacle = self.types.Obstacle()
        obstacle.track = track
        if contact.form is not None and track[1]:
            obstacle.geometry = contact.form.struct(self.types.real, first, contact.form.size)
        elif contact.form is not None:
            obstacle.geometry, obstacle.place, obstacle.turn = contact.form.still(self.types.real, first)
        obstacle.stiffness, obstacle.per_mass = contact.stiffness, contact.per_mass
        obstacle.dashpot = contact.slowing if self.features.growing else contact.damping_ratio
        obstacle.friction, obstacle.sliding_friction = contact.friction, contact.sliding_friction
        obstacle.restitution, obstacle.core = contact.restitution, contact.core
        return obstacle


def require_worlds(worlds: int, body: Body) -> int:
    """Refuse a number of worlds that is none, or needs more memory than there is."""
    if not is_whole(worlds, 1):
        raise InvalidValue(f"worlds must be a whole number of 1 or more, not {worlds!r}.")
    needed = float(worlds) * memory_of(body.mass_count, body.spring_count)
    require_memory(f"a simulation of {worlds} worlds of {body.mass_count} masses", needed, "simulate fewer worlds")
    return int(worlds)


def _lanes(mass_count: int) -> int:
    """Threads that share a mass on CUDA: small bodies are bound by latency and need many (measured on an H200)."""
    for limit, lanes in ((12_000, 16), (20_000, 8), (60_000, 4), (100_000, 2)):
        if mass_count < limit:
            return lanes
    return 1
