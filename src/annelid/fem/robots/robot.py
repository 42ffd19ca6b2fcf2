"""A soft robot on a device: a solid with its actuators, effectors and obstacles, and where it stands."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import require_kind, spelled_out
from annelid.core.recipe import Maker, Stateful
from annelid.core.replay import Replays, Stage
from annelid.core.sealed import Sealed
from annelid.core.state import fill_state, state_arrays
from annelid.fem.actuation.actuator import Actuator, drive_of
from annelid.fem.actuation.limits import Limits, relimited
from annelid.fem.actuation.slide import Slide
from annelid.fem.contact.contacts import touched_by
from annelid.fem.contact.settings import Contact
from annelid.fem.contact.state import Touch, Touching
from annelid.fem.linear_choice import Linear
from annelid.fem.model import Model
from annelid.fem.reinforcing.fabrics import Fabric
from annelid.fem.reinforcing.threads import Thread
from annelid.fem.robots.effectors import Effector, EffectorRows
from annelid.fem.robots.obstacles import Contacts
from annelid.fem.robots.pins import Pins
from annelid.fem.solid import Solid
from annelid.fem.world import World
from annelid.shapes import Obstacle
from annelid.shapes.rigid import as_rigids

_SOFTER = 0.1  # of the stiffness of contacts of a solid in motion
_SUCH_AS = {"actuator": "a Pneumatic or a Cable", "effector": "a Point"}


class Robot(Stateful, Sealed):
    """A solid that actuators move.

    Args:
        solid: The solid, held so that it can only deform.
        actuators: What drives it.
        effectors: What of it is to be brought somewhere.
        obstacles: What it must not enter: fixed rigid things, or bare geometries, see `annelid.shapes.Rigid`.
        contact: How it touches obstacles and itself, with friction, as a solid of `fem.simulation` does: then obstacles
            may be of any kind, driven and free. None is `Contact()` where an obstacle states a friction above 0, and
            else keeps its nodes out of simple, fixed ones without friction.
        gravity: Acceleration of gravity [m/s²].
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        linear: How linear systems are solved, see `Model`.

    Attributes:
        model: The solid and all that acts on it, on the device.
        drives: The actuators on the device.
        effectors: The sums of positions that are to be brought somewhere.
        contacts: Obstacles without friction and their forces; None where there are none.
        touched: What it touches with friction; None where there is nothing.
        pins: What holds effectors while efforts are found that do; None where nothing is touched with friction.
        touch_state: What is between it and that, as the last step has left it.
        time: Time of obstacles that are driven [s].
        positions: Where its nodes are [m], vec3d of shape [n], on the device.
        efforts: What each actuator exerts, shape [k]; setting them is `exert`.
        limits: Limits of effort and stroke of each actuator; they can be replaced.
        size: Largest extent at rest [m].
    """

    @spelled_out("a robot")
    def __init__(
        self,
        solid: Solid,
        actuators: Sequence[Actuator],
        effectors: Sequence[Effector] = (),
        *,
        obstacles: Sequence[Obstacle] = (),
        contact: Contact | None = None,
        gravity: tuple[float, float, float] = World.gravity,
        device: str | wp.Device = "auto",
        threads: int | None = None,
        linear: Linear = "auto",
    ) -> None:
        require_kind("the solid of a robot", solid, Solid, "a fem.Solid")
        _require_each("actuator", actuators, Actuator)
        _require_each("effector", effectors, Effector)
        require_kind("contact of a robot", contact, (Contact, NoneType), "a fem.Contact or None")
        contact = _contact(contact, obstacles)
        self._options: dict[str, Any] = {
            "obstacles": obstacles, "contact": contact, "gravity": gravity,
            "device": device, "threads": threads, "linear": linear,
        }  # fmt: skip
        self._bonded = solid.threads, solid.fabrics
        solid.require_held()
        _require_elastic(solid)
        _require_still(solid, actuators)
        chosen = choose_device(device)
        self.solid = solid
        self.size = float(np.ptp(solid.nodes, axis=0).max())
        self.names = tuple(actuator.name for actuator in actuators)
        if len(set(self.names)) < len(self.names):
            raise InvalidValue(f"two actuators have one name among {', '.join(self.names)}; give each its own.")
        world = World(gravity=gravity, obstacles=obstacles, contact=contact or Contact())
        pull = np.asarray(world.gravity, float)
        self.drives = tuple(drive_of(actuator, solid, chosen, pull) for actuator in actuators)
        self.contacts = Contacts(obstacles, solid, chosen) if obstacles and contact is None else None
        self.touched = None if contact is None else touched_by(solid, obstacles, _soft(contact, solid), chosen)
        extras = [each for drive in self.drives for each in drive.sets]
        if self.contacts is not None:
            extras.append(self.contacts.loads)
        self.effectors = EffectorRows(effectors, solid)
        self.pins: Pins | None = None
        if self.touched is not None:
            stiffness = self.touched.settings.stiffness
            assert stiffness is not None
            self.pins = Pins(self.effectors, stiffness, chosen)
            extras.extend([*self.touched.sets, self.pins])
        self.model = Model(solid, world, chosen, threads=threads, extras=extras, linear=linear)
        self.limits: list[tuple[Limits, Limits]] = [drive.actuator.limits() for drive in self.drives]
        self._require_exerting()
        self.columns = np.concatenate([[0], np.cumsum([drive.columns for drive in self.drives])]).astype(int)
        self.directions = wp.zeros((solid.node_count, int(self.columns[-1])), dtype=wp.vec3d, device=chosen)
        self._strokes = wp.zeros(int(self.columns[-1]), dtype=wp.float64, device=chosen)
        self.positions = self.model.vectors(solid.nodes)
        self.touch_state: Touch = Touch() if self.touched is None else self.touched.first_state()
        self.time = 0.0
        self._aim = Replays(chosen)
        self._efforts = np.zeros(len(self.drives))
        self.exert(self._efforts)
        self.weigh()

    def __repr__(self) -> str:
        drives, led = ", ".join(self.names), ", ".join(each.name for each in self.effectors.effectors)
        return f"Robot(nodes {self.solid.node_count}, actuators {drives or 'none'}, effectors {led or 'none'})"

    def maker(self) -> Maker:
        """What makes another robot that stands where this one does."""
        places = self.positions.numpy().copy(), self.efforts.copy(), list(self.limits), self.time
        forces = None if self.contacts is None else self.contacts.forces.copy()
        touching = {name: array.numpy().copy() for name, array in state_arrays(self.touch_state).items()}
        made = self.solid, self.actuators, self.effectors.effectors, self._options
        return Maker(_as_it_stood, made, places, forces, touching)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.maker(), ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Robot:
        return copy.deepcopy(self.maker(), memo)()

    def __copy__(self) -> Robot:
        return self.maker()()

    def reinforced(self, *parts: Thread | Fabric) -> Robot:
        """Another robot like this one, at rest, with threads and fabrics bonded to its solid: see `Solid.reinforce`."""
        solid = self.solid.copy().reinforce(*parts)
        return Robot(solid, self.actuators, self.effectors.effectors, **self._options)

    def require_as_made(self) -> None:
        """Refuse a solid that was reinforced since, of which a robot that is made knows nothing."""
        if self._bonded != (self.solid.threads, self.solid.fabrics):
            raise InvalidValue(
                "the solid of the robot was reinforced after the robot was made, which does not feel that: take "
                "robot.reinforced(...), or make the robot afterwards."
            )

    @property
    def device(self) -> wp.Device:
        """Where it is computed."""
        return self.model.device

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators."""
        return tuple(drive.actuator for drive in self.drives)

    @property
    def constrained(self) -> bool:
        """Whether something finds its own effort: contacts, held strokes, closed chambers."""
        return (
            self.contacts is not None
            or any(stroke.held for _, stroke in self.limits)
            or any(drive.actuator.law(0.0) is not None for drive in self.drives)
        )

    @property
    def efforts(self) -> np.ndarray:
        """What each actuator exerts, shape [k]; setting them is `exert`."""
        return self._efforts

    @efforts.setter
    def efforts(self, efforts: Mapping[str, float] | ArrayLike) -> None:
        self.exert(efforts)

    def contact_forces(self) -> np.ndarray:
        """Force of each obstacle that it touches with friction on each outer node [N], shape [k, o, 3]."""
        if self.touched is None or not isinstance(self.touch_state, Touching):
            return np.zeros((0, 0, 3))
        shape = len(self.touched.outer), len(self.touched.rigids), 3
        return np.array(self.touch_state.forces.numpy()).reshape(shape)

    @property
    def pressing(self) -> int:
        """Number of contacts that press."""
        if isinstance(self.touch_state, Touching):
            return int(self.touch_state.forces.numpy().any(axis=1).sum())
        return 0 if self.contacts is None else int((self.contacts.forces > 0.0).sum())

    def number(self, name: str) -> int:
        """Place of an actuator."""
        if name not in self.names:
            raise UnknownName("actuator", name, self.names)
        return self.names.index(name)

    def exert(self, efforts: Mapping[str, float] | ArrayLike) -> None:
        """Have the actuators exert efforts from now on, all of them, or some by name; nothing moves yet."""
        if isinstance(efforts, Mapping):
            values = self.efforts.copy()
            for name, value in efforts.items():
                values[self.number(name)] = _numbers(value) if np.ndim(value) == 0 else np.nan
        else:
            values = _numbers(efforts)
        if values.shape != (len(self.drives),) or not np.isfinite(values).all():
            raise InvalidValue(f"efforts must be {len(self.drives)} finite numbers, one for each actuator.")
        for drive, value in zip(self.drives, values, strict=True):
            drive.exert(float(value))
        self._efforts = values

    def weigh(self) -> None:
        """Find the weight of fluids in columns anew, where it is found so."""
        for drive in self.drives:
            drive.weigh(self.positions)

    def aim(self) -> np.ndarray:
        """Find strokes and directions where the robot stands; the strokes, shape [k]."""
        for drive in self.drives:
            drive.measure(self.positions)
        self._aim.run(self._aim_stages, self.positions)
        return np.asarray(self._strokes.numpy()[self.columns[:-1]])

    def _aim_stages(self) -> list[Stage]:
        pairs = zip(self.drives, self.columns[:-1].tolist(), strict=True)
        return [s for drive, c in pairs for s in drive.stages(self.positions, c, self._strokes, self.directions)]

    def places(self) -> np.ndarray:
        """Where the effectors are [m], shape [p, 3]."""
        return self.effectors.places(self.positions.numpy())

    def touch(self) -> None:
        """Find where the robot stands to its obstacles, and let them press along the normals there."""
        if self.contacts is not None:
            self.contacts.look(self.positions.numpy())
            self.contacts.press()

    def limit(self, name: str, *, effort: Limits | None = None, stroke: Limits | None = None) -> None:
        """Replace limits of an actuator."""
        i = self.number(name)
        self.limits[i] = relimited(name, self.limits[i], effort, stroke)
        self._require_exerting()

    def hold(self, name: str, stroke: float) -> None:
        """Hold an actuator at another stroke."""
        i = self.number(name)
        actuator, (effort, before) = self.drives[i].actuator, self.limits[i]
        self.limits[i] = (effort, Limits.of(f"{actuator.stroke_name} of {name}", stroke, before.rate))
        self._require_exerting()

    def _require_exerting(self) -> None:
        """Refuse actuators that find their own efforts where contacts do so by Newton's method."""
        for drive, (_, stroke) in zip(self.drives, self.limits, strict=True):
            actuator = drive.actuator
            if self.touched is not None and (stroke.held or actuator.law(0.0) is not None):
                raise InvalidValue(
                    f"{actuator.name} finds its own {actuator.effort_name}, which a robot that touches with friction "
                    f"cannot do yet: do not close it nor hold its {actuator.stroke_name}, or leave out contact=."
                )


