"""The wave that drives a worm of springs: how far its springs expand, how often, and how fast the wave travels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.simulation import Simulation
from annelid.evolve.contract import Evaluation, Problem
from annelid.shapes import ground


@documented
@dataclass(frozen=True, kw_only=True)
class SpringWorm(Checked):
    """Waves of a worm that crawls on a plane; the fitness is its speed [m/s].

    A row holds amplitude, frequency and offset slope, each as a share from 0 to 1 of the range below; what lies outside
    is taken as the nearer end.
    """

    name: ClassVar[str] = "spring-worm"

    seconds: float = parameter(3.0, "Simulated time [s].", unit="s", above=0.0)
    dt: float = parameter(2e-4, "Time step [s].", unit="s", above=0.0)
    segments: int = parameter(12, "Masses along the body.", least=2)
    thickness: int = parameter(3, "Masses across the body.", least=2)
    friction: float = parameter(0.8, "Coulomb friction of the ground.")
    amplitude: tuple[float, float] = parameter(
        (0.0, 0.3), "Least and largest expansion of a spring, as a fraction of its length."
    )
    frequency: tuple[float, float] = parameter((0.5, 5.0), "Least and largest waves a second [Hz].", unit="Hz")
    slope: tuple[float, float] = parameter(
        (-3.0, 3.0),
        "Least and largest delay of the wave along the body, in periods a body length; with positive ones the "
        "wave travels along x.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("amplitude", "frequency", "slope"):
            low, high = getattr(self, name)
            if not low < high:
                raise InvalidValue(f"the range of the {name} must grow, not go from {low} to {high}.")

    def build(self, *, device: str = "auto", threads: int | None = None) -> WormCrawl:
        """The problem."""
        return WormCrawl(self, device, threads)


class WormCrawl(Problem):
    """Rows are waves; all worms of a batch crawl in one simulation, in one place and without touching each other.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "spring-worm"
    parameters = 3
    measure_names = ("amplitude", "frequency")

    def __init__(self, options: SpringWorm, device: str, threads: int | None) -> None:
        self.options, self.device, self.threads = options, device, threads
        self.measure_bounds = (options.amplitude, options.frequency)
        size = (options.segments, options.thickness, options.thickness)
        self._worm = springs.block(size, 0.1, damping=20.0)
        low, high = self._worm.bounds()
        self._length = float(high[0] - low[0])
        self._along = self._worm.distance_along((1.0, 0.0, 0.0)) / self._length
        self._crowd: Simulation[springs.Solver] | None = None
        self._count = 0

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Uniform over the ranges."""
        return rng.random((count, self.parameters))

    def waves(self, batch: np.ndarray) -> np.ndarray:
        """Amplitude, frequency [Hz] and offset slope [periods a body length] of rows, shape [n, 3]."""
        low, high = np.array([self.options.amplitude, self.options.frequency, self.options.slope]).T
        return low + (high - low) * np.clip(np.asarray(batch, float), 0.0, 1.0)

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """Let all worms crawl at once."""
        waves = self.waves(batch)
        simulation = self._simulation(len(batch))
        simulation.solver.model.set_actuation(self._actuated(waves))
        simulation.reset()
        start = self._places(simulation)
        solver, steps = simulation.solver, max(1, round(self.options.seconds / self.options.dt))
        solver.advance(simulation.state, steps)
        moved = (self._places(simulation) - start)[: len(batch)] / (steps * self.options.dt)
        return Evaluation(np.where(np.isfinite(moved), moved, np.nan), waves[:, :2])

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        """The wave in numbers."""
        amplitude, frequency, slope = self.waves(parameters[None])[0].tolist()
        return {"amplitude": amplitude, "frequency": frequency, "slope": slope, "length": self._length}

    def film(self, parameters: np.ndarray) -> tuple[Simulation[Any], float]:
        """The worm at rest on the plane."""
        alone = self.options.build(device=self.device, threads=self.threads)
        simulation = alone._simulation(1)
        simulation.solver.model.set_actuation(alone._actuated(self.waves(parameters[None])))
        return simulation, self.options.seconds

    def _simulation(self, count: int) -> Simulation[springs.Solver]:
        """A simulation of at least as many worms."""
        if self._crowd is None or self._count < count:
            self._count = count
            # Worms get waves that differ, or the model would let them share signals for good.
            apart = np.linspace(0.1, 0.2, count)[:, None] * [1.0, 1.0, 1.0]
            self._crowd = springs.simulation(
                self._actuated(apart),
                obstacles=[ground(self.options.friction, stiffness=1e4)],
                dt=self.options.dt,
                device=self.device,
                threads=self.threads,
            )
        return self._crowd

    def _actuated(self, waves: np.ndarray) -> springs.Body:
        """As many worms as the simulation has, all in one place, with these waves; the last ones lie still."""
        count = self._count
        rows = np.zeros((count, 3))
        rows[:, 1] = 1.0
        rows[: len(waves)] = waves
        body = self._worm.replicated(np.zeros((count, 3)))
        amplitude, frequency, slope = (np.repeat(column, self._worm.spring_count) for column in rows.T)
        delay = slope * np.tile(self._along, count) / frequency
        delay -= np.minimum(slope, 0.0) / frequency  # a wave that travels against x begins at the other end
        return body.actuate(springs.wave(amplitude, frequency, delay))

    def _places(self, simulation: Simulation[springs.Solver]) -> np.ndarray:
        """Mean place of the masses of each worm along x [m]."""
        x = simulation.state.positions.numpy()[:, 0].astype(float)
        count = self._worm.mass_count
        return np.asarray(x[: len(x) // count * count].reshape(-1, count).mean(axis=1))
