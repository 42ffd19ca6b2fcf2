"""Losses that are Warp functions, differentiated by Warp where the track lies.

For example::

    @wp.func
    def height(time: Any, thing: int, position: Any, velocity: Any):
        return -position[2]

    value, rates = rollout.gradient(height, {"controls": table})
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import summed
from annelid.core.errors import InvalidValue
from annelid.core.kernels.losses import PARTS, loss_kernel, sum_worlds
from annelid.core.track import Track

_ARGUMENTS = ("time", "thing", "position", "velocity", "target")
_NAMES = {
    int: "int", wp.float32: "wp.float32", wp.float64: "wp.float64", wp.vec3: "wp.vec3", wp.vec3d: "wp.vec3d",
}  # fmt: skip


class WarpLoss:
    """The sum over all looks and all masses or nodes of a Warp function, for each world.

    Nothing is copied to the host but the values. A function of something else than one thing at a time, such as the
    place of the middle, is written in NumPy, PyTorch or JAX.

    Args:
        function: A `wp.func` of (time [s], thing, position [m], velocity [m/s]), and of the target [m] where there are
            some, that returns a number. Numbers have the precision of the rollout: wp.float32 and wp.vec3, or
            wp.float64 and wp.vec3d; `Any` takes both.
        targets: Places [m] that broadcast to [looks, worlds, things, 3]; what is not a number is left out.
    """

    def __init__(self, function: wp.Function, *, targets: Any = None) -> None:
        if not isinstance(function, wp.Function):
            raise InvalidValue(f"a WarpLoss is made of a wp.func, not of {function!r:.60}.")
        self.function, self.targets = function, None if targets is None else np.asarray(targets, float)
        self._asked = _ARGUMENTS[: 4 if targets is None else 5]
        if len(function.input_types) != len(self._asked):
            raise InvalidValue(
                f"the loss {function.key!r} must take ({', '.join(self._asked)}), it takes "
                f"({', '.join(function.input_types)})."
            )
        self._aims: dict[Any, wp.array[Any]] = {}

    def __call__(self, track: Track) -> tuple[np.ndarray, dict[str, wp.array[Any]]]:
        """Value of each world, shape [worlds], and its rates by positions and velocities, on the device."""
        positions, velocities = track.arrays["positions"], track.arrays["velocities"]
        given: Any = positions.dtype
        device, real = positions.device, given._wp_scalar_type_
        vector = wp.vec3d if real is wp.float64 else wp.vec3
        self._require_types(real, vector)
        values = wp.zeros(positions.shape, dtype=wp.float64, device=device)
        rates = {name: wp.zeros_like(array) for name, array in track.arrays.items()}
        kernel = loss_kernel(self.function, real, vector, self.targets is not None)
        inputs = [wp.array(track.times, dtype=real, device=device), self._aim(track), positions, velocities]
        outputs = [values, rates["positions"], rates["velocities"]]
        try:
            wp.launch(kernel, positions.shape, inputs, outputs, device=device)
        except (RuntimeError, TypeError, ValueError) as error:  # what Warp cannot compile
            said = str(error).strip().splitlines()[-1].lstrip("; ")
            raise InvalidValue(
                f"the loss {self.function.key!r} must return a number, of numbers only: {said}"
            ) from error
        sums = wp.zeros((positions.shape[1], PARTS), dtype=wp.float64, device=device)
        wp.launch(sum_worlds, sums.shape, [values], [sums], device=device)
        return summed(sums.numpy(), 1), rates

    def _require_types(self, real: Any, vector: Any) -> None:
        """Refuse a function of other types, before a kernel is made of it."""
        asked = dict(zip(self._asked, (real, int, vector, vector, vector), strict=False))
        for (name, kind), needed in zip(self.function.input_types.items(), asked.values(), strict=True):
            if kind is not Any and not wp.types.types_equal(kind, needed):
                words = ", ".join(f"{one}: {_NAMES[of]}" for one, of in asked.items())
                raise InvalidValue(
                    f"the argument {name!r} of the loss {self.function.key!r} has another type than this rollout gives "
                    f"it, ({words}): annotate it so, or with Any."
                )

    def _aim(self, track: Track) -> wp.array[Any]:
        """Targets on the device."""
        like = track.arrays["positions"]
        if self.targets is None:
            return wp.zeros((0, 0, 0), dtype=like.dtype, device=like.device)
        key = (track.shape, like.dtype, str(like.device))
        if key not in self._aims:
            try:
                full = np.broadcast_to(self.targets, track.shape)
            except ValueError:
                raise InvalidValue(
                    f"targets of shape {list(self.targets.shape)} do not broadcast to those of the track, "
                    f"{list(track.shape)}: [looks, worlds, things, 3]."
                ) from None
            self._aims[key] = wp.array(np.ascontiguousarray(full), dtype=like.dtype, device=like.device)
        return self._aims[key]
