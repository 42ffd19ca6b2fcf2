"""Soft bodies squeezed at random for many steps: nothing inverts, nothing crosses, nothing is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.files import read_text, write_text
from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.core.progress import Progress
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Rigid
from annelid.studies.support.crossings import crossings, own_crossings
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.resumable import Resumable
from annelid.studies.support.squeezes import CASES

KEPT = "squeezes.json"


@dataclass(frozen=True)
class Squeezed:
    """How a body fared that was squeezed for some time.

    Attributes:
        case: What was squeezed.
        number: Which of the random motions.
        steps: Steps that were taken.
        inverted: Steps after which an element was inside out.
        crossed: Steps after which a surface crossed another or itself, or a node was within an obstacle.
        lost: Steps after which a number was not finite.
        cut: Steps in which a move was cut short.
        unsettled: Steps whose equation was not solved to the last digit.
        least_volume: Least volume of an element over that at rest [-].
        largest_force: Largest force of an obstacle on a node [N].
        ended: Why it ended early; empty where it did not.
        seconds: CPU time [s].
    """

    case: str
    number: int
    steps: int = 0
    inverted: int = 0
    crossed: int = 0
    lost: int = 0
    cut: int = 0
    unsettled: int = 0
    least_volume: float = 1.0
    largest_force: float = 0.0
    ended: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Squeeze(Resumable):
    """Blocks, fingers and a curled strip are squeezed by jaws, balls and plates that move at random."""

    name: ClassVar[str] = "squeeze"

    quick: bool = parameter(False, "A few steps of each body.")
    steps: int = parameter(100_000, "Steps of all bodies together.", limits=(1, 10**9))
    each: int = parameter(
        250, "Steps with one random motion; then another one begins, with the body at rest.", limits=(1, 10**9)
    )
    seed: int = parameter(0, "Seed of the motions.", least=0)
    only: tuple[str, ...] = parameter(
        (), "Bodies that are squeezed: jaws, ball, fingers, curl; all of them by default."
    )
    resume: bool = parameter(
        False, "Go on from what is in the folder of results; squeezes*.json of other machines add up there."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [case for case in self.only if case not in CASES]
        if unknown:
            raise InvalidValue(f"--only takes {', '.join(CASES)}, not {unknown[0]!r}.")

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Squeezed]:
        """Squeeze one body after the other, on the CPU, until all steps are taken or time is up."""
        end = self.deadline()
        found = [one for one in self.known() if one.case in self._cases] if self.resume else []
        while (next_one := self._next(found)) is not None:
            if time.perf_counter() > end:
                progress.say("time is up, --resume goes on from here")
                break
            case, number, steps = next_one
            found.append(squeezed(case, number, steps, seed=self.seed, threads=threads or 1))
            self._keep(found)
            progress.say(_in_words(found[-1]))
        return found

    def measure(self, found: list[Squeezed]) -> list[Measurement]:
        """What must not be, and how hard it was."""
        steps = sum(one.steps for one in found)
        rows = [
            Measurement(
                f"steps-with-{name}", float(sum(getattr(one, key) for one in found)), "steps", 0.0, bound="at-most"
            )
            for name, key in (("an-inverted-element", "inverted"), ("a-crossing", "crossed"), ("a-lost-number", "lost"))
        ]
        rows.append(Measurement("steps", float(steps), "steps"))
        rows.append(Measurement("squeezes-that-ended-early", float(sum(bool(one.ended) for one in found))))
        rows.append(
            Measurement("least-volume", min((one.least_volume for one in found), default=1.0), "of that at rest")
        )
        rows.append(Measurement("largest-force", max((one.largest_force for one in found), default=0.0), "N"))
        for case in dict.fromkeys(one.case for one in found):
            some = [one for one in found if one.case == case]
            taken = max(sum(one.steps for one in some), 1)
            rows.append(Measurement(f"{case}-steps", float(taken), "steps"))
            rows.append(Measurement(f"{case}-share-cut", sum(one.cut for one in some) / taken))
            rows.append(Measurement(f"{case}-share-unsettled", sum(one.unsettled for one in some) / taken))
            rows.append(Measurement(f"{case}-step", sum(one.seconds for one in some) / taken, "CPU-s"))
        return rows

    def plot(self, found: list[Squeezed], folder: Path) -> list[Path]:
        """Least volumes of all squeezes, and what a step of each body takes."""
        return [figure(folder / "squeeze.png", lambda axes: _draw(axes, found), size=(9.0, 3.8), grid=(1, 2))]

    @property
    def _cases(self) -> list[str]:
        return [case for case in CASES if not self.only or case in self.only]

    def _next(self, found: list[Squeezed]) -> tuple[str, int, int] | None:
        """Body, number of the motion and steps of the next squeeze, bodies in turn; None after all of them.

        One that ended early counts as a whole one, so that there is an end in any case.
        """
        each, steps = (3, 3 * len(self._cases)) if self.quick else (self.each, self.steps)
        taken = dict.fromkeys(self._cases, 0)
        for one in found:
            taken[one.case] += max(each, one.steps) if one.ended else one.steps
        left = steps - sum(taken.values())
        if left <= 0:
            return None
        case = min(taken, key=lambda case: taken[case])
        used = {one.number for one in found if one.case == case}
        return case, next(number for number in range(len(used) + 1) if number not in used), min(each, left)

    def known(self) -> list[Squeezed]:
        """What was done before with the same seed: here and, in files of other names, elsewhere."""
        paths = [] if self.folder is None else sorted(self.folder.glob(KEPT.replace(".", "*.")))
        every = [one for path in paths for one in self._read(path)]
        longest_last = sorted(every, key=lambda one: one.steps)
        return list({(one.case, one.number): one for one in longest_last}.values())

    def _read(self, path: Path) -> list[Squeezed]:
        try:
            kept = json.loads(read_text(path))
            seed, found = kept["seed"], [_checked(Squeezed(**one)) for one in kept["squeezes"]]
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(
                f"{path} is not a list of squeezes: {error}; delete it, or leave out --resume."
            ) from error
        if seed != self.seed:
            raise InvalidValue(
                f"{path} has squeezes of another seed; give the same --seed to go on, or leave out --resume."
            )
        return found

    def _keep(self, found: Iterable[Squeezed]) -> None:
        if self.folder is None or self.quick:
            return
        kept = {"seed": self.seed, "squeezes": [asdict(one) for one in found]}
        write_text(self.folder / KEPT, json.dumps(kept))


def _checked(one: Squeezed) -> Squeezed:
    """The same, if all is of the kind that it must be."""
    if one.case not in CASES or type(one.number) is not int:
        raise ValueError(f"{one.case!r} {one.number!r} is no squeeze")
    for name, usual in asdict(Squeezed(one.case, 0)).items():
        value = getattr(one, name)
        if not isinstance(value, (int, float) if isinstance(usual, float) else type(usual)):
            raise ValueError(f"{name} is {value!r}")
    return one


def squeezed(case: str, number: int, steps: int, *, seed: int = 0, threads: int = 1) -> Squeezed:
    """Squeeze a body with one of its random motions, and look at it after every step."""
    begin = time.process_time()
    order = list(CASES).index(case)
    simulation = CASES[case](np.random.default_rng([seed, order, number]), threads)
    found = Squeezed(case, number)
    for step in range(steps):
        try:
            simulation.step()
        except AnnelidError as error:
            found = replace(found, ended=f"step {step}: {error}")
            break
        found = _after(found, simulation)
        if found.lost:
            break
    state = simulation.state
    cut, unsettled = int(state.touch.cut.numpy()[0]), int(state.unsettled.numpy()[0])
    return replace(found, cut=cut, unsettled=unsettled, seconds=time.process_time() - begin)


def _after(found: Squeezed, simulation: Simulation[fem.Solver]) -> Squeezed:
    """What a step adds to what was found."""
    solid, positions = simulation.solver.model.solid, simulation.positions()
    if not np.isfinite(positions).all():
        return replace(found, steps=found.steps + 1, lost=found.lost + 1)
    volume = float((_volumes(positions, solid.elements) / _volumes(solid.nodes, solid.elements)).min())
    forces = np.linalg.norm(simulation.state.touch.forces.numpy(), axis=-1)
    return replace(
        found,
        steps=found.steps + 1,
        inverted=found.inverted + int(volume <= 0.0),
        crossed=found.crossed + int(_crosses(simulation, positions)),
        least_volume=min(found.least_volume, volume),
        largest_force=max(found.largest_force, float(forces.max(initial=0.0))),
    )


def _crosses(simulation: Simulation[fem.Solver], positions: np.ndarray) -> bool:
    """Whether the surface crosses itself or a box, or a node is under the ground or in a ball."""
    contacts, touch = simulation.solver.contacts, simulation.state.touch
    assert contacts is not None
    faces = contacts.corners.faces
    if own_crossings(positions, faces):
        return True
    contacts.now.set(touch.places.numpy(), touch.turns.numpy())
    if contacts.nodes.gaps(simulation.state.positions, contacts.now.device_pose).min() <= 0.0:
        return True
    return any(
        crossings(positions, faces, contacts.now.points(np.full(len(points), number), points), triangles)
        for number, rigid in enumerate(contacts.rigids)
        for points, triangles in _boxes(rigid)
    )


def _boxes(rigid: Rigid) -> list[tuple[np.ndarray, np.ndarray]]:
    """Corners in the frame of a box and its triangles; none of what is no box."""
    if not isinstance(rigid.geometry, Box):
        return []
    surface = rigid.geometry.surface()
    return [(np.array(surface.vertices), np.array(surface.triangles))]


def _volumes(nodes: np.ndarray, elements: np.ndarray) -> np.ndarray:
    corners = nodes[elements[:, :4]]
    return np.asarray(np.linalg.det(corners[:, 1:] - corners[:, :1]))


def _in_words(one: Squeezed) -> str:
    bad = one.inverted + one.crossed + one.lost
    words = (
        f"{one.case} {one.number}: {one.steps} steps, {one.cut} cut, {one.unsettled} unsettled, {bad} bad, least "
        f"volume {one.least_volume:.2f}, {one.seconds / max(one.steps, 1):.2f} CPU-s a step"
    )
    return f"{words}; ended at {one.ended}" if one.ended else words


def _draw(grid: Any, found: list[Squeezed]) -> None:
    """Motions by rank, so that few and many of them are told from each other; bodies side by side."""
    volumes, times = np.ravel(grid)
    for case, color in zip(CASES, COLORS, strict=False):
        some = [one for one in found if one.case == case]
        if not some:
            continue
        ranked = sorted(one.least_volume for one in some)
        shares = (np.arange(len(ranked)) + 1.0) / len(ranked)
        volumes.plot(ranked, shares, "o-", color=color, markersize=3, label=case)
        times.bar(case, sum(one.seconds for one in some) / sum(one.steps for one in some), color=color)
    volumes.set(
        xlabel="least volume of an element over that at rest", ylabel="share of random motions", xlim=(0.0, 1.05)
    )
    volumes.set_ylim(0.0, 1.05)
    volumes.legend()
    times.set_ylabel("CPU time of a step [s]")
