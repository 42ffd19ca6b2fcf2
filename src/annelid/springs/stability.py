"""The longest stable time step of a spring body."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from annelid.core import stability as core
from annelid.core.errors import InvalidValue
from annelid.core.stability import Cause, StepReport
from annelid.springs.body import Body
from annelid.springs.features import fast_springs
from annelid.springs.obstacles import Contact
from annelid.springs.rows import Rows
from annelid.springs.sand import give_of
from annelid.springs.world import World

_LONGEST_STEP = 1.0e-3  # [s]; what is commanded at 10 Hz, of which the stable step knows nothing, then has 100 steps
_LONGEST_AMONG_MASSES = 1.0e-4  # [s]; masses that touch each other are as stiff to each other as the step allows
_SAFE = 0.8  # of the stable step, which is estimated
_BOUNCING = 0.5  # of the stable step of a contact alone: near that, a bounce may be faster than what fell
_DASHPOTS = "the damping of the springs"
_GAIN = 2.0  # that a delay of dashpots must bring: mild ones act at once
_COST = math.sqrt(0.5)  # of the stable step without dashpots is left with delayed ones
_SAMPLES = 64  # masses of each row that are looked at: rows tell springs apart, not the directions in which they lie


@dataclass(frozen=True)
class Scales:
    """Factors on the constants of a body."""

    stiffness: float = 1.0
    damping: float = 1.0
    mass: float = 1.0


UNSCALED = Scales()


@dataclass(frozen=True)
class Part:
    """What something adds to the motion of each mass.

    Attributes:
        squared: To its squared frequency [1/s²], shape [n].
        decay: To its rate of decay [1/s], shape [n].
        remedy: How to make it less.
        lost: What it loses for its stiffness, at least: damping over stiffness [s].
        power: Power of its size to which the rate of decay is proportional.
        bounces: Whether it begins and ends within a swing, as contacts do.
    """

    squared: np.ndarray
    decay: np.ndarray
    remedy: str
    lost: float = math.inf
    power: float = 1.0
    bounces: bool = False

    @property
    def halved(self) -> Part:
        """The same with half of what it is."""
        less = 0.5**self.power
        return replace(self, squared=0.5 * self.squared, decay=less * self.decay, lost=less / 0.5 * self.lost)


def stable_step(
    body: Body, world: World, rows: Rows, substeps: int, scales: Scales = UNSCALED, delay: float | None = None
) -> float:
    """Longest stable time step [s], from a bound of the highest frequency.

    A spring network obeys uᵀKu <= 2 Σ uᵢᵀAᵢuᵢ with Aᵢ = Σ k n⊗n over the springs of mass i, so the squared
    frequency is at most 2 max λ(Aᵢ)/mᵢ. Contact springs and dashpots are added to it.

    Args:
        body: The body.
        world: Its surroundings and integration.
        rows: Its springs as each mass sees them.
        substeps: Smaller steps that some springs take in a step.
        scales: Factors on the constants of the body.
        delay: Time over which dashpots build up their force [s]; None is that of the world.
    """
    if body.fixed.all():
        return math.inf
    parts = _parts(body, world, rows, substeps, scales)
    found = _relaxation(body, world, parts, substeps) if delay is None else delay
    return _longest(body, world, _delayed(parts, found).values())


def relaxation(body: Body, world: World, rows: Rows, substeps: int) -> float:
    """Time over which dashpots build up their force [s]; 0 for at once.

    A dashpot c that follows the speed v of its spring with a delay, q' = (c v - q) / relaxation, is one in series with
    a spring c / relaxation (Maxwell), and its body a standard linear solid. It pulls by how much longer its spring is
    than a length that follows it, l' = (length - l) / relaxation, so that rotations do no work. That one follows by
    dt / (relaxation + dt) in a step, and symplectic Euler is stable while K dt² + C 2 dt² / (2 relaxation + dt) <= 4 M.
    """
    if world.relaxation != "auto" and world.relaxation > 0.0 and not _may_delay(body, world, substeps):
        raise InvalidValue(
            f"relaxation={world.relaxation:g} of dashpots needs springs with damping, the symplectic integrator and no "
            "masses that take smaller steps: give relaxation=0.0."
        )
    return _relaxation(body, world, _parts(body, world, rows, substeps, UNSCALED), substeps)


def _relaxation(body: Body, world: World, parts: Mapping[str, Part], substeps: int) -> float:
    if world.relaxation != "auto":
        return float(world.relaxation)
    if not _may_delay(body, world, substeps) or body.fixed.all():
        return 0.0
    dashpots = parts[_DASHPOTS]
    others = [part for part in parts.values() if part is not dashpots]
    stable = _longest(body, world, parts.values())
    without = min(_longest(body, world, others), _longest_step(world) / _SAFE)
    if without < _GAIN * stable or (world.dt != "auto" and world.dt <= stable):
        return 0.0
    step = _COST * without
    taken = sum((part.squared * step * step + 2.0 * part.decay * step for part in others), np.zeros(body.mass_count))
    return float((dashpots.decay * step * step / (4.0 - taken))[~body.fixed].max())


def _may_delay(body: Body, world: World, substeps: int) -> bool:
    return world.integrator == "symplectic" and substeps == 1 and bool((body.damping > 0.0).any())


def _delayed(parts: Mapping[str, Part], delay: float) -> dict[str, Part]:
    """Parts in which dashpots build up over a time [s]: they are as stiff as their damping over that time at most."""
    if delay == 0.0:
        return dict(parts)
    dashpots = parts[_DASHPOTS]
    stiff = replace(dashpots, squared=dashpots.decay / delay, decay=np.zeros(len(dashpots.decay)))
    return {**parts, _DASHPOTS: stiff}


def usual_step(body: Body, world: World, rows: Rows, substeps: int) -> float:
    """The step that dt="auto" takes [s]; the longest one, too, where none is stable."""
    if body.fixed.all():
        return _longest_step(world)
    return _usual(body, world, _parts(body, world, rows, substeps, UNSCALED), substeps)


def _usual(body: Body, world: World, parts: Mapping[str, Part], substeps: int) -> float:
    acting = _delayed(parts, _relaxation(body, world, parts, substeps)).values()
    bounds = [_SAFE * _longest(body, world, acting)]
    bounds += [_BOUNCING * _longest(body, world, [part]) for part in acting if part.bounces]
    return min(_longest_step(world), *bounds) if bounds[0] > 0.0 else _longest_step(world)


def _stable(body: Body, world: World, parts: Mapping[str, Part], substeps: int) -> float:
    return _longest(body, world, _delayed(parts, _relaxation(body, world, parts, substeps)).values())


def _longest_step(world: World) -> float:
    """The longest step that dt="auto" takes [s]."""
    meeting = any(rule.stiffness is None for rule in world.collisions)
    return _LONGEST_AMONG_MASSES if meeting else _LONGEST_STEP


def what_limits_the_step(body: Body, world: World, rows: Rows, substeps: int) -> str:
    """What shortens the stable step most, in words: that without which it would be longest. See `stable_step`."""
    parts = _parts(body, world, rows, substeps, UNSCALED)
    parts = _delayed(parts, _relaxation(body, world, parts, substeps))
    without = {name: _longest(body, world, [one for one in parts.values() if one is not parts[name]]) for name in parts}
    return max(without, key=lambda name: without[name])


def explain_step(body: Body, world: World, rows: Rows, substeps: int, dt: float) -> StepReport:
    """What limits a step, which is dt [s]; see `stable_step`."""
    rule = f"{_SAFE:g} of the stable step, {{}}at most {_longest_step(world):g} s"
    if body.fixed.all():
        return StepReport.of(dt, _longest_step(world), rule.format(""), ())
    parts = _parts(body, world, rows, substeps, UNSCALED)
    bouncing = f"{_BOUNCING:g} of that of a contact alone, " if any(part.bounces for part in parts.values()) else ""
    rule = f"{rule.format(bouncing)}; stable is {_stable(body, world, parts, substeps):.3g} s"
    causes = _halves(body, world, parts, substeps, _usual)
    return StepReport.of(dt, _usual(body, world, parts, substeps), rule, causes)


def halves(body: Body, world: World, rows: Rows, substeps: int) -> list[Cause]:
    """All that the stable step depends on, each with the stable step that half of it allows."""
    return _halves(body, world, _parts(body, world, rows, substeps, UNSCALED), substeps, _stable)


def _halves(
    body: Body,
    world: World,
    parts: Mapping[str, Part],
    substeps: int,
    step: Callable[[Body, World, Mapping[str, Part], int], float],
) -> list[Cause]:
    """All parts, each with the step that half of it allows."""
    return [
        Cause(name, _place(body, part), part.remedy, step(body, world, {**parts, name: part.halved}, substeps))
        for name, part in parts.items()
    ]


def _place(body: Body, part: Part) -> str:
    """The mass on which a part of the limit acts most, in words."""
    worst = int(np.where(body.fixed, -1.0, part.squared + part.decay).argmax())
    touching = (body.springs == worst).any(axis=1)
    kinds = [body.materials[kind] for kind in np.unique(body.spring_materials[touching])]
    return f"mass {worst}" + (f", of {' and '.join(kinds)}" if kinds and body.materials != ("default",) else "")


def squared_frequency(body: Body, rows: Rows, substeps: int) -> float:
    """A bound of the highest squared frequency of the springs [1/s²]."""
    return float(np.where(body.fixed, 0.0, _stiff(body, rows, substeps, UNSCALED)).max())


def _stiff(body: Body, rows: Rows, substeps: int, scales: Scales) -> np.ndarray:
    """What springs add to the squared frequency of each mass, at most [1/s²], shape [n]."""
    stiffness = _row_eigenvalues(body, rows, body.stiffness * _ease(body, substeps) ** 2)[rows.row_of]
    return np.asarray(stiffness * 2 * scales.stiffness / (body.masses * scales.mass))


def _ease(body: Body, substeps: int) -> np.ndarray | float:
    """Springs that take n smaller steps limit the step n times less: their frequency counts as that much lower."""
    fast = fast_springs(body)
    return 1.0 if fast is None else np.where(fast, 1.0 / substeps, 1.0)


def _parts(body: Body, world: World, rows: Rows, substeps: int, scales: Scales) -> dict[str, Part]:
    """What limits the step, by its name in words."""
    masses = body.masses * scales.mass
    stiff = _stiff(body, rows, substeps, scales)
    dash = _row_eigenvalues(body, rows, body.damping * _ease(body, substeps))[rows.row_of] * 2 * scales.damping / masses
    none = np.zeros(body.mass_count)
    parts = {
        "the stiffness of the springs": Part(
            stiff, none, "softer springs or heavier masses, as a coarser body has", _least_lost(body), 0.0
        ),
        _DASHPOTS: Part(none, dash, "less damping: a higher damping_frequency, or None"),
        "velocity_damping": Part(none, none + world.velocity_damping, "a lower velocity_damping"),
    }
    for number, contact in enumerate(world.contacts):
        squared = contact.over(masses)
        rate = 2 * contact.damping_ratio * np.sqrt(squared)
        if contact.free is not None:
            squared, rate = _with_a_free(body, contact, scales.mass, squared, rate)
        unit = "times its mass" if contact.per_mass else "N/m"
        remedy = f"a lower stiffness than {contact.stiffness:.3g} {unit} of its surface, in which masses sink deeper"
        parts[f"the contact with obstacle {number}"] = Part(
            squared, rate, remedy, float((rate / squared).min()), 0.5, bounces=True
        )
    if world.sand is not None and world.sand.stiffness is not None:
        remedy = "a lower stiffness of the ground"
        parts["the stiffness of the ResistiveGround"] = Part(give_of(body, world.sand) / masses, none, remedy, 0.0, 0.0)
    for number, rule in enumerate(world.collisions):  # two contacts of a mass with its like, which moves the other way
        remedy = "a lower stiffness of the collision"
        squared = 4.0 * (rule.stiffness or 0.0) / masses
        parts[f"the contact of collision {number}"] = Part(
            squared, none, remedy, 0.0 if rule.stiffness else math.inf, 0.0
        )
    return parts


def _with_a_free(
    body: Body, contact: Contact, heavier: float, squared: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Squared frequency and rate of decay of contacts with a body that moves too, at most."""
    assert contact.free is not None
    lightness = heavier * contact.lightness(body)
    slower = math.sqrt(1.0 + lightness / (contact.free.give * contact.free.mass))
    if contact.per_mass:  # which are softer by as much, see `Model`
        return squared, rate * math.sqrt(1.0 + lightness) / slower
    return squared * (1.0 + lightness), rate * (1.0 + lightness) / slower


