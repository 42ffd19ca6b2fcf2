"""Where grains live: gravity, time step, method, and what happens to grains that are too fast for the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import Auto, Named
from annelid.grains.controls import AnyControl, require_controls
from annelid.grains.rigid import Touched, touched_by_grains
from annelid.shapes import Obstacle
from annelid.shapes.values import as_vector, require_positive, require_step

METHODS = ("nonsmooth", "paper", "hertz")
_NUMBERS = (
    "iterations", "tolerance", "softness", "correction", "skin", "contact_step",
)  # fmt: skip
_OPTIONAL = {"iterations", "tolerance", "correction", "skin", "contact_step"}
TOO_FAST = ("warn", "stop", "substep")


@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Named):
    """Gravity, time step and method.

    Attributes:
        dt: Time step [s]; "auto" takes the longest that keeps overlaps near a hundredth of a diameter.
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains touch: rigid things, or bare geometries, see `annelid.shapes.Rigid`.
        method: "nonsmooth" (hard contacts by impulses), "paper" (GranularGym's Algorithm 1), or "hertz"
            (Hertz-Mindlin penalty forces, for reference).
        iterations: Sweeps over all contacts in a step; the most where there is a tolerance. None takes 1, 8 where
            something bounces, up to 8 where the step is too long for free bodies that fall, 50 with a tolerance, and
            the paper's method takes 3.
        tolerance: Sweeps end when none changes the relative velocity of a contact by more [m/s]; None: all are done, or
            a fifth of √(gR) where steps converge.
        converge: Whether sweeps that know where impulses are going follow the first one until a step is solved: a blow
            then goes through the bed in one long step, and a bed at rest takes one sweep. "auto" does so beside free
            and soft bodies, unless something bounces or `iterations` or `tolerance` is given.
        softness: Compliance of contacts, in units of the lighter grain's inverse mass.
        correction: Share of an overlap that a step removes; None takes 0.012, and the paper's method 0.02.
        skin: How much further than needed neighbours are listed, in radii; None takes 0.25 on a CPU, up to 0.75 where
            grains are fast, and 0.4 on CUDA and beside soft bodies. Beside bodies that move freely, what is
            fast may move further.
        period: Lengths after which space repeats along x, y, z [m]; 0 for none.
        too_fast: What to do when a grain moves by more than its radius in a step, or a body by more than the thinnest
            is thick: "warn", "stop" or "substep".
        contact_step: Contacts are as stiff as softness and correction make them in a step of this length [s], whatever
            the step is; None is the step itself, and beside free bodies the longest one that suits bed and bodies.
        controls: Channels that move driven bodies and pull free ones, see `grains.velocity_control`, and joints of
            robots, see `shapes.articulated.joint_controls`.
    """

    dt: float | Auto = "auto"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    obstacles: Sequence[Obstacle] = field(default=(), repr=False)
    method: str = "nonsmooth"
    iterations: int | None = None
    tolerance: float | None = None
    converge: bool | Auto = "auto"
    softness: float = 0.15
    correction: float | None = None
    skin: float | None = None
    period: tuple[float, float, float] = (0.0, 0.0, 0.0)
    too_fast: str = "warn"
    contact_step: float | None = None
    controls: Sequence[AnyControl] = ()

    def __post_init__(self) -> None:
        for name in ("gravity", "period"):
            object.__setattr__(self, name, as_vector(name, getattr(self, name)))
        for name in _NUMBERS:
            value = getattr(self, name)
            if not (value is None and name in _OPTIONAL) and (isinstance(value, bool) or not isinstance(value, Real)):
                raise InvalidValue(f"{name} must be a number, not {value!r:.60}.")
        require_controls(self.controls)
        self.touched  # noqa: B018 (obstacles that grains cannot touch are refused here)
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise UnknownName("method", self.method, METHODS)
        if not isinstance(self.too_fast, str) or self.too_fast not in TOO_FAST:
            raise UnknownName("way with grains that are too fast", self.too_fast, TOO_FAST)
        object.__setattr__(self, "dt", require_step("dt", self.dt))
        if self.contact_step is not None:
            object.__setattr__(self, "contact_step", require_positive("contact_step", self.contact_step))
        if min(self.period) < 0.0:
            raise InvalidValue(f"period must be three lengths of 0 or more [m], not {self.period}.")
        if not (isinstance(self.sweeps, int) and 1 <= self.sweeps <= 1000):
            raise InvalidValue(f"iterations must be a whole number from 1 to 1000, not {self.iterations}.")
        if not (isinstance(self.converge, bool) or (isinstance(self.converge, str) and self.converge == "auto")):
            raise InvalidValue(f"converge must be True, False or 'auto', not {self.converge!r}.")
        if self.converge is True and self.method != "nonsmooth":
            raise InvalidValue(f"only steps of the nonsmooth method converge, not of {self.method!r}.")
        if self.tolerance is not None and self.method != "nonsmooth":
            raise InvalidValue(f"only the nonsmooth method iterates to a tolerance, not {self.method!r}.")
        for name, low, high in (
            ("softness", 0.0, 10.0), ("share", 0.0, 1.0), ("skin", 0.0, 4.0),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not low < value <= high:
                name = "correction" if name == "share" else name
                raise InvalidValue(f"{name} must be above {low:g} and at most {high:.3g}, not {value}.")
        if self.tolerance is not None and not (math.isfinite(self.tolerance) and self.tolerance >= 0.0):
            raise InvalidValue(f"tolerance must be 0 or more [m/s], or None, not {self.tolerance}.")

    @cached_property
    def touched(self) -> tuple[Touched, ...]:
        """The obstacles as grains touch them."""
        return tuple(touched_by_grains(self.obstacles))

    @property
    def sweeps(self) -> int:
        """Sweeps in a step where nothing bounces, at most."""
        if self.iterations is not None:
            return self.iterations
        return 3 if self.method == "paper" else 1 if self.tolerance is None else 50

    def converges(self, *, bouncing: bool) -> bool:
        """Whether steps beside free or soft bodies converge; `bouncing`: something bounces."""
        if self.converge != "auto":
            return bool(self.converge)
        plain = self.iterations is not None or self.tolerance is not None
        return self.method == "nonsmooth" and not (plain or bouncing)

    @property
    def share(self) -> float:
        """Share of an overlap that a step removes."""
        if self.correction is not None:
            return self.correction
        return 0.02 if self.method == "paper" else 0.012
