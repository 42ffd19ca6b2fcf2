"""What of a simulation of springs has no adjoint, refused by name with what to do instead."""

from __future__ import annotations

from typing import Any

from annelid.core.errors import InvalidValue
from annelid.shapes.kernels.gaps import GRID
from annelid.springs.model import Model


def require_adjoint(model: Model, state: Any) -> None:
    """Refuse a simulation that cannot be run back."""
    features, world = model.features, model.world
    refused = {
        "springs that break (yield_strains)": (features.breaking, "build the body with breaking=False"),
        "collisions between masses": (features.colliding, "leave collisions out, or join the parts by springs"),
        "motors": (bool(features.motors), "drive the hinge by springs with body.control or body.actuate"),
        "masses that take smaller steps (substep)": (features.substeps > 1, "take a smaller dt for the whole body"),
        f"the {features.integrator} integrator": (features.integrator != "symplectic", "use integrator='symplectic'"),
        "functions of the user for forces": (bool(world.forces), "use body.push, gravity or drag"),
        "functions of the user for constraints": (bool(world.constraints), "use body.fix or body.guide"),
        "an ImplicitSurface": (bool(features.plugins.surfaces), "use planes, spheres, boxes or a HeightField"),
        "closed shapes that are baked, as obstacles": (
            GRID in features.touching, "use planes, spheres, boxes, rods or a HeightField"),
        "obstacles that are driven or free": (features.moving, "use motion='fixed'"),
        "hollows in ground that resists (repose or stiffness of the ResistiveGround)": (
            model.hollow_count > 0,
            "use repose=None and stiffness=None",
        ),
        "ground that resists (ResistiveGround) beside other obstacles": (
            features.resisted and bool(world.contacts), "leave out the others"),
        "ground that resists (ResistiveGround) on CUDA": (
            features.resisted and model.device.is_cuda, "use device='cpu'"),
        f"dashpots that build up their force over {model.relaxation:.2g} s": (
            features.delayed, "build the simulation with relaxation=0.0"),
        "bodies that were edited while they ran": (model.network.edited, "build the changed body anew"),
        "parameters of worlds (simulation.parameters)": (
            state.variation.there, "give stiffness, damping, friction, masses and gravity to the rollout"),
    }  # fmt: skip
    for name, (there, remedy) in refused.items():
        if there:
            raise InvalidValue(f"{name} cannot be run back for gradients (Rollout): {remedy}.")
