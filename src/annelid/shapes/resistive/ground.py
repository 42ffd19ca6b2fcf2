"""Ground that resists like sand, as one of the obstacles of a world."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from annelid.core.errors import InvalidValue, UnknownName, UnlikelyUnit
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind
from annelid.core.snapshot import Color, require_color
from annelid.shapes.resistive.furrow import Furrow
from annelid.shapes.resistive.kernels.stress import PLANE_LAW, SPACE_LAW, resistance
from annelid.shapes.resistive.media import Medium, medium
from annelid.shapes.surface import require_at_least_0

Law = Literal["2d", "3d"]

_WEAKEST = 1e3  # stress for each metre [N/m³]: snow that was just blown together has ten times more
_FLATTEST = 1.6  # angle of repose [°]: more than a right angle in radians
_LONGEST = 0.5  # way of friction [m]


@dataclass(frozen=True)
class ResistiveGround(Named):
    """Level ground that lets bodies sink in and resists them by resistive force theory, instead of grains.

    The surface stays level: it keeps no tracks and no heaps.

    Attributes:
        medium: Name of a medium, a `Medium`, or the path of a file .json with one that was fitted; becomes a `Medium`.
        law: "3d", of any surface in any direction, or "2d", the older one in the vertical plane of the motion.
        height: Height of the surface [m].
        friction: Coulomb coefficient between body and ground; of the law "3d", and of both where sand gives.
        inertia: How much of the momentum of the sand that a surface meets acts on it, a factor on density times
            squared normal speed; 0 leaves it out, as at speeds far below √(g times the size of the body).
        repose: Angle of repose [°]: below a face that looks down and leans less than this, sand does not fill the
            hollow that the face leaves where it is pulled back. None: hollows are filled at once.
        stiffness: Stress for each metre that a surface is pressed into sand [N/m³]; it grows up to what the law gives,
            acts across the surface, and brings friction along it. Every face that does not look up then keeps the
            hollow that it leaves. None: sand does not give before it yields.
        furrow: Sand that gives stays at its place, so that a body meets uncut sand ahead of it. None: what sand
            remembers goes with the body.
        buried: Whether the body may start below the surface.
        name: Name in pictures.
        color: Colour in pictures.
        hidden: Leave it out of pictures.
    """

    medium: str | Path | Medium
    _: KW_ONLY
    law: Law = "3d"
    height: float = 0.0
    friction: float = 0.5
    inertia: float = 0.0
    repose: float | None = None
    stiffness: float | None = None
    furrow: Furrow | None = None
    buried: bool = False
    name: str = ""
    color: Color = (0.80, 0.70, 0.52)
    hidden: bool = False

    def __post_init__(self) -> None:
        require_kind("name of resistive ground", self.name, str, "a text")
        require_color("color of resistive ground", self.color)
        if not isinstance(self.law, str) or self.law not in get_args(Law):
            raise UnknownName("law of resistive ground", self.law, get_args(Law))
        if not is_number(self.height):
            raise InvalidValue(f"height of resistive ground must be a number [m], not {self.height!r}.")
        for name in ("friction", "inertia"):
            require_at_least_0(f"{name} of resistive ground", getattr(self, name))
        if self.repose is not None and not (is_number(self.repose) and 0.0 < self.repose < 90.0):
            raise InvalidValue(
                f"repose of resistive ground must be an angle between 0 and 90 degrees, or None, not {self.repose!r}."
            )
        if self.stiffness is not None and not (is_number(self.stiffness) and self.stiffness > 0.0):
            raise InvalidValue(
                f"stiffness of resistive ground must be a number above 0 N/m³, or None, not {self.stiffness!r}."
            )
        if self.stiffness is not None and self.repose is not None:
            raise InvalidValue(
                f"resistive ground with stiffness={self.stiffness:g} keeps the hollows of all faces that do not look "
                f"up, whatever repose={self.repose:g} is: leave repose=None, or give it to a Furrow(repose=...)."
            )
        if self.furrow is not None and not isinstance(self.furrow, Furrow):
            raise InvalidValue(f"furrow of resistive ground must be a Furrow, or None, not {self.furrow!r}.")
        if self.furrow is not None and self.stiffness is None:
            raise InvalidValue("resistive ground with a furrow must give before it yields: add stiffness=1e6 [N/m³].")
        found = medium(self.medium)
        object.__setattr__(self, "medium", found)  # what a file held is part of its identity, not the path
        found.require(self.law)
        if self.inertia > 0.0 and found.density is None:
            raise InvalidValue(
                f"inertia of resistive ground needs the density of its medium, and {found.name!r} has none: give a "
                "Medium(..., density=...)."
            )

        self._warn_of_units(found)

    def _warn_of_units(self, found: Medium) -> None:
        """Tell of numbers that may be meant in another unit."""
        way = None if self.furrow is None else self.furrow.friction_way
        for unlikely, what, meant in (
            (found.flat(self.law) < _WEAKEST, f"resists by {found.flat(self.law):.3g} N/m³", "1 MPa/m is 1e6 N/m³"),
            (0.0 < (self.stiffness or 0.0) < _WEAKEST, f"has a stiffness of {self.stiffness} N/m³", "1 N/cm³ is 1e6"),
            (0.0 < (self.repose or 0.0) < _FLATTEST, f"has a repose of {self.repose}°", "it is in degrees"),
            ((way or 0.0) > _LONGEST, f"has a friction_way of {way} m", "it is in metres"),
        ):
            if unlikely:
                warnings.warn(f"resistive ground {what}: {meant}.", UnlikelyUnit, stacklevel=4)

    @property
    def of(self) -> Medium:
        """The medium itself."""
        assert isinstance(self.medium, Medium)
        return self.medium

    @property
    def remembers(self) -> bool:
        """Whether corners of a surface remember where sand is."""
        return self.repose is not None or self.stiffness is not None

    def numbers(self, real: Any) -> Any:
        """Its structure for kernels of a precision, see `shapes.resistive.kernels.stress`."""
        numbers, found = resistance(real).Ground(), self.of
        numbers.law = PLANE_LAW if self.law == "2d" else SPACE_LAW
        numbers.height, numbers.friction = self.height, self.friction
        numbers.inertia = self.inertia * (found.density or 0.0)
        numbers.resistance = found.resistance or 0.0
        for place, value in enumerate(found.parts):
            numbers.parts[place] = value
        for place, value in enumerate(found.coefficients or ()):
            numbers.coefficients[place] = value
        return numbers
