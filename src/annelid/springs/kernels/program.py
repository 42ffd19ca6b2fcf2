"""Features of a model, and CUDA kernels for one combination of them, compiled only when a model needs them.

A plain lattice pays for nothing that it does not use: damping, actuation, contacts, constraints and the user's own
functions are compiled in or left out.
"""

from dataclasses import dataclass, replace
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import BOX, GRID, HEIGHTS, PLANE, SPHERE
from annelid.springs.kernels.contact_lists import slot_of_mass, watch
from annelid.springs.kernels.dynamics import Plugins, mass_acceleration
from annelid.springs.kernels.gather import Springs, thread_gather, vector_load
from annelid.springs.kernels.layout import GIVES, YIELDS, layout
from annelid.springs.kernels.motors import motor_force
from annelid.springs.kernels.passes import GATHERLESS, PASSES, mass_update
from annelid.springs.kernels.signals import motor_value, signal_at

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Features:
    """What a model needs of its kernels; equal features share compiled code."""

    real: Any = wp.float32
    integrator: str = "symplectic"
    damped: bool = False
    breaking: bool = False
    pushed: bool = False
    guided: bool = False
    touching: tuple[int, ...] = ()  # kinds of obstacles
    moving: bool = False  # some of them are driven or free
    free: tuple[int, ...] = ()  # kinds of what free ones touch; empty where none is free
    colliding: bool = False
    motors: tuple[wp.Function, ...] = ()
    steers: bool = False  # whether some motors follow an angle
    signals: tuple[wp.Function, ...] = ()
    substeps: int = 1
    conditions: tuple[wp.Function, ...] = ()
    plugins: Plugins = Plugins()  # noqa: RUF009 (frozen)
    worlds: bool = False  # a batch of them, each with a beginning of its own
    varied: bool = False  # with parameters of its own
    growing: bool = False  # dashpots of contacts grow with the depth
    own: bool = False  # each world has its own obstacles and surroundings, not one list for all
    resisted: tuple[int, ...] = ()  # kinds of sand
    delayed: bool = False  # dashpots of springs build up over a time

    @property
    def shaped(self) -> bool:
        """Whether worlds have ground of their own."""
        return self.varied and HEIGHTS in self.touching

    @property
    def flying(self) -> tuple[Any, tuple[int, ...], bool, bool, bool]:
        """What decides which kernels step free bodies."""
        return self.real, self.free, self.worlds, self.varied, self.shaped

    @property
    def actuated(self) -> bool:
        """Whether rest lengths change with time."""
        return bool(self.signals)

    def springs(self, kind: str) -> Springs:
        """What the springs do in a pass; they break at the positions where a step begins or ends, not in between."""
        detecting = self.breaking and kind not in ("rk2", "rk3", "rk4")
        part = {"inner": "fast", "outer": "slow"}.get(kind, "all")
        delayed = self.delayed and self.damped
        return Springs(self.damped, self.actuated, self.breaking, detecting, part, self.worlds, self.varied, delayed)

    def signal_at(self) -> wp.Function:
        """What evaluates the signals of springs."""
        return signal_at(layout(self.real), self.signals, worlds=self.worlds)

    def motor_value(self) -> wp.Function:
        """What evaluates the numbers that motors follow."""
        return motor_value(layout(self.real), self.motors, worlds=self.worlds)

    @property
    def signal_rows_per_step(self) -> int:
        """How finely signals are sampled: forces at half steps need a row between two steps."""
        return 2 if self.integrator == "rk4" else 1

    @property
    def passes(self) -> tuple[str, ...]:
        """Passes of the integrator; with smaller steps for some springs, a slow one and then many fast ones."""
        return ("outer",) + ("inner",) * self.substeps if self.substeps > 1 else PASSES[self.integrator]

    @property
    def first_forces(self) -> str:
        """The first pass that needs forces: before it, contacts update how far their partners were dragged along."""
        return next(kind for kind in self.passes if kind not in GATHERLESS)

    @property
    def stamps(self) -> int:
        """Numbers that the passes of a step have; the many small ones of a divided step share one."""
        return 1 if self.substeps > 1 else len(self.passes)

    def stamp(self, kind: str) -> int:
        """Number of a pass of step 0, counted from 2; before the first one, 1 stands for the state as it was given."""
        return 2 if self.substeps > 1 else 2 + self.passes.index(kind)


@once
def shared_by_teams(features: Features) -> Features:
    """The features that a team of CPU threads is compiled for, so that fewer kernels serve more models.

    To look whether there are external forces, and of which kind an obstacle is, costs a CPU next to nothing and changes
    no bit; a kernel takes seconds to compile. Planes alone are the most common obstacles, and ground of each world's
    own needs more than a kind. Neither does it matter of which kind sand is.
    """
    kinds = features.touching
    if set(kinds) - {PLANE}:
        common = (PLANE, SPHERE, BOX, GRID) if features.varied else (PLANE, SPHERE, BOX, GRID, HEIGHTS)
        kinds = (*common, *(kind for kind in kinds if kind not in common))
    return replace(features, pushed=True, touching=kinds, resisted=features.resisted and (YIELDS, GIVES))


@once
def mass_world(features: Features) -> wp.Function:
    """A function `(i, model) -> world` of mass i."""
    Arrays, worlds = layout(features.real).Arrays, features.worlds

    @wp.func
    def world(i: int, model: Arrays) -> int:
        found = int(0)
        if wp.static(worlds):
            found = i // model.masses_a_world
        return found

    return world


