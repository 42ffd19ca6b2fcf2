"""A motion that can be run back: N steps from a state, a loss on what was looked at, and its gradient.

For example::

    rollout = annelid.Rollout(simulation, steps=2000)
    value, rates = rollout.gradient(annelid.Travel("x"), {"stiffness": k, "controls": table})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Plan, differentiable, reduced
from annelid.core.arrays import array_or_none, as_numbers
from annelid.core.described import Described
from annelid.core.device_rates import any_nonzero
from annelid.core.errors import InvalidValue, TooLarge, UnknownName
from annelid.core.memory import device_memory, size_in_words
from annelid.core.numbers import MOST_COUNTED, is_count
from annelid.core.options import require_kind, require_taking, spelled_out
from annelid.core.simulation import Simulation
from annelid.core.track import Track
from annelid.core.warp_loss import WarpLoss

Loss = Callable[[Track], tuple[Any, Any]]
"""A function of a track: the value, one number or one a world, and its rates by positions (or by parts, by name)."""


_MOST_LOOKS = 10**8


def as_loss(loss: Loss | wp.Function) -> Loss:
    """A loss as a function of a track; a Warp function is one of each thing."""
    if isinstance(loss, wp.Function):
        return WarpLoss(loss)
    if not callable(loss):
        raise InvalidValue(f"a loss must be a function of a track or a Warp function, not {loss!r:.60}.")
    require_taking("the loss of a rollout", loss, "track")
    return loss


class Rollout(Described):
    """Steps of a simulation from where it stands now, there and back.

    The simulation itself is not advanced. Several worlds are run side by side, each with its own loss and gradient.

    Args:
        simulation: A simulation of a physics that has an adjoint.
        steps: Steps of the motion.
        every: Steps between two checkpoints; None chooses: for springs all of up to 1,000 steps where memory allows
            it, else what fits into 200 states, or about the square root of the steps, which needs least memory.
        looks: After which steps the loss looks at the state: None for the last, "all", every so many steps, or a list.

    Attributes:
        plan: How the motion is divided.
        number: How many motions were begun; the way back is that of the last one.
    """

    @spelled_out("a rollout")
    def __init__(
        self,
        simulation: Simulation[Any],
        steps: int,
        *,
        every: int | None = None,
        looks: str | int | Sequence[int] | None = None,
    ) -> None:
        require_kind("what is rolled out", simulation, Simulation, "a Simulation")
        count = _whole("the steps of a rollout", steps)
        solver = differentiable(simulation.solver)
        with simulation.gate:
            self._adjoint = solver.adjoint(simulation.state)
        self.worlds, self.dt = simulation.solver.worlds, simulation.dt
        self.plan = self._fitting(count, None if every is None else _whole("every", every), _looks(looks, count))
        self._adjoint.reserve(self.plan)
        self.number = 0
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._track: Track | None = None
        self._kept: int | None = None  # number of the stretch whose states are at hand

    @property
    def steps(self) -> int:
        """Steps of the motion."""
        return self.plan.steps

    @property
    def device(self) -> wp.Device:
        """Where it computes."""
        return self._adjoint.device

    @property
    def vector(self) -> Any:
        """Warp type of a position and of a velocity."""
        return self._adjoint.vector

    @property
    def track_shape(self) -> tuple[int, int, int, int]:
        """Shape of positions and of velocities of a track: looks, worlds, things and axes."""
        return len(self.plan.looks), self.worlds, self._adjoint.things, 3

    @property
    def double(self) -> bool:
        """Whether it computes in double precision."""
        return bool(self._adjoint.vector._wp_scalar_type_ is wp.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters that gradients can be taken with respect to here."""
        return tuple(name for name, one in self._adjoint.inputs.items() if not (one.idle or one.missing))

    def facts(self) -> Mapping[str, str]:
        """How long it is, and how it is divided."""
        return {
            "steps": str(self.plan.steps),
            "every": str(self.plan.every),
            "looks": str(len(self.plan.looks)),
            "worlds": str(self.worlds),
            "on": str(self.device),
        }

    def require(self, name: str) -> None:
        """Refuse a parameter that is unknown, feeds nothing in this simulation or has no gradient here, and say why."""
        self._require_known(name)
        self._adjoint.inputs[name].require()

    def value(self, name: str) -> np.ndarray:
        """What the simulation has for a parameter, in its full shape, to begin from."""
        self._require_known(name)
        return np.array(self._adjoint.inputs[name].value, float, order="C")

    def shape(self, name: str) -> str:
        """The full shape of a parameter in words; what is given is broadcast to it."""
        self._require_known(name)
        return self._adjoint.inputs[name].described

    def forward(self, parameters: Mapping[str, Any] | None = None, *, after: int = 0) -> Track:
        """Run the motion with parameters, by name; the others are those of the simulation.

        Args:
            parameters: Parameters by name; see `names` and `shape`.
            after: Steps since the state of the simulation at which the motion begins, for motions that are put together
                of several: waves go on from there. Positions and velocities then are those of the motion before.
        """
        self._require_begin(after)
        require_kind("parameters of a rollout", parameters, (Mapping, NoneType), "values by name, {name: value}")
        given = dict(parameters or {})
        for name in given:
            self._require_known(name)
        fitted = {name: self._adjoint.inputs[name].fitted(values) for name, values in given.items()}
        self._track, self._kept = None, None
        self.number += 1
        self._adjoint.start(fitted, after)
        self._shapes = {name: np.shape(values) for name, values in given.items()}
        for stretch in self.plan.stretches:
            self._adjoint.run(stretch, again=False)
        self._kept = self.plan.stretches[-1].number
        self._track = self._copied(*self._adjoint.tracks())
        return self._track

    def backward(self, rates: Any) -> dict[str, np.ndarray]:
        """Rates of a loss by the parameters that the last `forward` was given, each in the shape given there.

        Args:
            rates: Rates of the loss by the positions of the track, in its shape, or by its parts:
                `{"positions": ..., "velocities": ...}`.
        """
        if self._track is None or self._shapes is None:
            raise InvalidValue("there is no motion to run back: call forward(parameters) first.")
        if not self._shapes:
            raise InvalidValue(
                f"forward was given no parameters, so that there is nothing to take a gradient by; it takes "
                f"{', '.join(self.names)}."
            )
        seeds = self._track.rates(rates)
        self._adjoint.turn(*(seeds[name].flatten().reshape(self._flat) for name in ("positions", "velocities")))
        for stretch in reversed(self.plan.stretches):
            if self._kept != stretch.number:
                self._adjoint.run(stretch, again=True)
            self._kept = None  # the way back overwrites what was kept
            self._adjoint.reverse(stretch)
        full = self._adjoint.rates()
        return {name: reduced(np.asarray(full[name], float), shape) for name, shape in self._shapes.items()}

    def gradient(self, loss: Loss | wp.Function, parameters: Mapping[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        """Value of a loss and its rates by parameters.

        Args:
            loss: A function of the `Track` that returns the value, one number or one a world, and its rates by the
                track, as `backward` takes them; one of the ready losses `Travel` and `Match`; a Warp function, see
                `WarpLoss`; or one of PyTorch or JAX in a `TorchLoss` or `JaxLoss`.
            parameters: Parameters by name; see `names` and `shape`.
        """
        track = self.forward(parameters)
        value, rates = require_loss(as_loss(loss)(track), self.worlds)
        return value, self.backward(rates)

    @property
    def _flat(self) -> tuple[int, int]:
        return len(self.plan.looks), self.worlds * self._adjoint.things

    def _copied(self, *arrays: wp.array[Any]) -> Track:
        """A track of its own: the next motion overwrites these arrays."""
        shape = self.track_shape[:3]
        copies = (wp.clone(array).flatten().reshape(shape) for array in arrays)
        return Track(self.plan.looks, self.dt, dict(zip(("positions", "velocities"), copies, strict=True)))

    def _require_known(self, name: str) -> None:
        if not isinstance(name, str) or name not in self._adjoint.inputs:
            raise UnknownName("parameter of a rollout", name, self._adjoint.inputs)

    def _require_begin(self, after: int) -> None:
        """Refuse to go on from a motion of which more must be known than where everything is and how it moves."""
        if isinstance(after, bool) or not isinstance(after, int | np.integer) or after < 0:
            raise InvalidValue(f"after must be a whole number of steps of 0 or more, not {after!r:.40}.")
        if after and self._adjoint.carried:
            raise InvalidValue(
                f"this motion cannot go on from another: {self._adjoint.carried}; give one rollout a table of controls."
            )

    def _fitting(self, steps: int, every: int | None, looks: np.ndarray) -> Plan:
        """A plan whose checkpoints fit into memory; one that does not is refused with the spacing that would."""
        chosen = Plan(steps, min(every or self._adjoint.spacing(steps), steps), looks)
        there, needed = device_memory(self.device), self._adjoint.memory(chosen)
        if there is None or needed <= there:
            return chosen
        spacings = np.unique(np.ceil(np.geomspace(1.0, steps, 100)).astype(int)).tolist()
        best = min((Plan(steps, spacing, looks) for spacing in spacings), key=self._adjoint.memory)
        least = self._adjoint.memory(best)
        if every is None and least <= there:
            return best
        remedy = f"every={best.every} needs {size_in_words(least)}"
        if least > there:
            remedy = f"the least, with every={best.every}, is {size_in_words(least)}: take fewer steps, looks or worlds"
        raise TooLarge(
            f"a rollout of {steps} steps with checkpoints every {chosen.every} needs about {size_in_words(needed)} of "
            f"memory, and {self.device} has {size_in_words(there)}; {remedy}."
        )


def require_loss(found: Any, worlds: int) -> tuple[Any, Any]:
    """What a loss returned, its value and its rates by the track; what cannot be a loss is refused."""
    value, rates = require_pair(found)
    _require_finite(require_values(value, worlds))
    _require_dependence(value, rates)
    return value, rates


def require_pair(found: Any) -> tuple[Any, Any]:
    """What a loss returned, its value and its rates by the track, as a pair."""
    if not (isinstance(found, tuple) and len(found) == 2):
        raise InvalidValue(f"a loss must return its value and its rates by the track, not {type(found).__name__}.")
    return found


def require_values(value: Any, worlds: int) -> np.ndarray:
    """The value of a loss as numbers: one, or one a world."""
    try:
        values = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"the value of a loss must be numbers, not {value!r:.60}.") from None
    if values.shape not in ((), (worlds,)):
        raise InvalidValue(
            f"the value of a loss must be one number, or one for each of {worlds} worlds, not of shape "
            f"{list(values.shape)}."
        )
    return values


def _whole(what: str, value: Any) -> int:
    if not is_count(value, 1):
        raise InvalidValue(
            f"{what} must be a whole number of 1 or more, at most {MOST_COUNTED:.0e}, not {value!r:.40}."
        )
    return int(value)


def _looks(given: Any, steps: int) -> np.ndarray:
    """Steps after which the loss looks, ascending."""
    if given is None:
        return np.array([steps])
    if isinstance(given, str):
        if given != "all":
            raise InvalidValue(f"looks must be None, 'all', a spacing or a list of steps, not {given!r}.")
        given = 1
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        every = _whole("looks", given)
        if every > steps:
            raise InvalidValue(f"looks every {every} steps see nothing of a rollout of {steps} steps.")
        if steps // every > _MOST_LOOKS:
            raise TooLarge(f"{steps // every} looks are too many: take a spacing of {steps // _MOST_LOOKS + 1} steps.")
        return np.arange(every, steps + 1, every)
    found = array_or_none(given)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise InvalidValue(f"looks must be None, 'all', a spacing or a list of steps, not {given!r:.60}.")
    ordered = np.unique(found)
    if ordered[0] < 1 or ordered[-1] > steps or len(ordered) != len(found):
        raise InvalidValue(f"looks must be different steps between 1 and {steps}, not {given!r:.60}.")
    return ordered.astype(np.int64)


def _require_finite(values: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(values.ravel()))
    if len(bad):
        where = f" of world {bad[0]}" if values.ndim else ""
        raise InvalidValue(
            f"the loss{where} is {values.ravel()[bad[0]]}: the motion has diverged, or the loss divides by 0; keep "
            "parameters in bounds within which the time step is stable."
        )


def _require_dependence(value: Any, rates: Any) -> None:
    """Refuse rates that are 0 everywhere, unless the loss is: then it may be at its least."""
    parts = list(rates.values()) if isinstance(rates, Mapping) else [rates]
    if any(_depends(part) for part in parts):
        return
    if np.any(np.asarray(value, float) != 0.0):
        raise InvalidValue("the loss depends on nothing: its rates by the track are 0 at every look.")


def _depends(part: Any) -> bool:
    return any_nonzero(part) if isinstance(part, wp.array) else bool(as_numbers("rates of a loss", part).any())
