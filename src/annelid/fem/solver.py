"""Stepping a solid in a `Simulation`, from equilibrium to equilibrium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import Control
from annelid.core.elements import scatter
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.events import Event
from annelid.core.identity import identity
from annelid.core.interrupts import held_back
from annelid.core.model_solver import ModelSolver
from annelid.core.options import require_word
from annelid.core.scenery import Scenery
from annelid.core.snapshot import Look, Snapshot
from annelid.core.stability import StepReport
from annelid.core.state import copy_array, overwrite, state_arrays
from annelid.core.variation import Parameter, unvaried
from annelid.core.weakly import weakly
from annelid.fem.actuation.actuator import Actuator, Drive, drive_of
from annelid.fem.actuation.channels import Channels
from annelid.fem.actuation.slide import SlideDrive
from annelid.fem.adjoint.adjoint import SolidAdjoint
from annelid.fem.adjoint.equilibria import Equilibria
from annelid.fem.adjustment import Adjustment
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.leading import Leading
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.places import on_device
from annelid.fem.contact.state import Touch, Touching
from annelid.fem.dynamics import Inertia
from annelid.fem.elements import ElementSet
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.fem.gallery import Gallery
from annelid.fem.kernels.motion import tick
from annelid.fem.model import Model
from annelid.fem.newton import Newton, NoEquilibrium, Settings
from annelid.fem.one_by_one import OneByOne
from annelid.fem.parameters import AT_REST
from annelid.fem.pictures import Painter
from annelid.fem.readout import Readout
from annelid.fem.sand.elements import Sand
from annelid.fem.sand.state import Sunk
from annelid.fem.solid import Solid
from annelid.fem.state import OneSolve, State
from annelid.fem.world import USUAL_STEP, World
from annelid.shapes import Obstacle
from annelid.shapes.resistive.pictures import sand_parts
from annelid.shapes.values import as_vector

NO_SELF_CONTACT = "This solid does not touch itself; contact=fem.Contact(itself=True) lets it."


def _require_driven(drive: Drive, model: Model) -> None:
    """Refuse an actuator that does more than to exert what it is told."""
    actuator = drive.actuator
    if any(each not in model.extras for each in drive.sets):
        raise InvalidValue(f"the model of {actuator.name} needs its element sets among the extras.")
    require_exerting(actuator)


def require_exerting(actuator: Actuator) -> None:
    """Refuse an actuator that does more than exert an effort."""
    if actuator.law(0.0) is not None or actuator.limits()[1].bounded:
        raise InvalidValue(
            f"{actuator.name} of a solid without a fem.Robot only exerts a {actuator.effort_name}: leave out limits of "
            f"its {actuator.stroke_name} and do not close it, or make a fem.Robot of the solid and its actuators."
        )


class Solver(ModelSolver[Model, Painter]):
    """Advances a solid from equilibrium to equilibrium; loads may change between steps, through `model`.

    Args:
        model: The model.
        settings: How equilibria are found.
        drives: Actuators whose efforts are commanded; their element sets are among the extras of the model.
        worlds: Number of worlds, see `OneByOne`; None for a solid by itself.
        contacts: What it touches, if the world has obstacles; their element sets are among the extras of the model.
        sand: What it sinks into, if the world has a `ResistiveGround`; it is among the extras of the model.

    Attributes:
        readout: What reads states.
        channels: Channels that command its actuators.
    """

    physics = "fem"
    batch = 1

    def __init__(
        self,
        model: Model,
        *,
        settings: Settings | None = None,
        drives: Sequence[Drive] = (),
        worlds: int | None = None,
        contacts: Contacts | None = None,
        sand: Sand | None = None,
    ) -> None:
        if model.world.touched and contacts is None:
            raise InvalidValue("the world of the solid has obstacles, its solver no contacts: take fem.simulation.")
        if model.world.sand is not None and sand is None:
            raise InvalidValue("the world of the solid has a ResistiveGround, its solver no sand: take fem.simulation.")
        self.contacts, self.sand = contacts, sand
        self.drives = tuple(drives)
        for drive in self.drives:
            _require_driven(drive, model)
        self._slides = [drive for drive in self.drives if isinstance(drive, SlideDrive)]
        actuators = [drive.actuator for drive in self.drives]
        self.channels = Channels(actuators, [actuator.limits() for actuator in actuators])
        self.model, self.device = model, model.device
        self.dt, self.ramp = model.world.step, model.world.ramp
        self.newton = self._made_newton(settings)
        self.readout = Readout(model) if contacts is None else Readout(model, contacts.outer, contacts.surface)
        self._adjustment = self._made_adjustment()
        self._painter = Painter(model, self.readout, self.dt)
        self._put_aside: list[wp.array[Any]] = []
        self._prepare()
        self._worlds = OneByOne(worlds, weakly(self._first_state))
        self.worlds = self._worlds.count
        self._gallery = Gallery(self.worlds, model.solid.nodes)
        own = [each for drive in self.drives for each in drive.sets] + (contacts.sets if contacts else [])
        self._others = [each for each in model.extras if each not in own and not isinstance(each, Inertia | Sand)]
        added = [(type(each), each.made_of) for each in self._others]
        self._built = identity(type(self), self.newton.settings, actuators, self.worlds, added)

    @property
    def limitation(self) -> str:
        """What a user might expect of it and does not get."""
        asked = self.model.world.contact.itself is False  # who says so knows
        return NO_SELF_CONTACT if not asked and (self.contacts is None or self.contacts.pairs is None) else ""

    @property
    def controls(self) -> tuple[Control, ...]:
        """One channel an actuator."""
        return self.channels.controls

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return AT_REST

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters that would change nothing."""
        self._adjustment.require(ranges)

    def initial_state(self) -> State:
        """The solid at rest, in every world."""
        return self._worlds.first_state()

    def world(self, state: State, world: int) -> State:
        """One of the worlds as a state of its own, to be read; the next call overwrites it."""
        return self._worlds.world(state, world)

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        self._worlds.advance(state, steps, self._march)

    def adjoint(self, state: State) -> SolidAdjoint:
        """What goes from equilibrium to equilibrium and back, for gradients; see `core.adjoint.Differentiable`."""
        return SolidAdjoint(self, state, Equilibria)

    def twin(self, solid: Solid, world: World) -> Solver:
        """A solver like it, for one solid of the same mesh in another world."""
        model, drives, contacts = self._twin_parts(solid, world)
        return Solver(model, settings=self.newton.settings, drives=drives, contacts=contacts)

    def _twin_parts(
        self, solid: Solid, world: World, extras: Sequence[ElementSet] = ()
    ) -> tuple[Model, list[Drive], Contacts | None]:
        """A model like its own with more element sets, actuators on it, and what it touches."""
        gravity, mine = np.asarray(world.gravity, float), self.contacts
        drives = [drive_of(drive.actuator, solid, self.device, gravity) for drive in self.drives]
        contacts = None if mine is None else Contacts(solid, mine.given, mine.settings, self.device)
        sets = [each for drive in drives for each in drive.sets] + ([] if contacts is None else contacts.sets)
        threads = self.model.crew.threads
        model = Model(solid, world, self.device, threads=threads, extras=[*sets, *extras], like=self.model)
        return model, drives, contacts

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to rest; see `core.solver.Solver`. With a mask the clock goes on."""
        self._worlds.reset(state, mask, state.begun)
        leading = self._leading()
        if leading is not None and mask is None:
            leading.let_go()

    def place(
        self,
        state: State,
        obstacle: Obstacle | int | str,
        places: Any,
        turns: Any = None,
        mask: Any = None,
    ) -> None:
        """Put an obstacle somewhere else in masked worlds, as their episodes begin, where it touches nothing.

        It keeps its velocity and spin. Where it is in something, the next step of that world is refused.

        Args:
            state: The state.
            obstacle: The obstacle, its name or its number.
            places: Its centre of mass in each world [m]: vec3d of shape [worlds] on the device, or three numbers for
                all or for each.
            turns: How its frame is turned, quatd of shape [worlds], or a quaternion x, y, z, w for all or for each;
                None for as it is.
            mask: Which worlds, bool of shape [worlds]; None for all.
        """
        if self.contacts is None or not isinstance(state.touch, Touching):
            raise InvalidValue("nothing can be placed beside a solid without obstacles: give fem.simulation obstacles.")
        worlds, device = self.worlds, self.device
        where = on_device(places, wp.vec3d, worlds, "places of an obstacle [m]", device)
        kept = wp.zeros(0, dtype=wp.quatd, device=device)
        turned = kept if turns is None else on_device(turns, wp.quatd, worlds, "its turns", device)
        which = on_device(True if mask is None else mask, wp.bool, worlds, "the mask", device)
        self.contacts.place(state.touch, obstacle, where, turned, which)

    def drive(self, state: State, body: Obstacle | int | str, velocity: Any = None, spin: Any = None) -> None:
        """Set how a driven obstacle moves from now on, in all worlds.

        Args:
            state: The state.
            body: The obstacle, its name or its number.
            velocity: Velocity of its centre of mass [m/s]; None leaves it as it is.
            spin: Angular velocity [rad/s]; None leaves it as it is.
        """
        if self.contacts is None or not isinstance(state.touch, Touching):
            raise InvalidValue("there is no obstacle beside this solid to be driven: give fem.simulation obstacles.")
        number, count = self.contacts.number_of(body), len(self.contacts.rigids)
        rigid = self.contacts.rigids[number]
        if rigid.motion != "driven":
            raise InvalidValue(f"{rigid.called(number)}, is not driven: give it motion='driven'.")
        for name, rows, value in (("velocity", state.touch.velocities, velocity), ("spin", state.touch.spins, spin)):
            if value is not None:
                scatter(rows, np.arange(number, len(rows), count), np.array(as_vector(name, value)))

    def grips(self, state: State) -> dict[str, np.ndarray]:
        """Centres of the obstacles that can be led by hand [m], by name, in the first world."""
        leading = self._leading()
        if leading is None or not isinstance(state.touch, Touching):
            return {}
        places = state.touch.places.numpy()
        return {name: places[number].copy() for number, name in leading.names.items()}

    def lead(self, name: str, place: Sequence[float] | None) -> None:
        """Lead an obstacle by hand from now on, in every world; see `core.solver.Grippable`."""
        require_word("the name of an obstacle to be led", name)
        leading = self._leading()
        known = {} if leading is None else {called: number for number, called in leading.names.items()}
        if leading is None or name not in known:
            raise UnknownName("obstacle to be led by hand", name, known)
        leading.lead(known[name], None if place is None else np.array(as_vector("place", place)))

    def _leading(self) -> Leading | None:
        """Who leads obstacles by hand; None where nobody can."""
        return None if self.contacts is None else self.contacts.leading

    def diverged_at(self) -> int | None:
        """The step after which positions were no longer finite, None while all are."""
        return self._worlds.diverged_at()

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._worlds.forget()

    def describe_divergence(self, state: State) -> str:
        """Why a world was lost, or the node that moved furthest in it and what may help."""
        world, reason = self._worlds.lost_in or (0, "")
        where = f"in world {world} " if self.worlds > 1 else ""
        if reason:
            return f"{where}{reason}"
        moved = np.linalg.norm(self.world(state, world).positions.numpy() - self.model.solid.nodes, axis=1)
        node = int(np.nanargmax(moved))
        return (
            f"{where}node {node} has moved furthest, by {moved[node]:.3g} m; smaller loads, loads that grow over a "
            f"longer ramp, a stiffer material or a smaller dt than {self.dt:g} s may help"
        )

    def collect_events(self, *states: State) -> list[Event]:
        """Whether strains have left the range in which a material was measured, told once."""
        return self.model.measured.events(states[0].positions, states[0].clock, self.dt)

    def explain_step(self) -> StepReport:
        """What limits the time step: nothing, since steps are implicit."""
        rule = f"steps of a solid are implicit and stable at any length: {USUAL_STEP:g} s, or less for fast motions"
        return StepReport(self.dt, USUAL_STEP, rule)

    def fingerprint(self) -> str:
        """Identity of the model, of what acts on it and of how it is stepped, for checkpoints."""
        pressures = [each.pressure for each in self._others if isinstance(each, CavityPressure)]
        return f"fem-{identity(self._built, self.model.fingerprint(), pressures)}"

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """A picture of the state; several worlds stand side by side."""
        return self._gallery.snapshot(lambda world, how: self._picture(self.world(state, world), how), look)

    def _picture(self, state: State, look: Look) -> Snapshot:
        """A picture of one world."""
        picture = self._painter.snapshot(state, look)
        positions = state.positions.numpy()
        parts = [*picture.parts, *(line for drive in self.drives for line in drive.lines(positions))]
        parts += sand_parts(self.model.world.sand)
        if self.contacts is not None and isinstance(state.touch, Touching):
            parts += self.contacts.pictures.parts(state.touch, self._body_size(state))
        return replace(picture, parts=tuple(parts))

    def _body_size(self, state: State) -> float:
        """How large free bodies of a state of one world are, of what they were built."""
        return 1.0

    def scenery(self) -> Scenery:
        """What cameras and lidars can see; see `core.scenery.Visible`."""
        solid = self._painter.surface(self.worlds)
        if self.contacts is None:
            return Scenery((), (solid,))
        pictures = self.contacts.pictures
        return Scenery(tuple(pictures.still(self.contacts.first_state())), (solid, *pictures.moving(self.worlds)))

    def _prepare(self) -> None:
        if self.contacts is None or not self.contacts.rigids:
            self.model.solid.require_held()

    def _made_newton(self, settings: Settings | None) -> Newton:
        """Forces tell where to go once energies do not, in what creeps; others keep the bits that they have."""
        return Newton(self.model, settings) if self.contacts is None else self._touching_newton(settings)

    def _touching_newton(self, settings: Settings | None) -> TouchingNewton:
        assert self.contacts is not None
        return TouchingNewton(self.model, self.contacts, settings)

    def _made_adjustment(self) -> Adjustment:
        return Adjustment(self.model, self.drives)

    def _first_state(self) -> State:
        """One world at rest."""
        return State(
            positions=self._first_positions(),
            velocities=self._velocities(),
            unsettled=wp.zeros(1, dtype=wp.int64, device=self.device),
            efforts=self._resting_efforts(),
            commands=self.channels.resting(self.device),
            begun=wp.zeros(1, dtype=wp.int64, device=self.device),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
            linear=self.model.linear.memory(self.device),
            history=self.model.tetrahedra.history(),
            variation=unvaried(self.device),
            touch=Touch() if self.contacts is None else self.contacts.first_state(),
            sunk=Sunk() if self.sand is None else self.sand.first_state(),
            solve=self._first_solve(),
        )

    def _first_solve(self) -> OneSolve:
        """What a step of one linear solve goes on from."""
        return OneSolve()

    def _first_positions(self) -> wp.array[Any]:
        """Where nodes rest; where an obstacle is too near, the whole solid is a little further off."""
        shift = np.zeros(3) if self.contacts is None else self.contacts.shift
        return self.model.vectors(self.model.solid.nodes + shift) if shift.any() else wp.clone(self.model.rest)

    def _march(self, state: State, steps: int) -> None:
        """Take steps in one world."""
        now, begun = int(state.clock.numpy()[0]), int(state.begun.numpy()[0])
        self.model.linear.recall(state.linear)
        try:
            with self._adjustment.of(state.variation):
                for step in range(now, now + steps):
                    self.model.carry((step - begun + 1) * self.dt)
                    with self._all_or_nothing(state):
                        self._take(state, step, step - begun)
                        wp.launch(tick, 1, [1, state.clock], device=self.device)
        finally:
            self.model.linear.remember(state.linear)

    @contextmanager
    def _all_or_nothing(self, state: State) -> Iterator[None]:
        """Put back what a step among obstacles has changed where it fails, or where Ctrl-C ends it at once.

        Else obstacles would have moved, or friction would have stretched, and the solid not.
        """
        if self.contacts is None:
            yield
            return
        changed = [state.positions, state.velocities, state.efforts, state.unsettled, state.clock]
        changed += [array for part in (state.touch, state.history, state.sunk) for array in state_arrays(part).values()]
        if [array.shape for array in self._put_aside] != [array.shape for array in changed]:
            self._put_aside = [wp.empty_like(array) for array in changed]
        for array, before in zip(changed, self._put_aside, strict=True):
            copy_array(array, before)
        try:
            yield
        except BaseException:
            with held_back(firmly=True):
                for array, before in zip(changed, self._put_aside, strict=True):
                    copy_array(before, array)
            raise

    def _velocities(self) -> wp.array[Any]:
        return wp.zeros(0, dtype=wp.vec3d, device=self.device)

    def fraction(self, step: float) -> float:
        """Part of the loads that acts after so many steps."""
        return 1.0 if self.ramp == 0.0 else min(1.0, step * self.dt / self.ramp)

    def _resting_efforts(self) -> wp.array[Any]:
        """What actuators exert before the first step: what they are held at, or nothing."""
        held = [effort.low if effort.held else 0.0 for effort, _ in (drive.actuator.limits() for drive in self.drives)]
        return wp.array(np.array(held, float), dtype=wp.float64, device=self.device)

    def _exert(self, state: State, step: int, part: float = 1.0) -> None:
        """Let the actuators do what they are commanded to at the end of a step, the one after so many, or within it."""
        if not self.drives:
            return
        efforts, values = state.efforts.numpy().copy(), self.channels.values(state.commands, step + part)
        for channel, wanted in zip(self.channels.every, values, strict=True):
            efforts[channel.number] = channel.towards(wanted, float(efforts[channel.number]), part * self.dt)
        for drive, effort in zip(self.drives, efforts.tolist(), strict=True):
            drive.exert(effort)
            drive.weigh(state.positions)
        if self._slides:
            self.model.slide([(slide.nodes, slide.shift) for slide in self._slides])
        if part == 1.0:
            overwrite(state.efforts, efforts)

    def _take(self, state: State, clock: int, step: int) -> None:
        """Take one step, the one after so many in all and so many since it began."""
        self._exert(state, clock)
        self._step(state, step)

    def _step(self, state: State, step: int) -> None:
        """Take one step, the one after so many since it began."""
        before, after = self.fraction(step) if step else 0.0, self.fraction(step + 1)
        with self._passing(state, self.dt), self._touching(state, step):
            try:
                self.newton.equilibrium(state.positions, start=before, goal=after)
            except NoEquilibrium:
                if before != after or self.contacts is not None:
                    raise
                self._from_rest(state.positions, after)

    @contextmanager
    def _passing(self, state: State, dt: float) -> Iterator[None]:
        """While this lasts a time dt [s] passes for the material, which ends where positions are at the end of it."""
        tetrahedra = self.model.tetrahedra
        tetrahedra.pass_time(dt, state.history)
        try:
            yield
            tetrahedra.remember(state.positions, state.history)
        finally:
            tetrahedra.rest()

    @contextmanager
    def _touching(self, state: State, step: int) -> Iterator[None]:
        """While this lasts obstacles go on by one step, the one after so many, and friction from where it was."""
        if self.contacts is None:
            yield
            return
        assert isinstance(state.touch, Touching)
        pull = self.fraction(step + 1) * self.model.pull
        self.contacts.begin(state.positions, state.touch, self.dt, (step + 1) * self.dt, pull)
        yield
        self.contacts.end(state.positions, state.touch, self.dt)

    def _from_rest(self, positions: wp.array[Any], goal: float) -> None:
        """After a jump of the loads that was too large for one go; on failure positions are as they were."""
        fresh = wp.clone(self.model.rest)
        self.newton.equilibrium(fresh, goal=goal)
        wp.copy(positions, fresh)
