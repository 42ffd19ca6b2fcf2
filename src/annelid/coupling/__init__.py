"""Two kinds of physics in one world: soft bodies, of springs or of finite elements, in grains with rigid bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annelid import fem, grains, springs
from annelid.core.device import OnDevice
from annelid.core.errors import InvalidValue
from annelid.core.lazy import public
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
from annelid.coupling.meeting_model import warn_of_steps
from annelid.coupling.model import Model
from annelid.coupling.readout import Readout
from annelid.coupling.sensors import contact_force_of, touch_of
from annelid.coupling.solids.model import SolidModel
from annelid.coupling.solids.solver import SolidSolver
from annelid.coupling.solids.world import SolidWorld
from annelid.coupling.solver import Solver
from annelid.coupling.state import State
from annelid.coupling.surface import closing_radii, standoff
from annelid.coupling.world import World
from annelid.fem.actuation.actuator import Actuator
from annelid.grains.beginning import warn_of_beginnings
from annelid.grains.joints import lead_joints

__all__ = [
    "Model",
    "Readout",
    "SolidSolver",
    "Solver",
    "State",
    "World",
    "closing_radii",
    "contact_force_of",
    "simulation",
    "standoff",
    "touch_of",
]

__dir__ = public(__name__)


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnDevice, World, SolidWorld):
    """What a simulation of a body among grains is given besides these."""

    actuators: Sequence[Actuator] = parameter(
        (), "Cables, chambers and forces that act on a solid; each is a channel of `simulation.controls`."
    )
    worlds: int | None = parameter(
        None,
        "Copies of body, bed and obstacles side by side that do not touch, each with commands of its own; None for one "
        "by itself, which on CUDA differs from a batch of one in how springs are summed. Of spring bodies only.",
        least=1,
    )

    def leave_out(self, names: Sequence[str], others: str, body: str) -> None:
        """Refuse options that are for another kind of body."""
        for name in names:
            given = vars(self)[name]
            if given and given != self.__dataclass_fields__[name].default:
                raise InvalidValue(
                    f"{name} is an option of {others} among grains, and the body is {body}: leave it out."
                )


@options_of(Options)
def simulation(body: springs.Body | fem.Solid, bed: grains.Bed, options: Options) -> Simulation[Any]:
    """A simulation of a spring body or a solid of finite elements among grains.

    Its solver is a `Solver`, or a `SolidSolver`.

    Args:
        body: The spring body, of which several are joined to simulate them together, or the solid.
        bed: The grains.
        options: What surrounds them and how they are stepped.
    """
    solver = _among_solids(body, bed, options) if isinstance(body, fem.Solid) else _among_springs(body, bed, options)
    warn_of_steps(solver.model.step_limits())
    warn_of_beginnings(solver.model.grains, stacklevel=3)
    made = Simulation(solver)
    lead_joints(made, options.controls)
    return made


def _among_springs(body: springs.Body, bed: grains.Bed, options: Options) -> Solver:
    options.leave_out(("grain_dt", "actuators", "solid"), "solids", "a springs.Body")
    model = Model(body, bed, world=options.part(World), worlds=options.worlds, device=options.device)
    return Solver(model, threads=options.threads)


def _among_solids(solid: fem.Solid, bed: grains.Bed, options: Options) -> SolidSolver:
    options.leave_out(("spring_dt", "springs"), "spring bodies", "a fem.Solid")
    if options.worlds is not None:
        raise InvalidValue(
            f"a solid among grains is simulated in one world so far, not in worlds={options.worlds!r}: leave worlds "
            "out, and make a simulation for each."
        )
    model = SolidModel(
        solid, bed, world=options.part(SolidWorld), actuators=options.actuators, device=options.device,
        threads=options.threads,
    )  # fmt: skip
    return SolidSolver(model, threads=options.threads)
