"""The longest stable step of what is stepped explicitly, and what a step is limited by, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from annelid.core.described import Described

_ENOUGH = 1.0e-3  # relative change of a step below which it counts as the same
_MOST = 20  # turns of the search, of which a few suffice
_DENSE = 64  # freedoms up to which all motions are found at once


def stable_step(squared: float, decay: float, limit: float = 4.0) -> float:
    """The step dt [s] at which squared dt² + 2 decay dt reaches the limit; infinite where nothing acts.

    Symplectic Euler with explicit damping, M (v' - v) / dt = -K x - C v and x' = x + v' dt, keeps an energy whose mass
    is M - C dt / 2 - K dt² / 4, and is stable while that is positive: the limit of K dt² + 2 C dt is 4 M.

    Args:
        squared: Squared frequency [1/s²].
        decay: Rate of decay, damping over mass [1/s].
        limit: Squared frequency times squared step at the edge of stability, without damping.
    """
    if squared <= 0.0:
        return 0.5 * limit / decay if decay > 0.0 else math.inf
    return (-decay + math.sqrt(decay * decay + limit * squared)) / squared


def stable_step_of(stiffness: sparse.csr_array, damping: sparse.csr_array) -> float:
    """Longest stable step [s] of symplectic Euler with explicit damping, see `stable_step`.

    Each motion has a step by its own stiffness and damping; the stable one is the shortest of these. The motion that is
    worst in a step that is too long has a shorter one, in which another may be worse.

    Args:
        stiffness: Stiffness per mass, symmetric [1/s²].
        damping: Damping per mass, symmetric [1/s].
    """

    def of(motion: np.ndarray) -> float:
        return stable_step(float(motion @ (stiffness @ motion)), float(motion @ (damping @ motion)))

    scale = np.sqrt(abs(stiffness).max()) + abs(damping).max()
    step = 1.0 / scale if scale > 0.0 else math.inf
    for _ in range(_MOST if math.isfinite(step) else 0):
        before = step
        step = of(_largest(0.25 * step * step * stiffness + 0.5 * step * damping))
        if abs(step - before) <= _ENOUGH * before:
            break
    return step


def _largest(matrix: sparse.csr_array) -> np.ndarray:
    """Unit vector of the largest eigenvalue of a symmetric matrix."""
    count = matrix.shape[0]
    if count <= _DENSE:
        return np.asarray(np.linalg.eigh(matrix.toarray())[1][:, -1])
    start = np.random.default_rng(count).normal(size=count)
    return np.asarray(eigsh(matrix, 1, which="LA", v0=start, tol=_ENOUGH)[1][:, 0])


@dataclass(frozen=True)
class Cause:
    """Something that may limit a step.

    Attributes:
        name: What it is, with its number.
        where: Where it acts; empty if everywhere.
        remedy: What to change for a longer step.
        halved: The step that dt="auto" takes with half of it [s].
    """

    name: str
    where: str
    remedy: str
    halved: float


@dataclass(frozen=True, repr=False)
class StepReport(Described):
    """Why a time step is as long as it is; printed, it says so.

    Attributes:
        dt: Time step that is taken [s].
        auto: Time step that dt="auto" takes [s].
        rule: How that is chosen.
        causes: What may limit it, the first most.
    """

    dt: float
    auto: float
    rule: str
    causes: tuple[Cause, ...] = ()

    @classmethod
    def of(cls, dt: float, auto: float, rule: str, causes: Iterable[Cause]) -> StepReport:
        """A report of causes in any order; what would not change the step is left out."""
        felt = [cause for cause in causes if cause.halved > auto * (1.0 + _ENOUGH)]
        return cls(dt, auto, rule, tuple(sorted(felt, key=lambda cause: -cause.halved)))

    @property
    def limit(self) -> Cause | None:
        """What limits the step most; None if nothing does but the rule."""
        return self.causes[0] if self.causes else None

    @property
    def because(self) -> str:
        """What limits the step in a few words; empty if nothing does, or if a longer one was asked for."""
        return f", limited by {self.limit.name}" if self.limit and self.dt <= self.auto * (1.0 + _ENOUGH) else ""

    def facts(self) -> Mapping[str, str]:
        """The step, what limits it and what to change."""
        given = {} if math.isclose(self.dt, self.auto) else {"dt='auto'": f"{self.auto:.3g} s"}
        facts = {"dt": f"{self.dt:.3g} s", **given, "chosen as": self.rule}
        for cause in self.causes:
            where = f", at {cause.where}" if cause.where else ""
            facts[cause.name] = f"half of it gives {cause.halved:.3g} s{where}: {cause.remedy}"
        return facts

    def __str__(self) -> str:
        head, *rest = (f"{name}: {fact}" for name, fact in self.facts().items())
        return "\n".join([head, *rest])
