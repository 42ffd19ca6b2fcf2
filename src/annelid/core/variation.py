"""Where a state keeps what makes its worlds unlike: parameters, each a number a world.

A state has the part empty until parameters are set or drawn; a physics whose states have it filled uses kernels that
heed it, and pays for it only then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import FileFormatError
from annelid.core.kernels.parameters import LAST, PULL
from annelid.core.quantity import Quantity
from annelid.core.state import rows


class Parameter(Quantity):
    """A number of each world that its physics heeds."""


@dataclass
class Variation:
    """Parameters of the worlds of a state.

    Attributes:
        values: World after world, in the order in which the parameters are declared.
        seeds: What each world draws from.
        draws: How often each world has drawn.
    """

    values: wp.array[Any] = rows("parameter", wp.float64, grows="parameters")
    seeds: wp.array[Any] = rows("world", wp.int64, grows="seeds")
    draws: wp.array[Any] = rows("world", wp.int64, grows="seeds")

    @property
    def there(self) -> bool:
        """Whether parameters were ever set or drawn."""
        return len(self.values) > 0


FOLLOWING: tuple[Parameter, ...] = (
    Parameter("gain", 0.0, 100.0, 1.0, "", "how far controls go from rest, as a factor"),
    Parameter("lag", 0.0, 1e3, 0.0, "s", "time constant with which controls follow commands"),
    Parameter("noise", 0.0, 1e3, 1.0, "", "factor on the noise of sensors"),
)
"""Parameters of whatever takes commands and is read; they follow those of the physics."""

_PULLS: tuple[Parameter, ...] = (
    Parameter("gravity", -100.0, 100.0, 1.0, "", "factor on gravity"),
    Parameter("slope_x", -1.5, 1.5, 0.0, "rad", "angle at which the ground rises along x"),
    Parameter("slope_y", -1.5, 1.5, 0.0, "rad", "angle at which the ground rises along y"),
    Parameter("push_x", -1e4, 1e4, 0.0, "m/s²", "acceleration of everything along x"),
    Parameter("push_y", -1e4, 1e4, 0.0, "m/s²", "acceleration of everything along y"),
    Parameter("push_z", -1e4, 1e4, 0.0, "m/s²", "acceleration of everything along z"),
)
assert len(_PULLS) == PULL
assert len(FOLLOWING) == LAST


TERRAIN: tuple[Parameter, ...] = (
    Parameter("terrain", 0.0, 1e3, 1.0, "", "factor on the heights of uneven ground"),
    Parameter("terrain_x", -1e6, 1e6, 0.0, "m", "how far uneven ground is shifted along x"),
    Parameter("terrain_y", -1e6, 1e6, 0.0, "m", "how far uneven ground is shifted along y"),
)
"""Parameters of the shape of the ground, where it has one: how rough it is, and which part of it a world is on."""

_HEIGHTS = "ground with heights among its obstacles, such as a HeightField"

NEEDED: Mapping[str, str] = {"terrain": _HEIGHTS, "terrain_x": _HEIGHTS, "terrain_y": f"{_HEIGHTS}, and space along y"}
"""What a simulation must have for parameters that only some have, by their names."""


def factor(name: str, does: str, low: float = 1e-3, high: float = 1e3) -> Parameter:
    """A parameter that multiplies something."""
    return Parameter(name, low, high, 1.0, "", f"factor on {does}")


def declared_parameters(*own: Parameter) -> tuple[Parameter, ...]:
    """All parameters of a physics: what pulls, its own ones, how commands are followed, and how well it is read."""
    return (*_PULLS, *own, *FOLLOWING)


def unvaried(device: wp.Device) -> Variation:
    """The part of a state whose worlds are alike."""
    return Variation(*(wp.zeros(0, dtype=kind, device=device) for kind in (wp.float64, wp.int64, wp.int64)))


def begin_varying(variation: Variation, parameters: Sequence[Parameter], worlds: int, device: wp.Device) -> None:
    """Fill the part of a state: every parameter at rest, and the number of each world as its seed."""
    rests = np.tile([parameter.rest for parameter in parameters], worlds)
    variation.values = wp.array(rests, dtype=wp.float64, device=device)
    variation.seeds = wp.array(np.arange(worlds), dtype=wp.int64, device=device)
    variation.draws = wp.zeros(worlds, dtype=wp.int64, device=device)


def require_variation(
    arrays: Mapping[str, np.ndarray],
    parameters: Sequence[Parameter],
    worlds: int,
    parts: Mapping[str, Sequence[Parameter]],
) -> None:
    """Refuse arrays of a checkpoint that are neither empty nor those of as many parameters and worlds.

    Args:
        arrays: All arrays of the checkpoint.
        parameters: Parameters of the worlds.
        worlds: Number of worlds.
        parts: Those of parts of a state that have their own, by their names.
    """
    for name, array in arrays.items():
        *owners, own, kind = ("", "", *name.split("."))
        sizes = {"values": worlds * len(parts.get(owners[-1], parameters)), "seeds": worlds, "draws": worlds}
        if own != "variation" or kind not in sizes:
            continue
        if len(array) not in (0, sizes[kind]):
            raise FileFormatError(f"array {name!r} of the checkpoint has {len(array)} entries, which do not fit.")
        if not np.isfinite(array).all():
            raise FileFormatError(f"array {name!r} of the checkpoint has entries that are not finite.")