def _least_lost(body: Body) -> float:
    """Least damping over stiffness of a spring [s]; infinite where none pulls."""
    pulls = body.stiffness > 0.0
    return float((body.damping[pulls] / body.stiffness[pulls]).min(initial=math.inf))


def _longest(body: Body, world: World, parts: Iterable[Part]) -> float:
    """Longest stable step [s] where all of these act together."""
    free, kept = ~body.fixed, list(parts)
    nothing = np.zeros(len(free))
    squared = float(sum((part.squared for part in kept), nothing)[free].max())
    decay = float(sum((part.decay for part in kept), nothing)[free].max())
    if world.integrator == "euler":  # |1 + λ dt|² = 1 - decay dt + (ω dt)²: no step is stable without damping
        lost = min((part.lost for part in kept), default=math.inf)
        own = lost + world.velocity_damping / squared if squared > 0.0 else math.inf
        return min(own, core.stable_step(0.0, decay))
    if world.integrator == "rk4":  # stable to 8**0.5 along the imaginary axis and to 2.785 along the real one
        return min(core.stable_step(squared, decay, 8.0), 2.785 / decay if decay > 0.0 else math.inf)
    # The velocities on which the dashpots of Verlet's second half depend are those of the whole step before it.
    return core.stable_step(squared, 2.0 * decay if world.integrator == "verlet" else decay)


