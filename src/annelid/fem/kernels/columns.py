"""What all ways of laying columns share: the grid, the triangles in it, corner and node weights, exact totals.

Coordinates are those of the grid: columns at whole numbers of u and v, heights in metres. Spans are half-open, and a
crossing of an edge with a row is computed from the edge's lower end alone, so that two triangles that share an edge
agree on it to the last bit: no column is missed or met twice between them, however small they are.
"""

import warp as wp

from annelid.fem.kernels.wet import wet_means

# Without fused products, a crossing has the same bits in every kernel.
wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_0 = wp.constant(wp.float64(0.0))
_1 = wp.constant(wp.float64(1.0))
_HALF = wp.constant(wp.float64(0.5))
_FLAT = wp.constant(wp.float64(1.0e-9))  # projected area [columns] below which a triangle counts as upright
_STRONGEST = wp.constant(wp.float64(0.5))  # largest relative change of a weight that corrects the moment
_FAR = wp.constant(wp.float64(1.0e300))

VOLUME_CORRECTION = wp.constant(1)
MOMENT_CORRECTION = wp.constant(2)

OVERFLOW = wp.constant(0)
"""Entry of `problems`: most layers met in a column beyond those there is room for."""
UNMATCHED = wp.constant(1)
"""Entry of `problems`: a column with more tops than bottoms, or the reverse."""


@wp.struct
class Grid:
    """Columns seen along gravity: centre of the first, columns a metre, cross-section [m²], level of the fluid [m]."""

    origin: wp.vec2d
    inverse: wp.vec2d
    area: wp.float64
    level: wp.float64


@wp.struct
class Face:
    """A triangle in the grid: corners by ascending v, slopes of its edges, and its plane.

    `parity` is that of the order of the corners; `facing` is 1 for a top, -1 for a bottom, 0 if rounding may decide.
    """

    u: wp.vec3d
    v: wp.vec3d
    long_slope: wp.float64
    low_slope: wp.float64
    high_slope: wp.float64
    height: wp.float64
    rise_u: wp.float64
    rise_v: wp.float64
    lowest: wp.float64
    highest: wp.float64
    parity: int
    facing: int


@wp.struct
class Box:
    """The box of a triangle in the grid: its columns and rows, up to but not including the ends."""

    row: int
    row_end: int
    column: int
    column_end: int


@wp.kernel
def fit_grid(
    # Parameters:
    nodes: wp.array[wp.int32], turn: wp.mat33d, columns: int, rows: int, full: int,
    level: wp.array[wp.float64],
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    points_out: wp.array[wp.vec3d], grid_out: wp.array[Grid], problems_out: wp.array[wp.int32],
):  # fmt: skip
    """Turn the nodes so that gravity points along -z, and fit the columns to them. One block."""
    _, lane = wp.tid()
    low = wp.vec3d(_FAR, _FAR, _FAR)
    high = -low
    for i in range(lane, nodes.shape[0], wp.block_dim()):
        point = turn * positions[nodes[i]]
        points_out[i] = point
        low = wp.min(low, point)
        high = wp.max(high, point)
    u_low = wp.tile_min(wp.tile(low[0]))
    v_low = wp.tile_min(wp.tile(low[1]))
    u_high = wp.tile_max(wp.tile(high[0]))
    v_high = wp.tile_max(wp.tile(high[1]))
    z_high = wp.tile_max(wp.tile(high[2]))
    if lane == 0:
        du = (u_high[0] - u_low[0]) / wp.float64(columns)
        dv = (v_high[0] - v_low[0]) / wp.float64(rows)
        grid = Grid()
        grid.origin = wp.vec2d(u_low[0] + _HALF * du, v_low[0] + _HALF * dv)
        if du > _0 and dv > _0:
            grid.inverse = wp.vec2d(_1 / du, _1 / dv)
        grid.area = du * dv
        grid.level = z_high[0]
        if full == 0:
            grid.level = level[0]
        grid_out[0] = grid
        problems_out[OVERFLOW] = 0
        problems_out[UNMATCHED] = 0