def _as_it_stood(
    made: tuple[Any, ...],
    places: tuple[Any, ...],
    forces: np.ndarray | None,
    touching: Mapping[str, np.ndarray],
) -> Robot:
    """A new robot, brought to the state of another one."""
    *parts, options = made
    robot = Robot(*parts, **options)
    positions, efforts, limits, robot.time = places
    robot.positions.assign(positions)
    robot.limits = limits
    robot.exert(efforts)
    fill_state(robot.touch_state, touching)
    if robot.contacts is not None and forces is not None:
        robot.contacts.forces[:] = forces
    robot.weigh()
    return robot


def _soft(contact: Contact, solid: Solid) -> Contact:
    """How a robot touches: softer than a solid in motion, so that its responses change gently as contacts close."""
    if contact.stiffness is not None:
        return contact
    usual = contact.of(solid).stiffness
    assert usual is not None
    return replace(contact, stiffness=_SOFTER * usual)


def _contact(given: Contact | None, obstacles: Sequence[Obstacle]) -> Contact | None:
    """How a robot touches: with friction where that was asked for, or where an obstacle states one."""
    if given is not None:
        return given
    rigids = as_rigids(obstacles, "soft robots of finite elements")
    return Contact() if any(max(rigid.surface.frictions) > 0.0 for rigid in rigids) else None


