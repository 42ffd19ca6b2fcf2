"""What of a solid has no adjoint, in motion or at rest, refused by name with what to do instead."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.fem.adjoint.actuation import require_differentiable
from annelid.fem.adjoint.inputs import moves
from annelid.fem.adjoint.stepping import Standing
from annelid.fem.adjoint.touching import require_smooth
from annelid.fem.dynamics import Inertia
from annelid.fem.state import State


def require_adjoint(solver: Standing, state: State) -> None:
    """Refuse a simulation that cannot be run back."""
    model = solver.model
    known = {id(each) for drive in solver.drives for each in drive.sets}
    known |= set() if solver.contacts is None else {id(each) for each in solver.contacts.sets}
    refused = {
        f"the {model.world.integrator} integrator": (
            moves(model) and model.world.integrator != "backward-euler", "use integrator='backward-euler'"),
        "a solid that creeps from equilibrium to equilibrium": (
            model.relaxes and not moves(model), "give material.relaxed()"),
        "ground that resists (ResistiveGround)": (model.world.sand is not None, "use planes, spheres or boxes"),
        "element sets of the user (extras)": (
            any(id(each) not in known and not isinstance(each, Inertia) for each in model.extras),
            "use actuators, forces and holds"),
        "parameters of worlds (simulation.parameters)": (
            state.variation.there, "give moduli, densities, damping and gravity to the rollout"),
    }  # fmt: skip
    for name, (there, remedy) in refused.items():
        if there:
            raise InvalidValue(f"{name} cannot be run back for gradients (Rollout): {remedy}.")
    require_differentiable(model, solver.drives)
    require_smooth(solver.contacts)


def missing(solver: Standing) -> dict[str, str]:
    """What there is no gradient by, and why."""
    solid, found = solver.model.solid, {}
    if solid.threads or solid.fabrics:
        found["nodes"] = "threads and fabrics would change with them, too"
    if solid.carried:
        found["nodes"] = "paths that carry held nodes would change with them, too"
    for drive in solver.drives:
        found |= drive.no_gradient_by()
    return found


def carried(solver: Standing) -> str:
    """What its future depends on besides positions, velocities, commands and the time, in words; empty for nothing."""
    if solver.model.relaxes:
        return "materials with a Prony series remember earlier strains"
    if solver.contacts is not None:
        return "contacts remember where obstacles were"
    if any(np.isfinite(channel.limits.rate) for channel in solver.channels.every):
        return "actuators with a limited rate depend on their last efforts"
    return ""
