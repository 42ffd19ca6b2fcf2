"""One brain for all bodies, learnt by gradients, then bodies for that brain, by evolution (after codesign-mpt)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import numpy as np
import tyro
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.device import thread_count
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.options import Precision
from annelid.core.parameters import parameter
from annelid.core.progress import Progress
from annelid.studies.support.body_search import Evolution, fixed_lights
from annelid.studies.support.light_seeking import Pretraining, Task, fresh
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.resumable import Resumable
from annelid.studies.support.seeker_film import seeker_film
from annelid.studies.support.travelling_waves import best_wave

_UNSEEN = 10**6  # number of the batch on which a network is judged, and which it never learns from
_SAVED = 25  # batches between two files


@dataclass(frozen=True, eq=False)
class Found:
    """What the study has found so far.

    Attributes:
        pretraining: The network.
        unseen: Its mean loss with bodies and lights that it has not seen.
        wave: That of the best open-loop controller with the same.
        evolution: Bodies for the network; None where pretraining is not done.
    """

    pretraining: Pretraining
    unseen: float
    wave: float
    evolution: Evolution | None


@dataclass(frozen=True)
class Codesign(Resumable):
    """A network for all bodies learns by gradients to walk to a light; then bodies evolve for it, and random ones."""

    name: ClassVar[str] = "codesign"

    quick: bool = parameter(False, "A few bodies, batches and generations.")
    seed: int = parameter(0, "Seed of networks, bodies and lights.", least=0)
    batches: int = parameter(1400, "Batches of pretraining.", least=1)
    bodies: int = parameter(1024, "Fresh bodies of a batch.", least=1)
    steps: int = parameter(1000, "Steps of a walk, of 4 ms.", least=1)
    every: int = parameter(5, "Steps between two calls of the network.", least=1)
    rate: float = parameter(
        1e-2,
        "Length of the first step of Adam in each weight; it falls and begins anew, lower each time.",
        above=0.0,
        most=1.0,
    )
    hidden: tuple[int, ...] = parameter((32, 32), "Neurons of the hidden layers of the network in each voxel.", least=1)
    waves: int = parameter(64, "Open-loop controllers that are tried.", least=1)
    population: int = parameter(1024, "Bodies that evolution keeps.", least=1)
    generations: int = parameter(100, "Generations of evolution.", least=1)
    precision: Annotated[str, tyro.conf.Suppress] = parameter("float32", "Numbers that bodies are simulated with.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quick and self.resume:
            raise InvalidValue("the quick study keeps nothing that --resume could go on with: leave out one of them.")
        if self.steps % self.every:
            raise InvalidValue(f"steps must be a multiple of every, {self.every}, not {self.steps}.")

    def scaled(self) -> Codesign:
        """The study that is run: the quick form is a small one."""
        if not self.quick:
            return self
        return replace(
            self, batches=min(self.batches, 12), bodies=min(self.bodies, 24), steps=200, every=5, hidden=(12, 12),
            waves=min(self.waves, 6), population=min(self.population, 12), generations=min(self.generations, 4),
        )  # fmt: skip

    def task(self, device: wp.Device, threads: int | None) -> Task:
        """What is learnt."""
        return Task(
            self.steps // self.every,
            self.every,
            tuple(self.hidden),
            device,
            thread_count(threads),
            cast(Precision, self.precision),
        )

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Pretrain, judge, and evolve, until all is done or time is up."""
        study = self.scaled()
        task, end = study.task(device, threads), self.deadline()
        learnt = study._pretrained(task, end, progress)
        grids, lights = fresh(study.seed, _UNSEEN, study.bodies)
        unseen = float(np.nanmean(task.losses(learnt.weights, grids, lights)))
        progress.say(f"loss with {study.bodies} bodies and lights that it has not seen: {unseen:.4f}")
        wave, _ = best_wave(
            task, *fresh(study.seed, _UNSEEN + 1, min(256, study.bodies)), tries=study.waves, seed=study.seed
        )
        open_loop = float(np.nanmean(wave.losses(task, task.ground, grids, lights)))
        progress.say(f"loss of the best open-loop wave with them: {open_loop:.4f} ({wave})")
        done = len(learnt.losses) >= study.batches
        evolution = study._evolved(task, learnt.weights, end, progress) if done else None
        return Found(learnt, unseen, open_loop, evolution)

    def _pretrained(self, task: Task, end: float, progress: Progress) -> Pretraining:
        path, ground = self._path("pretraining.npz"), task.ground
        identity = self._identity("batches", "waves", "population", "generations")
        learnt = Pretraining.begin(self.seed, task.hidden, self.rate)
        if path is not None and self.resume and path.exists():
            learnt = Pretraining.load(path, identity, self.rate)
        while len(learnt.losses) < self.batches and time.perf_counter() <= end:
            learnt.learn(task, ground, *fresh(self.seed, len(learnt.losses), self.bodies))
            done = len(learnt.losses)
            if done % _SAVED == 0 or done == self.batches:
                recent = float(np.nanmean(learnt.losses[-_SAVED:]))
                progress.say(f"batch {done}: loss {recent:.4f}, {learnt.seconds / done:.3f} s a batch")
                if path is not None:
                    learnt.save(path, identity)
        if len(learnt.losses) < self.batches:
            progress.say("time is up, --resume goes on from here")
        if path is not None:
            learnt.save(path, identity)
        return learnt

    def _evolved(self, task: Task, weights: np.ndarray, end: float, progress: Progress) -> Evolution:
        path, identity = self._path("evolution.npz"), self._identity("waves", "generations")
        if path is not None and self.resume and path.exists():
            found = Evolution.load(path, identity)
        else:
            found = Evolution.begin(task, weights, population=self.population, seed=self.seed)
        while len(found.course) <= self.generations and time.perf_counter() <= end:
            found.generation(task, weights, seed=self.seed)
            best, mean, apart = found.course[-1]
            progress.say(
                f"generation {len(found.course) - 1}: loss {best:.4f} at best and {mean:.4f} in the mean, random "
                f"bodies {found.random[-1]:.4f} at best, diversity {apart:.1f}"
            )
            if path is not None:
                found.save(path, identity)
        return found

    def _identity(self, *others: str) -> dict[str, Any]:
        """All that a file depends on: options besides those that say how long, and where."""
        names = {"seed", "batches", "bodies", "steps", "every", "rate", "hidden", "population", "precision"} - set(
            others
        )
        return {name: list(value) if name == "hidden" else value for name, value in vars(self).items() if name in names}

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None or self.quick else self.folder / name

    def measure(self, found: Found) -> list[Measurement]:
        """The network against the best open-loop controller, and evolved bodies against random ones."""
        learnt, judged = found.pretraining, not self.quick
        count = len(learnt.losses)
        rows = [
            Measurement("batches", float(count)),
            Measurement("time-of-a-batch", learnt.seconds / max(count, 1), "s"),
            Measurement("first-loss", float(np.nanmean(learnt.losses[:5]))),
            Measurement("last-loss", float(np.nanmean(learnt.losses[-25:]))),
            Measurement("open-loop-loss", found.wave),
        ]
        finished = judged and count >= self.batches
        rows.append(_below("network-loss", found.unseen, found.wave, finished, "best open-loop wave"))
        if found.evolution is not None:
            best, mean, apart = found.evolution.course[-1]
            rows.append(Measurement("evolved-mean-loss", mean))
            rows.append(Measurement("evolved-diversity", apart, "cells"))
            rows.append(Measurement("random-loss", found.evolution.random[-1]))
            complete = finished and len(found.evolution.course) > self.generations
            rows.append(
                _below("evolved-loss", best, found.evolution.random[-1], complete, "best of as many random bodies")
            )
        return rows

    @property
    def film(self) -> str | None:
        """The best body on its way, which the quick form leaves out."""
        return None if self.quick else "codesign.mp4"

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Loss over batches beside that of the open-loop wave, evolution beside random bodies, a film of the best."""

        def draw(axes: Any) -> None:
            left, right = axes[0]
            left.plot(found.pretraining.losses, color=COLORS[0], lw=0.8, label="batch")
            left.axhline(found.wave, color=COLORS[1], label="best open-loop wave, unseen bodies")
            left.axhline(found.unseen, color=COLORS[0], ls="--", label="network, unseen bodies")
            left.set(xlabel="batch", ylabel="distance to the light, end over begin")
            left.legend()
            if found.evolution is not None:
                best, mean, _ = np.array(found.evolution.course).T
                right.plot(best, color=COLORS[0], label="evolved, best")
                right.plot(mean, color=COLORS[0], ls=":", label="evolved, mean")
                right.plot(found.evolution.random, color=COLORS[1], label="random, best")
                right.legend()
            right.set(xlabel="generation", ylabel="mean loss over 10 lights")

        drawn = [figure(folder / "codesign.png", draw, size=(10.0, 4.0), grid=(1, 2))]
        if found.evolution is not None and self.film is not None:
            task, best = self.task(choose_device("cpu"), None), found.evolution.grids[0]
            drawn.append(seeker_film(task, found.pretraining.weights, best, fixed_lights()[0], folder / self.film))
        return drawn


def _below(name: str, value: float, other: float, judged: bool, source: str) -> Measurement:
    if not judged:
        return Measurement(name, value, "", other, source=source)
    return Measurement(name, value, "", other, 0.0, bound="at-most", source=source)