@wp.func
def in_grid(grid: Grid, point: wp.vec3d) -> wp.vec3d:
    return wp.vec3d(
        (point[0] - grid.origin[0]) * grid.inverse[0], (point[1] - grid.origin[1]) * grid.inverse[1], point[2]
    )


@wp.func
def projected_area(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.float64:
    """Twice the signed area seen from above, in columns."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@wp.func
def _first_at(x: wp.float64, count: int) -> int:
    """The first column or row at or after a coordinate, within the grid."""
    return wp.clamp(int(wp.ceil(x)), 0, count)


@wp.func
def _slope(x: wp.float64, y: wp.float64) -> wp.float64:
    if y > _0:
        return x / y
    return _0


@wp.kernel
def lay_faces(
    # Parameters:
    triangles: wp.array2d[wp.int32], columns: int, rows: int, clip: int,
    # State in:
    grid_in: wp.array[Grid], points: wp.array[wp.vec3d],
    # State out:
    faces_out: wp.array[Face], boxes_out: wp.array[Box], exact_out: wp.array[wp.vec4d],
):  # fmt: skip
    """Lay each triangle into the grid, and integrate volume and moments over the fluid below or above it, exactly."""
    t = wp.tid()
    grid = grid_in[0]
    a = in_grid(grid, points[triangles[t, 0]])
    b = in_grid(grid, points[triangles[t, 1]])
    c = in_grid(grid, points[triangles[t, 2]])
    area = projected_area(a, b, c)
    depth = wp.vec3d(grid.level - a[2], grid.level - b[2], grid.level - c[2])
    u = wp.vec3d(a[0], b[0], c[0])
    v = wp.vec3d(a[1], b[1], c[1])
    exact_out[t] = (-_HALF * area * grid.area) * wet_means(depth, u, v, clip)

    face = Face()
    face.lowest = wp.min(a[2], wp.min(b[2], c[2]))
    face.highest = wp.max(a[2], wp.max(b[2], c[2]))
    steep = wp.abs(area) <= _FLAT
    if not steep:
        face.rise_u = ((b[2] - a[2]) * (c[1] - a[1]) - (c[2] - a[2]) * (b[1] - a[1])) / area
        face.rise_v = ((c[2] - a[2]) * (b[0] - a[0]) - (b[2] - a[2]) * (c[0] - a[0])) / area
    if not steep:
        face.facing = wp.where(area > _0, 1, -1)
    face.parity = 1
    if a[1] > b[1]:
        swap = a
        a = b
        b = swap
        face.parity = -face.parity
    if b[1] > c[1]:
        swap = b
        b = c
        c = swap
        face.parity = -face.parity
    if a[1] > b[1]:
        swap = a
        a = b
        b = swap
        face.parity = -face.parity
    face.u = wp.vec3d(a[0], b[0], c[0])
    face.v = wp.vec3d(a[1], b[1], c[1])
    face.height = a[2]
    if steep:
        face.height = _HALF * (face.lowest + face.highest)
    face.long_slope = _slope(c[0] - a[0], c[1] - a[1])
    face.low_slope = _slope(b[0] - a[0], b[1] - a[1])
    face.high_slope = _slope(c[0] - b[0], c[1] - b[1])
    faces_out[t] = face
    box = Box()
    box.row = _first_at(a[1], rows)
    box.row_end = _first_at(c[1], rows)
    box.column = _first_at(wp.min(a[0], wp.min(b[0], c[0])), columns)
    box.column_end = _first_at(wp.max(a[0], wp.max(b[0], c[0])), columns)
    boxes_out[t] = box


@wp.func_native(
    """
    const auto& face = faces.data[t];
    const double y = row;
    // Edges run from their lower end, and never beyond their ends.
    const auto crossing = [&](int low, int high, double slope) {
        const double from = face.u.c[low], to = face.u.c[high], at = from + slope * (y - face.v.c[low]);
        const double least = from < to ? from : to, most = from < to ? to : from;
        const int column = (int)ceil(at < least ? least : (at > most ? most : at));
        return column < 0 ? 0 : (column > columns ? columns : column);
    };
    const int across = crossing(0, 2, face.long_slope);
    const int bent = y < face.v.c[1] ? crossing(0, 1, face.low_slope) : crossing(1, 2, face.high_slope);
    return across < bent ? wp::vec_t<3, int>(across, bent, face.parity) : wp::vec_t<3, int>(bent, across, -face.parity);
"""
)
def row_span(faces: wp.array[Face], t: int, row: int, columns: int) -> wp.vec3i:
    """The columns of a triangle in a row that it reaches, from and up to but not including, and its side.

    The side is 1 seen from above (a top) and -1 from below (a bottom). It follows from the order of the crossings and
    not from the area: so the sides of all triangles at a column cancel to the last bit, even of those that stand
    upright.
    """


@wp.func
def height_at(face: Face, column: int, row: int) -> wp.float64:
    """Height of a triangle at a column [m]; steep ones are kept between their corners."""
    z = face.height + face.rise_v * (wp.float64(row) - face.v[0]) + face.rise_u * (wp.float64(column) - face.u[0])
    return wp.clamp(z, face.lowest, face.highest)


@wp.func
def section(bottom: wp.float64, top: wp.float64, column: int, row: int) -> wp.vec4d:
    """Length of a section of a column and its moments about u, v and height."""
    length = top - bottom
    return wp.vec4d(length, length * wp.float64(column), length * wp.float64(row), length * _HALF * (top + bottom))


@wp.kernel
def share_corners(
    # Parameters:
    triangles: wp.array2d[wp.int32], lanes: int,
    # State in:
    grid_in: wp.array[Grid], points: wp.array[wp.vec3d], sums: wp.array[wp.vec4d],
    # State out:
    totals_out: wp.array[wp.vec4d], corners_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Add up what lanes found on a triangle, and share its volume among its corners by barycentric coordinates."""
    t = wp.tid()
    sum = wp.vec4d()
    for lane in range(lanes):
        sum += sums[t * lanes + lane]
    grid = grid_in[0]
    sum = grid.area * sum
    totals_out[t] = sum
    share = wp.vec3d()
    if sum[0] != _0:
        a = in_grid(grid, points[triangles[t, 0]])
        b = in_grid(grid, points[triangles[t, 1]])
        c = in_grid(grid, points[triangles[t, 2]])
        area = projected_area(a, b, c)
        if wp.abs(area) <= _FLAT:
            third = sum[0] / wp.float64(3.0)
            share = wp.vec3d(third, third, third)
        else:
            u = sum[1] - a[0] * sum[0]
            v = sum[2] - a[1] * sum[0]
            second = (u * (c[1] - a[1]) - v * (c[0] - a[0])) / area
            third = ((b[0] - a[0]) * v - (b[1] - a[1]) * u) / area
            share = wp.vec3d(sum[0] - second - third, second, third)
    corners_out[t] = share


@wp.kernel
def gather_nodes(
    # Parameters:
    first: wp.array[wp.int32], corner: wp.array[wp.int32],
    # State in:
    corners: wp.array[wp.float64],
    # State out:
    volumes_out: wp.array[wp.float64],
):  # fmt: skip
    """Volume of fluid that each node carries [m³]."""
    i = wp.tid()
    sum = _0
    for q in range(first[i], first[i + 1]):
        sum += corners[corner[q]]
    volumes_out[i] = sum


@wp.kernel
def settle(
    # Parameters:
    correction: int,
    # State in:
    grid_in: wp.array[Grid], points: wp.array[wp.vec3d], exact: wp.array[wp.vec4d],
    found: wp.array[wp.vec4d], volumes: wp.array[wp.float64],
    # State out:
    sums_out: wp.array[wp.vec4d], law_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Exact and found totals, and the law w (1 + β·(ξ - ξ₀)) v/v₀ that makes them equal. One block.

    The weights change by a factor that is linear in the horizontal place; two conditions on the moment fix its slope.
    """
    _, lane = wp.tid()
    true_sum = wp.vec4d()
    found_sum = wp.vec4d()
    for t in range(lane, exact.shape[0], wp.block_dim()):
        true_sum += exact[t]
        found_sum += found[t]
    grid = grid_in[0]
    node_sum = wp.vec3d()
    square = wp.vec3d()
    for i in range(lane, volumes.shape[0], wp.block_dim()):
        place = in_grid(grid, points[i])
        w = volumes[i]
        node_sum += w * wp.vec3d(_1, place[0], place[1])
        square += w * wp.vec3d(place[0] * place[0], place[0] * place[1], place[1] * place[1])
    e0 = wp.tile_sum(wp.tile(true_sum[0]))
    e1 = wp.tile_sum(wp.tile(true_sum[1]))
    e2 = wp.tile_sum(wp.tile(true_sum[2]))
    e3 = wp.tile_sum(wp.tile(true_sum[3]))
    f0 = wp.tile_sum(wp.tile(found_sum[0]))
    f1 = wp.tile_sum(wp.tile(found_sum[1]))
    f2 = wp.tile_sum(wp.tile(found_sum[2]))
    f3 = wp.tile_sum(wp.tile(found_sum[3]))
    n0 = wp.tile_sum(wp.tile(node_sum[0]))
    n1 = wp.tile_sum(wp.tile(node_sum[1]))
    n2 = wp.tile_sum(wp.tile(node_sum[2]))
    s0 = wp.tile_sum(wp.tile(square[0]))
    s1 = wp.tile_sum(wp.tile(square[1]))
    s2 = wp.tile_sum(wp.tile(square[2]))
    if lane == 0:
        volume = e0[0]
        # The exact moment about the height comes as ∫ d dV, measured downwards from the level.
        sums_out[0] = wp.vec4d(volume, e1[0], e2[0], grid.level * volume - _HALF * e3[0])
        sums_out[1] = wp.vec4d(f0[0], f1[0], f2[0], f3[0])
        law = wp.vec3d(_0, _0, _1)
        held = n0[0]
        if correction >= VOLUME_CORRECTION and held > _0 and volume > _0:
            law[2] = volume / held
        if correction == MOMENT_CORRECTION and held > _0 and volume > _0:
            mean_u = n1[0] / held
            mean_v = n2[0] / held
            uu = s0[0] / held - mean_u * mean_u
            uv = s1[0] / held - mean_u * mean_v
            vv = s2[0] / held - mean_v * mean_v
            det = uu * vv - uv * uv
            off_u = e1[0] / volume - mean_u
            off_v = e2[0] / volume - mean_v
            if det > wp.float64(1.0e-9) * (uu + vv) * (uu + vv):
                slope_u = (vv * off_u - uv * off_v) / det
                slope_v = (uu * off_v - uv * off_u) / det
                reach = wp.abs(slope_u) * wp.sqrt(uu) + wp.abs(slope_v) * wp.sqrt(vv)
                if reach > _STRONGEST:
                    slope_u = slope_u * _STRONGEST / reach
                    slope_v = slope_v * _STRONGEST / reach
                scale = law[2]
                law[0] = scale * slope_u
                law[1] = scale * slope_v
                law[2] = scale * (_1 - slope_u * mean_u - slope_v * mean_v)
        law_out[0] = law


@wp.kernel
def weigh(
    # Parameters:
    specific_weight: wp.float64, down: wp.vec3d,
    # State in:
    grid_in: wp.array[Grid], points: wp.array[wp.vec3d], law_in: wp.array[wp.vec3d],
    volumes: wp.array[wp.float64],
    # State out:
    weights_out: wp.array[wp.float64], forces_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Weight on each node [N], and the force it is [N]."""
    i = wp.tid()
    law = law_in[0]
    place = in_grid(grid_in[0], points[i])
    weight = specific_weight * volumes[i] * (law[2] + law[0] * place[0] + law[1] * place[1])
    weights_out[i] = weight
    forces_out[i] = weight * down
