"""Ground that gives and stays where it is: a body that moves on meets sand that it has not cut yet.

Each mass remembers how far sand is below it. As it moves along, the sand below it becomes that of its neighbours ahead
on the surface: heights of sand are carried along triangles that look down, against the motion. At the rim, where nobody
is ahead, sand is taken to lie as the face does, or as steep as sand can stand. Steep faces remember their hollows
themselves, of which sand fills a share. Friction is reached over a way: grains beside a face go along with it for a
while. It is no larger than that within sand, where grains slide on each other.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.springs.kernels.giving import LOOKS_UP, rubbed_of
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

_LOOKS_DOWN = 0.3  # downward part of the normal from which on a face is borne by the sand below it
_STEEPEST = 3.0  # slope of sand between neighbours that counts, beyond it is the wall of a furrow
_RIM = 0.3  # horizontal part of the faces of a mass, by the part that looks down, from which on it may be at the rim
_SOFT = 0.5  # of the inverse squared step: friction that would grow over a very short way is at most this stiff

MEMORY = 5
"""Numbers that a mass remembers [m]: how far sand is below it, how far it was dragged along (three), how far it has
drawn back from the wall of its furrow."""


@once
def furrowed_of(types: Layout) -> wp.Function:
    """What presses mass i at a depth, if it has moved at v for the horizon: forces [N], and the sum of their sizes."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    place, below, bearing = place_of(types), _below(types), _bearing(types)

    @wp.func
    def furrowed(i: int, sand: Sand, depth: real, v: vec3, horizon: real) -> vec4:
        at = place(i, sand)
        world = i // sand.masses_a_world
        shift = world * wp.static(MEMORY) * sand.masses_a_world  # of entries, beyond what masses of others remember
        gap = below(i, at, sand, v, horizon)
        found = vec3()
        total = real(0.0)
        area = vec3()
        for entry in range(sand.first[i], sand.first[i + 1]):
            area += sand.areas[sand.facets[entry]]
            if sand.ends[entry]:
                size = wp.length(area)
                if size > real(0.0):
                    normal = area / size
                    hollow = bearing(entry + shift, sand, depth, normal, v, horizon, gap)
                    if normal[2] < -real(wp.static(_LOOKS_DOWN)):
                        gap = wp.max(gap, -hollow / normal[2])  # sand that has yielded goes along
                    force = -size * sand.stiffness * wp.min(hollow, real(0.0))
                    found -= force * normal
                    total += force
                area = vec3()
        sand.hollows[at] = gap
        if total == real(0.0):  # nothing drags it along any more
            for number in range(1, 4):
                sand.hollows[at + number] = real(0.0)
        return vec4(found[0], found[1], found[2], total)

    return furrowed


@once
def place_of(types: Layout) -> wp.Function:
    """Where the memory of mass i begins among hollows: behind those of the corners of its world."""
    Sand = types.Sand

    @wp.func
    def place(i: int, sand: Sand) -> int:
        each = sand.masses_a_world
        world = i // each
        return (world + 1) * sand.corners_a_world + wp.static(MEMORY) * i

    return place


def _below(types: Layout) -> wp.Function:
    """How far sand is below mass i, once it has moved at v for the horizon, if it was at a gap before [m].

    Where the surface that looks down ends, sand stands as steep as the faces there, or as it can: a nose that moves on
    has a wall before it. A mass that has drawn back from the wall, and goes there again, finds what it has cut.
    """
    real, vec2, vec3, Sand = types.real, types.vec2, types.vec3, types.Sand
    looked, slopes_around = _looked(types), _slopes_around(types)

    @wp.func
    def below(i: int, at: int, sand: Sand, v: vec3, horizon: real) -> real:
        area = looked(i, sand)
        gap = real(0.0)  # below faces that do not look down sand is as high as they are
        away = real(0.0)
        if area[2] < real(0.0):
            away = sand.hollows[at + 4]
            gap = sand.hollows[at]
            level = vec2(v[0], v[1])
            outward = vec2(area[0], area[1])
            steep = wp.length(outward)
            if steep > real(0.0):
                outward = outward / steep
            out = wp.dot(level, outward)
            along = level - out * outward
            ahead, behind, outside, inside, beside = slopes_around(i, sand, level, outward, along)
            rise = real(0.0)
            if steep > -real(wp.static(_RIM)) * area[2] and outside[2] == real(0.0):
                wall = inside[0] * outward[0] + inside[1] * outward[1]
                if out > real(0.0) and away == real(0.0):
                    wall = wp.min(-steep / area[2], wp.min(sand.steepest, real(wp.static(_STEEPEST))))
                if beside[2] == real(0.0):  # at a corner
                    beside = inside
                rise = wall * out + beside[0] * along[0] + beside[1] * along[1]
                away = wp.max(away - out * horizon, real(0.0))
            else:
                if ahead[2] == real(0.0):
                    ahead = behind
                rise = ahead[0] * level[0] + ahead[1] * level[1]
            most = real(wp.static(_STEEPEST)) * wp.length(level)
            gap += (v[2] - wp.clamp(rise, -most, most)) * horizon
        sand.hollows[at + 4] = away
        return gap

    return below


