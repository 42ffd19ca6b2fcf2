"""Motion of one grain as a CPU computes it, four numbers at a time; the same sums and products as in `motion`.

What a grain sums over its contacts is sixteen numbers here, which lie as in a `ContactSum`: impulse and contacts,
angular impulse and change, what the next step is expected to bring of both.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import (
    APPROACH,
    FLAGS,
    MARGIN,
    REACHES,
    SKIN,
    STALE,
    TOO_FAST,
    WORLD_REACHES,
    Features,
    Grains,
    Lists,
    Parameters,
)
from annelid.grains.kernels.sums import ContactSum

wp.set_module_options({"enable_backward": False})

vec16 = wp.types.vector(length=16, dtype=wp.float32)

CHANGE = 7
"""Place of the largest change of a relative velocity."""


@wp.func
def as_quads(a: ContactSum) -> vec16:
    return vec16(
        a.impulse[0], a.impulse[1], a.impulse[2], a.contacts, a.angular[0], a.angular[1], a.angular[2], a.change,
        a.predicted[0], a.predicted[1], a.predicted[2], 0.0,
        a.predicted_angular[0], a.predicted_angular[1], a.predicted_angular[2], 0.0,
    )  # fmt: skip


@wp.func_native(
    """
    typedef float Row __attribute__((ext_vector_type(4), aligned(4)));
    Row* rows = (Row*)&total;
    // Rows as a whole, of which no number is asked for by itself: a core waits for what was written in other parts.
    const Row* others = (const Row*)&more;
    const Row before = rows[1], other = others[1];
    Row angular = before + other;
    angular.w = wp::max(before.w, other.w);
    rows[0] += others[0]; rows[1] = angular; rows[2] += others[2]; rows[3] += others[3];
    return total;
"""
)
def with_more(total: vec16, more: ContactSum) -> vec16:
    """The sums of both, and the larger of the two changes."""


_BEGIN = """
    #pragma clang fp contract(off)
    typedef float Four __attribute__((ext_vector_type(4)));
    typedef float Row __attribute__((ext_vector_type(4), aligned(4)));
    const Row* sums = (const Row*)&total;
    const Four x = ((const Four*)grains.positions.data)[i], v = ((const Four*)grains.velocities.data)[i],
               w = ((const Four*)grains.spins.data)[i];
    const float mass = w.w, radius = v.w, dt = parameters.dt;  // the first is its inverse
    const int world = @WORLD@;
    const auto& pull = @PULL@;
    float share = 2.5f * mass / (radius * radius);
    Four g = {pull[0] * dt, pull[1] * dt, pull[2] * dt, 0.0f};
    @GUEST@
"""

_LOOK_AHEAD = """
    Four here = x, forecast = (v + g) + mass * sums[@PUSH@], turning = w + share * sums[@TWIST@];
    forecast.w = radius; turning.w = mass;
    @COUNTED@
    ((Four*)grains_out.positions.data)[i] = here;
    ((Four*)grains_out.forecast.data)[i] = forecast;
    ((Four*)grains_out.turning.data)[i] = turning;
    @STARTS@
"""

# Contacts count from the first sweep on, and what a sweep has found is kept until it is known to be the last.
_COUNTED = """
    here.w = wp::max(x.w, sums[0].w);
    Row* kept = (Row*)(lists.totals.data + i);
    for (int c = 0; c < 4; ++c) kept[c] = sums[c];
"""

_MOVE = """
    Four velocity = v + (g + mass * sums[0]), spin = w + share * sums[1];
    velocity.w = radius; spin.w = mass;
    Four end = x + dt * velocity, forecast = velocity, turning = spin;
    @FORESEEN@
    forecast.w = radius; turning.w = mass;
    ((Four*)grains.velocities.data)[i] = velocity;
    ((Four*)grains.spins.data)[i] = spin;
    ((Four*)grains_out.forecast.data)[i] = forecast;
    ((Four*)grains_out.turning.data)[i] = turning;
    @STARTS@
    const Four built = ((const Four*)lists.built.data)[i];
    Four away = end - built;
    @WRAP@
    end.w = sums[0].w;
    ((Four*)grains_out.positions.data)[i] = end;
    const Four walked = away * away, hurried = velocity * velocity;
    const float speed = wp::sqrt((hurried.x + hurried.y) + hurried.z);
    const float moved = wp::sqrt((walked.x + walked.y) + walked.z) + parameters.patience * dt * speed;
    const float* reach = lists.reach.data + @REACHES@;
    if (moved > @ALLOWED@ || @APPROACH@ * dt * speed > reach[@MARGIN@]) {
        lists.flags.data[@STALE@] = 1;
        lists.flags.data[@FLAGS@ + world] = 1;
    }
    if (dt * speed > wp::max(wp::abs(radius), parameters.smallest)) lists.flags.data[@TOO_FAST@] = 1;
    if (!(speed < 1.0e15f) && lists.trouble.data[0] < 0) lists.trouble.data[0] = lists.clock.data[0] + step + 1;
