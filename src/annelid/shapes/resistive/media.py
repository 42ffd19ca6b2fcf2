"""Media that resist: coefficients of both laws by name, with where they come from, and media from files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue, UnknownName
from annelid.core.files import as_path, read_text, write_json
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind, require_word
from annelid.shapes.resistive.law import COEFFICIENTS, resistance_of, space_stress

FLAT = float(space_stress(0.0, 0.0, math.pi / 2)[2])
"""Upward stress of the law in space on a flat plate that is pushed straight down, 0.875."""

_FORMAT, _VERSION = "annelid-medium", 1
_PER_CM3 = 1.0e6  # N/m³ in a N/cm³


@dataclass(frozen=True, kw_only=True)
class Medium(Named):
    """Sand, seeds or beads as resistive force theory knows them.

    Attributes:
        name: What it is called.
        coefficients: The nine of the law in a vertical plane [N/m³], in the order of `law.COEFFICIENTS`; None where
            nobody has measured them.
        resistance: What the law in space is multiplied by, for each metre of depth [N/m³]; None where it is unknown.
        parts: Factors on the three terms of the law in space: along the normal, along the motion, and down. They are 1
            as published, and others where they were fitted to a medium of its own.
        density: Mass of the bed per volume of the bed [kg/m³]; None where it is unknown.
        source: Where the numbers come from.
    """

    name: str
    coefficients: tuple[float, ...] | None = None
    resistance: float | None = None
    parts: tuple[float, float, float] = (1.0, 1.0, 1.0)
    density: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        require_word("name of a medium", self.name)
        require_kind("source of a medium", self.source, str, "a text")
        if self.coefficients is not None:
            given = _numbers(self.coefficients)
            if len(given) != len(COEFFICIENTS):
                raise InvalidValue(
                    f"coefficients of a medium must be {len(COEFFICIENTS)} numbers [N/m³] ({', '.join(COEFFICIENTS)}), "
                    f"not {self.coefficients!r:.80}."
                )
            object.__setattr__(self, "coefficients", given)
        parts = _numbers(self.parts)
        if len(parts) != 3:
            raise InvalidValue(f"parts of a medium must be three factors, 1 each as published, not {self.parts!r:.80}.")
        object.__setattr__(self, "parts", parts)
        for name in ("resistance", "density"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value > 0.0):
                raise InvalidValue(f"{name} of a medium must be a number above 0, not {value!r}.")

    def flat(self, law: str) -> float:
        """Stress of a law on a flat plate that is pushed straight down, for each metre of depth [N/m³]."""
        self.require(law)
        if law == "2d":
            assert self.coefficients is not None
            return sum(self.coefficients[:5])
        assert self.resistance is not None
        return self.resistance * float(space_stress(0.0, 0.0, math.pi / 2, self.parts)[2])

    def require(self, law: str) -> None:
        """Refuse a law for which it has no coefficients."""
        missing = {"2d": self.coefficients, "3d": self.resistance}[law] is None
        if missing:
            need = {"2d": "nine coefficients", "3d": "resistance"}[law]
            having = [name for name, one in MEDIA.items() if (one.coefficients if law == "2d" else one.resistance)]
            other = {"2d": "3d", "3d": "2d"}[law]
            raise InvalidValue(
                f"the medium {self.name!r} has no {need} for law={law!r}: use law={other!r}, one of "
                f"{', '.join(having)}, or fit them (annelid study sand-rft --fit)."
            )


def _numbers(given: Any) -> tuple[float, ...]:
    """The numbers of a list, or none where something in it is not a number, or it is no list."""
    try:
        listed = tuple(given)
    except TypeError:
        return ()
    return tuple(map(float, listed)) if all(map(is_number, listed)) else ()


def _seeds(name: str, density: float, *per_cm3: float) -> Medium:
    """A medium that was measured in a vertical plane; both laws agree about a flat plate that is pushed down."""
    return Medium(
        name=name,
        coefficients=tuple(value * _PER_CM3 for value in per_cm3),
        resistance=sum(per_cm3[:5]) * _PER_CM3 / FLAT,
        density=density,
        source="Li, Zhang and Goldman, Science 2013; the resistance is that of a flat plate that is pushed down",
    )


def _by_friction(name: str, density: float, degrees: float) -> Medium:
    """A medium of which only friction and density are known."""
    return Medium(
        name=name,
        resistance=resistance_of(density, math.tan(math.radians(degrees))),
        density=density,
        source=f"Agarwal, Goldman and Kamrin, PNAS 2023, from {density:g} kg/m³ and an angle of {degrees:g}°",
    )


_GENERIC = (0.206, 0.169, 0.212, 0.358, 0.055, -0.124, 0.253, 0.007, 0.088)

MEDIA: Mapping[str, Medium] = {
    medium.name: medium
    for medium in (
        _seeds("generic", 1500.0, *_GENERIC),
        _seeds("poppy-loose", 640.0, 0.051, 0.047, 0.053, 0.083, 0.020, -0.026, 0.057, 0.0, 0.025),
        _seeds("poppy-close", 700.0, 0.094, 0.092, 0.092, 0.151, 0.035, -0.039, 0.086, 0.018, 0.046),
        _by_friction("glass", 1500.0, 26.0),
        _by_friction("sand-loose", 1450.0, 33.0),
        _by_friction("sand-close", 1650.0, 40.0),
        Medium(
            name="grains-loose",
            resistance=1.06e6,
            density=1480.0,
            source="annelid study sand-rft: 20 plates in two beds of loose grains, packing 0.56, friction 0.5",
        ),
    )
}
"""Media by name. `generic` is the mean of several, as if a flat plate pushed down met 1 N/cm² at a depth of 1 cm."""


def medium(given: str | Path | Medium) -> Medium:
    """A medium by its name, from a file that `write_medium` wrote, or itself."""
    if isinstance(given, Medium):
        return given
    if isinstance(given, str) and given in MEDIA:
        return MEDIA[given]
    path = as_path(given)
    if path.suffix == ".json":
        return read_medium(path)
    raise UnknownName("medium", str(given), MEDIA, hint="Coefficients that were fitted are in a file .json.")


def write_medium(path: str | Path, found: Medium) -> None:
    """Write a medium to a file in JSON, for `ResistiveGround(medium=path)`."""
    record = {"format": _FORMAT, "version": _VERSION, **asdict(found)}
    write_json(as_path(path), record)


def read_medium(path: str | Path) -> Medium:
    """A medium from a file that `write_medium` wrote."""
    path = as_path(path)
    try:
        values = json.loads(read_text(path))
        return _from_record(values)
    except OSError as error:
        raise FileFormatError(f"the medium {path} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, RecursionError, AnnelidError) as error:
        said = str(error) if isinstance(error, AnnelidError) else f"{type(error).__name__}: {error}."
        raise FileFormatError(f"{path} holds no medium that could be read: {said}") from error


def _from_record(values: Any) -> Medium:
    if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
        raise FileFormatError(f"its format is not {_FORMAT!r}.")
    if values.get("version") != _VERSION:
        raise ValueError(f"its version {values.get('version')!r} is not {_VERSION}")
    texts = [values.get("name"), values.get("source", "")]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("name and source must be texts")
    given = values.get("coefficients")
    parts = values.get("parts", [1.0, 1.0, 1.0])
    if not (given is None or isinstance(given, list)) or not isinstance(parts, list):
        raise ValueError("coefficients and parts must be lists")
    numbers = {name: values.get(name) for name in ("resistance", "density")}
    return Medium(
        name=str(texts[0]), coefficients=None if given is None else tuple(given), parts=(*parts,),
        source=str(texts[1]), **numbers,
    )  # fmt: skip
