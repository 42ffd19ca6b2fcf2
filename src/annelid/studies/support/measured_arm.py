"""One pneumatic segment of silicone, from the sizes that are known of a measured one: a solid, its chamber, its tip.

A cylinder hangs from its clamped top. Four chambers, one in each quadrant around a square core, run from the top to a
floor; ribs are between them. Air in the chamber at +x bends it towards -x, so that half of it, y >= 0, is enough. A
winding on the skin resists being widened and nothing else: without it an incompressible cylinder hardly bends at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.materials import Material
from annelid.shapes import QuadraticTetMesh
from annelid.shapes.tet.sections import rectangle, steps
from annelid.shapes.tet.sweep import swept
from annelid.studies.support.arm_tracks import MARKERS

LENGTH, RADIUS, GRAVITY = 0.1, 22.2e-3, 9.81
_QUARTERS = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])  # of a face with the middles of 01, 12, 20
_NEAR = 1e-9
_SLACK = 1e-3  # how stiff the winding is along the arm and in shear, of what it is around


@dataclass(frozen=True)
class Segment:
    """Sizes of the segment [m].

    Attributes:
        outer_wall: Between a chamber and the outside.
        core: From the axis to the flat inner sides of the chambers.
        hole: From the axis to the sides of the square hole in the core.
        rib: Thickness of the ribs between chambers.
        floor: Below the chambers.
    """

    outer_wall: float = 2.03e-3
    core: float = 9.42e-3
    hole: float = 1e-3
    rib: float = 4.4e-3
    floor: float = 6.93e-3

    def __post_init__(self) -> None:
        sizes = (self.outer_wall, self.core, self.hole, self.rib, self.floor)
        sound = all(math.isfinite(size) and size > 0.0 for size in sizes)
        within = self.hole < self.core and self._flat > 0.0 and math.hypot(self.core, self._flat) < self._bore
        if not (sound and within and self.floor < LENGTH):
            raise InvalidValue(
                f"{self} is no segment with four chambers: all sizes must be above 0 m, the hole within the core, and "
                f"core, ribs and walls thin enough for a cylinder of radius {RADIUS:g} m and length {LENGTH:g} m."
            )

    @property
    def _bore(self) -> float:
        return RADIUS - self.outer_wall

    @property
    def _flat(self) -> float:
        """Half the width of the flat inner side of a chamber [m]; above 0 only if the rib leaves some of it."""
        return self.core - self.rib / math.sqrt(2.0)

    def place(self, logical: np.ndarray) -> np.ndarray:
        """From coordinates along the cells to metres, shape [n, 3].

        Args:
            logical: Outwards (0 hole, 1 inner and 2 outer side of the chambers, 3 skin), around (4 for a quadrant: its
                chamber from -1 to 1, and half a rib on either side), and z [m]; shape [n, 3].
        """
        outwards, around, z = logical.T
        quadrant = np.round(around / 4.0)
        chamber = np.clip(around - 4.0 * quadrant, -1.0, 1.0)
        rib = around - 4.0 * quadrant - chamber
        lines = []
        for half in (self.hole, self.core):
            end = half * self._flat / self.core
            lines.append(np.column_stack([np.full_like(z, half), chamber * end + rib * (half - end)]))
        for radius in (self._bore, RADIUS):
            end = math.pi / 4.0 - math.asin(0.5 * self.rib / radius)
            turn = chamber * end + rib * (math.pi / 4.0 - end)
            lines.append(radius * np.column_stack([np.cos(turn), np.sin(turn)]))
        ring = np.clip(np.floor(outwards), 0, 2).astype(int)
        part, every, row = (outwards - ring)[:, None], np.array(lines), np.arange(len(z))
        x, y = ((1.0 - part) * every[ring, row] + part * every[ring + 1, row]).T
        c, s = np.round(np.cos(0.5 * math.pi * quadrant)), np.round(np.sin(0.5 * math.pi * quadrant))
        return np.column_stack([c * x - s * y, s * x + c * y, z])


@dataclass(frozen=True)
class Cells:
    """How finely half a segment is cut.

    Attributes:
        around: Cells across half a chamber.
        core: Cells from the hole to the chambers.
        depth: Cells along the depth of a rib.
        wall: Cells through the outer wall.
        along: Cells along the chambers.
        floor: Cells through the floor.
    """

    around: int
    core: int
    depth: int
    wall: int
    along: int
    floor: int


@dataclass(frozen=True)
class Motion:
    """How the tip has moved as a rigid body: turned about y [rad], its centre gone along x and z [m]."""

    angle: float
    x: float
    z: float

    def markers(self, turn: float = 0.0) -> np.ndarray:
        """How far the markers have moved [m], shape [3, 3], if the arm is turned about z in their frame [rad]."""
        c, s = math.cos(turn), math.sin(turn)
        frame = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        c, s = math.cos(self.angle), math.sin(self.angle)
        bent = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        own = MARKERS @ frame
        return np.asarray((own @ bent.T + [self.x, 0.0, self.z] - own) @ frame.T)


class Arm:
    """Half of the segment, of 10-node tetrahedra, hanging under its weight.

    Args:
        segment: Its sizes.
        silicone: Its material.
        winding: Stiffness of the skin against being widened, besides that of the silicone [N/m]; 0 leaves it bare.
        cells: How finely it is cut.
        threads: CPU threads; None takes all cores.
    """

    def __init__(
        self, segment: Segment, silicone: str | Material, winding: float, cells: Cells, threads: int | None = None
    ) -> None:
        mesh, logical = _mesh(segment, cells)
        self.solid = fem.Solid(mesh, silicone)
        self.solid.fix(np.abs(mesh.nodes[:, 1]) < _NEAR, axes="y").fix(mesh.nodes[:, 2] > LENGTH - _NEAR)
        skin = logical[:, 0] > 3.0 - _NEAR
        self.solid.group("tip", skin & (logical[:, 2] < segment.floor + _NEAR))
        if winding > 0.0:
            slack = _SLACK * winding
            around = fem.Fabric(
                skin, modulus=(slack, winding), thickness=1.0, poisson_ratio=0.0, shear_modulus=slack, direction="z"
            )  # fmt: skip
            self.solid.reinforce(around)
        self.chamber = _chamber(mesh, logical, segment.floor)
        air = fem.Pneumatic(name="air", cavity=self.chamber)
        self._robot = fem.Robot(self.solid, [air], [], gravity=(0.0, 0.0, -GRAVITY), device="cpu", threads=threads)
        self._forward = fem.Forward(self._robot)
        self._forward.settle()
        self._hanging = self._robot.positions.numpy()[self.solid.groups["tip"]].copy()

    def settle(self, pressure: float) -> Motion:
        """Inflate the chamber [Pa]; how the tip has moved from where it hangs without pressure."""
        self._forward.settle({"air": pressure})
        before, after = (p[:, [0, 2]] for p in (self._hanging, self.positions()[self.solid.groups["tip"]]))
        first, then = before.mean(axis=0), after.mean(axis=0)
        a, b = before - first, after - then
        angle = math.atan2(float((a[:, 1] * b[:, 0] - a[:, 0] * b[:, 1]).sum()), float((a * b).sum()))
        c, s = math.cos(angle), math.sin(angle)
        x, z = then - np.array([[c, s], [-s, c]]) @ first
        return Motion(angle, float(x), float(z))

    def positions(self) -> np.ndarray:
        """Where its nodes are [m], shape [n, 3]."""
        return np.asarray(self._robot.positions.numpy())


def _mesh(segment: Segment, cells: Cells) -> tuple[QuadraticTetMesh, np.ndarray]:
    """The mesh, with middles of edges on the circles, and its nodes in the coordinates of `Segment.place`."""
    outwards = steps([1.0, 1.0, 1.0], [cells.core, cells.depth, cells.wall])
    chamber = np.linspace(-1.0, 1.0, 2 * cells.around + 1)
    first, whole = chamber[cells.around :], np.concatenate([[-2.0], chamber])
    section = rectangle(outwards, np.concatenate([first, 4.0 + whole, 8.0 + whole[: cells.around + 2]]))
    heights = steps([segment.floor, LENGTH - segment.floor], [cells.floor, cells.along])
    middles = section.nodes[section.quads].mean(axis=1)
    local = middles[:, 1] - 4.0 * np.round(middles[:, 1] / 4.0)
    hollow = (middles[:, 0] > 1.0) & (middles[:, 0] < 2.0) & (np.abs(local) < 1.0)
    above = 0.5 * (heights[1:] + heights[:-1]) > segment.floor
    flat = swept(section, heights, keep=~(above[:, None] & hollow)).quadratic()
    nodes = segment.place(flat.nodes)
    return QuadraticTetMesh(nodes, flat.tetrahedra, flat.edges, flat.regions, flat.cells), flat.nodes


def _chamber(mesh: QuadraticTetMesh, logical: np.ndarray, floor: float) -> fem.Cavity:
    """The chamber at +x, closed by triangles in the plane y = 0 and at the top, whose nodes cannot give way."""
    faces = mesh.boundary()[:, [0, 2, 1, 5, 4, 3]]
    outwards, around, z = (logical[faces, axis] for axis in range(3))
    within = (np.abs(outwards - 1.5) < 0.5 + _NEAR) & (around < 1.0 + _NEAR) & (z > floor - _NEAR)
    sides = [(outwards, 1.0), (outwards, 2.0), (around, 1.0), (z, floor)]
    wet = within.all(axis=1) & np.any([(np.abs(at - end) < _NEAR).all(axis=1) for at, end in sides], axis=0)
    triangles = faces[wet][:, _QUARTERS].reshape(-1, 3)
    edges = {tuple(edge) for edge in triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).tolist()}
    rim = np.array([(b, a) for a, b in sorted(edges) if (b, a) not in edges], np.int32)
    corner = rim[np.argmax(mesh.nodes[rim[:, 0], 2] - np.abs(mesh.nodes[rim[:, 0], 1])), 0]  # it lies in both planes
    fan = rim[(rim != corner).all(axis=1)]
    lid = np.column_stack([np.full(len(fan), corner), fan])
    return fem.Cavity(np.concatenate([triangles, lid]).astype(np.int32), "chamber")
