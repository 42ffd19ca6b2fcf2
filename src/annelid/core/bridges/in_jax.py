"""Rollouts and losses in JAX, which shares the memory of tracks and of their rates where nothing is compiled.

For example::

    motion = annelid.JaxRollout(annelid.Rollout(simulation, steps=400))
    rates = jax.grad(lambda table: -motion(controls=table)[0][-1, :, :, 0].mean())(table)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import views_in
from annelid.core.bridges.bridge import Bridge
from annelid.core.errors import InvalidValue
from annelid.core.rollout import Rollout
from annelid.core.track import PARTS, Track

_PURPOSE = "a rollout in JAX"


class JaxRollout(Bridge):
    """A rollout as a function of arrays that has a gradient, `jax.grad`; other derivatives are refused by JAX.

    Arrays are given by the names of the parameters of the rollout, as float32 or float64. Tracks and their rates are
    not copied, but within `jax.jit` and `jax.vmap`, which call the host. A motion is run again on the way back when
    another one has been run since.

    Args:
        rollout: The rollout; the bridge has it for itself.
    """

    def __init__(self, rollout: Rollout) -> None:
        super().__init__(rollout)
        self._view = views_in("jax", _PURPOSE)
        self._jax: Any = import_module("jax")
        self._numbers: Any = import_module("jax.numpy")
        if rollout.double and not self._jax.config.jax_enable_x64:
            raise InvalidValue(
                "the rollout computes in double precision, which JAX does after "
                "jax.config.update('jax_enable_x64', True) only."
            )
        self._device = wp.device_to_jax(rollout.device)
        self._last: tuple[int, Any] = (0, None)  # number of a motion, and what it was given

    def __call__(self, *, after: int = 0, **parameters: Any) -> tuple[Any, Any]:
        """Positions and velocities at the looks, arrays of shape [looks, worlds, things, 3]; see `Bridge`."""
        given = {name: self._usable(name, value) for name, value in parameters.items()}
        positions, velocities = self._motion()(after, given)
        return positions, velocities

    def _usable(self, name: str, given: Any) -> Any:
        """A parameter as an array of JAX."""
        if isinstance(given, self._jax.Array):
            if given.dtype not in (np.float32, np.float64):
                raise InvalidValue(f"parameter {name!r} is an array of {given.dtype}: give one of float32 or float64.")
            if not self._traced(given) and given.devices() != {self._device}:
                there = ", ".join(str(one) for one in given.devices())
                raise InvalidValue(
                    f"parameter {name!r} is on {there}, and the rollout computes on {self._device}: give "
                    f"jax.device_put({name}, ...) of it."
                )
            return given
        try:
            values = np.asarray(given, float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"parameter {name!r} must be given as numbers, not {given!r:.60}.") from None
        return self._jax.device_put(values, self._device)

    def _traced(self, value: Any) -> bool:
        return isinstance(value, self._jax.core.Tracer)

    def _begin(self, name: str) -> Any:
        real = np.float64 if self.rollout.double else np.float32
        return self._jax.device_put(self.rollout.value(name).astype(real), self._device)

    def _joined(self, parts: list[Any]) -> Any:
        return self._numbers.concatenate(parts)

    # --- the function of JAX ---

    def _motion(self) -> Any:
        """A function of the steps before and a dictionary of parameters, whose way back is that of the rollout."""

        def motion(after: int, given: dict[str, Any]) -> tuple[Any, Any]:
            return self._there_in_jax(after, given)

        def there(after: int, given: dict[str, Any]) -> tuple[tuple[Any, Any], dict[str, Any]]:
            return self._there_in_jax(after, given), given

        def back(after: int, given: dict[str, Any], rates: tuple[Any, Any]) -> tuple[dict[str, Any]]:
            return (self._back_in_jax(after, given, rates),)

        made = self._jax.custom_vjp(motion, nondiff_argnums=(0,))
        made.defvjp(there, back)
        return made

    def _there_in_jax(self, after: int, given: dict[str, Any]) -> tuple[Any, Any]:
        if any(self._traced(value) for value in given.values()):
            real = np.float64 if self.rollout.double else np.float32
            shape = self._jax.ShapeDtypeStruct(self.rollout.track_shape, real)

            def called(values: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
                track = self._run(after, values)
                positions, velocities = (track.arrays[name].numpy() for name in PARTS)
                return positions, velocities

            positions, velocities = self._jax.pure_callback(called, (shape, shape), given, vmap_method="sequential")
            return positions, velocities
        track = self._run(after, given)
        positions, velocities = (self._view(track.arrays[name]) for name in PARTS)
        return positions, velocities

    def _back_in_jax(self, after: int, given: dict[str, Any], rates: tuple[Any, Any]) -> dict[str, Any]:
        if any(self._traced(value) for value in (*given.values(), *rates)):
            shapes = {name: self._jax.ShapeDtypeStruct(value.shape, value.dtype) for name, value in given.items()}

            def called(values: dict[str, Any], seeds: tuple[Any, Any]) -> dict[str, np.ndarray]:
                parts = dict(zip(PARTS, (np.asarray(seed) for seed in seeds), strict=True))
                found = self._rates(after, values, parts)
                return {name: found[name].astype(value.dtype) for name, value in values.items()}

            return dict(self._jax.pure_callback(called, shapes, given, rates, vmap_method="sequential"))
        seeds = {name: as_rates(rate, self.rollout.vector) for name, rate in zip(PARTS, rates, strict=True)}
        found = self._rates(after, given, seeds)
        return {
            name: self._jax.device_put(found[name].astype(value.dtype), self._device) for name, value in given.items()
        }

    def _run(self, after: int, given: Mapping[str, Any]) -> Track:
        host = _on_host(given)
        number, track = self._there(host, after)
        self._last = number, (after, host)
        return track

    def _rates(self, after: int, given: Mapping[str, Any], seeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Rates of a motion; JAX does not say which motion it means, so what was given is compared."""
        host = _on_host(given)
        number, (before, last) = self._last if self._last[1] is not None else (-1, (-1, {}))
        same = before == after and last.keys() == host.keys()
        if not (same and all(np.array_equal(last[name], host[name]) for name in host)):
            number = -1
        return self._back(number, host, after, seeds)


