"""The choice of a linear solver by the device and the wish of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annelid.core.errors import InvalidValue
from annelid.fem.linalg.direct import direct_solver
from annelid.fem.linalg.stale_solver import StaleSolver
from annelid.fem.linalg.unknowns import LinearSolver

if TYPE_CHECKING:
    from annelid.fem.model import Model


def linear_solver(model: Model, kind: str) -> LinearSolver:
    """A solver for the matrices of a model: "auto", "direct" or "stale"."""
    if kind not in ("auto", "direct", "stale"):
        raise InvalidValue(f"linear must be 'auto', 'direct' or 'stale', not {kind!r}.")
    if kind == "stale":
        return StaleSolver(model.unknowns, model.assembly, model.tetrahedra)
    return direct_solver(model.unknowns)
