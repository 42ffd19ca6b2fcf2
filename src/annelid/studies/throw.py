"""A soft arm learns to throw a ball to a given distance: the gradient goes through the release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import Rollout, Track, springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.simulation import Simulation
from annelid.optimise import Adam, Free, RolloutLoss, minimise
from annelid.studies.support.films import commanded_film
from annelid.studies.support.plots import COLORS, figure

_PITCH, _LOW, _HIGH = 0.05, 0.6, 1.4
_DT, _HELD = 5e-4, 50  # a command is held for 25 ms
_GRAVITY = 9.81
_NEAR = 0.01  # [m]


@dataclass(frozen=True)
class Arm:
    """An upright arm of springs on a fixed foot, with a ball at its top; commands shorten its fore and aft edges.

    Attributes:
        intervals: Commands until the ball is let go.
        device: Where it is simulated.
        threads: CPU threads.
    """

    intervals: int = 20
    device: Any = "cpu"
    threads: int | None = None

    def simulation(self, worlds: int = 1) -> Simulation[springs.Solver]:
        """The arm at rest."""
        body = springs.block((2, 2, 7), _PITCH, mass=0.02, stiffness=30.0, damping=0.5)
        ball = self.ball
        body.masses[ball] = 0.05
        ends = body.positions[body.springs]
        upright = np.abs(ends[:, 1, :2] - ends[:, 0, :2]).max(axis=1) < 1e-6
        for name, edge in (("aft", 0.0), ("fore", _PITCH)):
            here = upright & (np.abs(ends[:, 0, 0] - edge) < 1e-6)
            body.control(name, here, low=_LOW, high=_HIGH)
        body.fix(lambda p: p[:, 2] < 1e-6)
        return springs.simulation(
            body, dt=_DT, velocity_damping=1.0, worlds=worlds, device=self.device, threads=self.threads
        )

    @property
    def ball(self) -> int:
        """Which mass is the ball: a corner of the top."""
        return int(springs.block((2, 2, 7), _PITCH).positions.sum(axis=1).argmax())

    def loss(self, targets: np.ndarray) -> RolloutLoss:
        """Half the squared distance of where the ball comes down from the target of each world [m²]."""

        def missed(track: Track) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            places, by_place, by_speed = landings(track, self.ball)
            off = places - targets
            rates = {name: np.zeros(track.shape) for name in ("positions", "velocities")}
            rates["positions"][-1, :, self.ball] = off[:, None] * by_place
            rates["velocities"][-1, :, self.ball] = off[:, None] * by_speed
            return 0.5 * off**2, rates

        return RolloutLoss(Rollout(self.simulation(len(targets)), _HELD * self.intervals), missed)


def landings(track: Track, ball: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the ball comes down to z = 0 [m], shape [worlds], if it is let go at the end, and the rates of that.

    Rates are those by its place and by its velocity when it is let go, shape [worlds, 3] each.
    """
    (x, _, z), (u, _, w) = track.positions[-1, :, ball].T, track.velocities[-1, :, ball].T
    root = np.sqrt(w**2 + 2.0 * _GRAVITY * np.maximum(z, 0.0))
    flight = (w + root) / _GRAVITY
    none = np.zeros_like(x)
    by_place = np.column_stack([none + 1.0, none, u / np.maximum(root, 1e-9)])
    by_speed = np.column_stack([flight, none, u * flight / np.maximum(root, 1e-9)])
    return x + u * flight, by_place, by_speed


@dataclass(frozen=True, eq=False)
class Thrown:
    """What was found.

    Attributes:
        arm: The arm.
        targets: Distances to throw to [m], shape [targets].
        tables: Commands, shape [targets, intervals, controls].
        misses: Least distance from the target so far, at each evaluation [m], shape [evaluations, targets].
        releases: Place and velocity of the ball when it is let go [m, m/s], shape [targets, 2, 3].
        shapes: Masses of the arm then [m], shape [targets, masses, 3].
    """

    arm: Arm
    targets: np.ndarray
    tables: np.ndarray
    misses: np.ndarray
    releases: np.ndarray
    shapes: np.ndarray


