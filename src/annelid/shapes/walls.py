"""Ground and walls: planes that are needed in most worlds."""

from __future__ import annotations

from types import NoneType

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind, require_truth
from annelid.shapes.plane import Plane
from annelid.shapes.rigid import Rigid
from annelid.shapes.surface import Surface
from annelid.shapes.values import Vector, as_vector


def ground(
    friction: float | None = None,
    *,
    sliding_friction: float | None = None,
    restitution: float | None = None,
    rolling: float = 0.0,
    cohesion: float = 0.0,
    stiffness: float | None = None,
    height: float = 0.0,
    world: int = 0,
) -> Rigid:
    """Level ground: the plane z = height; the rest is as in `Surface`.

    Args:
        friction: Coulomb coefficient.
        sliding_friction: Coulomb coefficient of a sliding contact; None takes `friction`.
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        rolling: Coefficient of rolling resistance.
        cohesion: Force at which a touching surface parts from it [N].
        stiffness: Force per depth of one contact [N/m], where contacts are springs.
        height: Where it is along z [m].
        world: World that it belongs to.
    """
    surface = Surface(
        friction=friction, sliding_friction=sliding_friction, restitution=restitution, rolling=rolling,
        cohesion=cohesion, stiffness=stiffness,
    )  # fmt: skip
    return Rigid(Plane(point=(0.0, 0.0, height)), surface, world=world)


def box_walls(
    low: Vector, high: Vector, surface: Surface | None = None, *, top: bool = False, world: int = 0
) -> list[Rigid]:
    """Floor and four walls of a box that is open above, or closed; the walls are left out of pictures.

    Args:
        low: Lowest corner [m].
        high: Highest corner [m].
        surface: How its walls respond to contact.
        top: Close it.
        world: World that they belong to.
    """
    require_truth("top of a box", top)
    require_kind("the surface of a box", surface, (Surface, NoneType), "a Surface or None")
    (x0, y0, z0), (x1, y1, z1) = as_vector("low", low), as_vector("high", high)
    if not (x0 < x1 and y0 < y1 and z0 < z1):
        raise InvalidValue(f"the corner {high} of a box must lie above {low} along every axis.")
    faces: list[tuple[Vector, Vector]] = [
        ((x0, y0, z0), (0.0, 0.0, 1.0)),
        ((x0, y0, z0), (1.0, 0.0, 0.0)),
        ((x1, y1, z1), (-1.0, 0.0, 0.0)),
        ((x0, y0, z0), (0.0, 1.0, 0.0)),
        ((x1, y1, z1), (0.0, -1.0, 0.0)),
    ]
    if top:
        faces.append(((x1, y1, z1), (0.0, 0.0, -1.0)))
    return [
        Rigid(Plane(point=point, normal=normal), surface or Surface(), world=world, hidden=normal[2] != 1.0)
        for point, normal in faces
    ]
