"""Bulldozing (GranularGym, sec. III-A): push a heap of grains into a goal, by track steering and depth images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Snapshot
from annelid.envs.bulldozers import CEILING, FAR, NEAR, Bulldozers
from annelid.envs.hooks import Batch, Channel, each_world
from annelid.envs.kernels import bulldozer as kernels
from annelid.envs.machines import Bulldozer
from annelid.envs.soil import settled, soil_simulation
from annelid.envs.task import Task
from annelid.grains import Bed, Grain, Solver, World, jittered_lattice, spin_control, velocity_control
from annelid.shapes import Rigid, Surface, box_walls
from annelid.shapes.values import Floats
from annelid.view.camera.camera import Camera

_LAYERS = 5  # of the heap, as it is poured
_SETTLE = 0.6  # [s]
_RUN_UP = (
    1.6  # of the heap from the end of the field [m]: the bulldozer begins before it, the blade is 0.6 m ahead of it
)
_FRICTION = 0.5  # of grains and ground
_YELLOW = (0.95, 0.68, 0.10)


def paid(points: Floats, goal: tuple[float, float, float, float]) -> Floats:
    """Reward of each grain: 100 in the goal, less its distance outside [m], shape [n]."""
    x0, x1, y0, y1 = goal
    away = np.linalg.norm(points[:, :2] - np.clip(points[:, :2], (x0, y0), (x1, y1)), axis=1)
    return np.where(away == 0.0, 100.0, -away)


@documented
class BulldozerField(Task):
    """Push a heap of grains into a goal with a bulldozer that sees depth images: `annelid/Bulldozer-v0`."""

    fixed: ClassVar[tuple[str, ...]] = ("every", "smooth", "arrays")
    replayed: ClassVar[bool] = True
    followed: ClassVar[bool] = False
    told: ClassVar[Mapping[str, str]] = {"delivered": "part of the grains that lie in the goal"}

    grains: int = parameter(10_000, "Number of grains; 50,000 is the paper's picture.", limits=(1, 1_000_000))
    radius: float = parameter(0.02, "Radius of a grain [m].", unit="m", limits=(1e-3, 0.1))
    dt: float = parameter(
        1e-3,
        "Time step [s]: 1e-3 is accurate, 1e-2 is fast; see `docs/reference/environments.md` for what that costs.",
        unit="s",
        limits=(1e-5, 2e-2),
    )
    substeps: int | None = parameter(
        None, "Steps in an action; None takes 0.1 s: 100 at 1e-3, 10 at 1e-2.", limits=(1, 100_000)
    )
    iterations: int | None = parameter(None, "Sweeps over all contacts in a step; None takes 1, or 6 above 3e-3 s.")
    seconds: float = parameter(60.0, "Length of an episode [s].", unit="s", limits=(1e-3, 1e6))
    field: tuple[float, float] | None = parameter(
        None,
        "Length and width of the field [m]; None takes 7.2 by 3.6, or as much more as 20,000 grains and more need.",
        unit="m",
    )
    goal: tuple[float, float, float, float] | None = parameter(
        None,
        "Lowest and highest x and y of the goal [m]: (x0, x1, y0, y1); None takes the right end of the field.",
        unit="m",
    )
    speed: float = parameter(0.6, "Largest speed of the bulldozer [m/s].", unit="m/s", limits=(0.0, 5.0))
    spin: float = parameter(1.2, "Largest angular velocity of it [rad/s].", unit="rad/s", limits=(0.0, 10.0))
    rolling: float = parameter(
        0.1,
        "Rolling resistance of grains, ground and machine: 0.1 stands for grains that are not round; with 0 they "
        "are balls that roll off to the walls.",
        limits=(0.0, 10.0),
    )
    images: bool = parameter(
        True, "Whether depth images are observed; without them an observation is the pose and the time."
    )
    arrays = "warp"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.field is not None and (self.field[0] < 3.0 or self.field[1] < 1.5):
            raise InvalidValue(f"field must be at least 3 m long and 1.5 m wide, not {self.field}.")
        (x0, x1, y0, y1), (long, wide) = self.goal_box, self.extent
        if not (-0.5 * long <= x0 < x1 <= 0.5 * long and -0.5 * wide <= y0 < y1 <= 0.5 * wide):
            raise InvalidValue(
                f"goal must be (x0, x1, y0, y1) with x0 < x1 and y0 < y1 on the field of {long:g} by {wide:g} m, "
                f"not {self.goal}."
            )

    @property
    def steps(self) -> int:
        """Steps in an action."""
        return self.substeps or max(1, round(0.1 / self.dt))

    @property
    def extent(self) -> tuple[float, float]:
        """Length and width of the field [m]."""
        more = math.sqrt(max(1.0, self.grains / 20_000))
        return self.field or (7.2 * more, 3.6 * more)

    @property
    def goal_box(self) -> tuple[float, float, float, float]:
        """Lowest and highest x and y of the goal [m]."""
        long, wide = self.extent
        return self.goal or (long / 6.0, long / 2.0 - 0.4, -wide / 3.0, wide / 3.0)

    @property
    def world(self) -> World:
        """How grains move."""
        if self.dt <= 3e-3:
            return World(dt=self.dt, iterations=self.iterations)
        # Long steps need contacts that push overlaps out faster, and more sweeps to bear that.
        return World(dt=self.dt, iterations=self.iterations or 6, correction=0.2, skin=0.5)

    def heap(self) -> Bed:
        """Grains on a jittered lattice, in front of where the bulldozer begins."""
        pitch, (long, wide) = 2.1 * self.radius, self.extent
        rows = min(int(0.6 * wide / pitch), math.ceil(math.sqrt(self.grains / _LAYERS)))
        columns = math.ceil(self.grains / (rows * _LAYERS))
        left = -0.5 * long + _RUN_UP
        if left + columns * pitch > 0.5 * long - 2.0 * self.radius:
            raise InvalidValue(f"{self.grains} grains do not fit on a field of {long:g} by {wide:g} m: make it larger.")
        corner = (left, -0.5 * rows * pitch, 1.1 * self.radius)
        places = jittered_lattice((columns, rows, _LAYERS), pitch, jitter=0.04 * self.radius, corner=corner)
        return Bed(places[: self.grains], self.radius, Grain(friction=_FRICTION, rolling=self.rolling))

    def walls(self) -> list[Rigid]:
        """Floor and walls."""
        x, y = 0.5 * self.extent[0], 0.5 * self.extent[1]
        ground = Surface(friction=_FRICTION, rolling=self.rolling)
        return box_walls((-x, -y, 0.0), (x, y, 10.0), surface=ground)

    # --- building ---

    def build(self, **machine: Any) -> Simulation[Solver]:
        """Heaps at rest, and bulldozers that take velocities."""
        bed = settled(self.heap(), self.walls(), self.world, _SETTLE, find_device(machine["device"]))
        body = Rigid(
            Bulldozer().mesh(), Surface(friction=0.3, rolling=self.rolling), motion="driven", color=_YELLOW,
            name="bulldozer",
        )  # fmt: skip
        most = 1.0 + 2.0 * (self.speed + self.spin)  # what steering asks for is within half of it
        controls = [
            velocity_control("x", body, "x", low=-most, high=most),
            velocity_control("y", body, "y", low=-most, high=most),
            spin_control("turn", body, "z", low=-most, high=most),
        ]
        return soil_simulation(bed, [*self.walls(), body], self.world, controls, **machine)

    def prepare(self, worlds: Batch) -> Bulldozers:
        """The machines in their soil, and what they see."""
        images = self.channels(worlds.simulation)[:2] if self.images else ()
        return Bulldozers(worlds, images, self.extent[1])

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        return self.steps

    def action_size(self, simulation: Simulation[Any]) -> int:
        """Speed along the heading, and turning."""
        return 2

    def idle_reward(self, worlds: Batch) -> float:
        """What the heap is worth as it lies."""
        return float(paid(worlds.simulation.solver.model.one.positions, self.goal_box).mean())

    # --- episodes ---

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Put the machine where the seed says."""
        long, wide = self.extent
        low, high = wp.vec3(-long / 2 + 0.5, -wide / 6, -0.4), wp.vec3(-long / 2 + 0.7, wide / 6, 0.4)
        worlds.own.stand(worlds.uniform(3), low, high, mask)

    def act(self, worlds: Batch) -> None:
        """Nothing yet: commands change in every step."""

    def before_step(self, worlds: Batch) -> None:
        """Steer along the arc that the tracks draw."""
        worlds.command(worlds.own.steered(worlds.actions, self.speed, self.spin))

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """What the grains are worth where they lie, how many are in the goal, and poses of the machines."""
        machines: Bulldozers = worlds.own
        return machines.judged(self.goal_box)

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """100 for each grain in the goal, less its distance outside, in the mean."""
        return now["worth"]

    def truncated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """A machine that has left the field ends its episode."""
        half = wp.vec2(0.5 * self.extent[0], 0.5 * self.extent[1])
        return each_world(kernels.has_left, [half, now["poses"]], wp.bool)

    # --- sight ---

    def channels(self, simulation: Simulation[Any]) -> tuple[Channel, ...]:
        """Depth ahead and from above, pose and time."""
        x, y = 0.5 * self.extent[0] + 1.0, 0.5 * self.extent[1] + 1.0
        ahead, above = "depth ahead, from above the windshield [m], row by row", "depth from 2 m above [m], row by row"
        pose = ("x and y of the bulldozer [m]", 2), ("heading [rad]", 1)
        images = (
            Channel("ego", (36, 36), NEAR, FAR, ((ahead, 36 * 36),)),
            Channel("sky", (36, 72), 0.0, CEILING, ((above, 36 * 72),)),
        )
        longest = self.seconds + self.dt * self.steps
        return (
            *(images if self.images else ()),
            Channel("pose", (3,), -max(x, y, 3.2), max(x, y, 3.2), pose),
            Channel("time", (1,), 0.0, longest, (("time since the episode began [s]", 1),)),
        )

    def observe(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Write pose and time, and take the images."""
        seen, device = worlds.observations, worlds.device
        inputs = [mask, worlds.action_seconds, worlds.steps, worlds.now["poses"]]
        wp.launch(kernels.know_self, worlds.count, inputs, [seen["pose"], seen["time"]], device=device)
        if self.images:
            worlds.own.look()

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        """Part of the grains that lie in the goal."""
        return {"delivered": np.array(worlds.now["delivered"].numpy())}

    @property
    def camera(self) -> Camera | None:
        """From behind the left corner."""
        long, wide = self.extent
        return Camera.framing(
            (np.array([-long / 2, -wide / 2, 0.0]), np.array([long / 2, wide / 2, 0.4])), direction=(-0.25, -1.0, 0.75)
        )

    def picture(self, worlds: Batch, world: int) -> Snapshot:
        """The field with heap and bulldozer."""
        machines: Bulldozers = worlds.own
        return machines.soil.snapshot(world)