def as_rates(array: Any, vector: Any) -> wp.array[Any]:
    """An array of shape [looks, worlds, things, 3] as vectors on the same memory."""
    return wp.from_jax(array.block_until_ready(), dtype=vector)


def _on_host(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays of JAX as those of NumPy, by name; on the CPU they share their memory."""
    return {name: np.asarray(value) for name, value in given.items()}


class JaxLoss:
    """A loss in JAX for `Rollout.gradient` and `optimise.RolloutLoss`.

    Args:
        function: From positions and velocities at the looks, arrays of shape [looks, worlds, things, 3] on the device
            of the rollout, to an array of one number, or of one a world.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        if not callable(function):
            raise InvalidValue(f"a JaxLoss is made of a function of positions and velocities, not of {function!r:.60}.")
        self._view = views_in("jax", "a loss in JAX")
        self._jax: Any = import_module("jax")
        self.function = function

    def __call__(self, track: Track) -> tuple[np.ndarray, dict[str, wp.array[Any]]]:
        """The value and its rates by positions and velocities, on the device."""
        seen = [self._view(track.arrays[name]) for name in PARTS]
        value, back = self._jax.vjp(self.function, *seen)
        if not isinstance(value, self._jax.Array):
            raise InvalidValue(f"a loss in JAX must return an array, not {type(value).__name__}.")
        ones = self._jax.tree.map(lambda one: np.ones(one.shape, one.dtype), value)
        vector = track.arrays["positions"].dtype
        return np.asarray(value, float), {
            name: as_rates(rate, vector) for name, rate in zip(PARTS, back(ones), strict=True)
        }
