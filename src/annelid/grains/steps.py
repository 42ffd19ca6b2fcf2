"""Which steps suit a bed at rest, and bodies that fall into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from annelid.grains.bed import Bed
from annelid.grains.depth import bed_depth
from annelid.grains.world import World
from annelid.shapes.values import Floats

_OVERLAP = 0.0076  # of a diameter, that the default step aims at
_STRIDE = 0.1  # of its radius, that a grain moves in a step at the start
_APPROACH = 0.0025  # of its radius, by which a body may come closer to a grain in a step
_BOUNCING_APPROACH = 0.03  # the same in a step of eight sweeps, where impacts are reflected at once
_SOLVED_APPROACH = 0.008  # the same beside soft bodies, in a step that is solved
_MOST_SWEEPS = 8  # that are taken without being asked for
_SINKING = 0.02  # of a radius, by which a body falls at least before it is borne


@dataclass(frozen=True)
class Load:
    """A body that falls onto grains.

    Attributes:
        pressure: Its mass per area [kg/m²].
        speed: How fast it meets the grains [m/s].
        called: What messages call it.
    """

    pressure: float
    speed: float
    called: str = ""

    @classmethod
    def of(
        cls, points: Floats, mass: float, speed: float, bed: Bed, gravity: tuple[float, float, float]
    ) -> Load:  # fmt: skip
        """The load of a body, which falls freely from where it is to the highest grain.

        Args:
            points: Points of its surface [m], shape [n, 3].
            mass: Its mass [kg].
            speed: Its speed at the start [m/s].
            bed: The grains.
            gravity: Gravity [m/s²].
        """
        pull = math.hypot(*gravity)
        speed += float(np.linalg.norm(bed.velocities, axis=1).max())
        if pull == 0.0:
            return cls(0.0, speed)
        up = -np.asarray(gravity) / pull
        height = float((points @ up).min() - (bed.positions @ up + bed.radii).max())
        fall = max(height, _SINKING * float(bed.radii.min()))
        sides = np.maximum(np.ptp(points, axis=0), 1e-9)
        area = float(sides.prod() / sides[int(np.argmax(np.abs(gravity)))])
        return cls(mass / area, math.sqrt(speed**2 + 2.0 * pull * fall))


def default_step(
    bed: Bed, world: World, worlds: np.ndarray | None = None, loads: Sequence[Load] = ()
) -> float:  # fmt: skip
    """The longest step that keeps overlaps near a hundredth of a diameter in a bed as deep as this one [s].

    Bodies that lie on it count as so many more layers. Shorter for grains that start fast: none passes more than a
    tenth of the smallest radius in a step.
    """
    gravity = math.hypot(*world.gravity)
    smallest, largest = float(bed.radii.min()), float(bed.radii.max())
    if world.method == "hertz":
        return _collision_time(bed, speed=1.0) / 40.0
    if world.method == "paper":
        return 1.0e-3
    quick = _STRIDE * smallest / max(float(np.linalg.norm(bed.velocities, axis=1).max()), 1.0e-9)
    if gravity == 0.0:
        return min(float(1.0e-3 * math.sqrt(smallest / 0.01)), quick)
    up = -np.asarray(world.gravity) / gravity
    layers = max(bed_depth(bed, up, worlds) / (2.0 * smallest), 4.0)
    layers += max((load.pressure for load in loads), default=0.0) * (2.0 * smallest) ** 2 / float(bed.masses.min())
    step = math.sqrt(_OVERLAP * 2.0 * smallest * world.share / (world.softness * gravity * layers))
    return min(step * math.sqrt(smallest / largest), quick)


@dataclass(frozen=True)
class Half:
    """What a bed, its surroundings and what falls onto it would be with half of something.

    Attributes:
        name: What is halved.
        remedy: What to change for a longer step.
        bed: The grains.
        world: Gravity, time step and method.
        loads: Bodies that fall onto them.
    """

    name: str
    remedy: str
    bed: Bed
    world: World
    loads: Sequence[Load]


def halves(bed: Bed, world: World, loads_on: Callable[[Bed, World], Sequence[Load]]) -> Iterator[Half]:
    """All that steps of grains depend on, one after the other with half of it.

    Args:
        bed: The grains.
        world: Gravity, time step and method.
        loads_on: What falls onto a bed in a world.
    """
    pull, loads = math.hypot(*world.gravity), loads_on(bed, world)
    if pull > 0.0 and world.method == "nonsmooth":
        x, y, z = world.gravity
        lighter = replace(world, gravity=(0.5 * x, 0.5 * y, 0.5 * z))
        name, remedy = f"gravity, {pull:.3g} m/s²", "larger grains, or a shallower bed"
        yield Half(name, remedy, bed, lighter, loads_on(bed, lighter))
    if world.method == "nonsmooth" and (fastest := float(np.linalg.norm(bed.velocities, axis=1).max())) > 0.0:
        slower = copy(bed)
        slower.velocities = 0.5 * bed.velocities
        name = f"the speed of grains at the start, {fastest:.3g} m/s"
        yield Half(name, "slower grains", slower, world, loads_on(slower, world))
    if world.method == "hertz":
        for kind in np.unique(bed.kinds).tolist():
            softer, grain = copy(bed), bed.materials[kind]
            half = replace(grain, youngs_modulus=0.5 * grain.youngs_modulus)
            softer.materials = tuple(half if number == kind else one for number, one in enumerate(bed.materials))
            yield Half(f"youngs_modulus {grain.youngs_modulus:.3g} Pa of grains", "softer grains", softer, world, loads)
    for number, load in enumerate(loads):
        others = [*loads[:number], *loads[number + 1 :]]
        called = load.called or "the soft body"
        slower_load, lighter_load = replace(load, speed=0.5 * load.speed), replace(load, pressure=0.5 * load.pressure)
        met = f"the speed at which {called} meets the grains, {load.speed:.3g} m/s"
        yield Half(met, "let it begin lower or slower", bed, world, [*others, slower_load])
        weight = f"the weight of {called}, {load.pressure:.3g} kg/m²"
        yield Half(weight, "a lighter or wider body", bed, world, [*others, lighter_load])


def meeting_step(bed: Bed, loads: Sequence[Load], *, solved: bool = False, bouncing: bool = False) -> float:
    """Longest step in which the bed stops bodies in time [s].

    In plain sweeps a contact finds its impulse in some steps, one after the other from grain to grain. Until the bed
    bears a body, that comes closer by about eight times what it moves in a step: so much deeper than it should it ends
    up. In steps that are solved, contacts push from the step on in which they close: it ends up less deep, by about
    what it moves in a step. So it does where something bounces, and all steps take several sweeps.

    Args:
        bed: The grains.
        loads: Bodies that fall onto them.
        solved: Whether steps converge.
        bouncing: Whether something bounces.
    """
    fastest = max((load.speed for load in loads), default=0.0)
    approach = _SOLVED_APPROACH if solved else _BOUNCING_APPROACH if bouncing else _APPROACH
    return approach * float(bed.radii.min()) / fastest if fastest > 0.0 else math.inf


def meeting_sweeps(step: float, bed: Bed, loads: Sequence[Load]) -> int:
    """Sweeps over all contacts in a step that is too long for these bodies [s], in which impulses are found in time."""
    return min(max(math.ceil(step / meeting_step(bed, loads) - 1e-6), 1), _MOST_SWEEPS)


def _collision_time(bed: Bed, speed: float) -> float:
    """How long the shortest elastic collision of two equal grains lasts [s]."""
    moduli = np.array([m.youngs_modulus / (2.0 * (1.0 - m.poisson_ratio**2)) for m in bed.materials])
    radius, mass = float(bed.radii.min()), float(bed.masses.min())
    return float(2.87 * ((0.5 * mass) ** 2 / (0.5 * radius * moduli.max() ** 2 * speed)) ** 0.2)
