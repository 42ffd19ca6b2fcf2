"""Spring bodies, grains and rigid bodies compiled together for a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import warp as wp

from annelid import grains, springs
from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue
from annelid.core.stability import Cause, StepReport
from annelid.coupling.guests import Guests
from annelid.coupling.meeting_model import (
    StepLimit,
    bed_beside,
    grains_model,
    limits_among_grains,
    require_bodies,
)
from annelid.coupling.state import State
from annelid.coupling.steps import loads_on, longest_for_springs
from annelid.coupling.surface import meeting_points
from annelid.coupling.world import World
from annelid.grains.steps import Load, halves
from annelid.shapes import Surface


class Model:
    """A spring body among grains.

    Args:
        body: The spring body; join several to simulate them together.
        bed: The grains.
        world: Gravity, obstacles, steps and how both meet.
        worlds: Copies of body, bed and obstacles side by side that do not touch.
        world_of: World of each grain, shape [n], of a body and a bed that are already equal copies, one world after the
            other, and of obstacles that name their worlds.
        lanes: CUDA threads that share a mass; None chooses by the size of the body.
        device: Where to compute.

    Attributes:
        bed: The grains, as they start.
        loads: What falls into them: the spring body, and free rigid bodies.
        guests: The points of the surface of the body that grains meet.
        springs: The model of the spring body.
        grains: The model of the grains, the guests and the rigid bodies.
        longest_for_springs: Longest step of the grains that the springs allow [s].
        substeps: Steps of the springs in a step of the grains.
    """

    def __init__(
        self,
        body: springs.Body,
        bed: grains.Bed,
        *,
        world: World | None = None,
        worlds: int | None = None,
        world_of: np.ndarray | None = None,
        lanes: int | None = None,
        device: str | wp.Device = "auto",
    ) -> None:
        require_bodies("body", body, springs.Body, bed)
        if not np.isfinite(body.positions).all():
            mass = int(np.flatnonzero(~np.isfinite(body.positions).all(axis=1))[0])
            raise InvalidValue(f"mass {mass} of the body is at {body.positions[mass].tolist()}: give finite numbers.")
        self.device, world = find_device(device), world or World()
        bodies = world.grains_world().touched
        copies = grains.model.require_worlds(1 if worlds is None else worlds, world_of, len(bed), bodies)
        self.worlds = 1 if world_of is None else 1 + int(np.max(world_of))
        self._require_copies(body, bed, world_of, world.inside)
        one = bed.where(np.arange(len(bed) // self.worlds))
        self.loads = loads_on(one, body, bodies, world.gravity, self.worlds)
        self.skin = world.skin or Surface()
        self.world = world.fitted(one, self.loads, self.skin)
        self._asked, self._one, self._body = world, one, body
        smallest = float(bed.radii.min())
        self.guests = Guests(body, meeting_points(body, smallest, stretch=world.stretch))
        self.bed = bed_beside(bed, body, self.guests, self._worlds_of_grains(len(bed)), self.worlds_of_guests(), world)
        if copies > 1:
            self.worlds, self.bed = copies, self.bed.repeated(copies)
            every = body.replicated(np.zeros((copies, 3)))
            self.guests = Guests(every, meeting_points(every, smallest, stretch=world.stretch))
        self._many = copies > 1 or world_of is not None
        self._batch = None if worlds is None else copies  # one by itself has as many lanes as suit its size
        self.springs = self._springs(body, lanes)
        if (steady := world.steadied(self.world, self.springs.stable_step())) is not self.world:
            self.world = steady
            self.springs = self._springs(body, lanes)
        stable = self.springs.stable_step()
        self.longest_for_springs = longest_for_springs(body, stable, solved=self.world.converges)
        self.substeps = self.world.substeps(one, self.loads, self.longest_for_springs)
        self.grains = grains_model(self, one, self.dt, copies, self._worlds_of_all() if self._many else None)

    def step_limits(self) -> list[StepLimit]:
        """The longest steps about which nothing is said, for the springs and for a body that hits the grains."""
        springy = "springs as stiff as these: the body may shiver or diverge"
        return [
            StepLimit("spring_dt", self.springs.dt, self.springs.stable_step(), springy),
            StepLimit("dt", self.dt, self.longest_for_springs, springy),
            *limits_among_grains("dt", self.dt, self),
        ]

    def explain_step(self) -> StepReport:
        """What limits the step at whose ends bodies and grains meet."""
        asked, bed, stable = replace(self._asked, dt="auto", spring_dt="auto"), self._one, self.springs.stable_step()

        def step(world: World, bed: grains.Bed, loads: Sequence[Load], stable: float) -> float:
            fitted = world.fitted(bed, loads, self.skin)
            longest = longest_for_springs(self._body, stable, solved=fitted.converges)
            steady = world.steadied(fitted, stable)
            return steady.substeps(bed, loads, longest) * float(steady.spring_dt)

        def loads_of(bed: grains.Bed, world: grains.World) -> list[Load]:
            return loads_on(bed, self._body, world.touched, world.gravity, self.worlds)

        among = (
            Cause(one.name, "", one.remedy, step(replace(asked, gravity=one.world.gravity), one.bed, one.loads, stable))
            for one in halves(bed, asked.grains_world(), loads_of)
        )
        own = (replace(one, halved=step(asked, bed, self.loads, one.halved)) for one in self.springs.halves())
        rule = "the longest that suits bed, springs and what falls onto the grains"
        return StepReport.of(self.dt, step(asked, bed, self.loads, stable), rule, [*among, *own])

    def surface_of(self, state: State) -> tuple[springs.Body, np.ndarray]:
        """The body, and positions of its masses [m], shape [n, 3], of those that are gone as well."""
        body = self.springs.body
        return body, np.asarray(state.springs.positions.numpy()[: body.mass_count, :3], float)

    @property
    def dt(self) -> float:
        """Time step of the grains, at whose ends both meet [s]."""
        return self.substeps * self.springs.dt

    def _worlds_of_grains(self, count: int) -> np.ndarray:
        """World of each of so many grains, shape [n]."""
        return np.repeat(np.arange(self.worlds, dtype=np.int32), count // self.worlds)

    def _worlds_of_all(self) -> np.ndarray:
        """World of each grain and each guest."""
        return np.concatenate([self._worlds_of_grains(len(self.bed)), self.worlds_of_guests()])

    def worlds_of_guests(self) -> np.ndarray:
        """World of each guest, shape [g]."""
        return (self.guests.division.corners[:, 0] // (len(self.guests.body.positions) // self.worlds)).astype(np.int32)

    def _require_copies(
        self, body: springs.Body, bed: grains.Bed, world_of: np.ndarray | None, inside: str
    ) -> None:  # fmt: skip
        """Refuse worlds that are not equal, or in which grains would have to be displaced."""
        equal = not (len(bed) % self.worlds or body.mass_count % self.worlds)
        if not equal or (world_of is not None and (self._worlds_of_grains(len(bed)) != world_of).any()):
            raise InvalidValue(
                f"{len(bed)} grains and {body.mass_count} masses are not equal copies for {self.worlds} worlds: "
                "repeat the bed and the body of one world."
            )
        world_of = np.arange(body.mass_count) // (body.mass_count // self.worlds)
        if (world_of[body.springs[:, 0]] != world_of[body.springs[:, 1]]).any():
            raise InvalidValue(
                f"springs reach from one of the {self.worlds} worlds into another: give as many copies of the body."
            )
        if self.worlds > 1 and inside != "allow":
            raise InvalidValue(
                "grains are displaced by the body in one world alone: let that happen there, then repeat that bed and "
                "say inside='allow'."
            )

    def _springs(self, body: springs.Body, lanes: int | None) -> springs.Model:
        """The model of the body, with kernels that take forces from outside."""
        model = springs.Model(body, self.world.springs_world(), self.device, worlds=self._batch, lanes=lanes)
        if self.worlds > 1 and not model.batched and model.controls:
            raise InvalidValue("copies of a body cannot take commands of their own: give one body and worlds=n.")
        if not model.features.pushed:
            model.features = replace(model.features, pushed=True)
            model.arrays.forces = wp.zeros(model.mass_count, dtype=model.types.vec3, device=self.device)
        return model
