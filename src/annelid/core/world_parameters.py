"""Parameters of worlds, as users see them: `simulation.parameters["stiffness"] = 1.2`, and drawing them at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers, whole_numbers
from annelid.core.described import Described
from annelid.core.distributions import Curriculum, Distribution, as_distribution
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.gate import Gate
from annelid.core.kernels import parameters as kernels
from annelid.core.options import is_among, require_kind
from annelid.core.sealed import Sealed
from annelid.core.snapshot import Number
from annelid.core.solver import Coupled, Solver, Variable
from annelid.core.variation import NEEDED, Parameter, Variation, begin_varying, require_variation


class Parameters(Described, Sealed):
    """The parameters of a simulation's worlds.

    Args:
        solver: What heeds them.
        states: The states whose parameters these are; all of them are changed alike.
        gate: Turns between threads.
        noisy: Whether some sensor has noise.
    """

    _settable = ()

    def __init__(
        self, solver: Solver, states: Callable[[], Sequence[Any]], gate: Gate, noisy: Callable[[], bool]
    ) -> None:
        self._variable = solver if isinstance(solver, Variable) else None
        self.worlds, self._device = solver.worlds, solver.device
        self._physics, self._states, self._gate, self._noisy = solver.physics, states, gate, noisy
        self._laws: wp.array[Any] | None = None
        self._choices = wp.zeros(1, dtype=wp.float64, device=self._device)
        self._every = wp.full(self.worlds, True, dtype=wp.bool, device=self._device)
        self._drawn_from: dict[str, Distribution] = {}

    # --- what there is ---

    @property
    def offered(self) -> tuple[Parameter, ...]:
        """What they are, in order; none where the physics has no parameters of worlds."""
        return self._variable.parameters if self._variable is not None else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(one.name for one in self.offered)

    def __len__(self) -> int:
        return len(self.offered)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _instead(self, name: str) -> str | None:
        return f"Set simulation.parameters[{name!r}]." if name in self else None

    def facts(self) -> Mapping[str, str]:
        """What each does."""
        return {one.name: f"{one.does} {f'[{one.unit}]' if one.unit else ''}".rstrip() for one in self.offered}

    def index(self, name: str) -> int:
        """Place of a parameter."""
        if not self.names:
            raise InvalidValue(f"a simulation of {self._physics} has no parameters of worlds.")
        if isinstance(name, str) and name not in self.names and name in NEEDED:
            raise InvalidValue(f"parameter {name!r} needs {NEEDED[name]}, which this simulation does not have.")
        if not is_among(name, self.names):
            raise UnknownName("parameter", name, self.names)
        return self.names.index(name)

    # --- reading ---

    def values(self) -> np.ndarray:
        """Values of all parameters now, shape [worlds, parameters]."""
        with self._gate:
            place = self._places()[0] if self._variable is not None else None
            if place is None or not place.there:
                return np.tile([one.rest for one in self.offered], (self.worlds, 1))
            return np.asarray(place.values.numpy()).reshape(self.worlds, len(self)).copy()

    def numbers(self) -> dict[str, Number]:
        """Those of the first world that were drawn or are not at rest, by name, for pictures and plots."""
        if self._variable is None or not self._places()[0].there:
            return {}
        pairs = zip(self.offered, self.values()[0].tolist(), strict=True)
        told = {one.name: (one, value) for one, value in pairs if one.name in self._drawn_from or value != one.rest}
        return {name: Number(value, one.unit) for name, (one, value) in told.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of one parameter now, shape [worlds]."""
        return self.values()[:, self.index(name)]

    # --- setting ---

    def __setitem__(self, name: str, value: Any) -> None:
        """Set one parameter: one value, or one a world."""
        self.set({name: value})

    def set(self, values: Mapping[str, Any]) -> None:
        """Set parameters by name, each one number or one a world; nothing changes if one of them is refused."""
        require_kind("parameters", values, Mapping, "values by name, {name: value}")
        columns = [self.index(name) for name in values]
        given = np.empty((self.worlds, len(columns)))
        for k, (name, value) in enumerate(values.items()):
            numbers = as_numbers(f"parameter {name!r}", value)
            if numbers.ndim > 1 or numbers.size not in (1, self.worlds):
                raise InvalidValue(
                    f"parameter {name!r} needs one number, or one for each of {self.worlds} worlds, not shape "
                    f"{list(numbers.shape)}."
                )
            given[:, k] = numbers
        self._require({name: (given[:, k].min(), given[:, k].max()) for k, name in enumerate(values)}, self._drawn_from)
        if not columns:
            return
        with self._gate:
            rows = wp.array(given, dtype=wp.float64, device=self._device)
            chosen = wp.array(columns, dtype=wp.int32, device=self._device)
            for state, variation in self._begun():
                before = wp.clone(variation.values)
                inputs = [self._every, rows, chosen, len(self)]
                wp.launch(kernels.set_values, rows.shape, inputs, [variation.values], device=self._device)
                self._take(state, before)

    # --- drawing ---

    def randomise(self, distributions: Mapping[str, Any], *, seeds: Any = None) -> None:
        """Draw parameters from distributions, now and whenever worlds begin again.

        Args:
            distributions: `Uniform`, `LogUniform`, `Normal`, `Choice`, `Curriculum` or a number by name of the
                parameter; the others keep their values. None are drawn any more where this is empty.
            seeds: Seed of each world, or of the first of them, which others count on from; None for their numbers. A
                world draws by its seed alone, whatever the others do.
        """
        require_kind("distributions", distributions, Mapping, 'a table such as {"gravity": Uniform(0.9, 1.1)}')
        laws = {name: as_distribution(name, given) for name, given in distributions.items()}
        for name in laws:
            self.index(name)
        self._require({name: law.bounds for name, law in laws.items()}, laws)
        with self._gate:
            self.distributions = laws
            if laws:
                self.reseed(seeds)
                self._draw(self._every, apply=True)

    @property
    def distributions(self) -> dict[str, Distribution]:
        """What worlds draw from when they begin again, by name of the parameter; setting it draws nothing now."""
        return self._drawn_from

    @distributions.setter
    def distributions(self, laws: dict[str, Distribution]) -> None:
        self._drawn_from = laws
        self._laws, self._choices = self._encoded(laws) if laws else (None, self._choices)

    def reseed(self, seeds: Any = None) -> None:
        """Give worlds the seeds that they draw from and begin to count their draws anew; see `randomise`."""
        first = np.asarray(whole_numbers("seeds", 0 if seeds is None else seeds) % 2**62, np.int64)
        if first.shape not in ((), (self.worlds,)):
            raise InvalidValue(f"{self.worlds} seeds are needed, one a world, not shape {list(first.shape)}.")
        every = (first + (np.arange(self.worlds) if first.ndim == 0 else 0)).astype(np.int64)
        with self._gate:
            for _, variation in self._begun():
                variation.seeds.assign(every)
                variation.draws.zero_()

    def redraw(
        self,
        mask: wp.array[Any] | None = None,
        *,
        seeds: wp.array[Any] | None = None,
        episodes: wp.array[Any] | None = None,
    ) -> None:
        """Draw the parameters of worlds that are about to begin again, before their physics does.

        Args:
            mask: Which worlds, bool of shape [worlds] on the device; None for all.
            seeds: What they draw from, int32 of shape [worlds] on the device; None for what they drew from before.
            episodes: How often they have drawn from it, likewise.
        """
        if self._laws is None:
            return
        chosen = self._every if mask is None else mask
        if seeds is not None and episodes is not None:
            for _, variation in self._begun():
                outputs = [variation.seeds, variation.draws]
                inputs = [chosen, seeds, episodes]
                wp.launch(kernels.take_seeds, self.worlds, inputs, outputs, device=self._device)
        self._draw(chosen, apply=False)

    def _draw(self, mask: wp.array[Any], *, apply: bool) -> None:
        for state, variation in self._begun():
            before = wp.clone(variation.values) if apply else None
            inputs = [mask, self._laws, self._choices, len(self), variation.seeds]
            outputs = [variation.draws, variation.values]
            wp.launch(kernels.draw_values, self.worlds, inputs, outputs, device=self._device)
            if before is not None:
                self._take(state, before)

    # --- parts ---

    def _places(self) -> list[Variation]:
        assert self._variable is not None
        return [self._variable.variation(state) for state in self._states()]

    def _begun(self) -> list[tuple[Any, Variation]]:
        """The states and their parameters, which are there from now on."""
        for variation in self._places():
            if not variation.there:
                begin_varying(variation, self.offered, self.worlds, self._device)
        return list(zip(self._states(), self._places(), strict=True))

    def _take(self, state: Any, before: wp.array[Any]) -> None:
        assert self._variable is not None
        self._variable.take_parameters(state, before, self._every)

    def _require(self, ranges: Mapping[str, tuple[float, float]], laws: Mapping[str, Distribution]) -> None:
        """Refuse values that no model can have, and those that this one cannot have together with the others.

        The others are what they are now, and whatever will be drawn by `laws` when worlds begin again.
        """
        for name, (low, high) in ranges.items():
            one = self.offered[self.index(name)]
            for value in (low, high):
                if not one.low <= value <= one.high:
                    raise InvalidValue(
                        f"parameter {name!r} cannot be {value:g}: it is a number from {one.low:g} to {one.high:g}"
                        f"{f' {one.unit}' if one.unit else ''}, {one.does}."
                    )
        if ranges.get("noise", (1.0, 1.0)) != (1.0, 1.0) and not self._noisy():
            raise InvalidValue(
                "parameter 'noise' is a factor on the noise of sensors, and none has any: add one first, with "
                "sensors.add(..., noise=...)."
            )
        if ranges and self._variable is not None:
            now = dict(zip(self.names, self.values().T, strict=True))
            held = {name: (float(rows.min()), float(rows.max())) for name, rows in now.items()}
            together = {**held, **ranges}
            for name, law in laws.items():
                together[name] = min(together[name][0], law.bounds[0]), max(together[name][1], law.bounds[1])
            self._variable.require_parameters(together)

    def _encoded(self, laws: Mapping[str, Distribution]) -> tuple[wp.array[Any], wp.array[Any]]:
        rows, choices = [], []
        for name, law in laws.items():
            row: Any = kernels.Law()
            row.kind, row.column = law.kind, self.index(name)
            row.first, row.count = len(choices), len(law.choices)
            row.start = wp.vec4d(*law.shape)
            row.end = wp.vec4d(*(law.end.shape if isinstance(law, Curriculum) else law.shape))
            row.draws = float(law.draws) if isinstance(law, Curriculum) else 0.0
            choices.extend(law.choices)
            rows.append(row)
        table = wp.array(choices or [0.0], dtype=wp.float64, device=self._device)
        return wp.array(rows, dtype=kernels.Law, device=self._device), table


def require_parameters(solver: Solver, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays of a checkpoint whose parameters of worlds do not fit a solver and its sides."""
    sides = solver.sides if isinstance(solver, Coupled) else ()
    parts = {side.part: side.solver.parameters for side in sides if isinstance(side.solver, Variable)}
    own = solver.parameters if isinstance(solver, Variable) else ()
    require_variation(arrays, own, solver.worlds, parts)