def _row_eigenvalues(body: Body, rows: Rows, spring_values: np.ndarray) -> np.ndarray:
    """Largest eigenvalue of Σ value n⊗n over the springs of each row, at some of its masses, shape [r]."""
    samples = _samples(rows.row_of)
    of = rows.row_of[samples]
    counts = rows.extents[of, 1]
    which = np.repeat(np.arange(len(samples)), counts)
    within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = rows.extents[of[which], 0] + within * rows.stride
    mass = samples[which]
    direction = body.positions[mass + rows.offsets[entry]] - body.positions[mass]
    direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-300)
    weight = spring_values[rows.springs[entry]]
    sums = np.zeros((len(samples), 3, 3))
    for i in range(3):
        for j in range(3):
            products = weight * direction[:, i] * direction[:, j]
            sums[:, i, j] = np.bincount(which, products, minlength=len(sums))
    largest = np.zeros(len(rows.examples))
    np.maximum.at(largest, of, np.linalg.eigvalsh(sums)[:, -1])
    return largest


def _samples(row_of: np.ndarray) -> np.ndarray:
    """Up to `_SAMPLES` masses of each row."""
    order = np.argsort(row_of, kind="stable")
    counts = np.bincount(row_of)
    first = np.cumsum(counts) - counts
    picks = np.minimum(counts, _SAMPLES)
    which = np.repeat(np.arange(len(counts)), picks)
    within = np.arange(len(which)) - np.repeat(np.cumsum(picks) - picks, picks)
    return order[first[which] + within * counts[which] // picks[which]]
