"""A box of grains for robots to move in, and ground that stands for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import MISSING, dataclass, replace
from typing import ClassVar

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.core.parameters import Checked, documented, parameter
from annelid.grains.filling import GrainsStuck, fill
from annelid.shapes import Box, Furrow, ResistiveGround, Rigid, Surface, box_walls
from annelid.shapes.resistive.media import medium as medium_of

_PACKING = 0.52  # as poured; it settles to about 0.6
_LOOSER = 1.3  # by how much less, times the squared radius over depth: floor and top leave room

_ATTEMPTS, _APART = 5, 100_003  # to fill a box, and how far apart their seeds are

# Of ground that stands for grains [N/m³]; half or twice of it moves the worm of the bench by a tenth.
_STIFFNESS = 1.0e6

# Of sand that stays at its place, as worms among grains of 18 to 32 mm were like: way until friction is reached, in
# radii of grains, angle of repose [°], and resistance of stirred sand as a share of that which plates meet.
_WAY, _REPOSE, _STIRRED = 0.9, 23.0, 0.44

_WIDER = 1.4  # radii of grains by which these make a robot wider, as they make openings narrower (Beverloo's law)


@documented
@dataclass(frozen=True, kw_only=True)
class Sandbox(Checked):
    """A box about the origin of x and y, whose floor is at z = 0."""

    of_what: ClassVar[str] = "a sandbox"

    length: float = parameter(MISSING, "Side along x [m].", unit="m", above=0.0)
    width: float = parameter(MISSING, "Side along y [m].", unit="m", above=0.0)
    depth: float = parameter(
        MISSING, "Depth of the grains before they settle, by about a tenth [m].", unit="m", above=0.0
    )
    radius: float = parameter(MISSING, "Radius of the grains [m].", unit="m", above=0.0)
    grain: grains.Grain = parameter(grains.SAND, "What they are made of.")
    seed: int = parameter(1, "Seed of their places.", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_kind("the grain of a sandbox", self.grain, grains.Grain, "a grains.Grain")
        if self.depth < 2.5 * self.radius:
            raise InvalidValue(
                f"a sandbox of depth {self.depth:g} m holds no bed of grains of radius {self.radius:g} m: "
                f"make it at least {2.5 * self.radius:.3g} m deep."
            )

    def bed(self) -> grains.Bed:
        """The grains at random places."""
        region = Box((self.length, self.width, self.depth), center=(0.0, 0.0, 0.5 * self.depth))
        packing = _PACKING - _LOOSER * (self.radius / self.depth) ** 2
        for attempt in range(_ATTEMPTS):  # now and then two grains get stuck in each other
            with suppress(GrainsStuck):
                positions, radii = fill(region, self.radius, packing, seed=self.seed + _APART * attempt)
                return grains.Bed(positions, radii, self.grain)
        raise InvalidValue(
            f"no bed of this box came apart in {_ATTEMPTS} attempts: make it deeper, or take another seed."
        )

    def walls(self, world: int = 0) -> list[Rigid]:
        """Floor and four walls, in one of the worlds that are simulated side by side."""
        x, y = 0.5 * self.length, 0.5 * self.width
        surface = Surface(friction=self.grain.friction, rolling=self.grain.rolling)
        return box_walls((-x, -y, 0.0), (x, y, 10.0 * self.depth), surface=surface, world=world)


def sand_ground(
    medium: str,
    friction: float,
    *,
    height: float = 0.0,
    buried: bool = False,
    furrow: Furrow | None = None,
    share: float = 1.0,
) -> ResistiveGround:
    """Level ground that gives before it yields: soft robots weigh a small part of what sand could bear.

    Args:
        medium: Name of a medium, or path of a file with one that was fitted; see `ResistiveGround`.
        friction: Coulomb coefficient between robot and sand.
        height: Height of the surface [m].
        buried: Whether the robot may start below it.
        furrow: How sand stays at its place, see `furrow_of`. None: what it remembers goes with the robot.
        share: Of the resistance that plates meet in the medium, see `stirred_share`.
    """
    found = medium_of(medium)
    if found.resistance is not None:
        found = replace(found, resistance=share * found.resistance)
    return ResistiveGround(found, height=height, friction=friction, stiffness=_STIFFNESS, furrow=furrow, buried=buried)


def require_medium(ground: str, medium: str, default: str) -> None:
    """Refuse a medium of ground that does not consist of one.

    Args:
        ground: Kind of the ground: "resistive", or another one.
        medium: The medium that was asked for.
        default: The one that nobody asked for.
    """
    if ground != "resistive" and medium != default:
        raise InvalidValue(
            f"medium = {medium!r} is what ground = 'resistive' consists of, but the ground is {ground!r}: "
            "ask for that ground, or leave the medium out."
        )


def furrow_of(grain_radius: float) -> Furrow:
    """What stands for a furrow in grains of a radius [m]."""
    return Furrow(friction_way=_WAY * grain_radius, repose=_REPOSE)


def stirred_share(grain_radius: float, radius: float) -> float:
    """By what share of the resistance that plates meet grains resist a robot which has stirred them.

    Coarse grains resist more: a robot has to move all those that it touches. None resist more than they do plates.

    Args:
        grain_radius: Radius of the grains [m].
        radius: Radius of the robot [m].
    """
    return min(1.0, _STIRRED * (1.0 + _WIDER * grain_radius / radius) ** 2)
