"""What a voxel is made of: the rows of Table 1 of the paper (Medvet et al., 2D-VSR-Sim), and its two presets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter

GROUPS = {"E": "side external", "I": "side internal", "X": "side cross", "C": "central cross"}
"""The four groups of spring-dampers that can make up a scaffolding."""


@documented
@dataclass(frozen=True, kw_only=True)
class Voxel(Checked):
    """The material of a voxel: four square masses, spring-dampers between them, and how they are actuated."""

    of_what: ClassVar[str] = "a voxel"

    side_length: float = parameter(
        3.0, "Side of the voxel [m]; the same for all voxels of a robot.", unit="m", above=0.0
    )
    mass_ratio: float = parameter(
        0.3, "Side of a mass as a fraction of the side of the voxel, in ]0, 0.5].", above=0.0, most=0.5
    )
    linear_damping: float = parameter(1.0, "Rate at which velocities of masses decay [1/s].", unit="1/s", least=0.0)
    angular_damping: float = parameter(1.0, "Rate at which spins of masses decay [1/s].", unit="1/s", least=0.0)
    mass: float = parameter(1.0, "Mass of each of the four masses [kg].", unit="kg", above=0.0)
    friction: float = parameter(
        100.0, "Coulomb friction of the masses; a pair of surfaces has the geometric mean of its two.", least=0.0
    )
    restitution: float = parameter(
        0.1, "Restitution of the masses, in [0, 1]; a pair of surfaces has the larger of its two.", limits=(0.0, 1.0)
    )
    frequency: float = parameter(8.0, "Frequency of the spring-dampers [Hz].", unit="Hz", least=0.0)
    damping_ratio: float = parameter(0.3, "Damping ratio of the spring-dampers, in [0, 1].", limits=(0.0, 1.0))
    max_force: float = parameter(
        1000.0, "Force on each mass at a control value of 1 [N]; used by the force actuation only.", unit="N", least=0.0
    )
    max_area_change: float = parameter(
        0.2, "Change of the area at a control value of 1, in [0, 1[; used by the area actuation only.",
        limits=(0.0, 1.0),
    )  # fmt: skip
    scaffolding: str = parameter(
        "EIXC",
        'Groups of spring-dampers: letters of "EIXC" (side external, side internal, side cross, central cross).',
    )
    ropes: Literal["lower", "upper"] | None = parameter(
        "upper",
        '"lower" keeps the centres of neighbouring masses at least a mass apart, "upper" at most as far apart as in a '
        "fully enlarged voxel, None lets them go.",
    )
    actuation: Literal["area", "force"] = parameter(
        "area", '"area" changes the rest lengths, "force" pulls the masses towards the centre.'
    )
    lengths: Literal["area", "linear"] = parameter(
        "area",
        'Rest lengths between the extremes: "area" makes the area linear in the control value, "linear" the lengths.',
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaffolding", _groups(self.scaffolding))
        super().__post_init__()
        if min(self.side_lengths) < 2.0 * self.mass_side:
            raise InvalidValue(
                f"a voxel of side {self.side_length} m that shrinks to {min(self.side_lengths):.3g} m has no room for "
                f"masses of {self.mass_side:.3g} m: use a smaller mass_ratio or max_area_change."
            )

    @classmethod
    def paper(cls, **changes: Any) -> Voxel:
        """A voxel as the paper describes it, with its default values where none are given."""
        return cls(**changes)

    @classmethod
    def v1(cls, **changes: Any) -> Voxel:
        """A voxel as version 1.0.0 of the original program really makes it.

        Each of its masses weighs a quarter of its area times the `mass` of the table, ropes are lower limits, and rest
        lengths are interpolated linearly. `mass` here stands for that number of the table, 1 by default.
        """
        shape = cls(**{key: changes[key] for key in ("side_length", "mass_ratio") if key in changes}, max_area_change=0)
        mass = 0.25 * shape.mass_side**2 * changes.pop("mass", 1.0)
        return cls(**{"mass": mass, "ropes": "lower", "lengths": "linear", **changes})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Voxel:
        """A voxel from `to_dict`; unknown names are refused."""
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise InvalidValue(f"a voxel has no property {unknown[0]!r}; known: {', '.join(sorted(known))}.")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """All properties by name."""
        return asdict(self)

    @property
    def mass_side(self) -> float:
        """Side of a mass [m]."""
        return self.mass_ratio * self.side_length

    @property
    def inertia(self) -> float:
        """Moment of inertia of a mass [kg m²]."""
        return self.mass * self.mass_side**2 / 6.0

    @property
    def spin_rate(self) -> float:
        """Angular frequency of the spring-dampers [rad/s]."""
        return 2.0 * math.pi * self.frequency

    @property
    def side_lengths(self) -> tuple[float, float, float]:
        """Side of the voxel fully shrunk, at rest and fully enlarged [m]."""
        low, high = (self.side_length * math.sqrt(1.0 + sign * self.max_area_change) for sign in (-1.0, 1.0))
        return low, self.side_length, high

    def rest_lengths(self) -> np.ndarray:
        """Rest lengths [m] of side, side-cross and central-cross springs (columns) shrunk, at rest and enlarged."""
        sides = np.array(self.side_lengths)
        gap = sides - 2.0 * self.mass_side
        return np.stack([gap, np.hypot(gap, self.mass_side), (sides - self.mass_side) * math.sqrt(2.0)], axis=1)

    @property
    def rope_length(self) -> float:
        """Length at which a rope acts [m]."""
        return self.mass_side if self.ropes == "lower" else max(self.side_lengths) - self.mass_side

    def damping_time(self, dt: float) -> float:
        """Time β [s] by which the velocity of a spring adds to its stretch: f = k (ℓ - L + β dℓ/dt).

        Besides the damping ratio it holds the damping that the implicit constraints of the original add at its step.
        """
        if self.frequency == 0.0:
            return 0.0
        numerical = min(0.5 * self.spin_rate * dt, 0.3, 6.0 / self.frequency)
        return 2.0 * (self.damping_ratio + numerical) / self.spin_rate


def _groups(given: str | Iterable[str]) -> str:
    letters = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(letter, str) for letter in letters):
        raise InvalidValue(f"the scaffolding of a voxel must be letters of 'EIXC', not {given!r:.60}.")
    if unknown := sorted(set(letters) - set(GROUPS)):
        raise InvalidValue(f"scaffolding group {unknown[0]!r} does not exist; use letters of 'EIXC'.")
    return "".join(letter for letter in GROUPS if letter in letters)
