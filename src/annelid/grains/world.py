"""Where grains live: gravity, time step, method, and what happens to grains that are too fast for the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.options import Auto
from annelid.core.parameters import Checked, documented, parameter
from annelid.grains.controls import AnyControl, require_controls
from annelid.grains.rigid import Touched, touched_by_grains
from annelid.shapes import Obstacle
from annelid.shapes.values import Vector

Method = Literal["nonsmooth", "paper", "hertz"]


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Checked):
    """Gravity, time step and method."""

    of_what: ClassVar[str] = "a simulation of grains"

    dt: float | Auto = parameter(
        "auto",
        'Time step [s]; "auto" takes the longest that keeps overlaps near a hundredth of a diameter.',
        unit="s", above=0.0,
    )  # fmt: skip
    gravity: Vector = parameter((0.0, 0.0, -9.81), "Acceleration of gravity [m/s²].")
    obstacles: Sequence[Obstacle] = parameter(
        (), "What grains touch: rigid things, or bare geometries, see `annelid.shapes.Rigid`."
    )
    method: Method = parameter(
        "nonsmooth",
        '"nonsmooth" (hard contacts by impulses), "paper" (GranularGym\'s Algorithm 1), or "hertz" (Hertz-Mindlin '
        "penalty forces, for reference).",
    )
    iterations: int | None = parameter(
        None,
        "Sweeps over all contacts in a step; the most where there is a tolerance. None takes 1, 8 where something "
        "bounces, up to 8 where the step is too long for free bodies that fall, 50 with a tolerance, and the paper's "
        "method takes 3.",
        limits=(1, 1000),
    )
    tolerance: float | None = parameter(
        None,
        "Sweeps end when none changes the relative velocity of a contact by more [m/s]; None: all are done, or a fifth "
        "of √(gR) where steps converge.",
        unit="m/s", least=0.0,
    )  # fmt: skip
    converge: bool | Auto = parameter(
        "auto",
        "Whether sweeps that know where impulses are going follow the first one until a step is solved: a blow then "
        'goes through the bed in one long step, and a bed at rest takes one sweep. "auto" does so beside free and soft '
        "bodies, unless something bounces or `iterations` or `tolerance` is given.",
    )
    softness: float = parameter(
        0.15, "Compliance of contacts, in units of the lighter grain's inverse mass.", above=0.0, most=10.0
    )
    correction: float | None = parameter(
        None,
        "Share of an overlap that a step removes; None takes 0.012, and the paper's method 0.02.",
        above=0.0, most=1.0,
    )  # fmt: skip
    skin: float | None = parameter(
        None,
        "How much further than needed neighbours are listed, in radii; None takes 0.25 on a CPU, up to 0.75 where "
        "grains are fast, and 0.4 on CUDA and beside soft bodies. Beside bodies that move freely, what is fast may "
        "move further.",
        above=0.0, most=4.0,
    )  # fmt: skip
    period: Vector = parameter((0.0, 0.0, 0.0), "Lengths after which space repeats along x, y, z [m]; 0 for none.")
    too_fast: Literal["warn", "stop", "substep"] = parameter(
        "warn",
        "What to do when a grain moves by more than its radius in a step, or a body by more than the thinnest is "
        'thick: "warn", "stop" or "substep".',
    )
    contact_step: float | None = parameter(
        None,
        "Contacts are as stiff as softness and correction make them in a step of this length [s], whatever the step "
        "is; None is the step itself, and beside free bodies the longest one that suits bed and bodies.",
        unit="s", above=0.0,
    )  # fmt: skip
    controls: Sequence[AnyControl] = parameter(
        (),
        "Channels that move driven bodies and pull free ones, see `grains.velocity_control`, and joints of robots, see "
        "`annelid.shapes.articulated.joint_controls`.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_controls(self.controls)
        self.touched  # noqa: B018 (obstacles that grains cannot touch are refused here)
        if min(self.period) < 0.0:
            raise InvalidValue(f"period must be three lengths of 0 or more [m], not {self.period}.")
        if self.method != "nonsmooth" and (self.converge is True or self.tolerance is not None):
            raise InvalidValue(f"only steps of the nonsmooth method converge to a tolerance, not of {self.method!r}.")

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
