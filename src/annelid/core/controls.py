"""Controls: named channels of a simulation that take commands while it runs.

A physics declares its channels (`Control`) and keeps their commands in its state, four numbers each; kernels read them
with `core.kernels.controls.held`. `Controls` is what users see: `simulation.controls["leg"] = 1.1`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers, shared_rows
from annelid.core.described import Described
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.gate import Gate
from annelid.core.kernels import controls as kernels
from annelid.core.numbers import is_number
from annelid.core.options import is_among
from annelid.core.quantity import Quantity, require_distinct
from annelid.core.replay import Replays, Stage
from annelid.core.sealed import Sealed
from annelid.core.snapshot import MOST_NUMBERS, Number
from annelid.core.variation import Variation, unvaried


class CommandClipped(UserWarning):
    """A command was outside the limits of its channel and was clipped."""


class Control(Quantity):
    """A channel that can be commanded."""


def resting_commands(controls: Sequence[Control], worlds: int, device: wp.Device) -> wp.array[Any]:
    """Commands of all worlds at the beginning: every channel at rest, shape [worlds · channels]."""
    rests = np.array([control.rest for control in controls], float)
    row = np.column_stack([rests, rests, np.zeros_like(rests), np.zeros_like(rests)])
    return wp.array(np.tile(row, (worlds, 1)), dtype=wp.vec4d, device=device)


@dataclass
class Commanded:
    """Where commands of a simulation are kept.

    Attributes:
        commands: Four numbers a channel, world after world: see `kernels.held`.
        clock: Steps done, shape [1].
        variation: Parameters of worlds, whose last ones say how commands are followed; None where there are none.
        begun: Step at which each world began, shape [worlds]; None or empty where all began at 0.
    """

    commands: wp.array[Any]
    clock: wp.array[Any]
    variation: Variation | None = None
    begun: wp.array[Any] | None = None


class Controls(Described, Sealed):
    """The controls of a simulation: reading, commanding, now or by a ramp.

    Args:
        channels: The channels, in their order.
        worlds: Number of worlds.
        dt: Time step [s].
        device: Where commands are kept.
        places: The places where commands are kept now; commands are written to all of them.
        gate: Turns between threads.
    """

    _settable = ()

    def __init__(
        self,
        channels: Sequence[Control],
        worlds: int,
        dt: float,
        device: wp.Device,
        places: Callable[[], Sequence[Commanded]],
        gate: Gate,
    ) -> None:
        self.channels, self.worlds = require_distinct(channels), worlds
        self._dt, self._device, self._places, self._gate = dt, device, places, gate
        self._lows, self._highs, self._rests = (
            wp.array([getattr(c, side) for c in self.channels], dtype=wp.float64, device=device)
            for side in ("low", "high", "rest")
        )
        self._alike, self._all_worlds = unvaried(device), wp.zeros(0, dtype=wp.bool, device=device)
        self._columns: dict[tuple[int, ...], wp.array[Any]] = {}
        self._faults = wp.zeros(worlds, dtype=wp.int32, device=device)
        self._takes = Replays(device, kept=8, graph=False)
        self._warned = False

    # --- what there is ---

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels, in their order."""
        return tuple(channel.name for channel in self.channels)

    @property
    def lows(self) -> np.ndarray:
        """Least value of each channel."""
        return np.array([channel.low for channel in self.channels], float)

    @property
    def highs(self) -> np.ndarray:
        """Largest value of each channel."""
        return np.array([channel.high for channel in self.channels], float)

    def __len__(self) -> int:
        return len(self.channels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _instead(self, name: str) -> str | None:
        return f"Set simulation.controls[{name!r}]." if name in self else None

    def facts(self) -> Mapping[str, str]:
        """Each channel with its limits."""
        return {c.name: f"{c.low:g} to {c.high:g} {c.unit}".rstrip() for c in self.channels}

    def index(self, name: str) -> int:
        """Place of a channel."""
        if not is_among(name, self.names):
            raise UnknownName("control", name, self.names)
        return self.names.index(name)

    # --- reading ---

    def values(self) -> np.ndarray:
        """Values of all channels now, also within a ramp, shape [worlds, channels]."""
        with self._gate:
            place = self._places()[0]
            out = wp.zeros(len(place.commands), dtype=wp.float64, device=self._device)
            if len(self):
                wp.launch(kernels.hold_values, len(out), [place.clock, place.commands, out], device=self._device)
            return np.asarray(out.numpy()).reshape(self.worlds, len(self))

    def targets(self) -> np.ndarray:
        """What channels were last told to become, shape [worlds, channels]."""
        with self._gate:
            return np.asarray(self._places()[0].commands.numpy()).reshape(self.worlds, len(self), 4)[:, :, 1].copy()

    def numbers(self) -> dict[str, Number]:
        """Values of the first world by name, for pictures and plots; none where there are too many to be read."""
        if not 0 < len(self) <= MOST_NUMBERS:
            return {}
        values = self.values()[0].tolist()
        return {c.name: Number(value, c.unit) for c, value in zip(self.channels, values, strict=True)}

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of one channel now, shape [worlds]."""
        return self.values()[:, self.index(name)]

    # --- commanding ---

    def __setitem__(self, name: str, value: Any) -> None:
        """Command one channel at once: one value, or one a world."""
        self.command({name: value})

    def command(self, values: Any, *, ramp: float = 0.0) -> None:
        """Give commands, which hold until the next ones.

        Args:
            values: Values by name, each one number or one a world; or of all channels, shape [channels] or
                [worlds, channels], from NumPy, Warp, PyTorch or JAX. What lies outside the limits of a channel is
                clipped, with one warning; what is not a number is refused before anything changes.
            ramp: Time in which channels go smoothly from where they are to the new values [s]; 0 sets them at once.
        """
        if not (is_number(ramp) and ramp >= 0.0):
            raise InvalidValue(f"a ramp must be a time of 0 s or more, not {ramp!r}.")
        with self._gate:  # also for what goes to the device: nothing may while a graph is captured
            columns, rows = self._by_name(values) if isinstance(values, Mapping) else self._all(values)
            if not columns:
                return
            self._inspect(rows, columns)
            for place in self._places():
                self.take(place, rows, columns, ramp=ramp)

    def take(
        self,
        place: Commanded,
        rows: wp.array[Any],
        columns: Sequence[int],
        *,
        ramp: float = 0.0,
        mask: wp.array[Any] | None = None,
    ) -> None:
        """Give commands from an array on the device, shape [worlds, columns], without looking at its values.

        What is outside the limits is clipped on the device; nothing waits for it. A mask, bool of shape [worlds] on the
        device, chooses worlds.
        """
        worlds = self._all_worlds if mask is None else mask

        def stages() -> list[Stage]:
            chosen, steps = self._chosen(columns), wp.float64(round(ramp / self._dt))
            arguments = [worlds, rows, chosen, steps, self.channels_at(place)]
            return [Stage(kernels.take_commands, (self.worlds, len(columns)), arguments)]

        arrays = [worlds, rows, self._following(place), place.clock, place.commands]
        name = (tuple(columns), ramp, rows.dtype, rows.strides)
        self._takes.run(stages, *arrays, name=name)  # some commands change in every step

    def channels_at(self, place: Commanded) -> Any:
        """The channels and where a state keeps their commands, for kernels that command them themselves.

        See `core.kernels.controls.command_channel`.
        """
        channels: Any = kernels.Channels()
        channels.lows, channels.highs, channels.rests = self._lows, self._highs, self._rests
        channels.dt, channels.worlds, channels.parameters = self._dt, self.worlds, self._following(place)
        channels.clock, channels.commands = place.clock, place.commands
        return channels

    def _following(self, place: Commanded) -> wp.array[Any]:
        return (place.variation or self._alike).values

    def _by_name(self, values: Mapping[str, Any]) -> tuple[tuple[int, ...], wp.array[Any]]:
        columns = tuple(self.index(name) for name in values)
        rows = np.empty((self.worlds, len(columns)))
        for k, (name, value) in enumerate(values.items()):
            given = as_numbers(f"control {name!r}", value)
            if given.ndim > 1 or given.size not in (1, self.worlds):
                raise InvalidValue(
                    f"control {name!r} needs one number, or one for each of {self.worlds} worlds, not shape "
                    f"{list(given.shape)}."
                )
            rows[:, k] = given
        return columns, wp.array(rows, dtype=wp.float64, device=self._device)

    def _all(self, values: Any) -> tuple[tuple[int, ...], wp.array[Any]]:
        every, shape = tuple(range(len(self))), (self.worlds, len(self))
        rows = shared_rows(values, shape, self._device)
        if rows is None:
            given = as_numbers("commands", values)
            if given.shape not in (shape, shape[1:]):
                raise self._wrong_shape(given.shape)
            rows = wp.array(np.broadcast_to(given, shape).copy(), dtype=wp.float64, device=self._device)
        if tuple(rows.shape) != shape:
            raise self._wrong_shape(rows.shape)
        return every, rows

    def _wrong_shape(self, shape: Sequence[int]) -> InvalidValue:
        return InvalidValue(
            f"commands of {len(self)} channels need the shape [{len(self)}] or [{self.worlds}, {len(self)}], not "
            f"{list(shape)}."
        )

    def _inspect(self, rows: wp.array[Any], columns: Sequence[int]) -> None:
        """Refuse values that are not numbers, warn once of those that are clipped."""
        arguments = [rows, self._chosen(columns), self._lows, self._highs, self._faults]
        wp.launch(kernels.inspect_values, self.worlds, arguments, device=self._device)
        faults = self._faults.numpy()
        if not faults.any():
            return
        bad = np.flatnonzero(faults & kernels.NOT_FINITE)
        if len(bad):
            values = rows.numpy()[bad[0]]
            k = int(np.flatnonzero(~np.isfinite(values))[0])
            where = f" of world {bad[0]}" if self.worlds > 1 else ""
            raise InvalidValue(
                f"control {self.names[columns[k]]!r}{where} cannot be {values[k]}: give a finite number."
            )
        if not self._warned:
            self._warned = True
            world = int(np.flatnonzero(faults)[0])
            value, channel = self._first_outside(rows.numpy()[world], columns)
            warnings.warn(
                f"{value:g} for control {channel.name!r} is outside {channel.low:g} to {channel.high:g} and was "
                "clipped; further values are, silently.",
                CommandClipped,
                stacklevel=4,
            )

    def _first_outside(self, values: np.ndarray, columns: Sequence[int]) -> tuple[float, Control]:
        pairs = zip(values.tolist(), (self.channels[c] for c in columns), strict=True)
        return max(pairs, key=lambda pair: max(pair[1].low - pair[0], pair[0] - pair[1].high))

    def _chosen(self, columns: Sequence[int]) -> wp.array[Any]:
        key = tuple(columns)
        if key not in self._columns:
            self._columns[key] = wp.array(np.array(key, np.int32), dtype=wp.int32, device=self._device)
        return self._columns[key]
