"""Shapes: primitives, triangle meshes, and signed distances, exact or baked on a grid."""

from annelid.shapes.gear import HelicalGear, helical_gear
from annelid.shapes.kernels.sdf import SdfGrid, sdf_sample
from annelid.shapes.mass import MassProperties, mass_properties
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.primitives import Box, Capsule, Cylinder, Sphere, beam
from annelid.shapes.query import MeshDistance
from annelid.shapes.revolved import Revolved, hopper, tube
from annelid.shapes.sdf import SignedDistanceGrid
from annelid.shapes.sdf_cache import baked
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.quadratic import QuadraticTetMesh
from annelid.shapes.tet.structured import tet_beam, tet_cylinder, tet_hollow_cylinder, tet_trunk
from annelid.shapes.tet.stuffing import tet_fill
from annelid.shapes.union import Union

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "HelicalGear",
    "MassProperties",
    "MeshDistance",
    "QuadraticTetMesh",
    "Revolved",
    "SdfGrid",
    "Shape",
    "SignedDistanceGrid",
    "Sphere",
    "TetMesh",
    "TriangleMesh",
    "Union",
    "baked",
    "beam",
    "helical_gear",
    "hopper",
    "mass_properties",
    "sdf_sample",
    "tet_beam",
    "tet_cylinder",
    "tet_fill",
    "tet_hollow_cylinder",
    "tet_trunk",
    "tube",
]
