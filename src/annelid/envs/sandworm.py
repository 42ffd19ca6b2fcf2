"""Crawling of a soft worm in sand: an action is the swelling of its segments; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import coupling, grains, springs
from annelid.core.snapshot import Look, Snapshot
from annelid.envs.kernels import sandworm as kernels
from annelid.envs.worlds import Channel, Worlds, require
from annelid.robots.sand_worm import BuriedWorm

_LANES = 4  # CUDA threads a mass: the same for any number of worlds, or their sums would differ in the last bits
_ROOM = (48, 8)  # neighbours and bodies that lists have room for from the beginning: they need not grow in an episode
_SETTLE = 0.3  # [s]
_ALONG, _ACROSS = 0.9, 0.1  # cosines of the angles with the worm, of springs that feel its length and its girth


@wp.func
def follow(time: Any, parameters: Any) -> Any:
    """A smooth change of an expansion. Parameters: from, to, seconds that it takes, a number of its own."""
    part = wp.clamp(time / parameters[2], type(time)(0.0), type(time)(1.0))
    smooth = part * part * (type(time)(3.0) - type(time)(2.0) * part)
    return type(time)(1.0) + parameters[0] + (parameters[1] - parameters[0]) * smooth


@dataclass(frozen=True, kw_only=True)
class SandwormOptions:
    """Options of `annelid/SandWorm-v0`.

    Attributes:
        segments: Parts of the worm that swell on their own.
        swelling: Largest swelling of a segment, a fraction of its size.
        length: Length of the worm [m].
        spacing: Distance of its masses, in its radii.
        depth: Depth of the bed [m].
        buried: Part of the worm below the surface at the beginning.
        friction: Coulomb friction of grains and worm.
        grain_radius: Radius of the grains [m].
        run_up: Room before and behind the worm [m].
        action_time: Simulated time of an action [s]; it is a whole number of steps.
        seconds: Length of an episode [s].
        noise: Largest swelling that an episode begins with.
    """

    segments: int = 6
    swelling: float = 0.2
    length: float = 0.4
    spacing: float = 0.6
    depth: float = 0.06
    buried: float = 0.5
    friction: float = 0.5
    grain_radius: float = 0.014
    run_up: float = 0.25
    action_time: float = 0.05
    seconds: float = 6.0
    noise: float = 0.02

    def __post_init__(self) -> None:
        require("segments", self.segments, 1, 64, whole=True)
        require("swelling", self.swelling, 0.0, 0.3)
        require("length", self.length, 0.1, 10.0)
        require("spacing", self.spacing, 0.2, 0.6)
        require("depth", self.depth, 1e-3, 1.0)
        require("buried", self.buried, 0.0, 1.0)
        require("friction", self.friction, 0.0, 10.0)
        require("grain_radius", self.grain_radius, 1e-3, 0.1)
        require("run_up", self.run_up, 0.01, 10.0)
        require("action_time", self.action_time, 1e-3, 10.0)
        require("seconds", self.seconds, 1e-3, 1e6)
        require("noise", self.noise, 0.0, 0.1)

    @property
    def worm(self) -> BuriedWorm:
        """The worm and its box."""
        names = ("length", "spacing", "swelling", "depth", "buried", "friction", "grain_radius", "run_up")
        return BuriedWorm(**{name: getattr(self, name) for name in names})


class SandWorm(Worlds):
    """Worms in boxes of sand that do not touch each other.

    Args:
        count: Number of worlds.
        options: Options of the task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    title: ClassVar[str] = "SandWorm"
    settings: ClassVar[type[Any]] = SandwormOptions
    solver: coupling.Solver

    def __init__(
        self, count: int, options: SandwormOptions, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        super().__init__(count, options, device=device)
        self.worm = options.worm
        self.body, self.bed = _settled(self.worm, self.device, threads)
        self.segment_of = _segments(self.worm.body(), options.segments)
        self.solver = coupling.Solver(self._model(count), threads=threads)
        self.state = self.solver.initial_state()
        self.solver.reserve(self.state, *_ROOM)
        self._parameters = self.solver.model.springs.arrays.signal_parameters
        self._anatomy = self._find_anatomy()
        self._places, self._velocities = (self._zeros(count, wp.vec3d) for _ in range(2))
        self._before = self._zeros(count, wp.float64)
        self._weight = float(self.body.masses.sum()) * 9.81
        self._stand_in: coupling.Solver | None = None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Segment by segment from tail to head what each feels, then the motion of the whole."""
        felt = kernels.FELT * self.options.segments
        parts = (
            (
                "of each segment along x: strain along and across the worm, contact force along x, y, z [weights of "
                "the worm], swelling asked for",
                felt,
            ),
            ("velocity of the worm, x, y, z [lengths/s]", kernels.GENERAL),
        )
        return (Channel("observation", (felt + kernels.GENERAL,), parts=parts),)

    @property
    def action_size(self) -> int:
        """Swelling of each segment, from as small as it gets at -1 to as large at 1."""
        return int(self.options.segments)

    @property
    def substeps(self) -> int:
        """Steps in an action."""
        return max(1, round(self.options.action_time / self.solver.dt))

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.substeps * self.solver.dt

    told: ClassVar[Mapping[str, str]] = {"x": "where the middle of the worm is along x [m]"}

    def info(self) -> dict[str, np.ndarray]:
        """Where the middle of each worm is along x [m]."""
        return {"x": self._places.numpy()[:, 0]}

    def snapshot(self, world: int = 0) -> Snapshot:
        """One worm in its sand."""
        if self._stand_in is None:
            self._stand_in = coupling.Solver(self._model(1), threads=1)
        twin = self._stand_in
        state = twin.initial_state()
        masses, grains = self.body.mass_count, len(self.bed)
        wp.copy(state.springs.positions, self.state.springs.positions, src_offset=world * masses, count=masses)
        places = np.zeros((twin.model.grains.count, 4), np.float32)
        places[:grains, :3] = self.solver.readout.grain_positions(self.state)[world * grains : (world + 1) * grains]
        wp.copy(state.grains.positions, wp.array(places, dtype=wp.vec4, device=self.device), count=len(places))
        shot = twin.snapshot(state, Look(numbers=False))
        return Snapshot(float(self.steps.numpy()[world]) * self.action_seconds, 0, shot.parts)

    def _memory(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "signals": self._parameters,
            "places": self._places,
            "velocities": self._velocities,
            "before": self._before,
        }

    def _after_load(self) -> None:
        self.solver.grains.unbind()

    # --- episodes ---

    def _begin(self, mask: wp.array[Any]) -> None:
        self._begin_clocks()
        self.solver.reset(self.state, mask)
        inputs = [mask, self.seeds, self.episodes, self.options.noise, self._anatomy]
        self._launch(kernels.begin, inputs, [self._parameters])
        self._survey()
        self._launch(kernels.note_start, [mask, self._places], [self._before])

    def _advance(self) -> None:
        o = self.options
        size = (self.count, o.segments)
        inputs = [self.actions, o.swelling, self.action_seconds, self._anatomy]
        wp.launch(kernels.swell, size, inputs, [self._parameters], device=self.device)
        self._begin_clocks()
        self.solver.advance(self.state, self.substeps)

    def _begin_clocks(self) -> None:
        """Signals and looks at lists count from the beginning of the action, in all worlds alike."""
        for clock in (self.state.springs.clock, self.state.grains.clock):
            clock.zero_()

    def _judge(self) -> None:
        self._survey()
        self._launch(kernels.judge, [self.worm.length, self._places, self._before], [self.rewards])

    def _observe(self, mask: wp.array[Any]) -> None:
        state, seen = self.state, self.observations["observation"]
        felt = [state.springs.positions, state.contact_forces, self._parameters]
        size = (self.count, self.options.segments)
        wp.launch(kernels.feel, size, [mask, self._weight, self._anatomy, *felt], [seen], device=self.device)
        self._launch(kernels.show_motion, [mask, self.worm.length, self._anatomy, self._velocities], [seen])

    def _survey(self) -> None:
        inputs = [self._anatomy, self.state.springs.positions, self.state.springs.velocities]
        self._launch(kernels.survey, inputs, [self._places, self._velocities])

    # --- building ---

    def _model(self, count: int) -> coupling.Model:
        """So many worlds, each as it has settled."""
        worm, box, segments = self.worm, self.worm.sandbox(), self.options.segments
        many = self.body.replicated(np.zeros((count, 3)))
        names = (segments * np.arange(count)[:, None] + self.segment_of).ravel().astype(float)
        many.actuate(springs.Signal(follow, (0.0, 0.0, 1.0, names)))
        return coupling.Model(
            many,
            grains.Bed(np.tile(self.bed.positions, (count, 1)), np.tile(self.bed.radii, count), self.bed.materials),
            world=coupling.World(obstacles=[wall for world in range(count) for wall in box.walls(world)]),
            skin=worm.skin,
            stretch=worm.stretch,
            inside="allow",
            overlapping="allow",
            world_of=np.repeat(np.arange(count), len(self.bed)),
            lanes=_LANES,
            device=self.device,
        )

    def _find_anatomy(self) -> Any:
        """Springs along and across each segment, its surface masses and its signal in each world."""
        body, guests, segments = self.worm.body(), self.solver.model.guests, self.options.segments
        across = np.diff(body.positions[body.springs], axis=1)[:, 0]
        cosines = np.abs(across[:, 0]) / np.linalg.norm(across, axis=1)
        ways = [np.flatnonzero(cosines > _ALONG), np.flatnonzero(cosines < _ACROSS)]
        ways = [way[np.argsort(self.segment_of[way], kind="stable")] for way in ways]
        chosen, begins = np.concatenate(ways), (0, len(ways[0]))
        edges = np.arange(segments + 1)
        first = [at + np.searchsorted(self.segment_of[way], edges) for at, way in zip(begins, ways, strict=True)]
        own = guests.members[: len(guests.members) // self.count]
        own_segments = _parts(body.positions[own, 0], body, segments)
        members = np.argsort(own_segments, kind="stable")
        anatomy: Any = kernels.Anatomy()
        anatomy.masses, anatomy.surface, anatomy.segments = body.mass_count, len(own), segments
        anatomy.first_spring = wp.array(np.array(first, np.int32), dtype=wp.int32, device=self.device)
        anatomy.ends = wp.array(body.springs[chosen].astype(np.int32), dtype=wp.vec2i, device=self.device)
        anatomy.rest_lengths = self._floats(body.rest_lengths[chosen])
        anatomy.first_member = self._integers(np.searchsorted(own_segments[members], edges))
        anatomy.members = self._integers(members)
        anatomy.signal_of = self._integers(self._signals())
        return anatomy

    def _signals(self) -> np.ndarray:
        """Which signal of the model each segment of each world follows, shape [count * segments]."""
        names = np.rint(self._parameters.numpy()[1:, 3]).astype(int)
        signal_of = np.zeros(self.count * self.options.segments, int)
        signal_of[names] = 1 + np.arange(len(names))
        return signal_of

    def _integers(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(values.astype(np.int32), dtype=wp.int32, device=self.device)

    def _floats(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(values.astype(np.float32), dtype=wp.float32, device=self.device)


def _settled(worm: BuriedWorm, device: wp.Device, threads: int | None) -> tuple[springs.Body, grains.Bed]:
    """The worm and its bed after both came to rest."""
    simulation = worm.simulation(worm.body(), device=device, threads=threads)
    simulation.run(_SETTLE)
    model, readout, state = simulation.solver.model, simulation.solver.readout, simulation.state
    body = model.springs.body.moved((0.0, 0.0, 0.0))
    body.positions[:] = readout.mass_positions(state)
    return body, model.bed.copy(positions=readout.grain_positions(state))


def _parts(along: np.ndarray, body: springs.Body, count: int) -> np.ndarray:
    """Segment of each place along x [m]."""
    low, high = body.bounds()
    return np.clip(((along - low[0]) / (high[0] - low[0]) * count).astype(int), 0, count - 1)


def _segments(body: springs.Body, count: int) -> np.ndarray:
    """Segment of each spring, by its middle, shape [s]."""
    return _parts(body.positions[body.springs, 0].mean(axis=1), body, count)
