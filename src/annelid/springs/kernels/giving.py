"""Ground that gives before it yields: what it does to the masses of a surface that is pressed into it.

A corner remembers how far it is pressed into sand, or how far it has left it. The stress across its face grows with the
way into sand, up to what the law gives in the direction in which it moves; beyond, sand has yielded, and its surface
goes along. Along the face there is friction. So a body whose weight is a small part of what sand could bear is carried
by as much as it weighs, and slides where friction lets it, though the law alone would hold it.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

LOOKS_UP = 0.1
"""Upward part of the normal of a face from which on sand falls after it."""


@once
def pressed_of(types: Layout) -> wp.Function:
    """What presses mass i at a depth, if it has moved at v for the horizon: forces [N], and the sum of their sizes."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    stress_across = _stress_across(types)

    @wp.func
    def pressed(i: int, sand: Sand, depth: real, v: vec3, horizon: real) -> vec4:
        found = vec3()
        total = real(0.0)
        area = vec3()
        for entry in range(sand.first[i], sand.first[i + 1]):
            area += sand.areas[sand.facets[entry]]
            if sand.ends[entry]:
                size = wp.length(area)
                if size > real(0.0):
                    normal = area / size
                    force = size * stress_across(entry, sand, depth, normal, v, horizon)
                    found -= force * normal
                    total += force
                area = vec3()
        return vec4(found[0], found[1], found[2], total)

    return pressed


@once
def rubbed_of(types: Layout) -> wp.Function:
    """The acceleration with a friction of so much [m/s²] along what presses by a normal, which stops what slides."""
    real, vec3 = types.real, types.vec3

    @wp.func
    def rubbed(v_from: vec3, a: vec3, normal: vec3, friction: real, horizon: real) -> vec3:
        v = v_from + a * horizon
        along = v - wp.dot(v, normal) * normal
        speed = wp.length(along)
        if speed > real(0.0):  # it does not turn round what it stops
            a -= along * (wp.min(real(1.0), friction * horizon / speed) / horizon)
        return a

    return rubbed


def _stress_across(types: Layout) -> wp.Function:
    """Stress across the face of a corner that has moved at v in the last step, whose length is the horizon [Pa]."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    functions = resistance(real)
    stress, flow = functions.stress, functions.flow

    @wp.func
    def stress_across(entry: int, sand: Sand, depth: real, normal: vec3, v: vec3, horizon: real) -> real:
        ahead = wp.dot(normal, v) * horizon
        hollow = sand.hollows[entry] - ahead
        if normal[2] > real(wp.static(LOOKS_UP)):
            hollow = wp.min(hollow, real(0.0))
        if hollow < real(0.0) and ahead > real(0.0):
            law = depth * stress(sand.ground, normal, v) + flow(sand.ground, normal, v)
            hollow = wp.max(hollow, wp.dot(normal, law) / sand.stiffness)  # the law pushes against the normal
        sand.hollows[entry] = hollow
        return -sand.stiffness * wp.min(hollow, real(0.0))

    return stress_across
