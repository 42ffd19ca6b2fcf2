"""Worlds of a batch: what each of them is in a step, and the numbers with which each steers its own iterations."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.core.kernels.controls import held
from annelid.core.kernels.parameters import LAST, world_pull
from annelid.fem.kernels.parameters import DAMPING, MASS, STIFFNESS

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64

CONVEX = 0.2
"""Part of what inertia says along a direction below which the energy is taken for not convex there."""
WORSE = 0.9
"""Part of the least volume in a cell below which a first guess must not bring it."""
SHARES = 8
"""Parts of a sum are added in so many shares at a time."""
LANES = 32
"""Worlds of a block that sums on CUDA, a thread for each share of each."""
NEAR = 1.0e-2
"""Part of the first correction at which the last one counts as small: what is left after it is smaller by far."""


@wp.struct
class Each:
    """What each world is in a step."""

    pull: wp.array[wp.vec3]  # [m/s²]
    stiffness: wp.array[f32]
    mass: wp.array[f32]
    damping: wp.array[f32]
    fraction: wp.array[f32]  # of loads and pressures that acts
    efforts: wp.array2d[f32]  # of each actuator [N or Pa], shape [actuators, worlds]
    datums: wp.array2d[f32]  # ρ g·x where a full liquid has the pressure of its pump [Pa], shape [actuators, worlds]


@wp.struct
class Scalars:
    """Numbers of the iterations of each world."""

    first: wp.array[f32]  # r·z of the first iteration of a step
    before: wp.array[f32]  # r·z of the iteration before
    goal: wp.array[f32]  # r·z that is small enough
    beta: wp.array[f32]
    alpha: wp.array[f32]
    gain: wp.array[f32]  # twice what the step of Newton's method gains if the energy is a parabola [J]
    part: wp.array[f32]  # of that step that is taken


@wp.struct
class Limits:
    """Channels of the actuators, and how fast each may change."""

    channels: wp.array[wp.int32]  # of each actuator; negative where it takes no commands
    lows: wp.array[f64]
    highs: wp.array[f64]
    rates: wp.array[f64]
    count: wp.int32  # number of channels


@wp.kernel
def begin_worlds(
    worlds: int,
    gravity: wp.vec3d,
    dt: f64,
    ramp: f64,
    limits: Limits,
    parameters: wp.array[f64],
    commands: wp.array[wp.vec4d],
    clock: wp.array[wp.int64],
    begun: wp.array[wp.int64],
    efforts: wp.array[f64],
    each_out: Each,
    active_out: wp.array[wp.int32],
):
    """Pull, factors and efforts of each world in the step to come; worlds that only fill up a tile rest."""
    w = wp.tid()
    if w >= worlds:
        active_out[w] = 0
        return
    active_out[w] = 1
    pull = gravity
    stiffness = f64(1.0)
    mass = f64(1.0)
    damping = f64(1.0)
    if parameters.shape[0] > 0:
        width = parameters.shape[0] // worlds
        first = w * width
        pull = world_pull(gravity, parameters, first)
        stiffness = parameters[first + wp.static(STIFFNESS)]
        mass = parameters[first + wp.static(MASS)]
        if width > wp.static(DAMPING + LAST):
            damping = parameters[first + wp.static(DAMPING)]
    each_out.pull[w] = wp.vec3(pull)
    each_out.stiffness[w] = f32(stiffness)
    each_out.mass[w] = f32(mass)
    each_out.damping[w] = f32(damping)
    fraction = f64(1.0)
    if ramp > f64(0.0):
        fraction = wp.min(f64(1.0), f64(clock[0] - begun[w] + wp.int64(1)) * dt / ramp)
    each_out.fraction[w] = f32(fraction)
    actuators = limits.channels.shape[0]
    for k in range(actuators):
        place = w * actuators + k
        effort = efforts[place]
        channel = limits.channels[k]
        if channel >= 0:
            wanted = held(commands[w * limits.count + channel], f64(clock[0] + wp.int64(1)))
            most = limits.rates[k] * dt
            low = wp.min(wp.max(limits.lows[k] - effort, -most), most)
            high = wp.max(wp.min(limits.highs[k] - effort, most), -most)
            change = wanted - effort
            if low <= change and change <= high:
                effort = wanted
            else:
                effort = effort + wp.min(wp.max(change, low), high)
            efforts[place] = effort
        each_out.efforts[k, w] = f32(effort)


@wp.kernel
def least_ratio(cells: int, ratios: wp.array2d[f32], part_out: wp.array[f32], progress_out: wp.array[f32]):
    """All of the first guess where it leaves the tetrahedra of a world most of their volumes, and else none of it."""
    w = wp.tid()
    least = float(1.0)
    for c in range(cells):
        least = wp.min(least, ratios[c, w])
    part_out[w] = wp.where(least > WORSE, 1.0, 0.0)
    progress_out[w] = 1.0


@wp.kernel
def start_running(active: wp.array[wp.int32], running_out: wp.array[wp.int32]):
    w = wp.tid()
    running_out[w] = active[w]


_SHARED = """
    const int share = (count + SHARES - 1) / SHARES;
    float total = 0.0f;
    auto part = [&](int s) -> float {
        const int last = share * (s + 1) < count ? share * (s + 1) : count;
        float sum = 0.0f;
        for (int k = share * s; k < last; ++k) sum += parts.data[(size_t)k * parts.shape[1] + w];
        return sum;
    };
    #if defined(__CUDA_ARCH__)
    __shared__ float sums[SHARES][LANES];
    sums[threadIdx.x / LANES][threadIdx.x % LANES] = part(threadIdx.x / LANES);
    __syncthreads();
    for (int s = 0; s < SHARES; ++s) total += sums[s][threadIdx.x % LANES];
    __syncthreads();
    #else
    for (int s = 0; s < SHARES; ++s) total += part(s);
    #endif
    return total;
