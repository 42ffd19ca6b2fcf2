"""Ground that gives and stays where it is: a body that moves on meets sand that it has not cut yet.

Each mass remembers how far sand is below it. As it moves along, the sand below it becomes that of its neighbours ahead
on the surface: heights of sand are carried along triangles that look down, against the motion. At the rim, where nobody
is ahead, sand is taken to lie as the face does, or as steep as sand can stand. Steep faces remember their hollows
themselves, of which sand fills a share. Friction is reached over a way: grains beside a face go along with it for a
while. It is no larger than that within sand, where grains slide on each other.
"""

import functools

import warp as wp

from annelid.shapes.resistive.kernels.stress import resistance
from annelid.springs.kernels.giving import LOOKS_UP, rubbed_of
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

_LOOKS_DOWN = 0.3  # downward part of the normal from which on a face is borne by the sand below it
_STEEPEST = 3.0  # slope of sand between neighbours that counts, beyond it is the wall of a furrow
_RIM = 0.3  # horizontal part of the faces of a mass, by the part that looks down, from which on it may be at the rim
_SOFT = 0.5  # of the inverse squared step: friction that grows over a very short way stays this soft

MEMORY = 5
"""Numbers that a mass remembers [m]: how far sand is below it, how far it was dragged along (three), how far it has
drawn back from the wall of its furrow."""


