"""The choice of a linear solver by the device and the wish of the user."""

from __future__ import annotations

from typing import Literal, get_args

from annelid.core.errors import InvalidValue
from annelid.fem.assembly import Assembly
from annelid.fem.linalg.direct import direct_solver
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.fem.linalg.unknowns import LinearSolver, Unknowns
from annelid.fem.solid import Solid
from annelid.fem.tetrahedra import Tetrahedra

Linear = Literal["auto", "direct", "kept"]

LARGE = 1500
"""Nodes from which on a solid in motion that touches keeps its factor, unless told otherwise.

Where a law for large strains keeps volumes nearly, an old factor leads too slowly: there each matrix has its own.
"""


def linear_solver(kind: Linear, unknowns: Unknowns, assembly: Assembly, tetrahedra: Tetrahedra) -> LinearSolver:
    """A solver for the matrices of an assembly: "auto", "direct" or "kept"."""
    if kind not in get_args(Linear):
        raise InvalidValue(f"linear must be 'auto', 'direct' or 'kept', not {kind!r}.")
    if kind == "kept":
        return KeptFactor(unknowns, assembly, tetrahedra)
    return direct_solver(unknowns)


def linear_in_motion(kind: Linear, solid: Solid, *, touches: bool) -> Linear:
    """What "auto" means for a solid in motion."""
    if kind == "kept" and not touches:
        raise InvalidValue("linear='kept' is for a solid in motion that touches; this one touches nothing: use 'auto'.")
    suited = touches and solid.node_count >= LARGE and not solid.hyperelastic
    return "kept" if kind == "auto" and suited else kind