def _looked(types: Layout) -> wp.Function:
    """Area of the faces of mass i that do not look up, if one of them looks down; else none."""
    real, vec3, Sand = types.real, types.vec3, types.Sand

    @wp.func
    def looked(i: int, sand: Sand) -> vec3:
        area = vec3()
        down = bool(False)
        for entry in range(sand.first[i], sand.first[i + 1]):
            own = sand.areas[sand.facets[entry]]
            size = wp.length(own)
            if own[2] < real(wp.static(LOOKS_UP)) * size:
                area += own
            if own[2] < -real(wp.static(_LOOKS_DOWN)) * size:
                down = True
        if not down:
            area = vec3()
        return area

    return looked


def _slopes_around(types: Layout) -> wp.Function:
    """Slopes of sand below the triangles that look down around mass i, and how many these are.

    They are those of triangles ahead and behind, by the way that it moves level, outside and inside, by the way that
    its faces look, and beside, along the rim: of one, or of two where it moves along an edge.
    """
    real, vec2, vec3, Sand = types.real, types.vec2, types.vec3, types.Sand
    off, mean = _off(types), _mean(types)

    @wp.func
    def slopes_around(i: int, sand: Sand, level: vec2, outward: vec2, along: vec2):
        ahead = vec3()
        behind = vec3()
        outside = vec3()
        inside = vec3()
        beside = vec3()
        for entry in range(sand.first[i], sand.first[i + 1]):
            t = sand.facets[entry]
            own = sand.areas[t]
            if own[2] < -real(wp.static(_LOOKS_DOWN)) * wp.length(own):
                corners = sand.corners[t]
                edges = sand.edges[t]
                lies = sand.slopes[t]
                slope = vec3(lies[0], lies[1], real(1.0))
                on = off(i, corners, edges, level)
                if wp.min(on) >= real(0.0):
                    ahead += slope
                if wp.max(on) <= real(0.0):
                    behind += slope
                out = off(i, corners, edges, outward)
                if wp.min(out) >= real(0.0):
                    outside += slope
                if wp.max(out) <= real(0.0):
                    inside += slope
                if wp.min(off(i, corners, edges, along)) >= real(0.0):
                    beside += slope
        return mean(ahead), mean(behind), outside, mean(inside), mean(beside)

    return slopes_around


def _off(types: Layout) -> wp.Function:
    """How fast mass i would come off the two edges that meet at its corner of a triangle, seen from above.

    It moves into the triangle if it comes off none of them outward: both numbers are 0 or more.
    """
    vec2, vec4 = types.vec2, types.vec4

    @wp.func
    def off(i: int, corners: wp.vec3i, edges: vec4, v: vec2) -> vec2:
        off0 = v[0] * edges[1] - v[1] * edges[0]
        off1 = v[0] * edges[3] - v[1] * edges[2]
        off2 = -off0 - off1
        found = vec2(off1, off2)
        if corners[1] == i:
            found = vec2(off2, off0)
        if corners[2] == i:
            found = vec2(off0, off1)
        return found

    return off


def _mean(types: Layout) -> wp.Function:
    """The mean slope of a sum of slopes with their number."""
    real, vec3 = types.real, types.vec3

    @wp.func
    def mean(found: vec3) -> vec3:
        if found[2] > real(0.0):
            found = vec3(found[0] / found[2], found[1] / found[2], found[2])
        return found

    return mean


