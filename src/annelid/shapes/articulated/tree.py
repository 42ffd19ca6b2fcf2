"""A tree of rigid links and joints: where its links are for values of its joints, and the rigid things that they are.

arm = read_urdf("arm.urdf").placed((0.0, 0.0, 0.2))
obstacles = arm.bodies({"shoulder": 0.4})                # stands still
obstacles = arm.bodies(motion=lambda times: ...)         # joints along a path
obstacles = arm.bodies(motion="driven")                  # joints take commands: `joint_controls`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.core.described import Brief, Described
from annelid.core.errors import FileFormatError, InvalidValue, UnknownName
from annelid.core.snapshot import Color
from annelid.shapes.articulated.frames import frame_of, moved_along, place_and_turn
from annelid.shapes.extrusion import joined
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.placed import UPRIGHT, Quaternion, placed
from annelid.shapes.rigid import Rigid
from annelid.shapes.surface import Surface
from annelid.shapes.values import Floats, Vector, as_vector

MOVING = {"revolute": False, "continuous": False, "prismatic": True}
"""Kinds of joints that move, and whether they slide."""

JointPath = Callable[[np.ndarray], np.ndarray]
"""A function of times [s], shape [k]: values of the joints then [rad] or [m], shape [k, joints]."""


@dataclass(frozen=True, repr=False)
class Joint(Brief):
    """A joint of a robot.

    Attributes:
        name: Name.
        kind: "revolute", "continuous", "prismatic" or "fixed".
        parent: Link that carries it.
        child: Link that it moves.
        frame: Frame at rest in that of the parent, shape [4, 4].
        axis: Unit axis in its own frame.
        lower: Least angle [rad] or way [m].
        upper: Largest angle or way.
        speed: Largest speed.
        effort: Largest torque [N m] or force [N].
        follows: Joint that it follows, with the factor and the offset; None where it moves by itself.
    """

    name: str
    kind: str
    parent: str
    child: str
    frame: Floats
    axis: Floats
    lower: float = -math.inf
    upper: float = math.inf
    speed: float = math.inf
    effort: float = math.inf
    follows: tuple[str, float, float] | None = None


@dataclass(frozen=True)
class MeshFile:
    """A mesh that a file of a robot names; it is looked for when it is needed.

    Attributes:
        name: Its name in that file.
        path: Where it should be.
        folder: Folder that it must lie in.
        scale: Factors along x, y and z.
    """

    name: str
    path: Path
    folder: Path
    scale: Vector = (1.0, 1.0, 1.0)

    def read(self) -> TriangleMesh:
        """The mesh, closed if need be; a file that is missing or elsewhere is refused."""
        found = self.path.resolve()
        if not found.is_relative_to(self.folder.resolve()) or not found.is_file():
            raise FileFormatError(
                f"the mesh {self.name[:80]!r} is not a file in {self.folder}: name the folder of meshes with folder=."
            )
        return TriangleMesh.read(found, repair=True).scaled(np.array(self.scale))


@dataclass(frozen=True)
class LinkShape:
    """A shape of a link, and its frame in that of the link, shape [4, 4]."""

    geometry: Shape | MeshFile
    frame: Floats

    @property
    def shape(self) -> Shape:
        """The shape in its own frame; a mesh is read."""
        return self.geometry.read() if isinstance(self.geometry, MeshFile) else self.geometry


@dataclass(frozen=True)
class Link:
    """A rigid part of a robot.

    Attributes:
        name: Name.
        shapes: What others touch.
        mass: Mass [kg]; None where it is not told.
    """

    name: str
    shapes: tuple[LinkShape, ...] = ()
    mass: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class LinkPart(Brief):
    """A shape of a link as a rigid thing of its own.

    Attributes:
        name: Its name: ROBOT/LINK, with .1, .2... for further shapes of a link.
        link: The link.
        shape: The shape in its own frame.
        frame: That frame in the one of the link, shape [4, 4].
    """

    name: str
    link: str
    shape: Shape
    frame: Floats


@dataclass(frozen=True, eq=False, repr=False)
class RigidTree(Described):
    """Links that joints hold together, without a circle.

    Attributes:
        name: Name of the robot.
        links: Links by name.
        joints: Joints by the link that they move.
        base: Frame of the root in the world, shape [4, 4].
    """

    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    base: Floats = field(default_factory=lambda: np.eye(4))

    def facts(self) -> dict[str, str]:
        """Its name, its links and the joints that move by themselves."""
        return {"of": self.name, "links": str(len(self.links)), "joints": ", ".join(self.names) or "none"}

    def __post_init__(self) -> None:
        for joint in self.joints.values():
            for end in (joint.parent, joint.child):
                if end not in self.links:
                    raise FileFormatError(f"joint {joint.name!r} names the link {end!r}, which {self.name} has not.")
        known = {joint.name: joint for joint in self.joints.values()}
        if len(known) != len(self.joints):
            raise FileFormatError(f"two joints of {self.name} have the same name.")
        for joint in self.joints.values():
            if joint.follows and (joint.follows[0] not in known or known[joint.follows[0]] not in self.moving):
                raise FileFormatError(
                    f"joint {joint.name!r} of {self.name} follows {joint.follows[0]!r}, which does not move by itself."
                )
        if len(self._order) != len(self.links):
            lost = next(link for link in self.links if link not in self._order)
            raise FileFormatError(f"the joints of {self.name} run in a circle through the link {lost!r}.")

    @cached_property
    def moving(self) -> tuple[Joint, ...]:
        """The joints that move by themselves, which values are of, in the order of the file."""
        return tuple(j for j in self.joints.values() if j.kind in MOVING and j.follows is None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of these joints."""
        return tuple(joint.name for joint in self.moving)

    @property
    def lower(self) -> Floats:
        """Their least values [rad] or [m], shape [joints]."""
        return np.array([joint.lower for joint in self.moving])

    @property
    def upper(self) -> Floats:
        """Their largest values, shape [joints]."""
        return np.array([joint.upper for joint in self.moving])

    @property
    def speed(self) -> Floats:
        """Their largest speeds [rad/s] or [m/s], shape [joints]."""
        return np.array([joint.speed for joint in self.moving])

    def placed(self, position: Vector = (0.0, 0.0, 0.0), rotation: Quaternion = UPRIGHT) -> RigidTree:
        """The robot with its root at a place [m], turned by a quaternion (x, y, z, w)."""
        place = np.array(as_vector("position of a robot", position))
        return replace(self, base=frame_of(place, Rotation.from_quat(rotation)))

    def values(self, given: Mapping[str, float] | ArrayLike | None = None) -> Floats:
        """Values of the joints, shape [joints].

        Args:
            given: All of them, or those of some joints by name; the others are 0, or the limit nearest to it.
        """
        rest = np.clip(np.zeros(len(self.moving)), self.lower, self.upper)
        if given is None:
            return rest
        if isinstance(given, Mapping):
            for name, value in given.items():
                rest[self.index(name)] = value
        else:
            rest = np.array(given, dtype=np.float64)
        if rest.shape != (len(self.moving),) or not np.isfinite(rest).all():
            raise InvalidValue(
                f"values of the joints of {self.name} must be {len(self.moving)} finite numbers, not {given!r:.80}."
            )
        outside = np.flatnonzero((rest < self.lower - 1e-9) | (rest > self.upper + 1e-9))
        if len(outside):
            joint = self.moving[int(outside[0])]
            raise InvalidValue(
                f"joint {joint.name!r} of {self.name} goes from {joint.lower:g} to {joint.upper:g}, not to "
                f"{rest[outside[0]]:g}."
            )
        return rest

    def index(self, name: str) -> int:
        """The place of a joint among the values."""
        if name not in self.names:
            raise UnknownName(f"joint of {self.name} that moves by itself", name, self.names)
        return self.names.index(name)

    def frames(self, values: ArrayLike) -> dict[str, Floats]:
        """Frames of all links in the world, shape [k, 4, 4] each, for values of shape [k, joints]."""
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.moving) or not np.isfinite(rows).all():
            raise InvalidValue(
                f"values of the joints of {self.name} must be finite, of shape [k, {len(self.moving)}], not "
                f"{list(rows.shape)}."
            )
        frames: dict[str, Floats] = {}
        for link in self._order:
            joint = self.joints.get(link)
            if joint is None:
                frames[link] = np.broadcast_to(self.base, (len(rows), 4, 4))
                continue
            frame = frames[joint.parent] @ joint.frame
            if joint.kind in MOVING:
                frame = frame @ moved_along(joint.axis, self._value(joint, rows), sliding=MOVING[joint.kind])
            frames[link] = frame
        return frames

    # --- things that others touch ---

    def bodies(
        self,
        values: Mapping[str, float] | ArrayLike | None = None,
        *,
        motion: str | JointPath = "fixed",
        surface: Surface | None = None,
        color: Color | None = None,
        cells: int = 64,
    ) -> list[Rigid]:
        """The shapes of all links as rigid things, to be given among the obstacles of any physics.

        Args:
            values: Values of the joints as it begins, see `values`.
            motion: "fixed"; "driven", moved by `joint_controls` or a `JointDrive`; or a function of times [s], shape
                [k], that gives the values of the joints then, shape [k, joints].
            surface: How surfaces respond to contact.
            color: Colour in pictures.
            cells: Cells along the longest side of a mesh that has to be baked, see `Rigid`.
        """
        if motion == "free":
            raise InvalidValue(
                f"joints between free links are not simulated: hold those of {self.name} with weld(values), which "
                "makes one free body, or drive them with motion='driven' or a path."
            )
        frames = self.frames(self.values(values)[None])
        found = []
        for part in self.parts:
            position, rotation = place_and_turn(frames[part.link][0] @ part.frame)
            moves = self._path(part, motion) if callable(motion) else motion
            thing = Rigid(part.shape, surface or Surface(), motion=moves, position=position, rotation=rotation)
            found.append(replace(thing, name=part.name, color=color, cells=cells))
        return found

    def weld(
        self,
        values: Mapping[str, float] | ArrayLike | None = None,
        *,
        motion: str = "free",
        surface: Surface | None = None,
        density: float = 1000.0,
        color: Color | None = None,
        cells: int = 64,
    ) -> Rigid:
        """The robot as one rigid body whose joints are held; its mass is that of its links where all tell it.

        Args:
            values: Values at which the joints are held, see `values`.
            motion: How it moves, see `Rigid`.
            surface: How its surface responds to contact.
            density: Mass per volume where the file tells no masses [kg/m³].
            color: Colour in pictures.
            cells: Cells along its longest side.
        """
        standing = replace(self, base=np.eye(4))
        frames = standing.frames(self.values(values)[None])
        meshes = []
        for part in self.parts:
            place, turn = place_and_turn(frames[part.link][0] @ part.frame)
            meshes.append(placed(part.shape, place, turn).surface())
        masses = [link.mass for link in self.links.values() if link.shapes]
        known = [mass for mass in masses if mass is not None]
        mass = sum(known) if known and len(known) == len(masses) else None
        position, rotation = place_and_turn(self.base)
        return Rigid(
            joined(meshes), surface or Surface(), motion=motion, position=position, rotation=rotation,
            density=density, mass=mass, name=self.name, color=color, cells=cells,
        )  # fmt: skip

    @cached_property
    def parts(self) -> tuple[LinkPart, ...]:
        """What `bodies` makes rigid things of, in its order; meshes are read."""
        found = []
        for link in self._order:
            for number, shape in enumerate(self.links[link].shapes):
                name = f"{self.name}/{link}" + (f".{number}" if number else "")
                found.append(LinkPart(name, link, shape.shape, shape.frame))
        if not found:
            raise InvalidValue(f"{self.name} has no shapes that could be touched.")
        return tuple(found)

    def _path(self, part: LinkPart, motion: JointPath) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        def path(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            frames = self.frames(np.asarray(motion(times), dtype=np.float64))[part.link] @ part.frame
            return frames[:, :3, 3], Rotation.from_matrix(frames[:, :3, :3]).as_quat()

        return path

    def _value(self, joint: Joint, rows: Floats) -> Floats:
        if joint.follows is None:
            return rows[:, self.index(joint.name)]
        leader, factor, offset = joint.follows
        return factor * rows[:, self.index(leader)] + offset

    @cached_property
    def _order(self) -> tuple[str, ...]:
        """Links, each after the one that carries it; those of a circle are left out."""
        carried: dict[str, list[str]] = {}
        for joint in self.joints.values():
            carried.setdefault(joint.parent, []).append(joint.child)
        order = [link for link in self.links if link not in self.joints]
        for link in order:  # grows while it is walked along
            order += carried.get(link, [])
        return tuple(order)
