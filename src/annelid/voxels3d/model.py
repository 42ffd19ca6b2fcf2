"""3-D robots compiled for a device: tables of all their voxels, one world after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import Control
from annelid.core.errors import InvalidValue
from annelid.core.identity import identity, settings_of
from annelid.shapes.free_bodies import FreeBodies
from annelid.shapes.kernels import free_bodies
from annelid.shapes.kernels.gaps import CLOSED_FORMS, HEIGHTS, PLANE
from annelid.shapes.motions import MotionTable
from annelid.shapes.resistive.among import require_above
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.voxels3d.changes import Changed, Log, apply, unchanged
from annelid.voxels3d.collisions import Near, near_by_links, reach_and_margin, surface
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.stability import chosen_step
from annelid.voxels3d.tables import Shape, bond_row, compile_robot
from annelid.voxels3d.world import PRECISIONS, World


class Model:
    """A batch of robots, each in a world of its own or several in each world, ready for the kernels.

    Args:
        robots: The robots, world by world.
        world: Surroundings and integration, the same for all.
        device: Warp device.
        positions: Where the corner of cell (0, 0, 0) of each robot is [m], shape [robots, 3]; None: at the origin.
        group: Number of robots in each world.
        changed: What edits have made of the robots; None: nothing.
        base: The model before all edits; None: this is it.
    """

    def __init__(
        self,
        robots: Sequence[Robot],
        world: World,
        device: wp.Device,
        *,
        positions: np.ndarray | None = None,
        group: int = 1,
        changed: Changed | None = None,
        base: Model | None = None,
    ) -> None:
        if not robots:
            raise InvalidValue("there are no robots to simulate.")
        self.changed, self.base = changed or unchanged(robots), base
        self.robots, self.world, self.device, self.group = list(self.changed.robots), world, device, group
        self.real = PRECISIONS[world.precision]
        self.types = layout(self.real)
        known: dict[int, Shape] = {}
        for robot, opened in zip(self.robots, self.changed.opened, strict=True):
            if id(robot) not in known:
                known[id(robot)] = compile_robot(robot, opened)
        self.shapes = [known[id(robot)] for robot in self.robots]
        self.dt = chosen_step(world, list(known.values()))
        counts = np.array([robot.voxel_count for robot in self.robots])
        self.first_voxel = np.concatenate([[0], np.cumsum(counts)])
        self.robot_of_voxel = np.repeat(np.arange(len(counts)), counts)
        self.world_of_voxel = self.robot_of_voxel // group
        self.first_of_world = self.first_voxel[::group]
        corners = np.zeros((len(counts), 3)) if positions is None else np.asarray(positions, float)
        if corners.shape != (len(counts), 3):
            raise InvalidValue(f"positions must be of shape [{len(counts)}, 3], not {list(corners.shape)}.")
        if not np.isfinite(corners).all():
            wrong = corners[~np.isfinite(corners).all(axis=1)][0]
            raise InvalidValue(f"positions of robots must be finite numbers, not {wrong.tolist()}.")
        self.places = np.concatenate([r.centers for r in self.robots]) + corners[self.robot_of_voxel]
        self.corners = corners
        self._require_above_sand()
        # States have the same arrays, and channels, before and after edits.
        self.remembers = any(shape.link_rows["remembers"].any() for shape in (base or self).shapes)
        self.volumetric = any(shape.link_rows["poisson"].any() for shape in (base or self).shapes)
        self.obeying: np.ndarray = self._obeying_anywhere() if base is None else base.obeying
        self.controls = self._controls()
        self.tables = self._upload()
        self._surroundings = identity(settings_of(world, but=["dt", "skin"]), corners, group)

    @property
    def roundings(self) -> np.ndarray:
        """Displacements of voxels at the beginning [m], shape [voxels, 3]: 0, or with compatible links some 1e-18 m.

        Voxelyze keeps places, index times side, in float64. Links between places that were rounded pull a little in
        the first step, when the ground does not push yet, so that static friction lets go of those voxels. Whether a
        body that is loaded slowly sticks to a slope depends on it.
        """
        if self.world.links == "balanced":
            return np.zeros((self.voxel_count, 3))
        return np.concatenate([rounding_errors(robot.cells, robot.side_length) for robot in self.robots])

    @property
    def world_count(self) -> int:
        """Number of worlds."""
        return len(self.robots) // self.group

    @property
    def voxel_count(self) -> int:
        """Number of voxels of all worlds."""
        return int(self.first_voxel[-1])

    def of_voxels(self, name: str) -> np.ndarray:
        """A constant of the voxels of all worlds, by the name of its column, shape [voxels]."""
        return np.concatenate([shape.voxel_rows[name][shape.row_of_voxel] for shape in self.shapes])

    def world_of(self) -> dict[str, wp.array[Any]]:
        """World of each voxel, channel and world, by the kinds of rows of a state."""
        every = np.arange(self.world_count)
        owners = {"voxel": self.world_of_voxel, "channel": np.repeat(every, len(self.controls)), "world": every}
        owners["body"] = np.repeat(every, self.motions.count)
        return {kind: wp.array(of.astype(np.int32), dtype=wp.int32, device=self.device) for kind, of in owners.items()}

    def fingerprint(self) -> str:
        """A hash of robots and world as they were built, before edits."""
        return self._identity if self.base is None else self.base.fingerprint()

    @cached_property
    def _identity(self) -> str:
        return identity(self.robots, self._surroundings)

    def edited(self, log: Log) -> Model:
        """This model, which is as it was built, after a log of edits."""
        changed = apply(log, self.robots)
        world = replace(self.world, dt=self.dt)
        return Model(
            self.robots, world, self.device, positions=self.corners, group=self.group, changed=changed, base=self
        )

    def voxel_at(self, robot: int, cell: Sequence[int]) -> int:
        """Number of the voxel in a cell of a robot."""
        return int(self.first_voxel[robot] + np.flatnonzero((self.robots[robot].cells == cell).all(axis=1))[0])

    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """Voxels that links join to each along + and - of the axes, -1: none, two arrays of shape [voxels, 3]."""
        pairs = list(zip(self.shapes, self.first_voxel[:-1].tolist(), strict=True))
        after, before = (
            np.concatenate([_moved(table, first, -1) for table, first in tables])
            for tables in ([(s.next, f) for s, f in pairs], [(s.before, f) for s, f in pairs])
        )
        return after, before

    def _require_above_sand(self) -> None:
        """Refuse voxels that are built below the surface of sand, unless they may be."""
        if self.world.sand is not None and self.base is None:
            halves = np.concatenate([np.full(robot.voxel_count, 0.5 * robot.side_length) for robot in self.robots])
            require_above(self.world.sand, self.places[:, 2] - halves, "voxels")

    def _waves(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of voxels before they are actuated, and their waves; see `kernels.layout`."""
        bases, waves = [], []
        for robot in self.robots:
            expansion = np.array([material.expansion for material in robot.materials])[robot.material_of]
            bases.append(1.0 + expansion * robot.of_voxels("temperature"))
            change, ramp = expansion * robot.of_voxels("amplitude"), np.full(robot.voxel_count, robot.ramp)
            waves.append(np.column_stack([change, robot.of_voxels("frequency"), robot.of_voxels("phase"), ramp]))
        return np.concatenate(bases), np.concatenate(waves)

    def _crests(self) -> np.ndarray:
        """Highest value of the sine of each voxel."""
        return np.concatenate([np.full(robot.voxel_count, 0.0 if robot.only_cools else 1.0) for robot in self.robots])

    def _controls(self) -> tuple[Control, ...]:
        """A channel for each place at which a world has a voxel that is actuated but has no wave."""
        return tuple(
            Control(f"{f'robot {robot} ' if self.group > 1 else ''}voxel {x},{y},{z}", -1.0, 1.0, 0.0, "",
                    "makes a voxel grow (1) or shrink (-1) by its amplitude")
            for robot, x, y, z in self.obeying.tolist()
        )  # fmt: skip

    def _obeying_anywhere(self) -> np.ndarray:
        """Robot and cell of the voxels that obey commands in any world, in order, shape [n, 4]."""
        distinct = {tuple(map(id, one)): one for one in self._worlds}
        return np.unique(np.concatenate([self._obeying(one) for one in distinct.values()]), axis=0)

    @property
    def _worlds(self) -> list[list[Robot]]:
        """The robots of each world."""
        return [self.robots[k : k + self.group] for k in range(0, len(self.robots), self.group)]

    @staticmethod
    def _obeying(robots: Sequence[Robot]) -> np.ndarray:
        """Robot and cell of the voxels of a world that obey commands, shape [n, 4]."""
        found = []
        for number, robot in enumerate(robots):
            found.append(np.insert(robot.cells[_obeys(robot)], 0, number, axis=1))
        return np.concatenate(found)

    @cached_property
    def channels(self) -> np.ndarray:
        """Channel that each voxel obeys, -1 where it obeys none, shape [voxels]."""
        number = {tuple(key): k for k, key in enumerate(self.obeying.tolist())}
        found = np.full(self.voxel_count, -1)
        for k, robot in enumerate(self.robots if number else ()):
            free = np.flatnonzero(_obeys(robot))
            keys = [(k % self.group, *cell) for cell in robot.cells[free].tolist()]
            found[self.first_voxel[k] + free] = [number.get(key, -1) for key in keys]
        return found

    def _upload(self) -> Any:
        tables, types = self.types.Tables(), self.types
        shifted = _Shifted(self.shapes, self.first_voxel)
        bases, waves = self._waves()
        bonds = self._bonds(shifted)
        plain = {
            "row_of_link": (shifted.row_of_link, wp.int32), "next": (shifted.next, wp.int32),
            "before": (shifted.before, wp.int32), "row_of_voxel": (shifted.row_of_voxel, wp.int32),
            "world_of": (self.world_of_voxel, wp.int32), "begins": (self.first_of_world, wp.int32),
            "places": (self.places, wp.vec3d), "sides": (self.of_voxels("side"), wp.float64),
            "bases": (bases, types.real), "crests": (self._crests(), types.real), "waves": (waves, wp.vec4d),
            "channels": (self.channels, wp.int32),
            "curve_strains": (shifted.curve[:, 0], types.real), "curve_stresses": (shifted.curve[:, 1], types.real),
            **self._outside(), **self._fields(), **bonds, **self._near(),
        }  # fmt: skip
        for name, (values, dtype) in plain.items():
            setattr(tables, name, wp.array(values, dtype=dtype, device=self.device))
        tables.links = self._rows(types.Link, {**shifted.link_rows, "first_share": self._shares(shifted)})
        tables.voxels = self._rows(types.Voxel, shifted.voxel_rows)
        self._upload_obstacles(tables)
        tables.reach, tables.margin = reach_and_margin(self.of_voxels("side"), bases + np.abs(waves[:, 0]))
        tables.touching = int(self.touching)
        tables.bonded = int(len(self.changed.bonds) > 0)
        tables.channel_count = len(self.controls)
        tables.fluid = self.world.fluid
        tables.faces = wp.array(self._open_faces(), dtype=wp.int32, device=self.device)
        sand = [] if self.world.sand is None else [self.world.sand.numbers(types.real)]
        tables.sand = wp.array(sand, dtype=resistance(types.real).Ground, device=self.device)
        tables.gravity = types.vec3(*self.world.gravity)
        tables.dt = self.dt
        tables.balanced = int(self.world.links == "balanced")
        tables.volumetric = int(self.volumetric)
        tables.special = int(self.volumetric or self.remembers)
        tables.actuated = int(waves[:, 0].any())
        tables.pushed = int(any(robot.holds or robot.pushes for robot in self.robots))
        return tables

    @property
    def kinds(self) -> tuple[int, ...]:
        """Kinds of obstacles that kernels are compiled for: those in use, and on a CPU others, so that few serve all.

        On a GPU each kind takes registers from every robot, those on a plane included.
        """
        used = {contact.form.kind for contact in self.world.contacts}
        common = {PLANE} if self.device.is_cuda else {PLANE, HEIGHTS, *CLOSED_FORMS}
        return tuple(sorted(common | used))

    @property
    def moves(self) -> tuple[bool, bool]:
        """Whether some obstacles move, and whether some of these are free."""
        return self.motions.there, self.free is not None

    @property
    def plain(self) -> bool:
        """Whether all links are linear, without a Poisson's ratio, and only gravity and obstacles act from outside."""
        tables = self.tables
        return not (tables.special or tables.pushed or self.world.force_field or self.world.fluid or self.world.sand)

    @property
    def touching(self) -> bool:
        """Whether voxels touch each other."""
        return self.world.collisions != "none"

    @cached_property
    def bond_ends(self) -> np.ndarray:
        """Voxels at the two ends of each bond, shape [bonds, 2]."""
        ends = [[self.voxel_at(robot, cell) for robot, *cell in pair] for pair in self.changed.bonds.ends.tolist()]
        return np.array(ends, int).reshape(-1, 2)

    def _bonds(self, shifted: _Shifted) -> dict[str, tuple[np.ndarray, Any]]:
        """Tables of bonds; their constants become rows of links."""
        bonds, ends, real = self.changed.bonds, self.bond_ends, self.types
        rows = [self._bond_row(pair) for pair in ends.tolist()]
        first = len(shifted.link_rows["side"])
        for name in shifted.link_rows if rows else ():
            shifted.link_rows[name] = np.append(shifted.link_rows[name], [row[name] for row in rows])
        order = np.argsort(ends.ravel(), kind="stable")
        begins = np.searchsorted(ends.ravel()[order], np.arange(self.voxel_count + 1))
        return {
            "bond_begins": (begins, wp.int32), "bond_numbers": (order // 2, wp.int32), "bond_ends": (ends, wp.vec2i),
            "bond_rows": (first + np.arange(len(ends)), wp.int32), "bond_turns": (bonds.turns, real.quat),
            "bond_axes": (bonds.axes, real.vec3), "bond_born": (bonds.born, wp.int64),
            "bond_rise": (bonds.rise, wp.float64),
        }  # fmt: skip

    def _bond_row(self, pair: Sequence[int]) -> dict[str, Any]:
        robots = [self.robots[self.robot_of_voxel[end]] for end in pair]
        local = [end - self.first_voxel[self.robot_of_voxel[end]] for end in pair]
        made = [
            (robot.materials[robot.material_of[k]], float(robot.of_voxels("stiffness")[k]))
            for robot, k in zip(robots, local, strict=True)
        ]
        side = sum(robot.side_length for robot in robots) / 2.0
        return bond_row(side, made, self.of_voxels("mass")[list(pair)])

    def _near(self) -> dict[str, tuple[np.ndarray, Any]]:
        """Tables of the surface voxels, and of those that few links join; equal robots share the latter."""
        if self.touching and len(self.changed.bonds):
            after, before = self.neighbours()
            there = np.argwhere(after >= 0)
            links = np.column_stack([there[:, 0], after[after >= 0]])
            skin = surface(after, before)
            every = near_by_links(np.concatenate([links, self.bond_ends]), skin)
            return {"skin": (skin, wp.int32), "near_begins": (every.begins, wp.int32),
                    "near_counts": (every.counts, wp.int32), "near": (every.offsets, wp.int32)}  # fmt: skip
        known: dict[int, tuple[np.ndarray, Near]] = {}
        count = 0
        skins, begins, counts, offsets = [], [], [], [np.zeros(0, int)]
        for shape in self.shapes if self.touching else ():
            if id(shape) not in known:
                skin = surface(shape.next, shape.before)
                near = near_by_links(shape.pairs, skin)
                known[id(shape)] = skin, Near(near.begins + count, near.counts, near.offsets)
                offsets.append(near.offsets)
                count += len(near.offsets)
            skin, near = known[id(shape)]
            skins.append(skin)
            begins.append(near.begins)
            counts.append(near.counts)
        lists = {"skin": skins, "near_begins": begins, "near_counts": counts, "near": offsets}
        return {name: (np.concatenate(parts or [np.zeros(0, int)]), wp.int32) for name, parts in lists.items()}

    def _shares(self, shifted: _Shifted) -> np.ndarray:
        """Share of the strain of a link that its first voxel has: the softer end has more, in Voxelyze the stiffer."""
        ratio = shifted.link_rows["ratio"]
        return 2.0 * (ratio if self.world.links == "balanced" else 1.0) / (1.0 + ratio)

    def _rows(self, kind: Any, columns: dict[str, np.ndarray]) -> wp.array[Any]:
        """An array of structures from an array for each member."""
        rows = np.zeros(len(next(iter(columns.values()))), dtype=kind.numpy_dtype())
        for name in rows.dtype.names or ():
            rows[name] = columns[name]
        return wp.array(rows, dtype=kind, device=self.device)

    def _outside(self) -> dict[str, tuple[np.ndarray, Any]]:
        """Tables of what holds and pushes voxels."""
        ties, bits, moves, turns, spans = np.full(self.voxel_count, -1), [], [], [], []
        loaded, loads = np.zeros(self.voxel_count, int), []
        for robot, first in zip(self.robots, self.first_voxel[:-1], strict=True):
            for hold in robot.holds:
                ties[first + hold.voxels] = len(bits)
                loaded[first + hold.voxels] |= hold.bits & 7
                bits.append(hold.bits)
                moves.append(hold.displacement)
                turns.append(hold.rotation)
                spans.append((hold.begin, hold.duration))
            for push in robot.pushes:
                share = np.array([*push.force, *push.moment, push.begin, push.rise, push.end])
                share[:6] /= len(push.voxels)
                loads.append(np.column_stack([first + push.voxels, np.tile(share, (len(push.voxels), 1))]))
                loaded[first + push.voxels] |= sum((force != 0.0) << axis for axis, force in enumerate(push.force))
        all_loads = np.concatenate([np.zeros((0, 10)), *loads])
        all_loads = all_loads[np.argsort(all_loads[:, 0], kind="stable")]
        begins = np.searchsorted(all_loads[:, 0], np.arange(self.voxel_count + 1))
        return {
            "ties": (ties, wp.int32), "tie_bits": (np.array(bits, int), wp.int32),
            "tie_moves": (np.reshape(moves, (-1, 3)), wp.vec3d), "tie_turns": (np.reshape(turns, (-1, 3)), wp.vec3d),
            "tie_spans": (np.reshape(spans, (-1, 2)), wp.vec2d), "loaded": (loaded, wp.int32),
            "load_begins": (begins, wp.int32), "load_forces": (all_loads[:, 1:4], wp.vec3d),
            "load_moments": (all_loads[:, 4:7], wp.vec3d), "load_spans": (all_loads[:, 7:], wp.vec3d),
        }  # fmt: skip

    def _open_faces(self) -> np.ndarray:
        """Bits of the faces of voxels without a neighbour, which a fluid or sand pushes on; see `kernels.layout`."""
        if not (self.world.fluid or self.world.sand):
            return np.zeros(0, int)
        after, before = self.neighbours()
        bits = 1 << np.arange(6).reshape(3, 2)
        return np.asarray((np.stack([after < 0, before < 0], axis=2) * bits).sum(axis=(1, 2)))

    def _fields(self) -> dict[str, tuple[np.ndarray, Any]]:
        """Tables of the fields of force; see `kernels.fields`."""
        programs = [formula.postfix() for formula in self.world.force_field]
        begins = np.cumsum([0, *(len(codes) for codes, _ in programs)]) if programs else np.zeros(0)
        codes = np.concatenate([np.zeros(0, np.int32), *(codes for codes, _ in programs)])
        numbers = np.concatenate([np.zeros(0), *(numbers for _, numbers in programs)])
        return {
            "field_begins": (begins, wp.int32), "field_codes": (codes, wp.int32),
            "field_numbers": (numbers, wp.float64),
        }  # fmt: skip

    def _upload_obstacles(self, tables: Any) -> None:
        rows, values, count = [], [np.zeros(0, np.float32)], 0
        contacts = self.world.contacts
        rigids, forms = [one.rigid for one in contacts], [one.form for one in contacts]
        self.motions = MotionTable(rigids, forms, self.dt, self.device, self.world_count)
        tables.motions = self.motions.struct
        self._upload_free(tables)
        for contact, track in zip(contacts, self.motions.tracks.tolist(), strict=True):
            one = self.types.Obstacle()
            one.track, one.geometry = track, contact.form.struct(wp.float64, count, contact.form.size)
            if not track[1]:
                one.geometry, one.place, one.turn = contact.form.still(wp.float64, count)
            one.holds, one.rubs, one.press = contact.holds, contact.rubs, contact.press
            one.core = contact.form.core
            if contact.free is not None:
                one.body = self.motions.free.index(len(rows))
                one.give, one.most = 1.0 / contact.free.mass, contact.free.give
            count += len(contact.form.values)
            values.append(contact.form.values)
            rows.append(one)
        tables.obstacles = wp.array(rows, dtype=self.types.Obstacle, device=self.device)
        tables.grid_values = wp.array(np.concatenate(values), dtype=wp.float32, device=self.device)

    def _upload_free(self, tables: Any) -> None:
        """Free obstacles; in contacts with these voxels are softer, as they are lighter."""
        contacts, self.free = self.world.contacts, None
        if not self.motions.free:
            return
        rigids, forms = [one.rigid for one in contacts], [one.form for one in contacts]
        self.free = FreeBodies(rigids, forms, self.motions, 0.0, self.device)
        self.free.make_room(self.voxel_count, int(np.diff(self.first_of_world).max()), self.world_count)
        tables.free = wp.array([self.free.struct], dtype=free_bodies.FreeBodies, device=self.device)
        masses, parts = self.of_voxels("mass"), zip(self.first_of_world[:-1], self.first_of_world[1:], strict=True)
        softer = [
            1.0 / (1.0 + body.lightness(self.places[first:last], masses[first:last]))
            for first, last in parts for body in self.free.bodies
        ]  # fmt: skip
        tables.softer = wp.array(softer, dtype=self.types.real, device=self.device)


def rounding_errors(numbers: np.ndarray, factor: float) -> np.ndarray:
    """What float64 adds to whole numbers times a factor when it rounds them, exactly (after Dekker)."""
    high = float(np.float32(factor))  # products of its digits with small numbers are exact, as those of the rest
    return np.asarray((numbers * factor - numbers * high) - numbers * (factor - high))


def _obeys(robot: Robot) -> np.ndarray:
    """Whether each voxel is actuated but has no wave, shape [voxels]."""
    expansion = np.array([material.expansion for material in robot.materials])[robot.material_of]
    return np.asarray((expansion * robot.of_voxels("amplitude") != 0.0) & (robot.of_voxels("frequency") == 0.0))


class _Shifted:
    """Tables of all worlds in one: numbers of voxels and rows shifted to where they are there.

    Rows of equal robots are there once. One voxel more than there are closes the list: it has no links, and is before
    those that have none before them.
    """

    def __init__(self, shapes: Sequence[Shape], first: np.ndarray) -> None:
        links, voxels, curves = [], [], []
        begun: dict[int, tuple[int, int]] = {}
        link_count = voxel_count = point_count = 0
        for shape in shapes:
            if id(shape) in begun:
                continue
            begun[id(shape)] = link_count, voxel_count
            links.append({**shape.link_rows, "curve": shape.link_rows["curve"] + point_count})
            voxels.append(shape.voxel_rows)
            curves.append(shape.curve)
            link_count += len(shape.link_rows["side"])
            voxel_count += len(shape.voxel_rows["side"])
            point_count += len(shape.curve)
        none, pairs = np.full((1, 3), -1), list(zip(shapes, first[:-1].tolist(), strict=True))
        last = int(first[-1])
        self.row_of_link = np.concatenate([*(_moved(s.row_of_link, begun[id(s)][0], -1) for s in shapes), none]).ravel()
        self.next = np.concatenate([*(_moved(s.next, f, -1) for s, f in pairs), none]).ravel()
        self.before = np.concatenate([*(_moved(s.before, f, last) for s, f in pairs), none]).ravel()
        self.row_of_voxel = np.concatenate([s.row_of_voxel + begun[id(s)][1] for s in shapes])
        self.link_rows = {name: np.concatenate([rows[name] for rows in links]) for name in links[0]}
        self.voxel_rows = {name: np.concatenate([rows[name] for rows in voxels]) for name in voxels[0]}
        self.curve = np.concatenate(curves)


def _moved(numbers: np.ndarray, by: int, none: int) -> np.ndarray:
    return np.where(numbers >= 0, numbers + by, none)
