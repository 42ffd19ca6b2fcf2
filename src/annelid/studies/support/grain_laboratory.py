"""Small experiments with grains and blocks that have a closed form, all in one simulation of many worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid import grains
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Plane, Rigid, Surface, ground

GRAVITY = 9.81
RADIUS = 0.01
STEP = 2.5e-4
_PERCENT = 0.01
_FAR = 50.0  # where the one grain waits that every world of blocks needs [m]


@dataclass(frozen=True, eq=False)
class Part:
    """What an experiment puts into its world: grains with their velocities and spins, and obstacles."""

    positions: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray
    material: grains.Grain
    obstacles: tuple[Rigid, ...] = ()


@dataclass(frozen=True, eq=False)
class Track:
    """What happened in one world.

    Attributes:
        times: Moments [s], shape [t].
        x: Positions of its grains [m], shape [t, n, 3].
        v: Velocities [m/s], shape [t, n, 3].
        w: Angular velocities [rad/s], shape [t, n, 3].
        body_x: Positions of its bodies [m], shape [t, b, 3].
        body_v: Velocities of its bodies [m/s], shape [t, b, 3].
    """

    times: np.ndarray
    x: np.ndarray
    v: np.ndarray
    w: np.ndarray
    body_x: np.ndarray
    body_v: np.ndarray


class Experiment(Protocol):
    """An experiment in a world of its own."""

    def part(self, world: int) -> Part:
        """What it needs."""
        ...

    def judge(self, track: Track) -> list[Measurement]:
        """What came out, beside the closed form."""
        ...


@dataclass(frozen=True)
class RollingDown:
    """A sphere on an incline: rolls with 5/7 g sin θ where tan θ ≤ 7/2 μ, slides with g (sin θ − μ cos θ) beyond."""

    degrees: float
    friction: float = 0.5

    def part(self, world: int) -> Part:
        """A sphere that touches the incline."""
        normal, _ = _incline(self.degrees)
        plane = Rigid(Plane(normal=tuple(normal)), Surface(friction=self.friction), world=world)
        return _one(RADIUS * normal, grains.Grain(friction=self.friction), (plane,))

    def judge(self, track: Track) -> list[Measurement]:
        """Acceleration along the incline."""
        angle, (_, down) = math.radians(self.degrees), _incline(self.degrees)
        rolls = math.tan(angle) <= 3.5 * self.friction
        slides = GRAVITY * (math.sin(angle) - self.friction * math.cos(angle))
        law = 5.0 / 7.0 * GRAVITY * math.sin(angle) if rolls else slides
        name = f"sphere-{'rolls' if rolls else 'slides'}-{self.degrees:g}deg"
        return [_near(name, _acceleration(track.times, track.v[:, 0] @ down), "m/s2", law)]


@dataclass(frozen=True)
class SlidingToRolling:
    """A sphere launched sliding at v₀ rolls after 2 v₀/(7 μ g), at 5/7 v₀."""

    friction: float
    speed: float = 1.0

    def part(self, world: int) -> Part:
        """A sphere on the ground."""
        plane = ground(friction=self.friction, world=world)
        material = grains.Grain(friction=self.friction)
        return _one((0.0, 0.0, RADIUS), material, (plane,), velocity=(self.speed, 0.0, 0.0))

    def judge(self, track: Track) -> list[Measurement]:
        """Time and speed: where the line of the sliding phase meets the speed of rolling."""
        v = track.v[:, 0, 0]
        rolling, expected = float(v[-1]), 2.0 * self.speed / (7.0 * self.friction * GRAVITY)
        sliding = track.times < 0.8 * expected
        slope, start = np.polyfit(track.times[sliding], v[sliding], 1)
        label = f"friction-{self.friction:g}"
        return [
            _near(f"sliding-to-rolling-time-{label}", (rolling - float(start)) / float(slope), "s", expected),
            _near(f"sliding-to-rolling-speed-{label}", rolling, "m/s", 5.0 / 7.0 * self.speed),
        ]


@dataclass(frozen=True)
class Bounce:
    """A sphere dropped from h₀ bounces up to e² h₀."""

    restitution: float
    height: float = 0.3

    def part(self, world: int) -> Part:
        """A sphere in the air."""
        plane = ground(restitution=self.restitution, world=world)
        material = grains.Grain(restitution=self.restitution)
        return _one((0.0, 0.0, RADIUS + self.height), material, (plane,))

    def judge(self, track: Track) -> list[Measurement]:
        """Height of the first bounce over that of the fall."""
        z = track.x[:, 0, 2] - RADIUS
        turn = int(np.argmax(np.diff(z) > 0.0))
        top = turn + int(np.argmax(np.diff(z[turn:]) < 0.0))
        return [_near(f"bounce-{self.restitution:g}", float(z[top]) / self.height, "", self.restitution**2)]


@dataclass(frozen=True)
class Collision:
    """Two spinning spheres meet in the air: momentum and angular momentum are kept."""

    seed: int
    restitution: float = 0.5

    def part(self, world: int) -> Part:
        """Two spheres close to each other."""
        random = np.random.default_rng(self.seed)
        n = random.normal(size=3)
        n /= np.linalg.norm(n)
        velocities = np.array([n, -n]) * random.uniform(0.5, 2.0, (2, 1)) + 0.3 * random.normal(size=(2, 3))
        spins = 30.0 * random.normal(size=(2, 3))
        return Part(np.array([-n, n]) * 1.05 * RADIUS, velocities, spins, grains.Grain(restitution=self.restitution))

    def judge(self, track: Track) -> list[Measurement]:
        """Largest changes, relative to the momenta of one sphere; both fall, so momenta are about the middle."""
        first, last = 0, min(40, len(track.times) - 1)
        changes = [self._momenta(track, last)[k] - self._momenta(track, first)[k] for k in range(2)]
        speed = float(np.linalg.norm(track.v[first, 0] - track.v[first, 1]))
        linear, angular = (float(np.abs(change).max()) for change in changes)
        return [
            Measurement(
                f"collision-{self.seed}-momentum", linear / speed, "", 2e-6, bound="at-most", source="rounding"
            ),
            Measurement(
                f"collision-{self.seed}-angular-momentum", angular / (speed * RADIUS), "", 2e-5, bound="at-most",
                source="rounding",
            ),
        ]  # fmt: skip

    def _momenta(self, track: Track, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Momentum without what gravity gave, and angular momentum about the middle, of unit masses."""
        x, v, w = track.x[at], track.v[at], track.w[at]
        fall = np.array([0.0, 0.0, GRAVITY * track.times[at]])
        about = np.cross(x - x.mean(axis=0), v - v.mean(axis=0)).sum(axis=0) + 0.4 * RADIUS**2 * w.sum(axis=0)
        return v.sum(axis=0) + 2.0 * fall, about


