"""Integrators, each as a sequence of passes over the masses.

A pass evaluates the acceleration of every mass at one set of positions and velocities (`at`) and writes another
(`out`), so that masses may be visited in any order. `base` is the state at the beginning of the step.

The stages of Runge-Kutta keep their velocities and no weighted sums. A stage's velocity is that of the base plus a part
of the acceleration of the stage before, so the last pass finds all four accelerations in the four velocities: a mass
moves 332 bytes a step in single precision, where sums of positions and velocities would take 444.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

PASSES: dict[str, tuple[str, ...]] = {
    "euler": ("euler",),
    "symplectic": ("symplectic",),
    "verlet": ("drift", "kick"),
    "rk4": ("rk1", "rk2", "rk3", "rk4"),
}
"""Names of the integrators and their passes, in order."""

GATHERLESS = ("drift",)
"""Passes that need no forces."""

_TIME_SHIFT = {"rk2": 0.5, "rk3": 0.5, "rk4": 1.0, "kick": 1.0}


def time_shift(kind: str) -> float:
    """When a pass evaluates its forces, in steps after the beginning of the step."""
    return _TIME_SHIFT.get(kind, 0.0)


@once
def buffers_of(kind: str) -> tuple[str, str, str, str]:
    """Where a pass reads positions and velocities and where it writes them: "base", "out" or the stages "p" and "q".

    The last pass of Runge-Kutta also reads, of its own mass alone, the velocities of the second stage in "p" and of the
    third in "out", which it then overwrites.
    """
    return {
        "drift": ("base", "base", "out", "p"),
        "kick": ("out", "p", "out", "out"),
        "rk1": ("base", "base", "p", "p"),
        "rk2": ("p", "p", "out", "out"),
        "rk3": ("out", "out", "p", "q"),
        "rk4": ("p", "q", "out", "out"),
    }.get(kind, ("base", "base", "out", "out"))


@once
def mass_update(
    types: Layout,
    kind: str,
    acceleration: Any,
    conditions: tuple[wp.Function, ...] = (),
    substeps: int = 1,
    *,
    apart: bool = False,
    shaped: bool = False,
) -> wp.Function:
    """What one pass does with mass i, at `here` with velocity v, once the force of its springs is known.

    `base` and `speed` are its position and velocity at the beginning of the step. Where functions of the user are told
    `apart`, they learn the number of a mass in its world and the time since that world began. Worlds that are `shaped`
    have ground of their own.
    """
    real, vec3, vec4, Arrays, Work = types.real, types.vec3, types.vec4, types.Arrays, types.Work
    Parameters = types.Parameters
    drift, kick, inner, outer = kind == "drift", kind == "kick", kind == "inner", kind == "outer"
    stage = int(kind[2]) if kind.startswith("rk") else 0
    ahead = {1: 0.5, 2: 0.5, 3: 1.0}.get(stage, 0.0)  # how far the next stage looks into the step
    shift = time_shift(kind)
    final = kind in ("euler", "symplectic", "kick", "rk4", "outer", "inner")
    look_out = _all_conditions(types, conditions)

    @wp.func
    def update(
        i: int,
        step: wp.int64,
        model: Arrays,
        parameters: Parameters,
        work: Work,
        here: vec4,
        v: vec3,
        spring_force: vec3,
        pull: vec3,
        scale: vec4,
        base: vec4,
        speed: vec3,
        x_out: wp.array[vec4],
        v_out: wp.array[vec3],
    ):
        step_time = parameters.dt
        dt = real(step_time)
        x = vec3(here[0], here[1], here[2])
        v_new = v
        number = i
        begun = wp.int64(0)
        if wp.static(apart):
            world = i // model.masses_a_world
            number = i - world * model.masses_a_world
            begun = work.begun[world]
        if wp.static(drift):  # positions for the next forces, and a guess of the velocity for those that depend on it
            a_old = work.accelerations[i]
            x = x + (v + a_old * (dt * real(0.5))) * dt
            v_new = v + a_old * dt
            x_out[i] = vec4(x[0], x[1], x[2], here[3])
        elif wp.static(inner):  # the fast springs alone, in a fraction of the step
            part = dt / real(wp.static(substeps))
            v_new = v + spring_force * (here[3] * part)
            x = x + v_new * part
            x_out[i] = vec4(x[0], x[1], x[2], here[3])
        else:
            time = real((wp.float64(step - begun) + wp.float64(wp.static(shift))) * step_time)
            horizon = dt
            v_from = v  # what the acceleration is added to; forces depend on v itself
            if wp.static(kick):
                horizon = dt * real(0.5)
                v_from = speed + work.accelerations[i] * horizon
            ground = vec3()
            if wp.static(shaped):
                ground = work.grounds[wp.min(i // model.masses_a_world, model.world_count - 1)]
            now = wp.float64(step) + wp.float64(wp.static(shift))
            a = acceleration(
                i, number, time, now, begun, horizon, model, parameters, x, v, v_from, here[3], spring_force, pull,
                scale, ground,
            )  # fmt: skip
            if wp.static(kind == "euler"):
                x = x + v * dt
                v_new = v + a * dt
            if wp.static(kind == "symplectic" or outer):
                v_new = v + a * dt
                if wp.static(outer):
                    if model.fast_counts[model.row_of[i]] == 0:
                        x = x + v_new * dt
                else:
                    x = x + v_new * dt
            if wp.static(kick):
                v_new = v_from + a * horizon
                work.accelerations[i] = a
            if wp.static(stage > 0):
                origin = vec3(base[0], base[1], base[2])
                if wp.static(stage == 2):  # x is half a step of the first velocity from the origin, which is not read
                    x = x + (v - speed) * (dt * real(0.5))
                if wp.static(stage == 1 or stage == 3):
                    x = origin + v * (dt * real(wp.static(ahead)))
                if wp.static(stage < 4):
                    v_new = speed + a * (dt * real(wp.static(ahead)))
                else:
                    second = work.v_p[i]
                    third = v_out[i]
                    x = origin + (speed + (second + third) * real(2.0) + v) * (dt / real(6.0))
                    rise = (second - speed) + (third - speed) * real(2.0) + (v - speed)
                    v_new = speed + (rise * real(2.0) + a * dt) / real(6.0)
            if wp.static(not kick):
                x_out[i] = vec4(x[0], x[1], x[2], here[3])
        v_out[i] = v_new
        if wp.static(final):
            if not wp.isfinite(v_new[0] + v_new[1] + v_new[2]):
                if work.trouble[0] < wp.int64(0):
                    work.trouble[0] = step + wp.int64(1)
            if wp.static(len(conditions) > 0):
                if here[3] > real(0.0):
                    age = step + wp.int64(1) - begun
                    look_out(0, step + wp.int64(1), real(wp.float64(age) * step_time), number, x, v_new, work)

    return update


def _all_conditions(types: Layout, functions: tuple[wp.Function, ...]) -> Any:
    """Note the first step after which each of the user's conditions holds for some mass."""
    real, vec3, Work = types.real, types.vec3, types.Work
    if not functions:
        return None
    first, others = functions[0], _all_conditions(types, functions[1:])
    more = others is not None
    rest = others if more else first

    @wp.func
    def look_out(number: int, step: wp.int64, time: real, i: int, x: vec3, v: vec3, work: Work):
        if first(time, i, x, v):
            if work.hits[number] < wp.int64(0):
                work.hits[number] = step
        if wp.static(more):
            rest(number + 1, step, time, i, x, v, work)

    return look_out
