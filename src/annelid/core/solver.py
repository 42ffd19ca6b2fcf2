"""The contract of a solver: what every physics has, and the abilities that only some have.

The run loop, viewers and environments know a physics by these protocols alone. An ability that is missing is reported
as an `Unsupported` error which names the physics that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.controls import Commanded, Control
from annelid.core.errors import Unsupported
from annelid.core.events import Event
from annelid.core.gate import Gate
from annelid.core.snapshot import Look, Snapshot
from annelid.core.stability import StepReport
from annelid.core.state import State
from annelid.core.summary import Summary
from annelid.core.variation import Parameter, Variation


class Readout(Protocol):
    """Reads states on the host; rows come in the order in which the user built the body."""

    def positions(self, state: State) -> np.ndarray:
        """Positions of masses, grains, nodes... [m], shape [n, 3]."""
        ...

    def velocities(self, state: State) -> np.ndarray:
        """Their velocities [m/s], shape [n, 3]."""
        ...

    def summary(self, state: State) -> Summary:
        """Mass, momenta and energies."""
        ...


class Solver(Protocol):
    """What the run loop asks of every physics.

    Attributes:
        physics: Name of the physics: "springs", "grains"...
        device: Where it computes.
        dt: Time step [s].
        batch: Number of steps that it best takes in one call.
        worlds: Number of independent worlds side by side.
        model: The bodies, compiled for the device.
        readout: What reads states.
    """

    physics: str
    device: wp.Device
    dt: float
    batch: int
    model: Any

    @property
    def worlds(self) -> int:
        """Number of independent worlds side by side."""
        ...

    @property
    def readout(self) -> Readout:
        """What reads states."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the scalars that snapshots can be coloured by."""
        ...

    def initial_state(self) -> State:
        """A new state at time zero; its `clock` counts steps."""
        ...

    def advance(self, state: Any, steps: int) -> None:
        """Take steps, possibly returning before they are done."""
        ...

    def reset(self, state: Any, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning.

        Args:
            state: The state.
            mask: Which worlds, bool of shape [worlds] on the device; None for all, and the clock with them.
        """
        ...

    def diverged_at(self) -> int | None:
        """First step whose result is not finite, None while all are; waits for the device."""
        ...

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        ...

    def describe_divergence(self, state: Any) -> str:
        """What is wrong with a state on the edge of divergence, and what helps in this physics; without a full stop."""
        ...

    def explain_step(self) -> StepReport:
        """What limits the time step, and what to change for a longer one."""
        ...

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints; it begins with the name of the physics and a hyphen."""
        ...

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """A picture of the state."""
        ...


class Editor(Protocol):
    """An edit of a running simulation, collected first and applied between two steps, all or nothing."""

    def collecting(self, gate: Gate) -> AbstractContextManager[Any]:
        """The block in which changes are collected; at its end they are applied, and the edit is over."""
        ...


@runtime_checkable
class Editable(Protocol):
    """A physics whose bodies can be changed while they run."""

    def editor(self, *states: Any) -> Editor:
        """A new edit of what stands behind these states."""
        ...


@runtime_checkable
class Conditional(Protocol):
    """A physics that watches conditions on the device."""

    def watch_condition(self, condition: Any) -> None:
        """Watch a condition."""
        ...

    def drop_condition(self, condition: Any) -> None:
        """Stop watching a condition."""
        ...

    def condition_hits(self, state: Any) -> Mapping[Any, int]:
        """The first step after which each watched condition held, where it did."""
        ...


@runtime_checkable
class Eventful(Protocol):
    """A physics that reports events."""

    def collect_events(self, *states: Any) -> list[Event]:
        """What happened since the last call."""
        ...


@runtime_checkable
class Changing(Protocol):
    """A physics whose model changes while it runs, by edits or because things break."""

    def changes(self) -> dict[str, np.ndarray]:
        """What has changed since the model was built, as arrays by name; empty while nothing has."""
        ...

    def restore_changes(self, changes: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        """Make the model what it was when `changes` returned this; nothing is changed if it is refused.

        Args:
            changes: The changes; empty makes the model as it was built.
            state: Arrays of the state that will be filled in next, which must fit.
        """
        ...


@runtime_checkable
class Limited(Protocol):
    """A physics that does not do yet what whoever watches it would expect."""

    @property
    def limitation(self) -> str:
        """What it does not do, in a sentence for those who watch."""
        ...


@runtime_checkable
class Controllable(Protocol):
    """A physics whose bodies take commands while they run."""

    @property
    def controls(self) -> tuple[Control, ...]:
        """The channels, the same in every world, or those of any world; there may be none."""
        ...

    def commanded(self, state: Any) -> Commanded:
        """Where a state keeps its commands."""
        ...


@runtime_checkable
class PartlyControllable(Controllable, Protocol):
    """A physics whose worlds may hold unlike bodies, which obey some of the channels each."""

    @property
    def controls_there(self) -> np.ndarray:
        """Whether each world has what each channel moves, shape [worlds, channels]."""
        ...


@runtime_checkable
class Variable(Protocol):
    """A physics whose worlds can differ in parameters, which are numbers of the state and need no other kernels."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ, in the order in which states keep it."""
        ...

    def variation(self, state: Any) -> Variation:
        """Where a state keeps its parameters."""
        ...

    def take_parameters(self, state: Any, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters where kernels do not read them at each step.

        Args:
            state: The state, whose parameters have changed.
            before: What they were.
            mask: The worlds in which they have, bool of shape [worlds] on the device.
        """
        ...

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse least and largest values of all parameters with which a world could not be simulated."""
        ...


@runtime_checkable
class Noisy(Protocol):
    """A physics whose robots have sensors of their own, which may have noise."""

    @property
    def noisy(self) -> bool:
        """Whether one of them has."""
        ...


@runtime_checkable
class Accompanied(Protocol):
    """A physics that lets someone follow each step, on CUDA within the graph of many of them."""

    def accompany(self, companion: Callable[[Any], None]) -> None:
        """Call this after each step; it may only launch kernels."""
        ...

    def expect(self) -> None:
        """Reckon with commands that were given since the last step."""
        ...


@runtime_checkable
class Troubled(Protocol):
    """A physics that knows of each world whether it has diverged."""

    @property
    def troubles(self) -> wp.array[Any]:
        """First step of each world whose result was not finite, -1 while all are, int64 of shape [worlds]."""
        ...


@runtime_checkable
class Kickable(Protocol):
    """A physics in which whole worlds can be given a velocity, as episodes begin."""

    def kick(self, state: Any, velocities: wp.array[Any], mask: wp.array[Any]) -> None:
        """Add a velocity to everything in masked worlds that can move.

        Args:
            state: The state.
            velocities: Velocity of each world [m/s], float32 of shape [worlds, axes] on the device.
            mask: Which worlds, bool of shape [worlds] on the device.
        """
        ...


@runtime_checkable
class Grippable(Protocol):
    """A physics whose rigid things a person takes hold of while it runs, such as in a browser."""

    def grips(self, state: Any) -> Mapping[str, np.ndarray]:
        """Where the things are that can be led [m], by name; there may be none."""
        ...

    def lead(self, name: str, place: Sequence[float] | None) -> None:
        """Lead a thing towards a place [m] from now on; None lets go of it.

        It goes there with finite speed. A free body is pulled, and what is in the way holds it back.
        """
        ...


@runtime_checkable
class Driving(Protocol):
    """A physics whose driven obstacles are told how to move while it runs."""

    def drive(self, state: Any, body: Any, velocity: Any = None, spin: Any = None) -> None:
        """Set how a driven obstacle moves from now on.

        Args:
            state: The state.
            body: The obstacle or its name.
            velocity: Velocity of its centre of mass [m/s]; None leaves it as it is.
            spin: Angular velocity [rad/s]; None leaves it as it is.
        """
        ...


@runtime_checkable
class Separable(Protocol):
    """A physics whose rows name each other: it takes one of several equal worlds out, for a picture of it alone."""

    def take_world(self, source: Any, target: Any, world: int) -> None:
        """Copy a world of a state into a state of one world."""
        ...


@dataclass(frozen=True)
class Side:
    """One of the physics that a solver steps together.

    Attributes:
        solver: Its solver.
        state: From a state of the whole to that of this side.
        part: What that is called there.
    """

    solver: Solver
    state: Callable[[Any], Any]
    part: str


@runtime_checkable
class Coupled(Protocol):
    """A physics made of others, whose sides can be read as if they were alone."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides."""
        ...


def editable(solver: Solver) -> Editable:
    """The solver as one whose bodies can be edited."""
    if isinstance(solver, Editable):
        return solver
    raise Unsupported(
        solver.physics, "be edited while it runs", ("springs", "voxels3d", "coupling"),
        "Build it anew with the change; bodies among grains are moved by solver.drive and pulled by solver.load.",
    )  # fmt: skip


def driving(solver: Solver) -> tuple[Driving, Callable[[Any], Any]]:
    """The solver, or its side, whose driven obstacles are told how to move; and from a state to the one it takes."""
    if isinstance(solver, Driving):
        return solver, lambda state: state
    for side in solver.sides if isinstance(solver, Coupled) else ():
        if isinstance(side.solver, Driving):
            return side.solver, side.state
    raise Unsupported(
        solver.physics, "drive obstacles by commands", ("springs", "grains", "fem", "voxels3d", "coupling"),
        "Give it obstacles that stay where they are.",
    )  # fmt: skip


def kickable(solver: Solver) -> Kickable:
    """The solver as one whose worlds can be given a velocity."""
    if isinstance(solver, Kickable):
        return solver
    raise Unsupported(
        solver.physics, "be given a velocity as a whole", ("springs", "voxels", "voxels3d"),
        "Let its episodes begin with other commands, or with bodies in other places.",
    )  # fmt: skip


def conditional(solver: Solver) -> Conditional:
    """The solver as one that watches conditions."""
    if isinstance(solver, Conditional):
        return solver
    raise Unsupported(
        solver.physics, "evaluate this condition (when=...)", ("springs", "coupling"),
        "Stop at a time with breakpoint(at=...), or give a function of the simulation: breakpoint(when=lambda s: ...).",
    )  # fmt: skip