@functools.cache
def furrowed_of(types: Layout) -> wp.Function:
    """Acceleration of mass i at a depth, with what the ground adds to it; `rougher` is a factor on friction."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    place, below, bearing, hindered = place_of(types), _below(types), _bearing(types), _hindered(types)

    @wp.func
    def furrowed(
        i: int,
        sand: wp.array[Sand],
        depth: real,
        v_from: vec3,
        inverse_mass: real,
        horizon: real,
        rougher: real,
        a: vec3,
    ) -> vec3:
        at = place(i, sand)
        world = i // sand[0].masses_a_world
        shift = world * wp.static(MEMORY) * sand[0].masses_a_world  # of entries, beyond what masses of others remember
        gap = below(i, at, sand, v_from, horizon)
        found = vec3()
        total = real(0.0)
        area = vec3()
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            area += sand[0].areas[sand[0].facets[entry]]
            if sand[0].ends[entry]:
                size = wp.length(area)
                if size > real(0.0):
                    normal = area / size
                    hollow = bearing(entry + shift, sand, depth, normal, v_from, horizon, gap)
                    if normal[2] < -real(wp.static(_LOOKS_DOWN)):
                        gap = wp.max(gap, -hollow / normal[2])  # sand that has yielded goes along
                    force = -size * sand[0].stiffness * wp.min(hollow, real(0.0))
                    found -= force * normal
                    total += force
                area = vec3()
        sand[0].hollows[at] = gap
        friction = wp.min(rougher * sand[0].ground.friction, sand[0].steepest) * total * inverse_mass
        return hindered(at, sand, found, friction, v_from, a + found * inverse_mass, horizon)

    return furrowed


@functools.cache
def place_of(types: Layout) -> wp.Function:
    """Where the memory of mass i begins among hollows: behind those of the corners of its world."""
    Sand = types.Sand

    @wp.func
    def place(i: int, sand: wp.array[Sand]) -> int:
        each = sand[0].masses_a_world
        world = i // each
        return (world + 1) * sand[0].corners_a_world + wp.static(MEMORY) * i

    return place


def _below(types: Layout) -> wp.Function:
    """How far sand is below mass i, once it has moved at v for the horizon, if it was at a gap before [m].

    Where the surface that looks down ends, sand stands as steep as the faces there, or as it can: a nose that moves on
    has a wall before it. A mass that has drawn back from the wall, and goes there again, finds what it has cut.
    """
    real, vec2, vec3, Sand = types.real, types.vec2, types.vec3, types.Sand
    looked, slope_ahead = _looked(types), _slope_ahead(types)

    @wp.func
    def below(i: int, at: int, sand: wp.array[Sand], v: vec3, horizon: real) -> real:
        area = looked(i, sand)
        gap = real(0.0)  # below faces that do not look down sand is as high as they are
        away = real(0.0)
        if area[2] < real(0.0):
            away = sand[0].hollows[at + 4]
            level = vec2(v[0], v[1])
            outward = vec2(area[0], area[1])
            steep = wp.length(outward)
            rise = real(0.0)
            rim = False
            if steep > -real(wp.static(_RIM)) * area[2]:
                outward = outward / steep
                rim = slope_ahead(i, sand, outward)[2] == real(0.0)
            if rim:
                out = wp.dot(level, outward)
                along = level - out * outward
                inner = slope_ahead(i, sand, -outward)
                wall = inner[0] * outward[0] + inner[1] * outward[1]
                if out > real(0.0) and away == real(0.0):
                    wall = wp.min(-steep / area[2], wp.min(sand[0].steepest, real(wp.static(_STEEPEST))))
                beside = slope_ahead(i, sand, along)
                if beside[2] == real(0.0):  # at a corner
                    beside = inner
                rise = wall * out + beside[0] * along[0] + beside[1] * along[1]
                away = wp.max(away - out * horizon, real(0.0))
            else:
                slope = slope_ahead(i, sand, level)
                if slope[2] == real(0.0):
                    slope = slope_ahead(i, sand, -level)
                rise = slope[0] * level[0] + slope[1] * level[1]
            most = real(wp.static(_STEEPEST)) * wp.length(level)
            gap = sand[0].hollows[at] + (v[2] - wp.clamp(rise, -most, most)) * horizon
        sand[0].hollows[at + 4] = away
        return gap

    return below


def _looked(types: Layout) -> wp.Function:
    """Area of the faces of mass i that do not look up, if one of them looks down; else none."""
    real, vec3, Sand = types.real, types.vec3, types.Sand

    @wp.func
    def looked(i: int, sand: wp.array[Sand]) -> vec3:
        area = vec3()
        down = bool(False)
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            own = sand[0].areas[sand[0].facets[entry]]
            size = wp.length(own)
            if own[2] < real(wp.static(LOOKS_UP)) * size:
                area += own
            if own[2] < -real(wp.static(_LOOKS_DOWN)) * size:
                down = True
        if not down:
            area = vec3()
        return area

    return looked


def _slope_ahead(types: Layout) -> wp.Function:
    """Slope of sand below the triangles that mass i would move into in a direction, and how many these are."""
    real, vec2, vec3, Sand = types.real, types.vec2, types.vec3, types.Sand
    ahead = _ahead(types)

    @wp.func
    def slope_ahead(i: int, sand: wp.array[Sand], direction: vec2) -> vec3:
        found = vec2()
        count = real(0.0)
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            t = sand[0].facets[entry]
            own = sand[0].areas[t]
            if own[2] < -real(wp.static(_LOOKS_DOWN)) * wp.length(own):
                if ahead(i, sand[0].corners[t], sand[0].edges[t], direction):
                    found += sand[0].slopes[t]
                    count += real(1.0)  # two where it moves along an edge
        if count > real(0.0):
            found = found / count
        return vec3(found[0], found[1], count)

    return slope_ahead


def _ahead(types: Layout) -> wp.Function:
    """Whether a triangle that looks down is the one that mass i would move into from its corner, seen from above."""
    real, vec2, vec4 = types.real, types.vec2, types.vec4

    @wp.func
    def ahead(i: int, corners: wp.vec3i, edges: vec4, v: vec2) -> bool:
        # How fast the mass comes off the edge opposite to each corner, the first to the third of them.
        off0 = v[0] * edges[1] - v[1] * edges[0]
        off1 = v[0] * edges[3] - v[1] * edges[2]
        off2 = -off0 - off1
        found = off1 >= real(0.0) and off2 >= real(0.0)
        if corners[1] == i:
            found = off2 >= real(0.0) and off0 >= real(0.0)
        if corners[2] == i:
            found = off0 >= real(0.0) and off1 >= real(0.0)
        return found

    return ahead


def _bearing(types: Layout) -> wp.Function:
    """How far sand is from the face of a corner, or pressed if negative [m]; it yields where the law does."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    functions = resistance(real)
    stress, flow = functions.stress, functions.flow

    @wp.func
    def bearing(slot: int, sand: wp.array[Sand], depth: real, normal: vec3, v: vec3, horizon: real, gap: real) -> real:
        ahead = wp.dot(normal, v) * horizon
        down = normal[2] < -real(wp.static(_LOOKS_DOWN))
        hollow = sand[0].hollows[slot] - ahead
        if down:
            hollow = -gap * normal[2]
        elif hollow > real(0.0) and ahead < real(0.0):
            hollow += sand[0].slump * ahead
        if normal[2] > real(wp.static(LOOKS_UP)):
            hollow = wp.min(hollow, real(0.0))
        if hollow < real(0.0) and (ahead > real(0.0) or down):
            way = v
            if ahead <= real(0.0):  # sand that a face has come over bears it as if it were pressed straight in
                way = normal
            law = depth * stress(sand[0].ground, normal, way)
            if ahead > real(0.0):
                law += flow(sand[0].ground, normal, v)
            hollow = wp.max(hollow, wp.min(wp.dot(normal, law), real(0.0)) / sand[0].stiffness)
        sand[0].hollows[slot] = hollow
        return hollow

    return bearing


