"""The outer surface of a solid of finite elements as grains meet it."""

from __future__ import annotations

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidMesh
from annelid.fem.contact.surface import outer_faces


class SolidOutline:
    """The nodes of the outer surface of a solid, and its triangles; cavities have none.

    Args:
        solid: The solid.
        masses: What contacts have to move at each node of the surface [kg], shape [m]; by default nothing yet.

    Attributes:
        nodes: Nodes of the surface, ascending, shape [m].
        triangles: Places of the corners of its triangles among them, shape [t, 3].
        positions: Where they are at rest [m], shape [m, 3].
        masses: What contacts have to move there [kg], shape [m].
        velocities: Their velocities [m/s], shape [m, 3]: a solid starts at rest.
        forces: Forces on them besides [N], shape [m, 3]: none, those of a solid are among its own loads.
    """

    def __init__(self, solid: fem.Solid, masses: np.ndarray | None = None) -> None:
        faces = outer_faces(solid)
        if len(faces) == 0:
            raise InvalidMesh(
                "the solid has no outer surface that grains could meet: its faces all belong to cavities."
            )
        self.nodes, corners = np.unique(faces, return_inverse=True)
        self.triangles = corners.reshape(-1, 3)
        self.positions = solid.nodes[self.nodes]
        self.masses = np.ones(len(self.nodes)) if masses is None else masses
        self.velocities, self.forces = np.zeros_like(self.positions), np.zeros_like(self.positions)
