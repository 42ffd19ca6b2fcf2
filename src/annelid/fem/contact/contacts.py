"""All that a solid touches: obstacles, where they are, and the contacts of its nodes, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_whole
from annelid.core.readback import Mirror, Readings
from annelid.core.replay import Launcher
from annelid.core.state import overwrite
from annelid.fem.contact.bodies import Bodies
from annelid.fem.contact.corners import CornerContacts
from annelid.fem.contact.leading import Leading
from annelid.fem.contact.loads import CornerLoad
from annelid.fem.contact.obstacle_edges import ObstacleEdges
from annelid.fem.contact.obstacles import forms_of, require_surface, touched_by_solids
from annelid.fem.contact.pairs import SurfacePairs
from annelid.fem.contact.pictures import Obstacles
from annelid.fem.contact.places import Pose, driven_poses, first_poses, motion_between
from annelid.fem.contact.points import PointContacts
from annelid.fem.contact.settings import Contact
from annelid.fem.contact.start import require_apart, set_apart, set_bodies_apart, warn_of_hovering, warn_of_sag
from annelid.fem.contact.state import Touching, TouchingItself
from annelid.fem.contact.surface import outer_faces, outer_nodes
from annelid.fem.contact.turning import SLIGHT, Legs, largest_turn
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.contact import volume_ratios
from annelid.fem.kernels.motion import least, tick
from annelid.fem.kernels.placing import place_obstacles
from annelid.fem.solid import Solid
from annelid.shapes import Obstacle
from annelid.shapes.form import Form
from annelid.shapes.surface import friction_between

_LEAST_VOLUME = 0.05
"""Volume of an element over that at rest that no move goes below."""
_STUCK, _FLAT = 1e-3, 1.1
"""Way in a step, as a part of the reach, and volume over the least one, below which a solid is stuck for good."""
_PARTS = 256  # of which the least volume is found on the device
_CAUTION = 0.6
"""Of the way that is free, how much what is driven goes."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Where obstacles were at some moment of a step: places [m] and quaternions."""

    places: np.ndarray
    turns: np.ndarray


def touched_by(solid: Solid, obstacles: Sequence[Obstacle], contact: Contact, device: wp.Device) -> Contacts | None:
    """What a solid touches; None where there are no obstacles and it does not touch itself."""
    if not obstacles and not contact.touches_itself(solid):
        return None
    return Contacts(solid, obstacles, contact, device)


