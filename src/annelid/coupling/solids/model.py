"""A solid of finite elements, grains and rigid bodies compiled together for a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import warp as wp

from annelid import fem, grains
from annelid.core.device import device as find_device
from annelid.core.stability import Cause, StepReport
from annelid.coupling.guests import Guests
from annelid.coupling.meeting_model import (
    StepLimit,
    bed_beside,
    grains_model,
    limits_among_grains,
    require_bodies,
)
from annelid.coupling.solids.outline import SolidOutline
from annelid.coupling.solids.pushes import Pushes
from annelid.coupling.solids.state import SolidState
from annelid.coupling.solids.stepping import MOST_YIELDING, most_yielding, yielding
from annelid.coupling.solids.world import SolidWorld
from annelid.coupling.steps import loads_of
from annelid.coupling.surface import points_on
from annelid.fem.actuation.actuator import Actuator, drive_of
from annelid.grains.steps import Load, halves

_LONGEST = 5e-3  # step of the solid above which soft ones were seen to shiver on the grains [s]


class SolidModel:
    """A solid among grains.

    Args:
        solid: The solid.
        bed: The grains.
        world: Gravity, obstacles, steps and how both meet.
        actuators: Cables, chambers and forces that act on the solid.
        device: Where to compute.
        threads: CPU threads; None takes all cores.

    Attributes:
        bed: The grains, as they start.
        loads: What falls into them: the solid, and free rigid bodies.
        guests: The points of the outer surface of the solid that grains meet.
        pushes: What grains do to the solid.
        drives: The actuators.
        inertia: The inertia of the solid.
        solid: The model of the solid.
        grains: The model of the grains, the guests and the rigid bodies.
        dt: Time step of the solid, at whose ends both meet [s].
        substeps: Steps of the grains in it.
    """

    worlds = 1

    def __init__(
        self,
        solid: fem.Solid,
        bed: grains.Bed,
        *,
        world: SolidWorld | None = None,
        actuators: Sequence[Actuator] = (),
        device: str | wp.Device = "auto",
        threads: int | None = None,
    ) -> None:
        require_bodies("solid", solid, fem.Solid, bed)
        world, self.device = world or SolidWorld(), find_device(device)
        bodies = world.grains_world().touched
        self.loads = loads_of(bed, solid.nodes, solid.mass, bodies, world.gravity)
        self.skin = world.skin or solid.surface
        self.world = replace(world, grains=world.contact_options(bed, self.loads, self.skin))
        outline = SolidOutline(solid)
        points = points_on(outline, float(bed.radii.min()), stretch=world.stretch)
        here = np.zeros(len(points), np.int32)
        self.bed = bed_beside(bed, outline, Guests(outline, points), np.zeros(len(bed), np.int32), here, world)
        self.dt, self.substeps = self.world.steps(bed, self.loads)
        self._bed = bed
        self._build_solid(solid, outline, actuators, threads)
        while self._is_too_long():
            self.dt, self.substeps = self.grain_dt * (self.substeps // 2), self.substeps // 2
            self._build_solid(solid, outline, actuators, threads)
        heaviest = 1.0 / np.maximum(self.yielding, 1e-30)
        self.guests = Guests(SolidOutline(solid, heaviest), points)
        self.grains = grains_model(self, bed, self.grain_dt)

    def step_limits(self) -> list[StepLimit]:
        """The longest steps about which nothing is said, for a solid on its grains and for one that hits them."""
        shivering = StepLimit("dt", self.dt, _LONGEST, "a solid among grains: it may shiver on them")
        return [shivering, *limits_among_grains("grain_dt", self.grain_dt, self)]

    def explain_step(self) -> StepReport:
        """What limits the steps of the grains, of which each of the solid is a whole number."""
        asked = replace(self.world, dt="auto", grain_dt="auto")

        def step(world: SolidWorld, bed: grains.Bed, loads: Sequence[Load]) -> float:
            whole, count = world.steps(bed, loads)
            return whole / count

        def loads_on(bed: grains.Bed, world: grains.World) -> list[Load]:
            return loads_of(bed, self.solid.solid.nodes, self.solid.solid.mass, world.touched, world.gravity)

        causes = (
            Cause(half.name, "", half.remedy, step(replace(asked, gravity=half.world.gravity), half.bed, half.loads))
            for half in halves(self._bed, asked.grains_world(), loads_on)
        )
        rule = f"the longest that suits the grains; a step of the solid, {self.dt:.3g} s, takes {self.substeps} of them"
        return StepReport.of(self.grain_dt, step(asked, self._bed, self.loads), rule, causes)

    def surface_of(self, state: SolidState) -> tuple[SolidOutline, np.ndarray]:
        """The outer surface, and positions of its nodes [m], shape [m, 3]."""
        return self.outline, np.array(state.solid.positions.numpy(), float)[self.nodes]

    def worlds_of_guests(self) -> np.ndarray:
        """World of each guest, shape [g]."""
        return np.zeros(len(self.guests), np.int32)

    @property
    def grain_dt(self) -> float:
        """Time step of the grains [s]."""
        return self.dt / self.substeps

    @property
    def lag(self) -> float:
        """Time by which the surface that grains meet is behind the solid [s].

        Over a step the surface goes with velocities from the old to the new ones, the solid with the new ones.
        """
        return 0.5 * (self.dt - self.grain_dt)

    @property
    def nodes(self) -> np.ndarray:
        """Nodes of the outer surface of the solid, ascending, shape [m]."""
        return self.outline.nodes

    def _build_solid(
        self, solid: fem.Solid, outline: SolidOutline, actuators: Sequence[Actuator], threads: int | None
    ) -> None:
        """The model of the solid, with its actuators and with what grains do to it."""
        world = self.world.solid_world(self.dt)
        self.outline, self.pushes = outline, Pushes(outline.nodes, self.device)
        self.drives = [drive_of(one, solid, self.device, np.asarray(world.gravity, float)) for one in actuators]
        self.inertia = fem.Inertia(solid, world, self.device)
        sets = [*(each for drive in self.drives for each in drive.sets), self.pushes, self.inertia]
        self.solid = fem.Model(solid, world, self.device, threads=threads, extras=sets)
        self.yielding = yielding(self.solid, outline.nodes, self.dt)

    def _is_too_long(self) -> bool:
        """Whether "auto" has to take a shorter step of the solid: free bodies may hold it between them and grains."""
        if self.world.dt != "auto" or self.substeps == 1 or len(self.loads) == 1:
            return False
        return most_yielding(self.solid, self.nodes, self.yielding, self.dt) > MOST_YIELDING
