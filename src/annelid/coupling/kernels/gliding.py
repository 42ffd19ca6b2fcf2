"""How the surface of a solid moves among grains while these take several steps, and what it does at their end.

The solid takes one implicit step over the time T in which the grains take several. Until then each node of its surface
goes on as the solid foresees, and yields to what pushes it as one with a mass of its own would.
"""

import warp as wp

from annelid.coupling.kernels.guests import GuestArrays

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def push_nodes(
    nodes: wp.array[wp.int32],
    given: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    energy_out: wp.array[wp.float64],
    forces_out: wp.array2d[wp.vec3d],
):
    """Constant forces on nodes."""
    s = wp.tid()
    force = given[s]
    energy_out[s] = -wp.dot(force, positions[nodes[s]])
    forces_out[s, 0] = force


@wp.kernel(enable_backward=False)
def glide(
    dt: wp.float64,
    free: wp.array[wp.vec3d],  # 1 for components that nothing holds
    trend: wp.array[wp.vec3d],  # acceleration but for contacts [m/s²]
    forces: wp.array[wp.vec3d],
    x: wp.array[wp.vec4d],
    v: wp.array[wp.vec3d],
    impulses: wp.array[wp.vec3d],
):
    """Move a node of the surface on by one step of the grains, and sum what pushes it."""
    s = wp.tid()
    here = x[s]
    velocity = v[s] + dt * wp.cw_mul(free[s], trend[s] + here[3] * forces[s])
    v[s] = velocity
    x[s] = wp.vec4d(
        here[0] + dt * velocity[0], here[1] + dt * velocity[1], here[2] + dt * velocity[2], here[3]
    )  # fmt: skip
    impulses[s] = impulses[s] + dt * forces[s]


@wp.kernel(enable_backward=False)
def average(
    span: wp.float64, impulses: wp.array[wp.vec3d], forces_out: wp.array[wp.vec3d], contact_out: wp.array[wp.vec3]
):
    """Mean forces over the time in which impulses came."""
    s = wp.tid()
    force = impulses[s] / span
    forces_out[s] = force
    contact_out[s] = wp.vec3(force)


@wp.kernel(enable_backward=False)
def go_on(
    rate: wp.float64,  # 1/T² [1/s²]
    first: wp.array[wp.int32],  # rows of the matrix of masses
    columns: wp.array[wp.int32],
    masses: wp.array[wp.float64],
    before: wp.array[wp.vec3d],
    velocities: wp.array[wp.vec3d],
    right_out: wp.array[wp.vec3d],
):
    """M (2 v - v_before) / T²: the right-hand side of the velocities after another step under the same loads."""
    i = wp.tid()
    total = wp.vec3d()
    for k in range(first[i], first[i + 1]):
        j = columns[k]
        total += masses[k] * (velocities[j] + velocities[j] - before[j])
    right_out[i] = rate * total


@wp.kernel(enable_backward=False)
def reckon(
    span: wp.float64,
    lag: wp.float64,  # time by which the surface is behind the solid [s]
    nodes: wp.array[wp.int32],
    positions: wp.array[wp.vec3d],
    velocities: wp.array[wp.vec3d],
    foreseen: wp.array[wp.vec3d],
    forces: wp.array[wp.vec3d],
    x: wp.array[wp.vec4d],
    v: wp.array[wp.vec3d],
    trend_out: wp.array[wp.vec3d],
    jumps_out: wp.array[wp.vec3],
):
    """After a step of the solid: where its surface goes from where it is.

    The surface does not jump to where the solid has come to: it makes up for what it lags behind during the next step.
    """
    s = wp.tid()
    node = nodes[s]
    own = velocities[node]
    here = wp.vec3d(x[s][0], x[s][1], x[s][2])
    seen = own + (positions[node] - lag * own - here) / span
    trend_out[s] = (foreseen[node] - own) / span - x[s][3] * forces[s]
    jumps_out[s] = wp.vec3(seen - v[s])
    v[s] = seen


@wp.kernel(enable_backward=False)
def redirect(
    first_guest: int,
    guests: GuestArrays,
    jumps: wp.array[wp.vec3],
    names: wp.array[wp.vec2i],
    velocities: wp.array[wp.vec4],
    forecast: wp.array[wp.vec4],
    last: wp.array[wp.vec3],
):
    """Let guests follow a jump of the velocities of what they hang on: it says nothing about the next one."""
    i = wp.tid()
    g = names[i][0] - first_guest
    if g < 0:
        return
    jump = wp.vec3()
    for c in range(3):
        jump += guests.weights[g][c] * jumps[guests.corners[g][c]]
    more = wp.vec4(jump[0], jump[1], jump[2], 0.0)
    velocities[i] = velocities[i] + more
    forecast[i] = forecast[i] + more
    last[g] = last[g] + jump
