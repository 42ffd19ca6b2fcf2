"""Shapes: primitives, triangle meshes, and signed distances, exact or baked on a grid."""

from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.primitives import Box, Capsule, Cylinder, Sphere, beam
from annelid.shapes.query import MeshDistance
from annelid.shapes.sdf import SignedDistanceGrid
from annelid.shapes.sdf_kernels import SdfGrid, sdf_sample
from annelid.shapes.shape import Shape
from annelid.shapes.union import Union

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "MeshDistance",
    "SdfGrid",
    "Shape",
    "SignedDistanceGrid",
    "Sphere",
    "TriangleMesh",
    "Union",
    "beam",
    "sdf_sample",
]
