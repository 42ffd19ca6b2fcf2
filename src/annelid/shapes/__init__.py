"""Shapes: primitives, triangle meshes, signed distances, and the rigid things that every physics can touch."""

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.lazy import public
from annelid.shapes.gear import HelicalGear, helical_gear
from annelid.shapes.height_field import HeightField
from annelid.shapes.implicit import ImplicitSurface
from annelid.shapes.kernels.sdf import SdfGrid, sdf_sample
from annelid.shapes.lattice import Lattice
from annelid.shapes.mass import MassProperties, mass_properties
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.path import Path
from annelid.shapes.placed import turned_about
from annelid.shapes.plane import Plane
from annelid.shapes.primitives import Box, Capsule, Cylinder, Sphere, beam
from annelid.shapes.query import MeshDistance
from annelid.shapes.resistive.furrow import Furrow
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.resistive.media import Medium
from annelid.shapes.revolved import Revolved, hopper, tube
from annelid.shapes.rigid import Geometry, Obstacle, Rigid
from annelid.shapes.sdf import SignedDistanceGrid
from annelid.shapes.sdf_cache import baked
from annelid.shapes.surface import Surface
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.quadratic import QuadraticTetMesh
from annelid.shapes.tet.sections import Section, disk, rectangle
from annelid.shapes.tet.structured import tet_beam, tet_cylinder, tet_hollow_cylinder, tet_trunk
from annelid.shapes.tet.stuffing import tet_fill
from annelid.shapes.tet.sweep import swept
from annelid.shapes.torus import Torus
from annelid.shapes.union import Union
from annelid.shapes.walls import box_walls, ground

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Furrow",
    "Geometry",
    "HeightField",
    "HelicalGear",
    "ImplicitSurface",
    "Lattice",
    "MassProperties",
    "Medium",
    "MeshDistance",
    "Obstacle",
    "Path",
    "Plane",
    "QuadraticTetMesh",
    "ResistiveGround",
    "Revolved",
    "Rigid",
    "SdfGrid",
    "Section",
    "Shape",
    "SignedDistanceGrid",
    "Sphere",
    "Surface",
    "TetMesh",
    "Torus",
    "TriangleMesh",
    "Union",
    "baked",
    "beam",
    "box_walls",
    "disk",
    "ground",
    "helical_gear",
    "hopper",
    "mass_properties",
    "rectangle",
    "sdf_sample",
    "swept",
    "tet_beam",
    "tet_cylinder",
    "tet_fill",
    "tet_hollow_cylinder",
    "tet_trunk",
    "tube",
    "turned_about",
]

__dir__ = public(__name__)