def _hindered(types: Layout) -> wp.Function:
    """The acceleration with a friction [m/s²] along what presses, which grows with the way that a mass was dragged."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    rubbed = rubbed_of(types)

    @wp.func
    def hindered(
        at: int, sand: wp.array[Sand], pressing: vec3, friction: real, v_from: vec3, a: vec3, horizon: real
    ) -> vec3:
        slip = vec3(sand[0].hollows[at + 1], sand[0].hollows[at + 2], sand[0].hollows[at + 3])
        size = wp.length(pressing)
        if size == real(0.0):
            slip = vec3()
        else:
            normal = pressing / size
            way = sand[0].friction_way
            if way > real(0.0):
                slip += v_from * horizon  # what it has come in the last step: no creep while it is held
                slip -= wp.dot(slip, normal) * normal
                dragged = wp.length(slip)
                if dragged > way:
                    slip = slip * (way / dragged)
                a -= slip * wp.min(friction / way, real(wp.static(_SOFT)) / (horizon * horizon))
            else:
                a = rubbed(v_from, a, normal, friction, horizon)
        sand[0].hollows[at + 1] = slip[0]
        sand[0].hollows[at + 2] = slip[1]
        sand[0].hollows[at + 3] = slip[2]
        return a

    return hindered


@functools.cache
def forget_of(types: Layout) -> wp.Function:
    """Let mass i forget, which has left the ground: where it comes down next there is sand."""
    real, Sand = types.real, types.Sand
    place = place_of(types)

    @wp.func
    def forget(i: int, sand: wp.array[Sand]):
        at = place(i, sand)
        for number in range(wp.static(MEMORY)):
            sand[0].hollows[at + number] = real(0.0)
        shift = i // sand[0].masses_a_world * wp.static(MEMORY) * sand[0].masses_a_world
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            sand[0].hollows[entry + shift] = real(0.0)

    return forget


@functools.cache
def lie_of(types: Layout) -> wp.Function:
    """Find out how sand lies below triangle t: its slope, and the edges opposite to the first two corners, level."""
    real, vec2, vec4, Sand = types.real, types.vec2, types.vec4, types.Sand
    place = place_of(types)

    @wp.func
    def lie(t: int, sand: wp.array[Sand], positions: wp.array[vec4]):
        corners = sand[0].corners[t]
        p = positions[corners[0]]
        q = positions[corners[1]]
        r = positions[corners[2]]
        first = r - q
        second = p - r
        sand[0].edges[t] = vec4(first[0], first[1], second[0], second[1])
        double = real(6.0) * sand[0].areas[t][2]
        found = vec2()
        if double < real(0.0):
            low = p[2] - sand[0].hollows[place(corners[0], sand)]
            mid = q[2] - sand[0].hollows[place(corners[1], sand)] - low
            top = r[2] - sand[0].hollows[place(corners[2], sand)] - low
            third = vec2(q[0] - p[0], q[1] - p[1])
            found = vec2((-mid * second[1] - top * third[1]) / double, (mid * second[0] + top * third[0]) / double)
        sand[0].slopes[t] = found

    return lie
