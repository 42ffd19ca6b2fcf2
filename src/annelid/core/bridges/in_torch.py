"""Rollouts and losses in PyTorch, which shares the memory of tracks and of their rates.

For example::

    motion = annelid.TorchRollout(annelid.Rollout(simulation, steps=400))
    positions, velocities = motion(stiffness_factor=factor, controls=table)
    positions[-1, :, :, 0].mean().neg().backward()
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import warp as wp

from annelid.core.arrays import views_in
from annelid.core.bridges.bridge import Bridge
from annelid.core.errors import InvalidValue
from annelid.core.packages import optional
from annelid.core.rollout import Rollout
from annelid.core.track import PARTS, Track

_PURPOSE = "a rollout in PyTorch"


class TorchRollout(Bridge):
    """A rollout as a function of tensors that has gradients.

    Tensors are given by the names of the parameters of the rollout, as float32 or float64 on its device; numbers and
    arrays of NumPy are constants. Tracks and their rates are not copied. A motion is run again on the way back when
    another one has been run since.

    Args:
        rollout: The rollout; the bridge has it for itself.
    """

    def __init__(self, rollout: Rollout) -> None:
        super().__init__(rollout)
        self._view = views_in("torch", _PURPOSE)
        self._torch: Any = optional("torch", purpose=_PURPOSE, extra="rl")
        self.device: Any = self._torch.device(wp.device_to_torch(rollout.device))

    def __call__(self, *, after: int = 0, **parameters: Any) -> tuple[Any, Any]:
        """Positions and velocities at the looks, tensors of shape [looks, worlds, things, 3]; see `Bridge`."""
        tensors = {name: given for name, given in parameters.items() if self._torch.is_tensor(given)}
        for name, given in tensors.items():
            self._require_usable(name, given)
        constants = {name: given for name, given in parameters.items() if name not in tensors}
        positions, velocities = _motion_function().apply(self, after, constants, tuple(tensors), *tensors.values())
        return positions, velocities

    def _require_usable(self, name: str, given: Any) -> None:
        if given.dtype not in (self._torch.float32, self._torch.float64):
            raise InvalidValue(
                f"parameter {name!r} is a tensor of {given.dtype}: give one of torch.float32 or torch.float64."
            )
        if given.device != self.device:
            raise InvalidValue(
                f"parameter {name!r} is on {given.device}, and the rollout computes on {self.device}: give "
                f"{name}.to({str(self.device)!r})."
            )

    def _begin(self, name: str) -> Any:
        real = self._torch.float64 if self.rollout.double else self._torch.float32
        return self._torch.as_tensor(self.rollout.value(name), dtype=real, device=self.device)

    def _joined(self, parts: list[Any]) -> Any:
        return self._torch.cat(parts)

    # --- what the function of PyTorch does ---

    def there(self, given: Mapping[str, Any], after: int) -> tuple[int, tuple[Any, Any]]:
        """The number of a motion, and its track as tensors on the same memory."""
        number, track = self._there(given, after)
        positions, velocities = (self._view(track.arrays[name]) for name in PARTS)
        return number, (positions, velocities)

    def back(
        self, number: int, given: Mapping[str, Any], after: int, rates: tuple[Any | None, Any | None]
    ) -> dict[str, np.ndarray]:
        """Rates by parameters of a motion from those by its track."""
        pairs = zip(PARTS, rates, strict=True)
        seeds = {name: as_rates(rate, self.rollout.vector) for name, rate in pairs if rate is not None}
        return self._back(number, given, after, seeds)


def as_rates(tensor: Any, vector: Any) -> wp.array[Any]:
    """A tensor of shape [looks, worlds, things, 3] as vectors on the same memory; one with gaps is copied."""
    shared: Any = wp.from_torch(tensor.detach().contiguous(), dtype=vector)
    return cast("wp.array[Any]", shared)


@functools.cache
def _motion_function() -> Any:
    """The function of PyTorch; made when it is needed, since PyTorch may be missing."""
    torch: Any = optional("torch", purpose=_PURPOSE, extra="rl")
    once = torch.autograd.function.once_differentiable

    class Motion(torch.autograd.Function):
        """The motion of a bridge there, and its rates back."""

        @staticmethod
        def forward(
            ctx: Any,
            bridge: TorchRollout,
            after: int,
            constants: Mapping[str, Any],
            names: tuple[str, ...],
            *given: Any,
        ) -> Any:
            host = _on_host(names, given)
            ctx.bridge, ctx.after, ctx.constants, ctx.names = bridge, after, constants, names
            ctx.save_for_backward(*given)
            ctx.set_materialize_grads(False)
            ctx.number, track = bridge.there({**constants, **host}, after)
            return track

        @staticmethod
        @once
        def backward(ctx: Any, *rates: Any) -> Any:
            given = ctx.saved_tensors
            host = {**ctx.constants, **_on_host(ctx.names, given)}
            found = ctx.bridge.back(ctx.number, host, ctx.after, rates)
            tensors = (
                torch.as_tensor(found[name], dtype=one.dtype, device=one.device) if wanted else None
                for name, one, wanted in zip(ctx.names, given, ctx.needs_input_grad[4:], strict=True)
            )
            return (None, None, None, None, *tensors)

    return Motion


def _on_host(names: tuple[str, ...], tensors: Any) -> dict[str, np.ndarray]:
    """Tensors as arrays of NumPy, by name; on the CPU they share their memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in zip(names, tensors, strict=True)}


class TorchLoss:
    """A loss in PyTorch for `Rollout.gradient` and `optimise.RolloutLoss`.

    Args:
        function: From positions and velocities at the looks, tensors of shape [looks, worlds, things, 3] on the device
            of the rollout, to a tensor of one number, or of one a world.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        if not callable(function):
            raise InvalidValue(
                f"a TorchLoss is made of a function of positions and velocities, not of {function!r:.60}."
            )
        self._view = views_in("torch", "a loss in PyTorch")
        self._torch: Any = optional("torch", purpose="a loss in PyTorch", extra="rl")
        self.function = function

    def __call__(self, track: Track) -> tuple[np.ndarray, dict[str, wp.array[Any]]]:
        """The value and its rates by positions and velocities, on the device."""
        seen = [self._view(track.arrays[name]).detach().requires_grad_() for name in PARTS]
        with self._torch.enable_grad():
            value = self.function(*seen)
        if not self._torch.is_tensor(value):
            raise InvalidValue(f"a loss in PyTorch must return a tensor, not {type(value).__name__}.")
        found: Any = (None, None)
        if value.requires_grad:
            found = self._torch.autograd.grad(value.sum(), seen, allow_unused=True)
        if all(rate is None for rate in found):
            raise InvalidValue("the loss depends on nothing: it was computed without positions and velocities.")
        vector = track.arrays["positions"].dtype
        rates = {name: as_rates(rate, vector) for name, rate in zip(PARTS, found, strict=True) if rate is not None}
        return np.asarray(value.detach().cpu().numpy(), float), rates