def _bearing(types: Layout) -> wp.Function:
    """How far sand is from the face of a corner, or pressed if negative [m]; it yields where the law does."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    functions = resistance(real)
    stress, flow = functions.stress, functions.flow

    @wp.func
    def bearing(slot: int, sand: Sand, depth: real, normal: vec3, v: vec3, horizon: real, gap: real) -> real:
        ahead = wp.dot(normal, v) * horizon
        down = normal[2] < -real(wp.static(_LOOKS_DOWN))
        hollow = sand.hollows[slot] - ahead
        if down:
            hollow = -gap * normal[2]
        elif hollow > real(0.0) and ahead < real(0.0):
            hollow += sand.slump * ahead
        if normal[2] > real(wp.static(LOOKS_UP)):
            hollow = wp.min(hollow, real(0.0))
        if hollow < real(0.0) and (ahead > real(0.0) or down):
            way = v
            if ahead <= real(0.0):  # sand that a face has come over bears it as if it were pressed straight in
                way = normal
            law = depth * stress(sand.ground, normal, way)
            if ahead > real(0.0):
                law += flow(sand.ground, normal, v)
            hollow = wp.max(hollow, wp.min(wp.dot(normal, law), real(0.0)) / sand.stiffness)
        sand.hollows[slot] = hollow
        return hollow

    return bearing


@once
def hindered_of(types: Layout) -> wp.Function:
    """The acceleration of mass i with a friction [m/s²] along what presses it, which grows as it is dragged along."""
    real, vec3, Sand = types.real, types.vec3, types.Sand
    rubbed, place = rubbed_of(types), place_of(types)

    @wp.func
    def hindered(i: int, sand: Sand, pressing: vec3, friction: real, v_from: vec3, a: vec3, horizon: real) -> vec3:
        at = place(i, sand)
        slip = vec3(sand.hollows[at + 1], sand.hollows[at + 2], sand.hollows[at + 3])
        size = wp.length(pressing)
        if size == real(0.0):
            slip = vec3()
        else:
            normal = pressing / size
            way = sand.friction_way
            if way > real(0.0):
                way = wp.max(way, friction * horizon * horizon / real(wp.static(_SOFT)))
                slip += v_from * horizon  # what it has come in the last step: no creep while it is held
                slip -= wp.dot(slip, normal) * normal
                dragged = wp.length(slip)
                if dragged > way:
                    slip = slip * (way / dragged)
                a -= slip * (friction / way)
            else:
                a = rubbed(v_from, a, normal, friction, horizon)
        sand.hollows[at + 1] = slip[0]
        sand.hollows[at + 2] = slip[1]
        sand.hollows[at + 3] = slip[2]
        return a

    return hindered


@once
def forget_of(types: Layout) -> wp.Function:
    """Let mass i forget, which has left the ground: where it comes down next there is sand."""
    real, Sand = types.real, types.Sand
    place = place_of(types)

    @wp.func
    def forget(i: int, sand: Sand):
        shift = int(0)
        if sand.furrow:
            at = place(i, sand)
            for number in range(wp.static(MEMORY)):
                sand.hollows[at + number] = real(0.0)
            shift = i // sand.masses_a_world * wp.static(MEMORY) * sand.masses_a_world
        for entry in range(sand.first[i], sand.first[i + 1]):
            sand.hollows[entry + shift] = real(0.0)

    return forget


@once
def lie_of(types: Layout) -> wp.Function:
    """Find out how sand lies below triangle t: its slope, and the edges opposite to the first two corners, level."""
    real, vec2, vec3, vec4, Sand = types.real, types.vec2, types.vec3, types.vec4, types.Sand
    place = place_of(types)

    @wp.func
    def lie(t: int, sand: Sand, area: vec3, positions: wp.array[vec4]):
        corners = sand.corners[t]
        p = positions[corners[0]]
        q = positions[corners[1]]
        r = positions[corners[2]]
        first = r - q
        second = p - r
        sand.edges[t] = vec4(first[0], first[1], second[0], second[1])
        double = real(6.0) * area[2]
        found = vec2()
        if double < real(0.0):
            low = p[2] - sand.hollows[place(corners[0], sand)]
            mid = q[2] - sand.hollows[place(corners[1], sand)] - low
            top = r[2] - sand.hollows[place(corners[2], sand)] - low
            third = vec2(q[0] - p[0], q[1] - p[1])
            found = vec2((-mid * second[1] - top * third[1]) / double, (mid * second[0] + top * third[0]) / double)
        sand.slopes[t] = found

    return lie
