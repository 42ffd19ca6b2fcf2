"""Losses that are Warp functions: their values and rates at every look of every thing, and what rates are like."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

PARTS = 64
"""Parts in which a world is summed, whatever the device: the same bits everywhere."""

NOT_FINITE, NOT_ZERO = 1, 2
"""What is found among rates."""


@once
def loss_kernel(function: wp.Function, real: Any, vector: Any, aimed: bool) -> wp.Kernel:
    """The kernel that evaluates a user's function of a thing at a look, and differentiates it.

    Args:
        function: Of the time, the number of the thing, its position and velocity, and with `aimed` its target.
        real: Type of a number.
        vector: Type of a position.
        aimed: Whether it takes a target; what has none that is a number is left out.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def weigh(
        times: wp.array[real],
        targets: wp.array3d[vector],
        positions: wp.array3d[vector],
        velocities: wp.array3d[vector],
        values_out: wp.array3d[wp.float64],
        by_positions_out: wp.array3d[vector],
        by_velocities_out: wp.array3d[vector],
    ):
        look, world, thing = wp.tid()
        time, position, velocity = times[look], positions[look, world, thing], velocities[look, world, thing]
        if wp.static(aimed):
            target = targets[look, world, thing]
            if wp.isfinite(target):
                values_out[look, world, thing] = wp.float64(function(time, thing, position, velocity, target))
                _t, _i, by_position, by_velocity, _a = wp.grad(function)(time, thing, position, velocity, target)
                by_positions_out[look, world, thing] = by_position
                by_velocities_out[look, world, thing] = by_velocity
        else:
            values_out[look, world, thing] = wp.float64(function(time, thing, position, velocity))
            _t, _i, by_position, by_velocity = wp.grad(function)(time, thing, position, velocity)
            by_positions_out[look, world, thing] = by_position
            by_velocities_out[look, world, thing] = by_velocity

    return weigh


@wp.kernel(enable_backward=False)
def sum_worlds(values: wp.array3d[wp.float64], sums_out: wp.array2d[wp.float64]):
    """Sums of parts of each world, in an order that does not depend on how many worlds there are."""
    world, part = wp.tid()
    things = values.shape[2]
    total = wp.float64(0.0)
    for i in range(part, values.shape[0] * things, wp.static(PARTS)):
        total += values[i // things, world, i % things]
    sums_out[world, part] = total


@once
def inspect_kernel(real: Any, vector: Any) -> wp.Kernel:
    """The kernel that looks whether some of a part of the rates are not finite or not 0."""

    @wp.kernel(module="unique", enable_backward=False)
    def inspect(rates: wp.array[vector], findings_out: wp.array[wp.int32]):
        part = wp.tid()
        found = int(0)
        for i in range(part, rates.shape[0], wp.static(PARTS)):
            rate = rates[i]
            if not wp.isfinite(rate):
                found = found | wp.static(NOT_FINITE)
            for k in range(3):
                if rate[k] != real(0.0):
                    found = found | wp.static(NOT_ZERO)
        findings_out[part] = found

    return inspect