""".replace("SHARES", str(SHARES)).replace("LANES", str(LANES))


@wp.func_native(_SHARED)
def summed(parts: wp.array2d[f32], count: int, w: int) -> f32:
    """Sum of the parts of a world, share by share; all threads of a block take part, and all get it."""


@wp.kernel
def steer(
    lanes: int,
    newton: int,  # iteration of Newton's method
    iteration: int,  # of conjugate gradients
    rough: f32,  # part of the residual at which the first system is solved
    fine: f32,  # part of the first residual of the step at which it is solved
    least: f32,  # r·z below which there is nothing but rounding [J]
    count: int,
    parts: wp.array2d[f32],
    clock: wp.array[wp.int64],
    progress: wp.array[f32],
    running: wp.array[wp.int32],
    scalars: Scalars,
    lost: wp.array[wp.int64],
    active_out: wp.array[wp.int32],
):
    """How much of the last direction the next one keeps; a world whose residual is small enough rests."""
    block, share, lane = wp.tid()
    w = lanes * block + lane
    size = summed(parts, wp.where(running[w] != 0, count, 0), w)
    if share != 0 or running[w] == 0:
        return
    if not wp.isfinite(size):
        running[w] = 0
        active_out[w] = 0
        if lost[w] < wp.int64(0):
            lost[w] = clock[0] + wp.int64(1)
        return
    beta = float(0.0)
    if iteration == 0:
        scalars.gain[w] = 0.0
    if iteration > 0:
        beta = size / scalars.before[w]
    elif newton == 0:
        scalars.first[w] = size
        scalars.goal[w] = wp.max(rough * rough * size, least)
    else:
        scalars.goal[w] = wp.max(fine * fine * scalars.first[w], least)
        if size <= scalars.goal[w] and progress[w] >= 1.0:
            active_out[w] = 0  # Newton's method has arrived
    scalars.beta[w] = beta
    scalars.before[w] = size
    if not size > scalars.goal[w]:
        running[w] = 0
    if size < -least:  # what leads is not definite: this is no answer
        scalars.before[w] = wp.abs(size) + wp.abs(scalars.first[w])
        active_out[w] = 1


@wp.kernel
def measure(
    lanes: int,
    count: int,
    parts: wp.array2d[f32],
    inertial: wp.array2d[f32],
    running: wp.array[wp.int32],
    scalars: Scalars,
):
    """How far to go along a direction; where the energy is not convex, what was found so far has to do."""
    block, share, lane = wp.tid()
    w = lanes * block + lane
    used = wp.where(running[w] != 0, count, 0)
    along = summed(parts, used, w)
    least = CONVEX * summed(inertial, used, w)
    if share != 0 or running[w] == 0:
        return
    if not along > least:
        running[w] = 0
        return
    scalars.alpha[w] = scalars.before[w] / along
    scalars.gain[w] = scalars.gain[w] + scalars.alpha[w] * scalars.before[w]


@wp.kernel
def least_part(cells: int, parts: wp.array2d[f32], part_out: wp.array[f32], cut_out: wp.array[wp.int32]):
    """How much of a move all tetrahedra of a world can take; worlds in which that is not all are noted."""
    w = wp.tid()
    part = float(1.0)
    for c in range(cells):
        part = wp.min(part, parts[c, w])
    part_out[w] = part
    if part < 1.0:
        cut_out[w] = 1


@wp.kernel
def end_worlds(
    worlds: int,
    least: f32,
    active: wp.array[wp.int32],
    running: wp.array[wp.int32],
    scalars: Scalars,
    progress: wp.array[f32],
    cut: wp.array[wp.int32],
    clock: wp.array[wp.int64],
    unsettled: wp.array[wp.int64],
):
    """Count the step, and those that were cut short or whose equation was not solved."""
    w = wp.tid()
    if w >= worlds:
        return
    small = scalars.before[w] <= wp.max(NEAR * NEAR * wp.abs(scalars.first[w]), least)
    if cut[w] != 0 or progress[w] < 1.0 or (active[w] != 0 and not small):
        unsettled[w] = unsettled[w] + wp.int64(1)
    cut[w] = 0
    if w == 0:
        clock[0] = clock[0] + wp.int64(1)


@wp.kernel
def find_again(mask: wp.array[wp.bool], lost_out: wp.array[wp.int64]):
    """Forget that masked worlds were lost."""
    w = wp.tid()
    if mask[w]:
        lost_out[w] = wp.int64(-1)
