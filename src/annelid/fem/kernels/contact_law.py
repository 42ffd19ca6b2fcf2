"""How two surfaces push and rub, as functions for kernels, in single or double precision alike.

Push: nothing beyond the reach r, a spring k (r − g) of the gap g within it, and below a quarter of the reach a barrier
that no force overcomes; force and stiffness are continuous. Friction: a spring along the surface whose stretch is cut
where its force would exceed the friction μ N, the return mapping of plasticity. What sticks does not creep.

All functions take numbers and vectors of one precision: float32 and vec3, or float64 and vec3d.
"""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

BARRIER = 0.25
"""Part of the reach below which the spring becomes a barrier."""
NEAREST = 1.0e-6
"""Part of the reach below which the force grows no more, so that what is computed stays finite."""


@wp.func
def push_energy(gap: Any, reach: Any, stiffness: Any):
    """Energy of a contact [J]; infinite at a gap of 0 and below."""
    one = type(gap)(1.0)
    e = type(gap)(BARRIER)
    s = gap / reach
    energy = type(gap)(0.0)
    if s < one:
        energy = type(gap)(0.5) * (one - s) * (one - s)
    if s < e:
        energy = type(gap)(wp.inf)
        if s > type(gap)(0.0):
            spring = type(gap)(0.5) * (one - e) * (one - e)
            energy = spring + (one - type(gap)(2.0) * e) * (e - s) + e * e * wp.log(e / s)
    return energy * stiffness * reach * reach


@wp.func
def push_force(gap: Any, reach: Any, stiffness: Any):
    """Force of a contact [N], minus the slope of its energy: 0 or more."""
    one = type(gap)(1.0)
    e = type(gap)(BARRIER)
    s = wp.max(gap / reach, type(gap)(NEAREST))
    force = wp.max(one - s, type(gap)(0.0))
    if s < e:
        force = one - type(gap)(2.0) * e + e * e / s
    return force * stiffness * reach


@wp.func
def push_stiffness(gap: Any, reach: Any, stiffness: Any):
    """How fast the force of a contact grows as the gap shrinks [N/m]."""
    e = type(gap)(BARRIER)
    s = wp.max(gap / reach, type(gap)(NEAREST))
    factor = type(gap)(0.0)
    if s < type(gap)(1.0):
        factor = type(gap)(1.0)
    if s < e:
        factor = e * e / (s * s)
    return factor * stiffness


@wp.func
def friction_energy(trial: Any, limit: Any, stiffness: Any):
    """Energy whose slope along the trial stretch is the friction [J].

    Args:
        trial: Stretch of the spring along the surface if nothing slid [m], a vector.
        limit: Largest friction, μ N [N].
        stiffness: Of the spring [N/m].
    """
    pull = stiffness * wp.length(trial)
    energy = type(limit)(0.5) * pull * pull / stiffness
    if pull > limit:
        energy = limit * (pull - type(limit)(0.5) * limit) / stiffness
    return energy


@wp.func
def friction_factor(trial: Any, limit: Any, stiffness: Any):
    """Friction over the trial stretch [N/m]: the force is minus this times the trial stretch."""
    factor = stiffness
    length = wp.length(trial)
    if stiffness * length > limit:
        factor = limit / length
    return factor


@wp.func
def sliding_direction(trial: Any, limit: Any, stiffness: Any):
    """Unit vector of the trial stretch where it slides, 0 where it sticks.

    The friction resists motion along the surface by its factor, but not along this direction.
    """
    direction = type(trial)()
    length = wp.length(trial)
    if stiffness * length > limit:
        direction = trial / length
    return direction


@wp.func
def kept_stretch(trial: Any, limit: Any, stiffness: Any):
    """What a step leaves of the trial stretch [m]: no more than friction can hold."""
    return (friction_factor(trial, limit, stiffness) / stiffness) * trial
