"""The arm of the excavation: kinematics and limits of the Franka Emika Panda, with capsules or the maker's meshes.

The figures are those of the manufacturer's page "Robot and interface specifications" (Franka Control Interface
documentation, limits for Panda): modified Denavit-Hartenberg parameters after Craig, and limits of the joints.
"""

from __future__ import annotations

import importlib.metadata
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annelid.core.errors import MissingPackage
from annelid.envs.machines.kinematics import Chain, modified_dh
from annelid.shapes import Capsule, TriangleMesh
from annelid.shapes.articulated import read_urdf
from annelid.shapes.articulated.tree import Link, MeshFile
from annelid.shapes.extrusion import joined
from annelid.shapes.values import Floats

PACKAGE = "example-robot-data"
"""Optional package on PyPI that holds the description of the arm with its meshes."""

FLANGE = 0.107
"""Distance of the flange from the frame of the last joint, along its axis [m]."""

HOME = np.array([0.0, -math.pi / 4, 0.0, -3 * math.pi / 4, 0.0, math.pi / 2, math.pi / 4])
"""The usual pose to begin with [rad]."""

_RIGHT = math.pi / 2
_A_D_ALPHA = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -_RIGHT),
    (0.0, 0.316, _RIGHT),
    (0.0825, 0.0, _RIGHT),
    (-0.0825, 0.384, -_RIGHT),
    (0.0, 0.0, _RIGHT),
    (0.088, 0.0, _RIGHT),
)
_LOWER = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
_UPPER = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
_SPEED = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
_EFFORT = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)

# Two ends and a radius [m] in the frame of a link; link 0 is the base, link 7 carries the flange.
_CAPSULES: dict[int, tuple[tuple[tuple[float, float, float], tuple[float, float, float], float], ...]] = {
    0: (((-0.10, 0.0, 0.055), (0.0, 0.0, 0.055), 0.055), ((0.0, 0.0, 0.07), (0.0, 0.0, 0.15), 0.068)),
    1: (((0.0, 0.0, -0.16), (0.0, 0.0, -0.02), 0.062),),
    2: (((0.0, 0.0, -0.06), (0.0, 0.0, 0.06), 0.062), ((0.0, -0.02, 0.0), (0.0, -0.16, 0.0), 0.058)),
    3: (((0.0, 0.0, -0.13), (0.0, 0.0, -0.03), 0.056), ((0.02, 0.0, -0.01), (0.0825, 0.0, 0.0), 0.05)),
    4: (((0.0, 0.0, -0.055), (0.0, 0.0, 0.055), 0.055), ((-0.02, 0.02, 0.0), (-0.0825, 0.12, 0.0), 0.05)),
    5: (((0.0, 0.0, -0.26), (0.0, 0.0, -0.20), 0.058), ((0.0, 0.06, -0.20), (0.0, 0.05, 0.0), 0.04)),
    6: (((0.0, 0.0, -0.045), (0.0, 0.0, 0.03), 0.052), ((0.0, 0.0, 0.0), (0.088, 0.0, 0.0), 0.045)),
    7: (((0.0, 0.0, -0.03), (0.0, 0.0, 0.07), 0.045),),
}


@dataclass(frozen=True, eq=False)
class Panda:
    """The arm: its joints and the solid of each link.

    Attributes:
        chain: Joints, limits and the frame of the flange.
        links: Solids of the base and of the seven moving links, each in its own frame: that of the base at the foot,
            those of the others at their joints.
        source: "capsules", or the name of the package that the meshes are from.
    """

    chain: Chain
    links: tuple[TriangleMesh, ...]
    source: str

    def placed(self, angles: Floats) -> list[TriangleMesh]:
        """The links of one arm in their places, for angles of shape [7]."""
        frames = np.concatenate([np.eye(4)[None], self.chain.frames(np.asarray(angles)[None])[0, :-1]])
        return [
            TriangleMesh(link.vertices @ frame[:3, :3].T + frame[:3, 3], link.triangles)
            for link, frame in zip(self.links, frames, strict=True)
        ]


def panda(*, meshes: bool | None = None) -> Panda:
    """The arm.

    Args:
        meshes: Whether to take the maker's meshes from the optional package; None takes them if it is installed, and
            capsules if not.
    """
    if meshes is False:
        return _of_capsules()
    folder = robot_data()
    if folder is not None:
        return _of_package(folder)
    if meshes:
        raise MissingPackage(
            f"the meshes of the arm are in the package {PACKAGE}: pip install {PACKAGE}, or use capsules."
        )
    return _of_capsules()


def panda_chain() -> Chain:
    """Joints and limits from the published parameters; the tool is the flange."""
    return Chain(
        names=tuple(f"panda_joint{number}" for number in range(1, 8)),
        offsets=np.array([modified_dh(*row) for row in _A_D_ALPHA]),
        axes=np.tile([0.0, 0.0, 1.0], (7, 1)),
        sliding=np.zeros(7, dtype=bool),
        tool=modified_dh(0.0, FLANGE, 0.0),
        lower=np.array(_LOWER),
        upper=np.array(_UPPER),
        speed=np.array(_SPEED),
        effort=np.array(_EFFORT),
    )


def robot_data() -> Path | None:
    """The folder that `package://example-robot-data/` stands for, or None if the package is not installed."""
    try:
        files = importlib.metadata.distribution(PACKAGE).files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files if file.parts[-2:] == ("urdf", "panda.urdf")]
    path = Path(str(found[0].locate())).resolve() if found else None
    return path.parents[3] if path is not None and path.is_file() else None


def _of_capsules() -> Panda:
    return Panda(panda_chain(), tuple(_capsules(link) for link in range(8)), "capsules")


def _capsules(link: int) -> TriangleMesh:
    return joined(_between(np.array(a), np.array(b), radius) for a, b, radius in _CAPSULES[link])


def _between(a: Floats, b: Floats, radius: float) -> TriangleMesh:
    way, middle = b - a, 0.5 * (a + b)
    axis = (float(way[0]), float(way[1]), float(way[2]))
    center = (float(middle[0]), float(middle[1]), float(middle[2]))
    return Capsule(radius, float(np.linalg.norm(way)), axis=axis, center=center).surface(32)


def _of_package(folder: Path) -> Panda:
    robot = read_urdf(folder / "robots" / "panda_description" / "urdf" / "panda.urdf", folder=folder)
    links = [_meshes(robot.links[f"panda_link{number}"]) or _capsules(number) for number in range(8)]
    return Panda(Chain.to(robot, "panda_link8"), tuple(links), PACKAGE)


def _meshes(link: Link) -> TriangleMesh | None:
    """The collision meshes of a link, closed if need be; None if it has none.

    Boxes, cylinders and spheres stand for details that a grain does not feel and are left out.
    """
    parts = [(part.geometry.read(), part.frame) for part in link.shapes if isinstance(part.geometry, MeshFile)]
    moved = [TriangleMesh(m.vertices @ frame[:3, :3].T + frame[:3, 3], m.triangles) for m, frame in parts]
    return joined(moved) if moved else None