@dataclass(frozen=True)
class Throw(Checked):
    """A soft arm learns to throw a ball to given distances, all at once, by gradients through the release."""

    name: ClassVar[str] = "throw"
    film: ClassVar[str] = "throw.mp4"

    quick: bool = parameter(False, "One target, a short swing and few steps.")
    targets: tuple[float, ...] = parameter(
        (0.4, 0.7, 1.0),
        "Distances from the aft edge of the arm at which the ball should come down [m].",
        unit="m",
        above=0.0,
    )
    iterations: int = parameter(60, "Steps of Adam.", least=1)
    seed: int = parameter(0, "Seed of the random commands to begin with.", least=0)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Thrown:
        """Descend from random commands, one world for each target."""
        targets = np.array(self.targets[:1] if self.quick else self.targets)
        arm = Arm(4 if self.quick else 20, device, threads)
        loss, worlds = arm.loss(targets), len(targets)
        random = 1.0 + 0.02 * np.random.default_rng(self.seed).standard_normal((arm.intervals, 2))
        free = {"controls": Free(random, _LOW, _HIGH, scale="linear", size=0.1)}
        method = Adam(steps=3 if self.quick else self.iterations, rate=0.1)
        found = minimise(loss, free, method=method, starts=worlds if worlds > 1 else None, spread=0.0)
        tables = np.array([np.clip(random + 0.1 * point.reshape(random.shape), _LOW, _HIGH) for point in found.points])
        track = loss.rollout.forward({"controls": tables})
        releases = np.stack([track.positions[-1, :, arm.ball], track.velocities[-1, :, arm.ball]], axis=1)
        misses = np.sqrt(2.0 * np.minimum.accumulate(found.history, axis=0))
        progress.say("missed by " + ", ".join(f"{1e3 * miss:.1f} mm" for miss in misses[-1]))
        return Thrown(arm, targets, tables, misses, releases, track.positions[-1])

    def measure(self, found: Thrown) -> list[Measurement]:
        """How far from each target the ball comes down."""
        held: dict[str, Any] = {} if self.quick else {"reference": _NEAR, "bound": "at-most"}
        rows = []
        for target, misses in zip(found.targets, found.misses.T, strict=True):
            rows.append(Measurement(f"missed-at-{100 * target:.0f}-cm-before", float(misses[0]), "m"))
            rows.append(Measurement(f"missed-at-{100 * target:.0f}-cm", float(misses[-1]), "m", **held))
        return [*rows, Measurement("motions-there-and-back", len(found.misses))]

    def plot(self, found: Thrown, folder: Path) -> list[Path]:
        """Arms and ways of the ball, and how the misses fell; a film of the swing to the farthest target."""
        drawn = figure(folder / "throw.png", lambda axes: _draw(axes, found), size=(9.0, 3.6), grid=(1, 2))
        far = int(np.argmax(found.targets))
        arm = Arm(found.arm.intervals)
        film = commanded_film(arm.simulation(), found.tables[far], _HELD, folder / self.film, follow=False)
        return [drawn, film]


def _draw(axes: Any, found: Thrown) -> None:
    ways, falls = axes[0]
    for color, target, (place, speed), shape, misses in zip(
        COLORS, found.targets, found.releases, found.shapes, found.misses.T, strict=False
    ):
        end = (speed[2] + np.sqrt(speed[2] ** 2 + 2.0 * _GRAVITY * place[2])) / _GRAVITY
        time = np.linspace(0.0, end, 60)
        height = place[2] + speed[2] * time - 0.5 * _GRAVITY * time**2
        ways.plot(shape[:, 0], shape[:, 2], ".", color=color, markersize=4)
        ways.plot(place[0] + speed[0] * time, height, color=color, label=f"{target:g} m")
        ways.plot([target], [0.0], "x", color=color, markersize=9)
        falls.plot(np.arange(1, len(misses) + 1), 1e3 * misses, color=color, label=f"{target:g} m")
    ways.set(xlabel="x [m]", ylabel="z [m]", title="arms at the release, ways of the ball, targets", aspect="equal")
    ways.legend()
    falls.set(xlabel="motions there and back", ylabel="least miss so far [mm]", yscale="log")
    falls.legend()