class Contacts:
    """What a solid touches.

    Args:
        solid: The solid.
        obstacles: The obstacles.
        contact: How it touches.
        device: Where it is computed.

    Attributes:
        rigids: The obstacles.
        given: The same as they were given.
        nodes: The contacts of outer nodes, an element set of the model.
        corners: The contacts of corners and edges of obstacles, another element set.
        edges: The contacts of edges of obstacles with edges of the solid, another.
        pairs: The contacts of the surface with itself, another element set; None where it does not touch itself.
        bodies: The free ones among the obstacles.
        outer: Nodes that can touch, shape [k].
        rows: Place of each node among these, -1 where it cannot touch, shape [n].
        movable: Which nodes are not held altogether, shape [n].
        now: Where obstacles are while a step is solved.
        goal: Where they are at the end of it.
        cut: Whether a move of this step was cut short.
        shift: How far the solid is moved to begin with [m], shape [3].
        pictures: Draws the obstacles.
        leading: Which obstacles a person leads, and where to.
    """

    def __init__(self, solid: Solid, obstacles: Sequence[Obstacle], contact: Contact, device: wp.Device) -> None:
        self.solid, self.device = solid, device
        self.rigids, self.given = touched_by_solids(obstacles), tuple(obstacles)
        require_surface(solid.surface, "the solid")
        self.settings = contact.of(solid)
        assert self.settings.reach is not None
        assert self.settings.stiffness is not None
        self._forms = [Form(rigid) for rigid in self.rigids]
        forms = self.forms_on(device)
        self.outer = outer_nodes(solid)
        pairs = [friction_between(solid.surface, rigid.surface) for rigid in self.rigids]
        frictions = np.tile(pairs, (len(self.outer), 1))
        reach, skin = self.settings.reach, self.settings.skin
        self.nodes = PointContacts(
            self.outer, solid.node_count, forms, frictions, reach=reach, skins=skin, device=device
        )
        self.corners = CornerContacts(
            outer_faces(solid), solid.node_count, self.rigids, self._forms, forms, pairs,
            spacing=2.0 * reach, reach=reach, skin=skin, device=device,
        )  # fmt: skip
        self.edges = ObstacleEdges(
            outer_faces(solid), self.rigids, self._forms, forms, reach=reach, skin=skin, device=device
        )
        self.pairs = self._made_pairs() if self.settings.itself else None
        self.movable = np.asarray(~solid.held.all(axis=1))
        self.rows = np.full(solid.node_count, -1)
        self.rows[self.outer] = np.arange(len(self.outer))
        self.bodies = Bodies(self.rigids, self._forms, forms, reach, device)
        self.begun, self.now, self.goal = (Pose(len(self.rigids), device) for _ in range(3))
        self._readings = Readings()
        self._from, self._ahead = (Pose(len(self.rigids), device) for _ in range(2))
        self._legs = Legs(solid.node_count, len(self.rigids), device)
        self.now.set(*first_poses(self.rigids, self._forms))
        set_bodies_apart(self)
        self.cut = False
        self._rest = wp.array(solid.nodes, dtype=wp.vec3d, device=device)
        self._elements = wp.array(np.ascontiguousarray(solid.elements[:, :4]), dtype=wp.int32, device=device)
        self._ratios = wp.zeros(len(solid.elements), dtype=wp.float64, device=device)
        self._least = wp.zeros(_PARTS, dtype=wp.float64, device=device)
        self._leasts, self._launcher = Mirror(self._least), Launcher(device)
        warn_of_sag(solid, self.rigids, self.settings.reach)
        warn_of_hovering(self.rigids, self.settings.reach)
        self.shift = set_apart(self)
        self._first = self.now.places.copy(), self.now.turns.copy()
        self.pictures = Obstacles(self.rigids, self._forms, device)
        self.leading = Leading(self.rigids)

    def _made_pairs(self) -> SurfacePairs:
        settings, surface = self.settings, self.solid.surface
        assert settings.reach is not None
        assert settings.stiffness is not None
        stiffness = surface.stiffness or settings.stiffness
        made = SurfacePairs(
            self.solid, reach=settings.reach, stiffness=stiffness, skin=settings.skin, device=self.device
        )
        require_apart(self.solid, made)
        return made

    def forms_on(self, device: wp.Device) -> Any:
        """What obstacles are to kernels on a device."""
        assert self.settings.stiffness is not None
        return forms_of(self.rigids, self._forms, self.solid.surface, self.settings.stiffness, device)

    @property
    def only_nodes(self) -> bool:
        """Whether nodes touch obstacles and nothing else is among the contacts."""
        return not self.corners and self.pairs is None and not self.bodies

    @property
    def surface(self) -> np.ndarray | None:
        """Nodes of the surface that touches itself, shape [s]; None where it does not."""
        return None if self.pairs is None else self.pairs.numbers

    @property
    def sets(self) -> list[ElementSet]:
        """Element sets that the model needs among its extras."""
        found: list[ElementSet] = [self.nodes, self.corners] if self.corners else [self.nodes]
        if self.edges:
            found.append(self.edges)
        return found if self.pairs is None else [*found, self.pairs]

    def evaluate(self, positions: wp.array[Any]) -> None:
        """Find energies, forces and tangents of all contacts of the solid, without waiting for the device."""
        for each in self.sets:
            each.evaluate(positions)

    def groups(self, *, losses: bool = False) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Contacts that couple nodes, as evaluated last: nodes [p, m], coefficients, tangents [N/m] [p, 3, 3].

        Coefficients are numbers, shape [p, m], or matrices, shape [p, m, 3, 3].

        Args:
            losses: Whether friction that is lost with gaps that open is a part of the tangents of frictions.
        """
        found = self.corners.stiffness(losses=losses) if self.corners else []
        found += self.edges.stiffness() if self.edges else []
        return found if self.pairs is None else found + self.pairs.stiffness(losses=losses)

    # --- states ---

    def first_state(self) -> Touching:
        """Nothing touches yet; obstacles are where they were built."""
        pairs, count = len(self.nodes.pair_forces), len(self.rigids)
        places, turns = self._first
        moving = [rigid if rigid.moves != "fixed" else None for rigid in self.rigids]
        still = (0.0, 0.0, 0.0)
        known: dict[str, Any] = {
            "stretches": self._zeros(pairs, wp.vec3d),
            "forces": self._zeros(pairs, wp.vec3d),
            "places": wp.array(places, dtype=wp.vec3d, device=self.device),
            "turns": wp.array(turns, dtype=wp.quatd, device=self.device),
            "velocities": self._vectors([rigid.velocity if rigid else still for rigid in moving], count),
            "spins": self._vectors([rigid.spin if rigid else still for rigid in moving], count),
            "point_stretches": self._zeros(len(self.bodies.points.pair_forces), wp.vec3d),
            "point_forces": self._zeros(len(self.bodies.points.pair_forces), wp.vec3d),
            "corner_stretches": self._zeros(len(self.corners), wp.vec3d),
            "cut": self._zeros(1, wp.int64),
        }
        return Touching(**known) if self.pairs is None else TouchingItself(**known, **self.pairs.first_arrays())

    def sharp_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Obstacles of sharp points, shape [c], and where these are [m], shape [c, 3]."""
        return self.corners.owners, self.corners.places_in(self.now)

    def in_world(self, number: int, points: np.ndarray) -> np.ndarray:
        """Where points of the frame of a geometry are [m], shape [p, 3]."""
        form = self._forms[number]
        return self.now.points(np.full(len(points), number), form.axes.inv().apply(points - form.middle))

    def number_of(self, wanted: Obstacle | int | str) -> int:
        """Number of an obstacle that was given, is called so, or has this number."""
        if isinstance(wanted, str):
            self._require_one(wanted)
        for number, (given, rigid) in enumerate(zip(self.given, self.rigids, strict=True)):
            named = isinstance(wanted, str) and wanted == rigid.name != ""
            if wanted is given or wanted is rigid or named or (is_whole(wanted, 0) and wanted == number):
                return number
        raise UnknownName("obstacle", str(wanted), [rigid.name or str(n) for n, rigid in enumerate(self.rigids)])

    def _require_one(self, name: str) -> None:
        """Refuse a name that several obstacles have."""
        called = [number for number, rigid in enumerate(self.rigids) if name == rigid.name != ""]
        if len(called) > 1:
            raise InvalidValue(
                f"{len(called)} obstacles are called {name!r}, numbers {', '.join(map(str, called))}: give them "
                "different names, or say which by its number."
            )

    def place(self, state: Touching, obstacle: Obstacle | int | str, places: Any, turns: Any, mask: Any) -> None:
        """Put an obstacle elsewhere in masked worlds; see `Solver.place`."""
        number = self.number_of(obstacle)
        axes = wp.quatd(*self._forms[number].axes.as_quat().tolist())
        inputs = [mask, number, len(self.rigids), axes, places, turns, state.places, state.turns]
        wp.launch(place_obstacles, len(mask), inputs, device=self.device)

    def vary(self, friction: float, body_mass: float) -> None:
        """Let all friction, and the masses of free bodies, be so many times what they were built with."""
        for rubbing in (self.nodes, self.bodies.points, self.bodies.rolling, self.corners, self.pairs):
            if rubbing is not None:
                rubbing.scale_friction(friction)
        self.bodies.scale_masses(body_mass)

    # --- steps ---

    def begin(
        self, positions: wp.array[Any], state: Touching, dt: float, time: float, gravity: np.ndarray | None = None
    ) -> None:
        """Start a step of a time dt that ends at a time [s], in which gravity [m/s²] pulls at free bodies."""
        self._dt: float | None = dt
        self._found = self._readings.read(state.places, state.turns, state.velocities, state.spins)
        self.begun.set(*self._found[:2])
        motion = self._found[2].copy(), self._found[3].copy()
        poses = self.begun.device_pose, self.now.device_pose
        if self.bodies:
            self.bodies.begin(self.begun, motion, dt, self._accelerations(motion[0], gravity, dt))
        if self.leading:
            motion = self.leading.velocities(self.begun.places, motion[0]), motion[1]
        if self.bodies:
            for part in motion:  # bodies are not driven
                part[self.bodies.numbers] = 0.0
            self.bodies.points.begin(*poses, state.point_stretches, self.bodies.place_points(self.begun))
        self.goal.set(*driven_poses(self.rigids, self._forms, self.begun, motion, (dt, time)))
        self.now.set(self.begun.places, self.begun.turns)
        self.nodes.begin(*poses, state.stretches, positions)
        self.corners.begin(*poses, state.corner_stretches, positions)
        self.edges.begin(poses[1])
        if self.pairs is not None:
            assert isinstance(state, TouchingItself)
            self.pairs.begin(positions, state)
        self.cut = False

    def _accelerations(self, velocities: np.ndarray, gravity: np.ndarray | None, dt: float) -> np.ndarray:
        """What accelerates free bodies besides contacts [m/s²], shape [3] or [f, 3]."""
        pull = np.zeros(3) if gravity is None else gravity
        if not self.leading:
            return pull
        return self.leading.accelerations(self.bodies.numbers, self.begun.places, velocities, pull, dt)

    def end(self, positions: wp.array[Any], state: Touching, dt: float) -> None:
        """End a step: write what it led to into the state."""
        self.nodes.end(positions, state.stretches, state.forces)
        self._end_corners(positions, state)
        if self.pairs is not None:
            assert isinstance(state, TouchingItself)
            self.pairs.end(positions, state)
        motion = self._found[2].copy(), self._found[3].copy()
        followed = [number for number, rigid in enumerate(self.rigids) if rigid.path is not None]
        for part, known in zip(motion, motion_between(self.begun, self.now, dt), strict=True):
            part[followed] = known[followed]
        if self.bodies:
            self.bodies.end(self.now, state.point_stretches, state.point_forces)
            for part, known in zip(motion, self.bodies.motion(), strict=True):
                part[self.bodies.numbers] = known
        arrays = (state.places, state.turns, state.velocities, state.spins)
        for array, before, now in zip(arrays, self._found, (self.now.places, self.now.turns, *motion), strict=True):
            if before.tobytes() != now.tobytes():  # most stay where they are, and a device takes long to be told so
                overwrite(array, now)
        if self.cut:
            wp.launch(tick, 1, [1, state.cut], device=self.device)

    def _end_corners(self, positions: wp.array[Any], state: Touching) -> None:
        """Share what corners do among the nodes of the triangles that they touch."""
        if not self.corners:
            return
        self.corners.end(positions, state.corner_stretches)
        self.edges.evaluate(positions)
        forces = state.forces.numpy().reshape(*self.nodes.size, 3).copy()
        for load in self.sharp_loads():
            rows = self.rows[load.nodes]
            kept = rows >= 0
            np.add.at(forces, (rows[kept], load.obstacle), -load.weights[kept, None] * load.force)
        overwrite(state.forces, forces.reshape(-1, 3))

    def sharp_loads(self, of: np.ndarray | None = None) -> list[CornerLoad]:
        """What corners and edges do, of all obstacles or of some, as evaluated last."""
        return self.corners.loads_in(self.now, of) + self.edges.loads_of(of)

    def follow(self, positions: wp.array[Any], *, guessed: bool = False) -> None:
        """Take the limits and planes of friction from where nodes and bodies are.

        The surface does not follow its own guesses: two parts that fly into each other press a thousand times as hard
        there as they ever will, and friction that strong would lead astray.
        """
        self.nodes.follow(positions)
        if self.corners:
            self.corners.follow(positions)
        if self.edges:
            self.edges.follow(positions)
        if self.pairs is not None and guessed:
            self.pairs.cover(positions)
        elif self.pairs is not None:
            self.pairs.follow(positions)
        if self.bodies:
            self.bodies.points.follow(self.bodies.place_points(self.now))

    def limits(self, positions: wp.array[Any]) -> np.ndarray:
        """How hard all pressed where friction was followed last [N], with shares of nearly parallel edges, shape [l].

        Pairs of the surface are those that touch at positions.
        """
        if self.pairs is not None:
            self.pairs.cover(positions)
        return np.concatenate([np.ravel(each.numpy()) for each in self._limits()])

    def limit(self, limits: np.ndarray) -> None:
        """Let limits be others than those that followed, shape [l]."""
        begin = 0
        for each in self._limits():
            overwrite(each, limits[begin : begin + each.size].reshape(each.shape))
            begin += each.size

    def _limits(self) -> list[wp.array[Any]]:
        found = [self.nodes.strengths]
        found += [self.corners.strengths] if self.corners else []
        found += [self.edges.shares] if self.edges else []
        found += [] if self.pairs is None else self.pairs.limits
        return [*found, self.bodies.points.strengths] if self.bodies else found

    def stand_still(self, positions: wp.array[Any]) -> None:
        """Start to look for an equilibrium among obstacles that do not move."""
        self.begin(positions, self.first_state(), 1.0, 0.0)
        self._dt = None

    def in_the_way(self) -> str:
        """What may keep what is held or driven from where it belongs, and what helps, in words.

        In a time step that is suggested nothing is driven by more than the reach of contact.
        """
        assert self.settings.reach is not None
        if self._dt is None:
            return "an obstacle is in the way; hold it elsewhere, move the obstacle, or give a start nearer to the end"
        way = float(np.linalg.norm(self.goal.places - self.begun.places, axis=1).max(initial=0.0))
        part = min(0.5, self.settings.reach / way) if way > 0.0 else 0.5
        return (
            "an obstacle is in the way, or the step is too long for how fast it moves; take a smaller dt, such as "
            f"{part * self._dt:.1g} s instead of {self._dt:g} s, slower motions or more room"
        )

    def advance(self, positions: wp.array[Any], step: wp.array[Any], *, flying: bool = False) -> float:
        """Part of a step of nodes that is free while obstacles go to their goals; they go that part of their way.

        Free bodies stay where they are, or go to where they would fly. Where something is in an obstacle already, the
        part is negative and nothing goes anywhere: see `contact.inside`.
        """
        self._from.set(self.now.places, self.now.turns)
        if self.bodies and flying:
            self.bodies.guess(self.goal)
        part = self._volume_part(positions, step, self._gap_part(positions, step, self.goal))
        if part < 0.0:
            return part
        if part < 1.0 and not flying:  # a barrier opens twofold in an iteration: leave it some of the gap
            part *= _CAUTION
        part = self._part_on_arcs(positions, step, part)
        self.now.between(self._from, self.goal, part)
        if self.bodies and flying:
            self.bodies.take(self.now)
        return part

    def _part_on_arcs(self, positions: wp.array[Any], step: wp.array[Any], part: float) -> float:
        """The same part of the way to the goals or less, such that gaps are open where arcs of turns lead, too."""
        while part > 1e-12 and part * largest_turn(self._from, self.goal) > SLIGHT:
            self._ahead.between(self._from, self.goal, part)
            gaps = self.nodes.gaps(self._legs.along(positions, step, part), self._ahead.device_pose)
            if gaps.min(initial=1.0) > 0.0 and self.bodies.least_gap(self._ahead) > 0.0:
                return part
            part, self.cut = 0.5 * part, True
        return part

    def placed(self) -> Placed:
        """Where obstacles are."""
        return Placed(self.now.places.copy(), self.now.turns.copy())

    def put_back(self, placed: Placed) -> None:
        """Put obstacles back to where they were at some moment of this step."""
        self.now.set(placed.places, placed.turns)
        if self.bodies:
            self.bodies.take(self.now)

    def go_back(self) -> None:
        """Put obstacles back to where they were when the step began."""
        self.put_back(Placed(self.begun.places, self.begun.turns))

    def wait(self) -> None:
        """Let free bodies have no goal but where they are."""
        if self.bodies:
            self.bodies.move(self.bodies.unknowns(), 0.0, self.goal)

    def free_part(self, positions: wp.array[Any], step: wp.array[Any]) -> float:
        """Part of a step of nodes on which nothing goes through anything and nothing inverts, at most 1."""
        if not self.bodies:
            return self._volume_part(positions, step, self._gap_part(positions, step, self.now))
        self._ahead.set(self.now.places, self.now.turns)
        self.bodies.end_of_step(self._ahead)
        return self._volume_part(positions, step, self._gap_part(positions, step, self._ahead))

    def gap_part(self, positions: wp.array[Any], step: wp.array[Any]) -> float:
        """The same of a step that is only tried: nothing need be told of it, and elements are not looked at."""
        cut, end = self.cut, self.now
        if self.bodies:
            self._ahead.set(self.now.places, self.now.turns)
            self.bodies.end_of_step(self._ahead)
            end = self._ahead
        part = self._gap_part(positions, step, end)
        self.cut = cut
        return part

    @property
    def arrived(self) -> bool:
        """Whether obstacles are where they belong at the end of the step."""
        here, there = self.now, self.goal
        return np.array_equal(here.places, there.places) and np.array_equal(here.turns, there.turns)

    def _gap_part(self, positions: wp.array[Any], step: wp.array[Any], end: Pose) -> float:
        part = self._legs.free_part(positions, step, self.now, end, self._straight_part)
        if self.pairs is not None:
            part = min(part, self.pairs.free_part(positions, step))
        self.cut = self.cut or part < 1.0
        return part

    def _straight_part(self, positions: wp.array[Any], step: wp.array[Any], begin: Pose, end: Pose) -> float:
        """Part of a step on which nothing goes through obstacles, which go straight from one pose to another."""
        poses = begin.device_pose, end.device_pose
        part = self.nodes.free_part(positions, step, *poses)
        if self.corners:
            part = min(part, self.corners.free_part(positions, step, *poses))
        if self.edges:
            part = min(part, self.edges.free_part(positions, step, *poses))
        return min(part, self.bodies.free_part(begin, end)) if self.bodies else part

    def _volume_part(self, positions: wp.array[Any], step: wp.array[Any], part: float) -> float:
        """The same or less, such that no element is squeezed to nothing."""
        if part <= 1e-12 or self._least_volume(positions, step, part) >= _LEAST_VOLUME:
            return part
        now = self._least_volume(positions, step, 0.0)
        least = _LEAST_VOLUME if now > _LEAST_VOLUME else 0.99 * now  # what began so is not stuck, nor gets to nothing
        while part > 1e-12 and self._least_volume(positions, step, part) < least:
            part, self.cut = 0.5 * part, True
        return part

    def stuck(self, starts: wp.array[Any], positions: wp.array[Any]) -> str | None:
        """A sentence where nothing has moved in a step because an element may not be squeezed any further, or None."""
        assert self.settings.reach is not None
        if np.abs(positions.numpy() - starts.numpy()).max() > _STUCK * self.settings.reach:
            return None
        if self._least_volume(positions, wp.zeros_like(positions), 0.0) > _FLAT * _LEAST_VOLUME:
            return None
        worst = int(self._ratios.numpy().argmin())
        x, y, z = positions.numpy()[self.solid.elements[worst]].mean(axis=0)
        return (
            f"the element at ({x:.3g}, {y:.3g}, {z:.3g}) m is squeezed to a twentieth of its volume, so that nothing "
            "can move: take a material with a law for large strains, such as 'ecoflex-00-30/neo-hooke', or pull and "
            "press less hard where single nodes bear it, as cables do."
        )

    def _least_volume(self, positions: wp.array[Any], step: wp.array[Any], scale: float) -> float:
        inputs = [self._elements, self._rest, positions, step, wp.float64(scale)]
        self._launcher.launch(volume_ratios, len(self._ratios), [*inputs, self._ratios])
        self._launcher.launch(least, _PARTS, [len(self._ratios), self._ratios, self._least])
        return float(self._leasts.read().min())

    def _zeros(self, count: int, dtype: Any) -> wp.array[Any]:
        return wp.zeros(count, dtype=dtype, device=self.device)

    def _vectors(self, values: Any, count: int) -> wp.array[Any]:
        return wp.array(np.asarray(values, float).reshape(count, 3), dtype=wp.vec3d, device=self.device)
