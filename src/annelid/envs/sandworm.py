"""Crawling of a soft worm in sand: an action is the swelling of its segments; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
import warp as wp

from annelid import coupling, grains, springs
from annelid.core.device import device as find_device
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.grounds import require_ground
from annelid.envs.hooks import Batch, Channel, each_world
from annelid.envs.kernels import sandworm as kernels
from annelid.envs.task import Task
from annelid.robots.sand_worm import BuriedWorm

_ROOM = (48, 8)  # neighbours and bodies that lists have room for from the beginning: they need not grow in an episode
_SETTLE = 0.3  # [s]
_ALONG, _ACROSS = 0.9, 0.1  # cosines of the angles with the worm, of springs that feel its length and its girth
_SLACK = 1e-9  # of limits that would be equal where nothing swells

SandGround = Literal["grains", "resistive"]


@documented
class SandWorm(Task):
    """Crawl along x with a worm in a box of sand, by swelling its segments: `annelid/SandWorm-v0`."""

    fixed: ClassVar[tuple[str, ...]] = ("every", "smooth", "arrays")
    told: ClassVar[Mapping[str, str]] = {"x": "where the middle of the worm is along x [m]"}

    segments: int = parameter(6, "Parts of the worm that swell on their own.", limits=(1, 64))
    swelling: float = parameter(0.2, "Largest swelling of a segment, a fraction of its size.", limits=(0.0, 0.3))
    length: float = parameter(0.4, "Length of the worm [m].", unit="m", limits=(0.1, 10.0))
    spacing: float = parameter(0.6, "Distance of its masses, in its radii.", limits=(0.2, 0.6))
    depth: float = parameter(0.06, "Depth of the bed [m].", unit="m", limits=(1e-3, 1.0))
    buried: float = parameter(0.5, "Part of the worm below the surface at the beginning.", limits=(0.0, 1.0))
    friction: float = parameter(0.5, "Coulomb friction of grains and worm.", limits=(0.0, 10.0))
    grain_radius: float = parameter(0.014, "Radius of the grains [m].", unit="m", limits=(1e-3, 0.1))
    run_up: float = parameter(0.25, "Room before and behind the worm [m].", unit="m", limits=(0.01, 10.0))
    action_time: float = parameter(
        0.05, "Simulated time of an action [s]; it is a whole number of steps.", unit="s", limits=(1e-3, 10.0)
    )
    seconds: float = parameter(6.0, "Length of an episode [s].", unit="s", limits=(1e-3, 1e6))
    noise: float = parameter(0.02, "Largest swelling that an episode begins with.", limits=(0.0, 0.1))
    ground: SandGround = parameter(
        "grains",
        '"grains", or "resistive": ground that resists like a bed of them, which takes a small part of the time.',
    )
    medium: str = parameter(
        "grains-loose", "What resists then: a name, or a file that annelid study sand-rft --fit wrote."
    )
    arrays = "warp"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ground(self)

    @property
    def worm(self) -> BuriedWorm:
        """The worm and its box."""
        names = ("length", "spacing", "swelling", "depth", "buried", "friction", "grain_radius", "run_up")
        return BuriedWorm(**{name: getattr(self, name) for name in names})

    # --- building ---

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[Any]:
        """Worms in their sand, as one has settled among grains, whose segments take commands."""
        worm = self.worm
        if self.ground != "grains":
            body = self._commanded(worm.body())
            return worm.on_resistive_ground(body, self.medium, worlds=worlds, device=device, threads=threads)
        rested, bed = self._rest(find_device(device), threads)
        body = self._commanded(rested.copy())
        simulation = coupling.simulation(
            body, bed, obstacles=worm.sandbox().walls(), skin=worm.skin, stretch=worm.stretch, inside="allow",
            overlapping="allow", worlds=worlds, device=device, threads=threads,
        )  # fmt: skip
        simulation.solver.reserve(simulation.state, *_ROOM)
        return simulation

    def _commanded(self, body: springs.Body) -> springs.Body:
        """The body, whose segments take commands."""
        low, high = 1.0 - self.swelling - _SLACK, 1.0 + self.swelling + _SLACK
        for k in range(self.segments):
            body.control(f"segment-{k}", self._segment_of == k, low=low, high=high)
        return body

    @cached_property
    def _segment_of(self) -> np.ndarray:
        """Segment of each spring."""
        return _segments(self.worm.body(), self.segments)

    @cached_property
    def _rests(self) -> dict[str, tuple[springs.Body, grains.Bed]]:
        return {}

    def _rest(self, device: wp.Device, threads: int | None) -> tuple[springs.Body, grains.Bed]:
        """Worm and bed at rest; pictures take a second simulation, and they settle once."""
        if str(device) not in self._rests:
            self._rests[str(device)] = _settled(self.worm, device, threads)
        return self._rests[str(device)]

    def prepare(self, worlds: Batch) -> Any:
        """What each segment is made of, and room for where the worms are and what they are asked for."""
        count, device = worlds.count, worlds.device
        return SimpleNamespace(
            anatomy=self._anatomy(worlds),
            values=wp.zeros((count, self.segments), dtype=wp.float64, device=device),
            measured={name: wp.zeros(count, dtype=wp.vec3d, device=device) for name in ("places", "velocities")},
            weight=float(self.worm.body().masses.sum()) * 9.81,
        )

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        return max(1, round(self.action_time / dt))

    # --- episodes ---

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Let the seed say how far each segment has swollen."""
        drawn = worlds.uniform(self.segments, 1.0 - self.noise, 1.0 + self.noise)
        wp.utils.array_cast(drawn, worlds.own.values)
        worlds.command(worlds.own.values, mask=mask)

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """Mean places and velocities of the worms."""
        own, (state, _) = worlds.own, self._worms(worlds)
        inputs, outputs = [own.anatomy, state.positions, state.velocities], list(own.measured.values())
        wp.launch(kernels.survey, worlds.count, inputs, outputs, device=worlds.device)
        return dict(own.measured)

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """The way of the middle along x, in lengths of the worm."""
        return each_world(kernels.way, [self.length, now["places"], before["places"]])

    def channels(self, simulation: Simulation[Any]) -> tuple[Channel, ...]:
        """Segment by segment from tail to head what each feels, then the motion of the whole."""
        felt = kernels.FELT * self.segments
        parts = (
            (
                "of each segment along x: strain along and across the worm, contact force along x, y, z [weights of "
                "the worm], swelling asked for",
                felt,
            ),
            ("velocity of the worm, x, y, z [lengths/s]", kernels.GENERAL),
        )
        return (Channel("observation", (felt + kernels.GENERAL,), parts=parts),)

    def observe(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Write what segments feel, and how the worm moves."""
        own, (state, forces), seen = worlds.own, self._worms(worlds), worlds.observations["observation"]
        inputs = [mask, own.weight, own.anatomy, state.positions, forces, worlds.state.commands]
        wp.launch(kernels.feel, (worlds.count, self.segments), inputs, [seen], device=worlds.device)
        inputs = [mask, self.length, own.anatomy, worlds.now["velocities"]]
        wp.launch(kernels.show_motion, worlds.count, inputs, [seen], device=worlds.device)

    def _worms(self, worlds: Batch) -> tuple[springs.State, wp.array[Any]]:
        """The springs of the worms, and what grains or ground do to their masses [N]."""
        state = worlds.state
        return (state, state.sand_forces) if self.ground != "grains" else (state.springs, state.contact_forces)

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        """Where the middle of each worm is along x [m]."""
        return {"x": worlds.now["places"].numpy()[:, 0]}

    def _anatomy(self, worlds: Batch) -> Any:
        """Springs along and across each segment, and its surface masses."""
        body, segment_of = self.worm.body(), self._segment_of
        across = np.diff(body.positions[body.springs], axis=1)[:, 0]
        cosines = np.abs(across[:, 0]) / np.linalg.norm(across, axis=1)
        ways = [np.flatnonzero(cosines > _ALONG), np.flatnonzero(cosines < _ACROSS)]
        ways = [way[np.argsort(segment_of[way], kind="stable")] for way in ways]
        chosen, begins = np.concatenate(ways), (0, len(ways[0]))
        edges = np.arange(self.segments + 1)
        first = [at + np.searchsorted(segment_of[way], edges) for at, way in zip(begins, ways, strict=True)]
        own, rows, count = self._felt(worlds, body)
        own_segments = _parts(body.positions[own, 0], body, self.segments)
        order = np.argsort(own_segments, kind="stable")

        def integers(values: Any, dtype: Any = wp.int32) -> wp.array[Any]:
            return wp.array(np.asarray(values, np.int32), dtype=dtype, device=worlds.device)

        anatomy: Any = kernels.Anatomy()
        anatomy.masses, anatomy.surface, anatomy.segments = body.mass_count, count, self.segments
        anatomy.first_spring, anatomy.ends = integers(first), integers(body.springs[chosen], wp.vec2i)
        lengths = body.rest_lengths[chosen].astype(np.float32)
        anatomy.rest_lengths = wp.array(lengths, dtype=wp.float32, device=worlds.device)
        anatomy.first_member = integers(np.searchsorted(own_segments[order], edges))
        anatomy.members = integers(rows[order])
        return anatomy

    def _felt(self, worlds: Batch, body: springs.Body) -> tuple[np.ndarray, np.ndarray, int]:
        """Masses of the surface of a worm, the rows of `_worms` that have their forces, and how many rows it has."""
        if self.ground != "grains":
            masses = np.unique(body.triangles)
            return masses, masses, body.mass_count
        guests = worlds.simulation.solver.model.guests
        masses = guests.members[: len(guests.members) // worlds.count]
        return masses, np.arange(len(masses)), len(masses)


def _settled(worm: BuriedWorm, device: wp.Device, threads: int | None) -> tuple[springs.Body, grains.Bed]:
    """The worm and its bed after both came to rest."""
    simulation = worm.simulation(worm.body(), device=device, threads=threads)
    simulation.run(_SETTLE)
    model, readout, state = simulation.solver.model, simulation.solver.readout, simulation.state
    body = model.springs.body.moved((0.0, 0.0, 0.0))
    body.positions[:] = readout.body_positions(state)
    return body, model.bed.copy(positions=readout.grain_positions(state))


def _parts(along: np.ndarray, body: springs.Body, count: int) -> np.ndarray:
    """Segment of each place along x [m]."""
    low, high = body.bounds()
    return np.clip(((along - low[0]) / (high[0] - low[0]) * count).astype(int), 0, count - 1)


def _segments(body: springs.Body, count: int) -> np.ndarray:
    """Segment of each spring, by its middle, shape [s]."""
    return _parts(body.positions[body.springs, 0].mean(axis=1), body, count)
