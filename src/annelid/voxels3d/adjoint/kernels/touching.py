"""Contacts that can be differentiated: planes that push with the depth, and friction that is a smooth function.

The dashpot grows with the depth, c δ/(δ + δ₀), so that the force begins at 0 where a voxel touches down. Friction takes
the part a/√(t² + a²) from the velocity t along the plane that a voxel would have after the step, where a is the most
that Coulomb's friction can take in a step: all of it where t is small, a where it is large. It neither overshoots nor
jumps, and what creeps under a load vanishes with the time step.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.surfaces import mixed
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

GROWS = 0.01
"""Depth, in sides of a voxel, at which the dashpot has half its strength."""


@once
def depth_of(real: Any) -> wp.Function:
    """How deep a voxel is below a plane, negative above."""
    types = layout(real)
    vec3, Tables = types.vec3, types.Tables

    @wp.func
    def depth(i: int, k: int, size: real, u: vec3, tables: Tables) -> real:
        # In float64: a stiff body sinks in less than float32 has digits for.
        place = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
        reach = wp.float64(0.5) * tables.sides[i] * wp.float64(size)
        plane = tables.obstacles[k]
        return real(reach - wp.dot(plane.geometry.size, place - plane.place))

    return depth


@once
def response_of(real: Any) -> wp.Function:
    """Stiffness of a contact [N/m] and how much speed friction can take in a step for each metre of depth [1/s]."""
    types = layout(real)
    Voxel, Tables, vec2 = types.Voxel, types.Tables, wp.types.vector(length=2, dtype=real)

    @wp.func
    def response(k: int, voxel: Voxel, dt: real, tables: Tables) -> vec2:
        stiff, rubs = real(voxel.press), mixed(voxel.rubs, tables.obstacles[k].rubs)
        if tables.obstacles[k].press >= real(0.0):
            stiff = tables.obstacles[k].press
        return vec2(stiff, rubs * stiff * dt * voxel.per_mass)

    return response


@once
def push_of(real: Any) -> wp.Function:
    """Force of planes on a voxel, without friction."""
    types = layout(real)
    vec3, Voxel, Tables = types.vec3, types.Voxel, types.Tables
    depth, response = depth_of(real), response_of(real)

    @wp.func
    def push(i: int, voxel: Voxel, size: real, u: vec3, v: vec3, dt: real, tables: Tables) -> vec3:
        force = vec3()
        for k in range(tables.obstacles.shape[0]):
            deep = depth(i, k, size, u, tables)
            if deep > real(0.0):
                n = vec3(tables.obstacles[k].geometry.size)
                grown = deep / (deep + real(wp.static(GROWS)) * voxel.side)
                force += (response(k, voxel, dt, tables)[0] * deep - voxel.press_damp * grown * wp.dot(v, n)) * n
        return force

    return push


@once
def rub_of(real: Any) -> wp.Function:
    """Velocity after the friction of the first so many planes."""
    types = layout(real)
    vec3, Voxel, Tables = types.vec3, types.Voxel, types.Tables
    depth, response = depth_of(real), response_of(real)

    @wp.func
    def rub(i: int, count: int, voxel: Voxel, size: real, u: vec3, head: vec3, dt: real, tables: Tables) -> vec3:
        v = vec3(head)
        for k in range(count):
            deep = depth(i, k, size, u, tables)
            most = response(k, voxel, dt, tables)[1] * deep
            if most > real(0.0):
                n = vec3(tables.obstacles[k].geometry.size)
                t = v - wp.dot(v, n) * n
                v = v - (most / wp.sqrt(wp.dot(t, t) + most * most)) * t
        return v

    return rub