"""

_FORESEEN = "forecast = velocity + (g + mass * sums[2]); turning = spin + share * sums[3];"

_GUEST = """
    const int guest = ((const int*)grains.names.data)[2 * i] - parameters.first_guest;
    if (guest >= 0) {
        share = 0.0f; g = 0.0f;
        @TOLD@
    }
"""
_TOLD = """
        float* pushes = (float*)(lists.pushes.data + 3 * guest);
        for (int c = 0; c < 3; ++c) {
            pushes[c] = sums[0][c]; pushes[3 + c] = sums[1][c]; pushes[6 + c] = sums[2][c];
        }
        lists.touches.data[guest] = sums[0].w;
"""


def _filled(text: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _common(features: Features) -> dict[str, str]:
    """Parts of both texts."""
    return {
        "GUEST": _GUEST if features.guests else "",
        "WORLD": "((const int*)grains.names.data)[2 * i + 1]" if features.worlds else "0",
        "PULL": "parameters.varied.data[world].pull" if features.varied else "parameters.gravity",
    }


@once
def foresee_quads(features: Features) -> wp.Function:
    """As `motion.foresee`, of a sweep that may be the last where steps converge."""
    expected = features.converging
    parts = {
        **_common(features),
        "TOLD": "",
        "PUSH": "2" if expected else "0",
        "TWIST": "3" if expected else "1",
        "COUNTED": _COUNTED if expected else "",
        "STARTS": "grains_out.starts.data[i] = grains.starts.data[i];" if features.bouncing else "",
    }

    @wp.func_native(_filled(_BEGIN + _LOOK_AHEAD, parts))
    def look_ahead(
        i: int, total: vec16, parameters: Parameters, grains: Grains, lists: Lists, grains_out: Grains
    ) -> None: ...

    return look_ahead


@once
def finish_quads(features: Features) -> wp.Function:
    """As `motion.finish`."""
    wrap = "".join(
        f"""
    {{
        const float period = parameters.period[{number}];
        away.{axis} = away.{axis} - period * wp::round(away.{axis} / period);
        end.{axis} = end.{axis} - period * wp::floor(end.{axis} / period);
    }}"""
        for number, axis in enumerate("xyz")
        if features.periodic[number]
    )
    parts = {
        **_common(features),
        "TOLD": _TOLD,
        "FORESEEN": _FORESEEN if features.method == "nonsmooth" else "",
        "STARTS": "((Four*)grains_out.starts.data)[i] = velocity;" if features.bouncing else "",
        "WRAP": wrap,
        "ALLOWED": "(built.w < 0.0f ? -built.w : @HALF@)" if features.allowing else "@HALF@",
        "HALF": "0.5f * reach[@SKIN@]",
        "REACHES": f"{REACHES} + {WORLD_REACHES} * world",
        "APPROACH": f"{APPROACH}f",
    }
    places = {"SKIN": SKIN, "MARGIN": MARGIN, "STALE": STALE, "FLAGS": FLAGS, "TOO_FAST": TOO_FAST}
    parts |= {name: str(place) for name, place in places.items()}

    @wp.func_native(_filled(_BEGIN + _MOVE, parts))
    def move(
        i: int, step: int, total: vec16, parameters: Parameters, grains: Grains, lists: Lists, grains_out: Grains
    ) -> None: ...

    return move


@wp.func_native(
    """
    wp::vec_t<16, wp::float32> total;
    const float* kept = (const float*)(lists.totals.data + i);
    for (int c = 0; c < 16; ++c) total[c] = kept[c];
    return total;
"""
)
def kept_quads(i: int, lists: Lists) -> vec16:
    """What `foresee_quads` or `keep_quads` has kept of a sweep."""


@wp.func_native(
    """
#if !defined(__CUDA_ARCH__)
    typedef float Row __attribute__((ext_vector_type(4), aligned(4)));
    const Row* sums = (const Row*)&total;
    Row* kept = (Row*)(lists.totals.data + i);
    const Row first = sums[0], second = sums[1], third = sums[2], fourth = sums[3];
    kept[0] = first; kept[1] = second; kept[2] = third; kept[3] = fourth;
    return second.w;
#endif
"""
)
def keep_quads(i: int, total: vec16, lists: Lists) -> float:
    """Keep what a sweep has found; the largest change of a relative velocity in it."""
