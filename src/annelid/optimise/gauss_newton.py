"""Gauss-Newton for fits: residuals that should vanish, their rates by forward differences, a trust region.

All points of an iteration are asked for in one call, so that a model of many worlds answers them side by side: the
rates of p parameters are p copies that differ a little, and steps of several lengths are tried at once. For up to about
ten parameters that is cheaper than the adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind, require_taking
from annelid.core.parameters import Checked, documented, parameter

Residuals = Callable[[np.ndarray], np.ndarray]
"""From coordinates of shape [copies, p] to residuals of shape [copies, r]; rows that are not finite count as worst."""


@documented
@dataclass(frozen=True, kw_only=True)
class GaussNewton(Checked):
    """How to fit."""

    iterations: int = parameter(30, "Most steps.", least=0)
    radius: float = parameter(0.7, "Length of the first step at most, in coordinates; it adapts.", above=0.0)
    difference: float = parameter(1e-3, "Step of the differences, in coordinates.", above=0.0)
    tolerance: float = parameter(1e-5, "The fit is done when a step would be shorter, in coordinates.", least=0.0)
    gain: float = parameter(
        1e-7, "The fit is done when a step lowers the sum of squares by less than this part of it.", least=0.0
    )
    tries: int = parameter(1, "How many lengths of a step are tried at once.", least=1)


@dataclass(eq=False)
class Fitted:
    """Where a fit has ended.

    Attributes:
        at: Coordinates, shape [p].
        residuals: What is left, shape [r].
        jacobian: Rates of the residuals, shape [r, p].
        costs: Half the sum of squares after each iteration.
        evaluations: Points that were asked for.
        converged: Whether it ended by itself.
    """

    at: np.ndarray
    residuals: np.ndarray
    jacobian: np.ndarray
    costs: list[float] = field(default_factory=list)
    evaluations: int = 0
    converged: bool = False

    @property
    def cost(self) -> float:
        """Half the sum of squares that is left."""
        return _cost(self.residuals)


def gauss_newton(
    residuals: Residuals,
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    how: GaussNewton | None = None,
    watch: Callable[[Fitted], None] | None = None,
) -> Fitted:
    """Coordinates between bounds at which the sum of squares of residuals is least, near a start.

    Args:
        residuals: From coordinates of shape [copies, p] to residuals of shape [copies, r].
        start: Where to begin, shape [p].
        low: Lower bounds, shape [p].
        high: Upper bounds, shape [p].
        how: How to fit.
        watch: Called after each iteration.
    """
    require_taking("what is fitted", residuals, "coordinates")
    require_kind("how to fit", how, (GaussNewton, NoneType), "a GaussNewton or None")
    if watch is not None:
        require_taking("watch", watch, "fitted")
    how = how or GaussNewton()
    asked = _Counted(residuals)
    start, low, high = (as_numbers(f"the {n} of a fit", v) for n, v in (("start", start), ("low", low), ("high", high)))
    if start.ndim != 1 or not len(start) or any(end.shape not in ((), start.shape) for end in (low, high)):
        raise InvalidValue(
            f"a fit needs a start of shape [p] and bounds of the same shape, not {list(start.shape)}, "
            f"{list(low.shape)} and {list(high.shape)}."
        )
    here = np.clip(start, low, high)
    first = asked(here[None])[0]
    found = Fitted(here, first, np.zeros((len(first), len(here))))
    radius = how.radius
    for _ in range(how.iterations):
        if not np.isfinite(found.residuals).all():
            break  # nothing to begin from
        found.jacobian = _jacobian(asked, found, high, how.difference)
        found.evaluations = asked.count
        radius, moved = _advance(asked, found, low, high, radius, how)
        found.costs.append(found.cost)
        found.evaluations = asked.count
        if watch is not None:
            watch(found)
        if not moved:
            found.converged = True
            break
    else:
        found.jacobian = _jacobian(asked, found, high, how.difference)
        found.evaluations = asked.count
    return found


class _Counted:
    """Residuals that are counted, in double precision."""

    def __init__(self, residuals: Residuals) -> None:
        self._residuals, self.count = residuals, 0

    def __call__(self, at: np.ndarray) -> np.ndarray:
        self.count += len(at)
        found = as_numbers("residuals of a fit", self._residuals(at))
        if found.ndim != 2 or len(found) != len(at):
            raise InvalidValue(
                f"a fit needs residuals of shape [{len(at)}, r] for {len(at)} copies, not {list(found.shape)}; a loss "
                "of one number is for `minimise`."
            )
        return found


def _cost(residuals: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        return 0.5 * float(residuals @ residuals) if np.isfinite(residuals).all() else np.inf


def _jacobian(asked: _Counted, found: Fitted, high: np.ndarray, difference: float) -> np.ndarray:
    """Rates by forward differences, backward at upper bounds; a copy that is lost is taken from the other side."""
    count = len(found.at)
    signs = np.where(found.at + difference > high, -1.0, 1.0)
    near = asked(found.at + np.diag(difference * signs))
    lost = np.flatnonzero(~np.isfinite(near).all(axis=1))
    if len(lost):
        signs[lost] *= -1.0
        near[lost] = asked(found.at + np.diag(difference * signs)[lost])
    rates = (near - found.residuals) / (difference * signs)[:, None]
    rates[~np.isfinite(rates).all(axis=1)] = 0.0
    return np.asarray(rates.T).reshape(-1, count)


def _advance(
    asked: _Counted, found: Fitted, low: np.ndarray, high: np.ndarray, radius: float, how: GaussNewton
) -> tuple[float, bool]:
    """Take a step that lowers the cost; the radius after it, and whether there is a reason to go on."""
    before = found.cost
    while True:
        radii = radius * 0.25 ** np.arange(how.tries)
        steps = np.array([_step(found, low, high, length) for length in radii])
        lengths = np.linalg.norm(steps, axis=1)
        if lengths[0] < how.tolerance:
            return radius, False
        tried = asked(found.at + steps)
        costs = np.array([_cost(each) for each in tried])
        best = int(costs.argmin())
        if costs[best] < before:
            break
        radius = 0.25 * min(float(radii[-1]), float(lengths[-1]))
    model = found.residuals + found.jacobian @ steps[best]
    promised = before - _cost(model)
    gained = before - float(costs[best])
    found.at, found.residuals = found.at + steps[best], tried[best]
    if gained > 0.75 * promised and lengths[best] > 0.9 * radii[best]:
        radius = 2.0 * float(radii[best])
    elif gained < 0.25 * promised:
        radius = 0.5 * float(lengths[best])
    else:
        radius = float(radii[best])
    return radius, gained > how.gain * before


def _step(found: Fitted, low: np.ndarray, high: np.ndarray, radius: float) -> np.ndarray:
    """The step of Gauss and Newton, no longer than a radius and within bounds.

    A parameter that stands at a bound and would leave is held, and the others are solved for again.
    """
    free = np.ones(len(found.at), bool)
    for _ in range(len(free)):
        step = np.zeros(len(free))
        step[free] = _bounded(found.jacobian[:, free], found.residuals, radius)
        outside = free & ((found.at + step < low) | (found.at + step > high))
        stuck = outside & ((found.at <= low) & (step < 0.0) | (found.at >= high) & (step > 0.0))
        if not stuck.any():
            break
        free &= ~stuck
    return np.asarray(np.clip(found.at + step, low, high) - found.at)


def _bounded(jacobian: np.ndarray, residuals: np.ndarray, radius: float) -> np.ndarray:
    """The d that makes |J d + r| least among those no longer than a radius."""
    if jacobian.shape[1] == 0:
        return np.zeros(0)
    left, sizes, right = np.linalg.svd(jacobian, full_matrices=False)
    pull = left.T @ residuals
    kept = sizes > 1e-12 * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)
    sizes, pull, right = sizes[kept], pull[kept], right[kept]
    if len(sizes) == 0:
        return np.zeros(jacobian.shape[1])

    def shifted(shift: float) -> np.ndarray:
        return np.asarray(-right.T @ (sizes * pull / (sizes**2 + shift)))

    if np.linalg.norm(shifted(0.0)) <= radius:
        return shifted(0.0)
    least, most = 0.0, float(np.linalg.norm(sizes * pull)) / radius  # at which the step is no longer than the radius
    for _ in range(60):
        middle = 0.5 * (least + most)
        if np.linalg.norm(shifted(middle)) > radius:
            least = middle
        else:
            most = middle
    return shifted(most)
