"""Bulldozing (GranularGym, sec. III-A): push a heap of grains into a goal, by track steering and depth images."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Snapshot
from annelid.envs.kernels import bulldozer as kernels
from annelid.envs.kernels import soil as soil_kernels
from annelid.envs.machines import Bulldozer
from annelid.envs.soil import Soil, settled
from annelid.envs.worlds import Channel, Worlds, require, require_numbers
from annelid.grains import Bed, Grain, World, jittered_lattice
from annelid.shapes import Obstacle, Rigid, Surface, box_walls
from annelid.shapes.values import Floats
from annelid.view.camera.camera import Camera, Film

_NEAR, _FAR, _FOV = 0.2, 3.0, 1.57  # ego camera [m], [m], [rad]
_CEILING = 2.0  # height of the sky camera [m]
_LAYERS = 5  # of the heap, as it is poured
_SETTLE = 0.6  # [s]
_RUN_UP = (
    1.6  # of the heap from the end of the field [m]: the bulldozer begins before it, the blade is 0.6 m ahead of it
)
_FRICTION = 0.5  # of grains and ground
_YELLOW = (0.95, 0.68, 0.10)


@dataclass(frozen=True, kw_only=True)
class BulldozerOptions:
    """Options of `annelid/Bulldozer-v0`.

    Attributes:
        grains: Number of grains; 50,000 is the paper's picture.
        radius: Radius of a grain [m].
        dt: Time step [s]: 1e-3 is accurate, 1e-2 is fast; see `docs/envs.md` for what that costs.
        substeps: Steps in an action; None takes 0.1 s: 100 at 1e-3, 10 at 1e-2.
        iterations: Sweeps over all contacts in a step; None takes 1, or 6 above 3e-3 s.
        seconds: Length of an episode [s].
        field: Length and width of the field [m]; None takes 7.2 by 3.6, or as much more as 20,000 grains and more need.
        goal: Lowest and highest x and y of the goal [m]: (x0, x1, y0, y1); None takes the right end of the field.
        speed: Largest speed of the bulldozer [m/s].
        spin: Largest angular velocity of it [rad/s].
        rolling: Rolling resistance of grains, ground and machine: 0.1 stands for grains that are not round; with 0 they
            are balls that roll off to the walls.
        images: Whether depth images are observed; without them an observation is the pose and the time.
    """

    grains: int = 10_000
    radius: float = 0.02
    dt: float = 1e-3
    substeps: int | None = None
    iterations: int | None = None
    seconds: float = 60.0
    field: tuple[float, float] | None = None
    goal: tuple[float, float, float, float] | None = None
    speed: float = 0.6
    spin: float = 1.2
    rolling: float = 0.1
    images: bool = True

    def __post_init__(self) -> None:
        require("grains", self.grains, 1, 1_000_000, whole=True)
        require("radius", self.radius, 1e-3, 0.1)
        require("dt", self.dt, 1e-5, 2e-2)
        require("seconds", self.seconds, 1e-3, 1e6)
        require("speed", self.speed, 0.0, 5.0)
        require("spin", self.spin, 0.0, 10.0)
        require("rolling", self.rolling, 0.0, 10.0)
        if self.substeps is not None:
            require("substeps", self.substeps, 1, 100_000, whole=True)
        if self.field is not None:
            require_numbers("field", self.field, 2)
            if self.field[0] < 3.0 or self.field[1] < 1.5:
                raise InvalidValue(f"field must be at least 3 m long and 1.5 m wide, not {self.field}.")
        if self.goal is not None:
            require_numbers("goal", self.goal, 4)
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

    def walls(self, world: int = 0) -> list[Rigid]:
        """Floor and walls."""
        x, y = 0.5 * self.extent[0], 0.5 * self.extent[1]
        ground = Surface(friction=_FRICTION, rolling=self.rolling)
        return box_walls((-x, -y, 0.0), (x, y, 10.0), surface=ground, world=world)


def paid(points: Floats, goal: tuple[float, float, float, float]) -> Floats:
    """Reward of each grain: 100 in the goal, less its distance outside [m], shape [n]."""
    x0, x1, y0, y1 = goal
    away = np.linalg.norm(points[:, :2] - np.clip(points[:, :2], (x0, y0), (x1, y1)), axis=1)
    return np.where(away == 0.0, 100.0, -away)


class BulldozerField(Worlds):
    """Fields with a heap, a goal and a bulldozer each.

    Args:
        count: Number of worlds.
        options: Options of the task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    title: ClassVar[str] = "Bulldozer"
    settings: ClassVar[type[Any]] = BulldozerOptions
    followed: ClassVar[bool] = False
    solver: grains.Solver

    def __init__(
        self, count: int, options: BulldozerOptions, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        super().__init__(count, options, device=device)
        self.machine = Bulldozer()
        body = Rigid(
            self.machine.mesh(),
            Surface(friction=0.3, rolling=options.rolling),
            motion="driven",
            color=_YELLOW,
            name="bulldozer",
        )
        bed = settled(options.heap(), options.walls(), options.world, _SETTLE, self.device)

        def bodies(world: int) -> Sequence[Obstacle]:
            return [*options.walls(world), replace(body, world=world)]

        self.soil = Soil(count, bed, bodies, options.world, device=self.device, threads=threads)
        self.solver = self.soil.solver
        self.idle_reward = float(paid(bed.positions, options.goal_box).mean())
        self._middle = wp.vec3(*body.middle)
        self._which = (self.soil.bodies, self.soil.bodies - 1)
        self._shares = self._zeros((count, soil_kernels.SHARES), wp.vec2d)
        self._delivered = self._zeros(count, wp.float32)
        self._build_cameras()
        self.soil.solver.accompany(lambda grains: self._steer())

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Depth ahead and from above, pose and time."""
        o = self.options
        x, y = 0.5 * o.extent[0] + 1.0, 0.5 * o.extent[1] + 1.0
        ahead, above = "depth ahead, from above the windshield [m], row by row", "depth from 2 m above [m], row by row"
        pose = ("x and y of the bulldozer [m]", 2), ("heading [rad]", 1)
        images = (
            Channel("ego", (36, 36), _NEAR, _FAR, ((ahead, 36 * 36),)),
            Channel("sky", (36, 72), 0.0, _CEILING, ((above, 36 * 72),)),
        )
        return (
            *(images if o.images else ()),
            Channel("pose", (3,), -max(x, y, 3.2), max(x, y, 3.2), pose),
            Channel("time", (1,), 0.0, o.seconds + self.action_seconds, (("time since the episode began [s]", 1),)),
        )

    @property
    def action_size(self) -> int:
        """Speed along the heading, and turning."""
        return 2

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.options.dt * self.options.steps

    @property
    def camera(self) -> Camera | None:
        """From behind the left corner."""
        long, wide = self.options.extent
        return Camera.framing(
            (np.array([-long / 2, -wide / 2, 0.0]), np.array([long / 2, wide / 2, 0.4])), direction=(-0.25, -1.0, 0.75)
        )

    told: ClassVar[Mapping[str, str]] = {"delivered": "part of the grains that lie in the goal"}

    def info(self) -> dict[str, np.ndarray]:
        """Part of the grains that lie in the goal."""
        return {"delivered": np.array(self._delivered.numpy())}

    def snapshot(self, world: int = 0) -> Snapshot:
        """The field with heap and bulldozer."""
        return self.soil.snapshot(world, float(self.steps.numpy()[world]) * self.action_seconds)

    def _memory(self) -> dict[str, Any]:
        return {"soil": self.soil.state, "delivered": self._delivered}

    def _after_load(self) -> None:
        self.solver.unbind()

    # --- episodes ---

    def _begin(self, mask: wp.array[Any]) -> None:
        long, wide = self.options.extent
        self.soil.restart(mask)
        low, high = wp.vec3(-long / 2 + 0.5, -wide / 6, -0.4), wp.vec3(-long / 2 + 0.7, wide / 6, 0.4)
        state = self.soil.state
        inputs = [mask, self.seeds, self.episodes, *self._which, self._middle, low, high]
        self._launch(kernels.stand, inputs, [state.places, state.turns])

    def _advance(self) -> None:
        self._steer()
        self.soil.advance(self.options.steps)

    def _steer(self) -> None:
        o, state = self.options, self.soil.state
        inputs = [self.actions, *self._which, self._middle, o.speed, o.spin, o.dt, state.places, state.turns]
        self._launch(kernels.steer, inputs, [state.drives, state.body_forecast, state.body_turning])

    def _judge(self) -> None:
        o, soil = self.options, self.soil
        x0, x1, y0, y1 = o.goal_box
        stage = [soil.points, soil.grains, wp.vec3(x0, y0, -1.0), wp.vec3(x1, y1, 1.0e3)]
        soil.gather()
        size = (self.count, soil_kernels.SHARES)
        wp.launch(kernels.share_reward, size, stage, [self._shares], device=self.device)
        half = wp.vec2(0.5 * o.extent[0], 0.5 * o.extent[1])
        inputs = [self._shares, soil.grains, *self._which, self._middle, half, soil.state.places, soil.state.turns]
        self._launch(kernels.judge, inputs, [self.rewards, self.truncated, self._delivered])

    # --- sight ---

    def _build_cameras(self) -> None:
        """One camera in each cabin, one above each field."""
        if not self.options.images:
            return
        size = self.machine.length  # above the windshield: from behind it the hood would fill half of the image
        seat, target = size * np.array([0.30, 0.0, 0.95]), size * np.array([1.5, 0.0, 0.1])
        self._seat, self._target = (wp.vec3(*(point - np.asarray(self._middle))) for point in (seat, target))
        ego = Camera(tuple(seat), tuple(target), fov=_FOV)
        sky = Camera((0.0, 0.0, _CEILING), (0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), height=self.options.extent[1])
        films = {"ego": ((36, 36), ego, _FAR), "sky": ((72, 36), sky, 2.0 * _CEILING)}
        self._films = {}
        for name, (pixels, camera, far) in films.items():
            views = [replace(camera, world=world) for world in range(self.count)]
            film = Film(views, size=pixels, far=far, device=self.device)
            film.depth = self.observations[name]  # rays write where observations are read
            self._films[name] = film

    def _observe(self, mask: wp.array[Any]) -> None:
        state = self.soil.state
        inputs = [mask, *self._which, self._middle, self.action_seconds, self.steps, state.places, state.turns]
        self._launch(kernels.know_self, inputs, [self.observations["pose"], self.observations["time"]])
        if not self.options.images:
            return
        stage = self.soil.look()
        inputs = [*self._which, self._seat, self._target, state.places, state.turns]
        self._launch(kernels.look_ahead, inputs, [self._films["ego"].eyes])
        for name, (near, far) in {"ego": (_NEAR, _FAR), "sky": (0.0, _CEILING)}.items():
            depth = self._films[name].cast_depth(stage)
            wp.launch(soil_kernels.clip_depth, depth.shape, [near, far], [depth], device=self.device)
