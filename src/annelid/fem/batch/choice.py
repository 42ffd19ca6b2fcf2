"""Whether worlds of a solid are stepped together, and why not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.fem.actuation.actuator import Drive
from annelid.fem.batch.contact import untouchable
from annelid.fem.batch.settings import Together
from annelid.fem.solid import Solid
from annelid.fem.world import World
from annelid.shapes.rigid import as_rigids


class SteppedOneByOne(UserWarning):
    """Worlds on a GPU cannot be stepped together, which would be much faster."""


Choice = bool | Literal["auto"] | Together


def how_together(
    choice: Choice,
    solid: Solid,
    world: World,
    drives: Sequence[Drive],
    device: wp.Device,
    *,
    worlds: int | None,
    dynamic: bool,
    more: bool,
    corners: bool,
    itself: bool,
) -> Together | None:
    """How worlds are stepped together; None for one by one. What is asked for and cannot be had is refused.

    Args:
        choice: What the user asks for; "auto" steps several worlds together on CUDA where it can be had.
        solid: The solid.
        world: What surrounds it.
        drives: Its actuators.
        device: Where it is computed.
        worlds: Number of worlds, None for a solid by itself.
        dynamic: Whether it has inertia.
        more: Whether element sets of the user act on it.
        corners: Whether obstacles have corners or edges, which pass between nodes there.
        itself: Whether its surface touches itself.
    """
    if choice is False:
        return None
    if choice == "auto" and (device.is_cpu or worlds is None or worlds < 2):
        return None
    if choice not in (True, "auto"):
        require_kind("together", choice, Together, "True, False, 'auto' or a fem.Together")
    reason = _obstacle(solid, world, drives, worlds=worlds, dynamic=dynamic, more=more)
    if itself and reason is None:
        reason = "their surfaces would touch themselves or other pieces, give contact=fem.Contact(itself=False)"
    if corners and reason is None and choice == "auto":
        reason = "corners and edges of obstacles would pass between nodes, which together=True puts up with"
    if reason is None:
        return choice if isinstance(choice, Together) else _usual(world)
    if choice == "auto":
        warnings.warn(
            f"{worlds} worlds are stepped one after the other on {device}, not together: {reason}; together=False says "
            "that this is meant.",
            SteppedOneByOne,
            stacklevel=4,
        )
        return None
    raise InvalidValue(f"these worlds cannot be stepped together: {reason}; or leave out together.")


def _usual(world: World) -> Together:
    """How, unless the user says: contacts, which come and go, need more of Newton's, and free bodies even more.

    With these a world moves as one that is stepped alone, within 1e-4 of its motion.
    """
    if not world.obstacles:
        return Together()
    if any(rigid.moves == "free" for rigid in as_rigids(world.obstacles, "solids")):
        return Together(newtons=16, gradients=12, fine=1e-6)
    return Together(newtons=8, gradients=12, fine=1e-5)


def _obstacle(
    solid: Solid, world: World, drives: Sequence[Drive], *, worlds: int | None, dynamic: bool, more: bool
) -> str | None:
    """What is in the way, with the remedy."""
    if worlds is None:
        return "their number is missing, give worlds=..., which may be 1"
    if not dynamic or world.integrator != "backward-euler":
        return "only motion by backward Euler can be, take dynamic=True and integrator='backward-euler'"
    if more or solid.threads or solid.fabrics:
        return "extras, threads, fabrics and a ResistiveGround are not among what acts there, leave them out"
    if solid.carried:
        return "holds of the solid follow a path, leave out the motion of fix()"
    if solid.elements.shape[1] != 4:
        return "its tetrahedra have 10 nodes, give a mesh of linear ones"
    if any(material.prony for material in solid.materials):
        return "a material relaxes, leave out its Prony series"
    if not solid.hyperelastic:
        return "its materials need laws for large strains, such as NeoHooke (Material.hyperelastic)"
    refused = untouchable(as_rigids(world.touched, "solids"))
    if refused is not None:
        return refused
    return next((reason for drive in drives if (reason := drive.refused_in_batches())), None)
