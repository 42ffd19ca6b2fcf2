"""What of a simulation of 3-D voxels has no adjoint, refused by name with what to do instead."""

from __future__ import annotations

from typing import Any

from annelid.core.errors import InvalidValue
from annelid.shapes import Plane
from annelid.voxels3d.model import Model
from annelid.voxels3d.regions import Hold


def require_adjoint(model: Model, state: Any) -> None:
    """Refuse a simulation that cannot be run back."""
    world, robots = model.world, model.robots
    refused = {
        "compatible links": (world.links != "balanced", "use links='balanced'"),
        "materials with a Poisson's ratio": (model.volumetric, "use poisson_ratio=0"),
        "materials that flow or break": (
            model.remembers, "leave plastic_modulus, yield_stress, curve and failure_stress out"),
        "collisions between voxels": (model.touching, "use collisions='none'"),
        "obstacles other than planes": (
            not all(isinstance(contact.rigid.geometry, Plane) for contact in world.contacts), "use a Plane"),
        "obstacles that are driven or free": (model.moves[0], "use motion='fixed'"),
        "ground that resists (ResistiveGround)": (world.sand is not None, "use a Plane"),
        "fields of force": (bool(world.force_field), "use gravity"),
        "a fluid": (bool(world.fluid), "leave fluid out"),
        "voxels that are driven, or held in some freedoms only": (
            not all(_fixed(hold) for robot in robots for hold in robot.holds), "hold them in all freedoms (fix)"),
        "voxels that are pushed": (any(robot.pushes for robot in robots), "use gravity"),
        "robots that were edited while they ran": (model.base is not None, "build the changed robot anew"),
    }  # fmt: skip
    for name, (there, remedy) in refused.items():
        if there:
            raise InvalidValue(f"{name} cannot be run back for gradients (Rollout): {remedy}.")


def _fixed(hold: Hold) -> bool:
    """Whether voxels are held where they were built, in all freedoms."""
    return hold.bits == 63 and not any(hold.displacement) and not any(hold.rotation)
