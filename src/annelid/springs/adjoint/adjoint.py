"""The motion of a spring body there and back, as `core.adjoint.Adjoint` declares it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Input, Plan, Stretch, summed
from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.memory import device_memory
from annelid.springs.actuation import sine_signal
from annelid.springs.adjoint.constants import (
    GROUND,
    MATERIAL,
    SPRING,
    Constants,
    changed,
    constants_of,
    inputs_of,
    rates_by_inputs,
    waves_of,
)
from annelid.springs.adjoint.kernels.gather import CPU_GROUP, CUDA_GROUP, Way
from annelid.springs.adjoint.kernels.resisting import (
    COEFFICIENTS,
    FRICTION,
    HEIGHT,
    INERTIA,
    PARTS,
    RESISTANCE,
    ROWS,
)
from annelid.springs.adjoint.kernels.signals import Kinds
from annelid.springs.adjoint.motion import Motion
from annelid.springs.adjoint.places import chunks_of, places_of
from annelid.springs.adjoint.refusals import require_adjoint
from annelid.springs.adjoint.sides import row_count
from annelid.springs.kernels.commands import command_signal
from annelid.springs.model import Model

_STATES = 200.0  # that checkpoints and a stretch may take by default, 7 numbers a mass each
_WHOLE = 1000  # steps of a motion all of whose states are kept...
_SHARE = 16  # ... if they take less than this part of the memory
_WORKING = 4.0  # states that the way back works with
_SOFTEST = 1e-30  # stiffness below which a spring counts as none [N/m]
_FACTORS = ("amplitude", "frequency", "delay", "controls")
_OWN = ("masses", "mass_factor", "forces", "gravity", "velocity_damping", "drag", "friction", "sliding_friction",
        "contact_stiffness", *GROUND)  # fmt: skip


class SpringAdjoint:
    """Runs motions from a state there and back; see `core.adjoint.Adjoint`.

    Args:
        model: The model of the simulation.
        state: The state that motions begin in.
        threads: CPU threads.
    """

    def __init__(self, model: Model, state: Any, threads: int) -> None:
        require_adjoint(model, state)
        self.device, self.vector, self.things = model.device, model.types.vec3, model.one.mass_count
        self.carried = ""
        self._of, self._threads = model, threads
        self._base = constants_of(model, state)
        self._inputs = inputs_of(model, self._base)
        self._waves, self._materials = waves_of(model), np.asarray(model.one.spring_materials)
        self._clock, self._commands = int(state.clock.numpy()[0]), wp.clone(state.commands)
        self._begun = wp.clone(state.begun)
        width = CUDA_GROUP if self.device.is_cuda else CPU_GROUP
        self._places = places_of(model.mass_count, model.body.springs, width)
        self._chunks = chunks_of(model.signal_of[: model.one.spring_count], model.signal_count)
        self._plan: Plan | None = None
        self._motion: Motion | None = None
        self._key: Any = None
        self._values: Mapping[str, np.ndarray] = {}
        self._now: Constants = self._base

    @property
    def inputs(self) -> Mapping[str, Input]:
        """The parameters that it knows, by name."""
        return self._inputs

    # --- room ---

    @property
    def _both(self) -> bool:
        """Whether a stretch is run again while the one after it is run back."""
        return self._places.width == CUDA_GROUP

    @property
    def _width(self) -> int:
        """Numbers of a step that depend on signals: factors, sums of rates by them, and on CUDA three terms each."""
        signals, chunks = self._of.signal_count, len(self._chunks.table)
        if self._both:  # each has its own factors
            signals *= 2 + 3 * 8 // np.dtype(self._of.numpy_real).itemsize
        return self._of.worlds * (signals + chunks) if self._of.features.actuated else 0

    def spacing(self, steps: int) -> int:
        """Steps between two checkpoints: all of a short motion, since the last stretch is run once only.

        Where memory is short, and for motions of more than 1,000 steps, as many as fit into 200 states; still longer
        ones take what needs least memory.
        """
        if steps <= _WHOLE:
            there = device_memory(self.device)
            if there is not None and _SHARE * self.memory(Plan(steps, steps, np.array([steps]))) <= there:
                return steps
        row = 1.0 + self._width / (7.0 * self._of.mass_count)
        least = math.ceil(math.sqrt(6.0 / 7.0 * steps / row))
        room = _STATES - _WORKING
        longest = least
        for every in range(least, steps + 1):
            plan = Plan(steps, every, np.array([steps]))
            if 6.0 / 7.0 * plan.checkpoints + row_count(plan, both=self._both) + (row - 1.0) * every > room:
                break
            longest = every
        return longest

    def memory(self, plan: Plan) -> int:
        """Memory that checkpoints, a stretch, looks and rates take [B], about."""
        masses, springs = self._of.mass_count, self._places.count
        states = 6 * plan.checkpoints + 7 * row_count(plan, both=self._both) + 18 * len(plan.looks) + 40
        numbers = masses * states + plan.every * self._width + 12 * springs
        return int(numbers) * np.dtype(self._of.numpy_real).itemsize

    def reserve(self, plan: Plan) -> None:
        """Remember the plan; arrays are made with the first motion, which tells what they must hold."""
        self._plan = plan

    # --- there ---

    def start(self, values: Mapping[str, np.ndarray], after: int) -> None:
        """Take parameters over; see `core.adjoint.Adjoint`."""
        assert self._plan is not None
        self._require(values)
        key = (self._sharing(values), "damping" in values or "damping_factor" in values, "forces" in values)
        if self._motion is None or key != self._key:
            self._motion, self._key = self._new_motion(*key), key
        self._values = values
        self._now = changed(self._base, values, self._materials, self._waves)
        self._motion.take(self._now, self._way(values, self._now), self._clock + after)

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        self._motion.run(stretch, again=again)

    def tracks(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Positions and velocities at the looks; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        step = self._motion.diverged_at()
        if step is not None and self._of.worlds == 1:
            stable = self._of.stable_step()
            raise SimulationDiverged(
                f"the motion diverges in step {step} of the rollout with these parameters: the stable step of the "
                f"simulation's own is about {stable:.3g} s, and dt is {self._of.dt:.3g} s; bound the parameters, or "
                "take a smaller dt.",
                time=step * self._of.dt,
                step=step,
            )
        return self._motion.course.positions, self._motion.course.velocities

    # --- back ---

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Begin to run back; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        self._motion.turn(positions, velocities)

    def reverse(self, stretch: Stretch) -> None:
        """Run a stretch back; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        assert self._plan is not None
        before = self._plan.stretches[stretch.number - 1] if stretch.number else None
        self._motion.reverse(stretch, before)

    def rates(self) -> dict[str, np.ndarray]:
        """Rates by parameters; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        return rates_by_inputs(self._by_numbers(self._motion), self._values, self._base, self._materials, self._waves)

    def _by_numbers(self, motion: Motion) -> dict[str, np.ndarray]:
        """Rates by the numbers of `Constants`, those that are asked for."""
        ledger, now, worlds = motion.ledger, self._now, self._of.worlds
        way = motion.way
        assert way is not None

        def of(array: wp.array[Any]) -> np.ndarray:
            return np.array(array.numpy(), float)  # a copy: on a CPU the next way back writes where this array lies

        found = {
            "positions": of(ledger.position_bars).reshape(worlds, -1, 3),
            "velocities": of(ledger.velocity_bars).reshape(worlds, -1, 3),
        }
        tension = motion.booked(ledger.by_tension) if way.tensions else None
        if _asked("stiffness", self._values):
            found["stiffness"] = motion.booked(ledger.by_stiffness)
            if tension is not None:
                found["stiffness"] += now.rest_lengths * tension
        if _asked("rest_length", self._values) and tension is not None:
            found["rest_lengths"] = now.stiffness * tension
        if _asked("damping", self._values):
            found["damping"] = motion.booked(ledger.by_damping)
        if way.own:
            free = ~self._of.one.fixed
            pulls, masses = (of(array).reshape(worlds, -1, 4) for array in (ledger.by_pull, ledger.by_mass))
            inverse = np.where(free, 1.0 / now.masses, 0.0)
            found["masses"] = -inverse * (pulls[..., 3] + inverse * masses[..., 0])
            found["forces"] = inverse[..., None] * pulls[..., :3]
            found["gravity"] = summed(pulls[..., :3], 1)
            found["velocity_damping"] = summed(masses[..., 1], 1)
            found["drag"] = summed(inverse * masses[..., 2], 1)
            for name, array in (("sliding_friction", ledger.by_friction), ("contact_stiffness", ledger.by_contact)):
                table = of(array)  # of no rows where there are no obstacles
                found[name] = summed(table.reshape(len(table), worlds, now.masses.shape[-1]), 2).T
            if self._of.features.resisted:
                found |= self._by_ground(of(motion.by_ground))
        if way.factors:
            signals = np.zeros((worlds, self._of.signal_count, 4))
            signals[:, :, :3] = ledger.by_signals.numpy()
            found["signals"], found["controls"] = signals, np.array(ledger.by_controls.numpy())
        return found

    def _by_ground(self, table: np.ndarray) -> dict[str, np.ndarray]:
        """Rates by the numbers of ground that resists, from those of each mass, shape [rows, masses of all worlds]."""
        rows = summed(table.reshape(len(table), self._of.worlds, -1), 2).T
        first = {"resistance": RESISTANCE, "friction": FRICTION, "height": HEIGHT, "inertia": INERTIA}
        found = {f"ground_{name}": rows[:, row] for name, row in first.items()}
        found["ground_parts"] = rows[:, PARTS:COEFFICIENTS]
        return found | {"ground_coefficients": rows[:, COEFFICIENTS:ROWS]}

    # --- parts ---

    def _require(self, values: Mapping[str, np.ndarray]) -> None:
        """Refuse a table of controls that does not fit the steps or the limits of its channels, and several grounds."""
        assert self._plan is not None
        for name in GROUND:
            if name in values and (values[name] != values[name][:1]).any():
                raise InvalidValue(f"{name} must be the same in all worlds, which share one ground: give one value.")
        table = values.get("controls")
        if table is None:
            return
        self._plan.interval(table)
        for number, channel in enumerate(self._of.controls):
            column = table[:, :, number]
            outside = (column < channel.low) | (column > channel.high)
            if outside.any():
                raise InvalidValue(
                    f"{column[outside].flat[0]:g} for control {channel.name!r} is outside {channel.low:g} to "
                    f"{channel.high:g}: bound the table, or widen the channel where the body is built."
                )

    def _sharing(self, values: Mapping[str, np.ndarray]) -> tuple[bool, bool, bool]:
        """Whether springs of one material, of one world, and materials differ in constants: rows then do, too."""
        springs = [values[name] for name in SPRING if name in values]
        factors = [values[f"{name}_factor"] for name in MATERIAL if f"{name}_factor" in values]
        each = any(one.strides[1] != 0 for one in springs)
        worlds = self._of.worlds > 1 and any(one.strides[0] != 0 for one in (*springs, *factors))
        return each, worlds, bool(factors)

    def _way(self, values: Mapping[str, np.ndarray], now: Constants) -> Way:
        """What the way back books of springs, and what it need not."""
        features = self._of.features
        stiffness, lengths, damping = (_asked(name, values) for name in MATERIAL)
        if self._places.width != CUDA_GROUP:  # all of them cost a CPU little, and a kernel takes seconds to compile
            stiffness = lengths = damping = stiffness or lengths or damping
        elif stiffness and not lengths:
            lengths = bool((now.stiffness < _SOFTEST).any())  # then no ratio tells the rest length
        return Way(
            damped=features.damped or "damping" in values or "damping_factor" in values,
            actuated=features.actuated,
            worlds=features.worlds,
            stiffness=stiffness,
            tensions=lengths,
            dashpots=damping,
            factors=any(name in _FACTORS for name in values),
            own=any(name in _OWN for name in values),
        )

    def _new_motion(self, sharing: tuple[bool, bool, bool], damped: bool, pushed: bool) -> Motion:
        """A model whose rows may differ where parameters do, and the arrays of a motion."""
        assert self._plan is not None
        old, worlds, (each, every_world, material) = self._of, self._of.worlds, sharing
        apart = []
        if each:
            apart.append(np.tile(np.arange(old.one.spring_count), worlds))
        elif material:
            apart.append(np.tile(self._materials, worlds))
        if every_world:
            apart.append(np.repeat(np.arange(worlds), old.one.spring_count))
        prepare = tuple(dict.fromkeys([*old.world.prepare, *(["damping"] * damped)]))
        dashpots = old.world.dashpots or "growing"
        world = replace(old.world, dt=old.dt, dashpots=dashpots, relaxation=0.0, prepare=prepare)
        batch = worlds if old.batched else None
        model = Model(old.one, world, old.device, worlds=batch, lanes=old.lanes, apart=apart)
        model.features = replace(model.features, own=old.batched, pushed=model.features.pushed or pushed, conditions=())
        kinds = model.features.signals
        numbers = Kinds(*(1 + kinds.index(kind) if kind in kinds else 0 for kind in (command_signal, sine_signal)))
        return Motion(
            model, self._plan, self._threads, self._places, self._chunks, numbers,
            self._commands, self._begun,
        )  # fmt: skip


def _asked(name: str, values: Mapping[str, np.ndarray]) -> bool:
    """Whether rates by a constant of springs, or by a factor on it, are asked for."""
    return any(given.startswith(name) for given in values)