@dataclass(frozen=True)
class Block:
    """A block on an incline: slips where tan θ > μ, then with g (sin θ − μ cos θ)."""

    degrees: float
    friction: float = 0.5
    size: tuple[float, float, float] = (0.2, 0.2, 0.05)

    def part(self, world: int) -> Part:
        """A block that lies on the incline, and a grain far away."""
        normal, _ = _incline(self.degrees)
        turn = Rotation.from_euler("y", self.degrees, degrees=True).as_quat()
        block = Rigid(
            Box(self.size),
            Surface(friction=self.friction),
            position=tuple(0.5 * self.size[2] * normal),
            rotation=tuple(turn),
            motion="free",
            world=world,
        )
        plane = Rigid(Plane(normal=tuple(normal)), Surface(friction=self.friction), world=world)
        return _one((0.0, 0.0, _FAR), grains.Grain(), (plane, block))

    def judge(self, track: Track) -> list[Measurement]:
        """Acceleration, or the way of a block that should stay."""
        angle, (_, down) = math.radians(self.degrees), _incline(self.degrees)
        label = f"{self.degrees:g}deg-friction-{self.friction:g}"
        if math.tan(angle) <= self.friction:
            way = float((track.body_x[-1, 1] - track.body_x[0, 1]) @ down)
            return [Measurement(f"block-stays-{label}", abs(way), "m", 1e-4, bound="at-most", source="tan θ ≤ μ")]
        law = GRAVITY * (math.sin(angle) - self.friction * math.cos(angle))
        return [_near(f"block-slides-{label}", _acceleration(track.times, track.body_v[:, 1] @ down), "m/s2", law)]


