"""How rigid bodies turn in flight: their angular momentum stays, and their spin follows from how they lie.

A step turns a body about the spin that it has halfway. Adding the gyroscopic moment at the beginning of a step to its
spin instead would lift its angular momentum in every step: a thin plate would turn faster and faster.
"""

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Spinning:
    """What turns bodies; each is explained where it is made.

    Attributes:
        turned: `(turn, spin, dt)`.
        spin_by: `(turn, inverse_inertia, twist)`.
        spun_on: `(turn, end, inertia, inverse_inertia, spin)`.
        turned_in_flight: `(turn, inertia, inverse_inertia, spin, dt)`.
    """

    turned: wp.Function
    spin_by: wp.Function
    spun_on: wp.Function
    turned_in_flight: wp.Function


@functools.cache
def spinning(real: Any) -> Spinning:
    """These functions in float32 or float64."""
    double = real is wp.float64
    vec3, mat33, quat = (wp.vec3d, wp.mat33d, wp.quatd) if double else (wp.vec3, wp.mat33, wp.quat)

    @wp.func
    def turned(turn: quat, spin: vec3, dt: real) -> quat:
        """A turn after a short time."""
        rate = quat(spin[0], spin[1], spin[2], real(0.0)) * turn
        return wp.normalize(turn + real(0.5) * dt * rate)

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
    def turned_in_flight(turn: quat, inertia: mat33, inverse_inertia: mat33, spin: vec3, dt: real) -> quat:
        """The turn at the end of a step of a body that begins it with a spin."""
        halfway = turned(turn, spin, real(0.5) * dt)
        return turned(turn, spun_on(turn, halfway, inertia, inverse_inertia, spin), dt)

    return Spinning(turned, spin_by, spun_on, turned_in_flight)
