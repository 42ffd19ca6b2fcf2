"""Small quadratic programs, by daqp (extra `fem`): solved in good units, checked, and explained where they fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.errors import AnnelidError
from annelid.core.packages import optional

_INFINITE = 1e30
_SOLVED = 1
_EQUAL, _ACTIVE_SIGN = 5, 1e-9
_TOLERANCE = 1e-10


class NoSolution(AnnelidError, ArithmeticError):
    """Limits exclude every solution.

    Attributes:
        limits: Names of the limits that contradict each other.
    """

    def __init__(self, sentence: str, limits: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.limits = tuple(limits)


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise ½ zᵀ H z + gᵀ z within limits on z and on rows A z.

    Attributes:
        hessian: H, shape [n, n].
        gradient: g, shape [n].
        rows: A, shape [r, n].
        low: Lower limits of z, then of A z, shape [n + r].
        high: Upper limits, shape [n + r].
        names: What each limit is on, for messages, n + r of them.
    """

    hessian: np.ndarray
    gradient: np.ndarray
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: tuple[str, ...]

    def value(self, z: np.ndarray) -> float:
        """What is minimised."""
        return float(0.5 * z @ self.hessian @ z + self.gradient @ z)


@dataclass(frozen=True, eq=False)
class Solution:
    """The minimum of a program.

    Attributes:
        z: The minimiser, shape [n].
        value: The minimum.
        duals: How hard each limit pushes, in units of the objective: below 0 at lower limits, shape [n + r].
        active: Limits that hold with equality and push: (name, "least" or "most").
        optimality: Largest violation of the optimality conditions, as a part of the gradient and of the limits [-].
    """

    z: np.ndarray
    value: float
    duals: np.ndarray
    active: tuple[tuple[str, str], ...]
    optimality: float


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A program in units in which its numbers are about 1: z = unit v."""

    unit: np.ndarray
    hessian: np.ndarray
    gradient: np.ndarray
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    row_unit: np.ndarray
    objective_unit: float


def solve(program: Program, start: np.ndarray | None = None) -> Solution:
    """The minimum of a program whose Hessian is positive definite.

    Args:
        program: The program.
        start: Duals of an earlier program, to begin with the limits that were active there; ignored if its shape
            was another.
    """
    scaled = _scaled(program)
    v, duals, flag = _minimise(scaled, None if start is None else _in_units(scaled, start))
    for tolerance in (_TOLERANCE, 1e3 * _TOLERANCE):  # an old set of active limits can mislead, and rounding too
        if flag != _SOLVED:
            v, duals, flag = _minimise(scaled, None, tolerance)
    if flag != _SOLVED:
        raise _explained(program, scaled, flag)
    z = np.clip(v * scaled.unit, program.low[: len(v)], program.high[: len(v)])
    optimality = _optimality(scaled, v, duals)
    back = duals * scaled.objective_unit / scaled.row_unit
    active = tuple(
        (program.names[i], "least" if duals[i] < 0.0 else "most") for i in np.flatnonzero(np.abs(duals) > _ACTIVE_SIGN)
    )
    return Solution(z, program.value(z), back, active, optimality)


def _scaled(program: Program) -> _Scaled:
    """Unknowns with a unit diagonal of H, as large as a free step would be; rows of unit length."""
    count = len(program.gradient)
    diagonal = np.diag(program.hessian)
    smallest = 1e-14 * max(float(diagonal.max(initial=0.0)), 1e-300)
    unit = 1.0 / np.sqrt(np.maximum(diagonal, smallest))
    size = max(float(np.abs(program.gradient * unit).max(initial=0.0)), 1e-12)
    unit = unit * size
    rows = program.rows * unit
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    row_unit = np.concatenate([unit, lengths])
    return _Scaled(
        unit,
        program.hessian * np.outer(unit, unit) / size**2,
        program.gradient * unit / size**2,
        rows / lengths[:, None] if len(rows) else np.zeros((0, count)),
        np.maximum(program.low / row_unit, -_INFINITE),
        np.minimum(program.high / row_unit, _INFINITE),
        row_unit,
        size**2,
    )


def _in_units(scaled: _Scaled, duals: np.ndarray) -> np.ndarray | None:
    return duals * scaled.row_unit / scaled.objective_unit if duals.shape == scaled.low.shape else None


def _minimise(
    scaled: _Scaled, start: np.ndarray | None, tolerance: float = _TOLERANCE
) -> tuple[np.ndarray, np.ndarray, int]:
    sense = np.where(scaled.high - scaled.low <= 0.0, _EQUAL, 0).astype(np.int32)
    extra: dict[str, Any] = {} if start is None else {"dual_start": np.ascontiguousarray(start)}
    v, _, flag, info = _daqp().solve(
        np.ascontiguousarray(scaled.hessian), np.ascontiguousarray(scaled.gradient),
        np.ascontiguousarray(scaled.rows), np.maximum(scaled.high, scaled.low), scaled.low, sense,
        primal_tol=tolerance, dual_tol=1e-12, **extra,
    )  # fmt: skip
    return np.asarray(v), np.asarray(info["lam"]), int(flag)


def _optimality(scaled: _Scaled, v: np.ndarray, duals: np.ndarray) -> float:
    """Largest violation of the conditions of Karush, Kuhn and Tucker."""
    values = np.concatenate([v, scaled.rows @ v])
    slope = scaled.hessian @ v + scaled.gradient + duals[: len(v)] + scaled.rows.T @ duals[len(v) :]
    outside = np.maximum(np.maximum(scaled.low - values, values - scaled.high), 0.0)
    up, down = np.maximum(duals, 0.0), np.maximum(-duals, 0.0)
    idle = np.maximum(up * np.minimum(scaled.high - values, 1.0), down * np.minimum(values - scaled.low, 1.0))
    size = max(float(np.abs(scaled.gradient).max(initial=0.0)), float(np.abs(duals).max(initial=0.0)), 1e-300)
    return float(
        max(np.abs(slope).max(initial=0.0) / size, outside.max(initial=0.0), np.abs(idle).max(initial=0.0) / size)
    )


def _explained(program: Program, scaled: _Scaled, flag: int) -> NoSolution:
    names = _contradiction(program, scaled)
    if not names:
        return NoSolution(f"the optimiser found no solution (daqp ended with {flag}); loosen the limits.")
    listed = " and ".join(names)
    verb = "cannot be kept" if len(names) == 1 else "contradict each other"
    return NoSolution(f"the limits exclude every solution: {listed} {verb}; widen one of them.", names)


def _contradiction(program: Program, scaled: _Scaled) -> list[str]:
    """A smallest set of limits that cannot be kept together, by leaving out one after the other."""
    count = len(program.gradient)
    low, high = scaled.low.copy(), scaled.high.copy()

    def possible() -> bool:
        trial = _Scaled(
            scaled.unit, np.eye(count), np.zeros(count), scaled.rows, low, high, scaled.row_unit, 1.0
        )  # fmt: skip
        return _minimise(trial, None)[2] == _SOLVED

    if possible():
        return []
    names = []
    for limits, free, word in ((low, -_INFINITE, "at least"), (high, _INFINITE, "at most")):
        for i in range(len(limits)):
            if abs(limits[i]) >= _INFINITE:
                continue
            kept, limits[i] = limits[i], free
            if possible():
                limits[i] = kept
                names.append(f"{program.names[i]} ({word})")
    return names


def require_optimiser() -> None:
    """Say at once that the optimiser is missing, before a robot is built around it."""
    _daqp()


def _daqp() -> Any:
    return optional("daqp", purpose="inverse control", extra="fem")
