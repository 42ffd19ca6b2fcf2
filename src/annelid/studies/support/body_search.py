"""Evolution of bodies with a brain that stays as it is, and as many random bodies beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError
from annelid.studies.support.light_seeking import FAR, NEAR, Task
from annelid.voxels3d.codesign.bodies import child, diversity, key, mutant, random_bodies

_KIND = Kind("annelid-codesign-evolution", 1, "an evolution of the co-design study")
_MUTANTS = 0.25  # of the young; the others are children of two
_LIGHTS = 5  # around a body, at each of two distances
_TRIES = 50  # to find a body that is new


def fixed_lights() -> np.ndarray:
    """Lights in which every body is judged [m], shape [10, 2]."""
    angles = 2.0 * np.pi * np.arange(_LIGHTS) / _LIGHTS
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([FAR * ring, NEAR * ring])


def judged(task: Task, weights: np.ndarray, grids: np.ndarray) -> np.ndarray:
    """Mean loss of bodies over the fixed lights; infinite where a motion diverged."""
    lights = fixed_lights()
    losses = task.losses(weights, np.repeat(grids, len(lights), axis=0), np.tile(lights, (len(grids), 1)))
    mean = losses.reshape(len(grids), -1).mean(axis=1)
    return np.where(np.isfinite(mean), mean, np.inf)


@dataclass(eq=False)
class Evolution:
    """Bodies that are kept, and the course so far.

    Attributes:
        grids: The bodies, best first, shape [population, x, y, z].
        losses: Their losses, shape [population].
        course: Best and mean loss, and diversity, after each generation.
        random: Best loss of as many random bodies after each generation.
    """

    grids: np.ndarray
    losses: np.ndarray
    course: list[tuple[float, float, float]] = field(default_factory=list)
    random: list[float] = field(default_factory=list)

    @classmethod
    def begin(cls, task: Task, weights: np.ndarray, *, population: int, seed: int) -> Evolution:
        """Random bodies."""
        grids = random_bodies(np.random.default_rng([seed, 0]), population)
        losses = judged(task, weights, grids)
        order = np.argsort(losses, kind="stable")
        found = cls(grids[order], losses[order])
        found._note(float(losses.min()))
        return found

    def generation(self, task: Task, weights: np.ndarray, *, seed: int) -> None:
        """Mutants and children beside their parents, of whom the best stay; and as many random bodies."""
        number, population = len(self.course), len(self.grids)
        rng = np.random.default_rng([seed, number])
        young, drawn = self._young(rng), random_bodies(rng, population)
        losses = judged(task, weights, np.concatenate([young, drawn]))
        grids, both = np.concatenate([self.grids, young]), np.concatenate([self.losses, losses[:population]])
        order = np.argsort(both, kind="stable")[:population]
        self.grids, self.losses = grids[order], both[order]
        self._note(min(self.random[-1], float(losses[population:].min())))

    def _young(self, rng: np.random.Generator) -> np.ndarray:
        known, found = {key(grid) for grid in self.grids}, []
        for number in range(len(self.grids)):
            for _ in range(_TRIES):
                one, other = self.grids[rng.integers(0, len(self.grids), 2)]
                made = mutant(rng, one) if number < _MUTANTS * len(self.grids) else child(rng, one, other)
                if (name := key(made)) not in known:
                    break
            known.add(name)
            found.append(made)
        return np.array(found)

    def _note(self, random: float) -> None:
        finite = self.losses[np.isfinite(self.losses)]
        self.course.append((float(self.losses[0]), float(finite.mean()), diversity(self.grids)))
        self.random.append(random)

    def save(self, path: Path, identity: dict[str, Any]) -> None:
        """Write it, whole or not at all."""
        arrays = {
            "grids": self.grids, "losses": self.losses, "course": np.array(self.course), "random": np.array(self.random)
        }  # fmt: skip
        write_archive(path, _KIND, {"search": identity}, arrays)

    @classmethod
    def load(cls, path: Path, identity: dict[str, Any]) -> Evolution:
        """What was found before with the same options."""
        header, parts = read_archive(path, _KIND)
        if header.get("search") != identity:
            raise FileFormatError(f"{path} belongs to other options of the study: leave out --resume, or give --out.")
        names = ("grids", "losses", "course", "random")
        if any(name not in parts for name in names):
            raise FileFormatError(f"{path} is damaged: delete it, and evolution begins anew.")
        grids, losses, course, random = (parts[name] for name in names)
        return cls(grids.astype(bool), losses, [tuple(row) for row in course.tolist()], random.tolist())