def _require_each(what: str, given: Sequence[object], kind: type) -> None:
    """Refuse what is no sequence of actuators or effectors, one alone among them."""
    require_kind(f"the {what}s of a robot", given, Sequence, f"a list of {what}s")
    for each in given:
        require_kind(f"each {what} of a robot", each, kind, f"one of annelid.fem, such as {_SUCH_AS[what]}")


def _numbers(given: ArrayLike) -> np.ndarray:
    """Values as numbers; not a number where they are none."""
    try:
        return np.array(given, float)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def _require_elastic(solid: Solid) -> None:
    """Refuse materials that change with time, of which equilibria know nothing."""
    for material in solid.materials:
        if material.prony:
            raise InvalidValue(
                f"material {material.name!r} of a fem.Robot has a Prony series, but robots go from equilibrium to "
                "equilibrium and do not creep yet: give material.relaxed(), or let fem.simulation move the solid."
            )


def _require_still(solid: Solid, actuators: Sequence[Actuator]) -> None:
    """Refuse holds that follow a path, for which a robot has no clock, and those that are moved."""
    slides = [actuator.name for actuator in actuators if isinstance(actuator, Slide)]
    if slides:
        raise InvalidValue(f"{slides[0]} moves a hold, and a fem.Robot is held where it is: use fem.simulation.")
    if solid.carried:
        raise InvalidValue(
            "the solid of a fem.Robot is held where it is, and holds of this one follow a path: leave the motion of "
            "fix() out, or let fem.simulation move the solid."
        )