EXPERIMENTS: tuple[Experiment, ...] = (
    *(RollingDown(degrees) for degrees in (5.0, 20.0, 40.0, 58.0, 70.0)),
    *(SlidingToRolling(friction) for friction in (0.2, 0.3, 0.5)),
    *(Bounce(e) for e in (0.2, 0.5, 0.8, 0.95, 1.0)),
    *(Collision(seed) for seed in range(3)),
    *(Block(degrees) for degrees in (15.0, 25.0, 28.0, 35.0, 50.0)),
    *(Block(degrees, 0.2) for degrees in (10.0, 20.0)),
)


def laboratory(
    experiments: Sequence[Experiment] = EXPERIMENTS,
    *,
    seconds: float = 0.7,
    device: str | wp.Device = "auto",
    threads: int | None = None,
    dt: float = STEP,
    every: int = 1,
) -> list[Track]:
    """Run all experiments side by side, watching every step, or one of several."""
    parts = [experiment.part(world) for world, experiment in enumerate(experiments)]
    counts = [len(part.positions) for part in parts]
    bed = grains.Bed(
        np.concatenate([part.positions for part in parts]), RADIUS, tuple(part.material for part in parts),
        kinds=np.repeat(np.arange(len(parts)), counts),
        velocities=np.concatenate([part.velocities for part in parts]),
        spins=np.concatenate([part.spins for part in parts]),
    )  # fmt: skip
    obstacles = [one for part in parts for one in part.obstacles]
    worlds = np.repeat(np.arange(len(parts)), counts)
    simulation = grains.simulation(bed, obstacles=obstacles, world_of=worlds, device=device, threads=threads, dt=dt)
    rows = _watch(simulation, seconds, every)
    owner = np.array([body.world for body in simulation.solver.model.bodies], int)
    times = every * dt * np.arange(len(rows["x"]))
    return [
        Track(
            times, *(rows[name][:, worlds == world] for name in ("x", "v", "w")),
            *(rows[name][:, owner == world] for name in ("body_x", "body_v")),
        )
        for world in range(len(parts))
    ]  # fmt: skip


def _watch(simulation: Simulation[grains.Solver], seconds: float, every: int) -> dict[str, np.ndarray]:
    """Everything at every step, or at one of several, from the beginning."""
    readout, rows = simulation.solver.readout, {name: [] for name in ("x", "v", "w", "body_x", "body_v")}

    def look(sim: Simulation[grains.Solver]) -> None:
        state = sim.state
        rows["x"].append(readout.positions(state))
        rows["v"].append(readout.velocities(state))
        rows["w"].append(readout.spins(state))
        rows["body_x"].append(state.places.numpy().astype(float))
        rows["body_v"].append(state.body_velocities.numpy().astype(float))

    look(simulation)
    simulation.observe(look, every=every * simulation.dt)
    simulation.run(seconds)
    return {name: np.array(values) for name, values in rows.items()}


def _one(
    position: Sequence[float] | np.ndarray,
    material: grains.Grain,
    obstacles: tuple[Rigid, ...],
    velocity: Sequence[float] = (0.0, 0.0, 0.0),
) -> Part:
    return Part(np.array([position], float), np.array([velocity], float), np.zeros((1, 3)), material, obstacles)


def _incline(degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal of an incline through the origin, and the direction down it."""
    angle = math.radians(degrees)
    return np.array([math.sin(angle), 0.0, math.cos(angle)]), np.array([math.cos(angle), 0.0, -math.sin(angle)])


def _acceleration(times: np.ndarray, speeds: np.ndarray) -> float:
    """Slope of the speed, after the first tenth."""
    late = times > 0.1 * times[-1]
    return float(np.polyfit(times[late], speeds[late], 1)[0])


def _near(name: str, value: float, unit: str, law: float) -> Measurement:
    return Measurement(name, float(value), unit, law, _PERCENT * abs(law), "closed form")
