"""The choice of a linear solver by the device and the wish of the user."""

from __future__ import annotations

from typing import Literal

from annelid.core.errors import InvalidValue
from annelid.fem.assembly import Assembly
from annelid.fem.linalg.direct import direct_solver
from annelid.fem.linalg.stale_solver import StaleSolver
from annelid.fem.linalg.unknowns import LinearSolver, Unknowns
from annelid.fem.tetrahedra import Tetrahedra

Linear = Literal["auto", "direct", "stale"]


def linear_solver(kind: Linear, unknowns: Unknowns, assembly: Assembly, tetrahedra: Tetrahedra) -> LinearSolver:
    """A solver for the matrices of an assembly: "auto", "direct" or "stale"."""
    if kind not in ("auto", "direct", "stale"):
        raise InvalidValue(f"linear must be 'auto', 'direct' or 'stale', not {kind!r}.")
    if kind == "stale":
        return StaleSolver(unknowns, assembly, tetrahedra)
    return direct_solver(unknowns)