@once
def signal_kernel(features: Features) -> wp.Kernel:
    """Evaluate every signal for every moment of a batch of steps (CUDA)."""
    types, evaluate, per_step = layout(features.real), features.signal_at(), features.signal_rows_per_step
    real, Arrays, Work = types.real, types.Arrays, types.Work

    @wp.kernel(module="unique", enable_backward=False)
    def signals(model: Arrays, work: Work):
        row, item = wp.tid()
        steps = wp.float64(work.clock[0]) + wp.float64(row) / wp.float64(wp.static(per_step))
        work.factors[row * model.signal_count * model.world_count + item] = real(evaluate(item, steps, model, work))

    return signals


@once
def pass_kernel(features: Features, kind: str, lanes: int) -> wp.Kernel:
    """One pass over all masses, `lanes` threads a mass (CUDA)."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    gather = thread_gather(types, features.springs(kind), lanes)
    load4 = vector_load(vec4, 4, 32 if features.real is wp.float32 else 64)
    # Position and velocity at the beginning of the step: small bodies wait for memory and ask early, large ones would
    # only lose registers by it; the first pass of a step has them at hand.
    early, late = (kind in ("rk2", "rk3", "rk4", "kick") and (lanes > 1) is soon for soon in (True, False))
    update = update_of(features, kind)
    needs_forces = kind not in GATHERLESS
    driven, look, slot_of = motor_force(types), watch(types), slot_of_mass(types)
    colliding, motors, worlds = features.colliding, bool(features.motors), features.worlds
    varied, world_of = features.varied, mass_world(features)
    meets, turns = (needs_forces and kind != "inner" and feature for feature in (colliding, motors))
    stamp, stamps = features.stamp(kind), features.stamps

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def pass_over_masses(
        model: Arrays,
        work: Work,
        step: int,
        factor_row: int,
        x_base: wp.array[vec4],
        v_base: wp.array[vec3],
        x_at: wp.array[vec4],
        v_at: wp.array[vec3],
        x_out: wp.array[vec4],
        v_out: wp.array[vec3],
    ):
        thread = wp.tid()
        i = thread // wp.static(lanes)
        lane = thread - i * wp.static(lanes)
        there = i < model.mass_count
        if wp.static(kind == "inner"):
            there = i < model.fast_masses.shape[0]
            i = model.fast_masses[wp.min(i, model.fast_masses.shape[0] - 1)]
        mass = wp.min(i, model.mass_count - 1)  # lanes beyond the last mass still take part in the warp's sum
        # All that the update needs is asked for before the springs: small bodies wait for memory, not for arithmetic.
        here = load4(x_at, mass)
        v = v_at[mass]
        base = here
        speed = v
        if wp.static(early):
            base = load4(x_base, mass)
            speed = v_base[mass]
        parameters = model.parameters[0]
        if wp.static(features.own):
            parameters = model.parameters[world_of(mass, model)]
        now = work.clock[0] + wp.int64(step)
        pull = vec3()
        scale = vec4()
        if wp.static(varied):
            pull = work.pulls[world_of(mass, model)]
            scale = load4(work.scales, world_of(mass, model))
        force = vec3()
        if wp.static(needs_forces):
            x = vec3(here[0], here[1], here[2])
            first_factor = factor_row * model.signal_count * model.world_count
            if wp.static(worlds):
                first_factor += mass // model.masses_a_world * model.signal_count
            catching, rate = parameters.catching, parameters.settling
            force = gather(
                mass, lane, now, x, v, model, work, first_factor, scale, x_at, v_at, catching, rate, there
            )  # fmt: skip
        if wp.static(late):
            base = load4(x_base, mass)
            speed = v_base[mass]
        if lane == 0 and there:
            slot = int(-1)
            if wp.static(colliding):
                slot = slot_of(i, work.contacts)
            if wp.static(meets):
                if slot >= 0:
                    force += work.contacts[0].forces[slot]
            if wp.static(turns):
                force += driven(i, work.motors, x_at)
            update(i, now, model, parameters, work, here, v, force, pull, scale, base, speed, x_out, v_out)
            if wp.static(colliding):
                if slot >= 0:
                    look(slot, step * wp.static(stamps) + wp.static(stamp), x_out[i], work.contacts)

    return pass_over_masses


_AHEAD = {"euler": 2.0, "rk1": 2.0, "rk2": 2.0, "rk3": 2.0, "rk4": 2.0}
"""Steps that a mass goes, or may go between stages, before the acceleration of a pass shows; one in all others."""


def _acceleration(features: Features, kind: str) -> wp.Function:
    return mass_acceleration(
        layout(features.real),
        pushed=features.pushed,
        guided=features.guided,
        touching=features.touching,
        plugins=features.plugins,
        varied=features.varied,
        shaped=features.shaped,
        moving=features.moving,
        free=bool(features.free),
        growing=features.growing,
        own=features.own,
        resisted=features.resisted,
        ahead=_AHEAD.get(kind, 1.0),
    )


def update_of(features: Features, kind: str) -> wp.Function:
    """What a pass does with a mass; functions of the user are told the world's own numbers where there are worlds."""
    apart = features.worlds and bool(features.plugins or features.conditions or features.moving)
    accelerate, conditions = _acceleration(features, kind), features.conditions
    types, shaped = layout(features.real), features.shaped
    return mass_update(types, kind, accelerate, conditions, features.substeps, apart=apart, shaped=shaped)
