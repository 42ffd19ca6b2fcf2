"""A simulation of a solid among grains, and the warnings of steps that are too long for it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import warp as wp

from annelid import fem, grains
from annelid.core.errors import InvalidValue, StepTooLong
from annelid.core.options import require_kind
from annelid.core.simulation import Simulation
from annelid.coupling.solids.model import SolidModel
from annelid.coupling.solids.solver import SolidSolver
from annelid.coupling.solids.world import SolidWorld
from annelid.fem.actuation.actuator import Actuator
from annelid.grains.beginning import warn_of_beginnings
from annelid.grains.steps import meeting_step
from annelid.shapes import Surface

_WARNED = 2.0  # longest step of the grains that nothing is said about, in those that suit the bed
_FAST = 4.0  # the same, in those that stop a body in time
_LONGEST = 5e-3  # step of the solid above which soft ones were seen to shiver on the grains [s]


def solid_simulation(
    solid: fem.Solid,
    bed: grains.Bed,
    world: SolidWorld,
    *,
    actuators: Sequence[Actuator],
    skin: Surface | None,
    stretch: float,
    inside: str,
    overlapping: str,
    device: str | wp.Device,
    threads: int | None,
) -> Simulation[SolidSolver]:
    """See `coupling.simulation`."""
    require_kind("the bed", bed, grains.Bed, "a grains.Bed")
    if not (skin is None or isinstance(skin, Surface)):
        raise InvalidValue(f"skin must be a shapes.Surface, such as Surface(friction=0.5), not {skin!r}.")
    model = SolidModel(
        solid,
        bed,
        world=world,
        actuators=actuators,
        skin=skin,
        stretch=stretch,
        inside=inside,
        overlapping=overlapping,
        device=device,
        threads=threads,
    )
    _warn_of_steps(model)
    warn_of_beginnings(model.grains, stacklevel=4)
    return Simulation(SolidSolver(model, threads=threads))


def _warn_of_steps(model: SolidModel) -> None:
    """Warn of steps that are too long for the solid on its grains, or for one that hits them."""
    speed = max(load.speed for load in model.loads)
    limits = (
        ("dt", model.dt, _LONGEST, "a solid among grains: it may shiver on them"),
        ("grain_dt", model.grain_dt, _WARNED * model.grains.contact_step, "a bed as deep: grains may overlap"),
        (
            "grain_dt",
            model.grain_dt,
            _FAST * meeting_step(model.bed, model.loads, solved=model.world.converges),
            f"a body that meets the grains at {speed:.2g} m/s: it may sink too deep or not deep enough",
        ),
    )
    for name, step, longest, reason in limits:
        if step > longest * (1.0 + 1e-9):
            warnings.warn(
                f"{name} = {step:.3g} s is above {longest:.3g} s, the longest for {reason}.", StepTooLong, stacklevel=5
            )
