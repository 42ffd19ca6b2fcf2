"""How rigid bodies turn in flight: their angular momentum stays, and their spin follows from how they lie.

A step turns a body about the spin that it has halfway, at the turn to which this very spin brings it. That is the same
there and back, so that energy does not drift. Adding the gyroscopic moment at the beginning of a step to its spin
instead would lift its angular momentum in every step, and turning it about the spin at the beginning its energy: a thin
plate would turn faster and faster.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

ROUNDS = 4
"""How often the spin halfway is looked for again, from the spin at the beginning on."""


@dataclass(frozen=True)
class Spinning:
    """What turns bodies; each is explained where it is made.

    Attributes:
        turned: `(turn, spin, dt)`.
        spin_by: `(turn, inverse_inertia, twist)`.
        spun_on: `(turn, end, inertia, inverse_inertia, spin)`.
        halfway: `(turn, inertia, inverse_inertia, spin, dt)`.
        turned_in_flight: `(turn, inertia, inverse_inertia, spin, dt)`.
    """

    turned: wp.Function
    spin_by: wp.Function
    spun_on: wp.Function
    halfway: wp.Function
    turned_in_flight: wp.Function


@once
def spinning(real: Any) -> Spinning:
    """These functions in float32 or float64."""
    double = real is wp.float64
    vec3, mat33, quat = (wp.vec3d, wp.mat33d, wp.quatd) if double else (wp.vec3, wp.mat33, wp.quat)

    @wp.func
    def turned(turn: quat, spin: vec3, dt: real) -> quat:
        """A turn after some time about one axis."""
        speed = wp.length(spin)
        found = turn
        if speed > real(0.0):
            found = wp.normalize(wp.quat_from_axis_angle(spin / speed, dt * speed) * turn)
        return found

    @wp.func
    def spin_by(turn: quat, inverse_inertia: mat33, twist: vec3) -> vec3:
        """Spin that an angular impulse gives a body that lies so [rad/s]."""
        return wp.quat_rotate(turn, inverse_inertia * wp.quat_rotate_inv(turn, twist))

    @wp.func
    def momentum(turn: quat, inertia: mat33, spin: vec3) -> vec3:
        """Angular momentum of a body that lies and spins so [N m s]."""
        return wp.quat_rotate(turn, inertia * wp.quat_rotate_inv(turn, spin))

    @wp.func
    def spun_on(turn: quat, end: quat, inertia: mat33, inverse_inertia: mat33, spin: vec3) -> vec3:
        """Spin of a body that keeps its angular momentum while it is turned from one turn to another.

        Only what that changes is added, so that rounding does not add up where it changes nothing.
        """
        return spin + spin_by(end, inverse_inertia, momentum(turn, inertia, spin) - momentum(end, inertia, spin))

    @wp.func
    def halfway(turn: quat, inertia: mat33, inverse_inertia: mat33, spin: vec3, dt: real) -> vec3:
        """Spin in the middle of a step of a body that begins it with a spin."""
        found = spin
        for _ in range(wp.static(ROUNDS)):
            middle = turned(turn, found, real(0.5) * dt)
            found = spun_on(turn, middle, inertia, inverse_inertia, spin)
        return found

    @wp.func
    def turned_in_flight(turn: quat, inertia: mat33, inverse_inertia: mat33, spin: vec3, dt: real) -> quat:
        """The turn at the end of a step of a body that begins it with a spin."""
        return turned(turn, halfway(turn, inertia, inverse_inertia, spin, dt), dt)

    return Spinning(turned, spin_by, spun_on, halfway, turned_in_flight)
