"""The longest stable time step of a spring body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.springs.body import Body
from annelid.springs.features import fast_springs
from annelid.springs.rows import Rows
from annelid.springs.sand import give_of
from annelid.springs.world import World

_SAMPLES = 64  # masses of each row that are looked at: rows tell springs apart, not the directions in which they lie


Part = tuple[np.ndarray, np.ndarray]
"""What something adds to each mass: to its squared frequency [1/s²], and to its rate of decay [1/s], shape [n] each."""


@dataclass(frozen=True)
class Scales:
    """Factors on the constants of a body."""

    stiffness: float = 1.0
    damping: float = 1.0
    mass: float = 1.0


UNSCALED = Scales()


def stable_step(body: Body, world: World, rows: Rows, substeps: int, scales: Scales = UNSCALED) -> float:
    """Longest stable time step [s], from a bound of the highest frequency.

    A spring network obeys uᵀKu <= 2 Σ uᵢᵀAᵢuᵢ with Aᵢ = Σ k n⊗n over the springs of mass i, so the squared
    frequency is at most 2 max λ(Aᵢ)/mᵢ. Contact springs and dashpots are added to it.

    Args:
        body: The body.
        world: Its surroundings and integration.
        rows: Its springs as each mass sees them.
        substeps: Smaller steps that some springs take in a step.
        scales: Factors on the constants of the body.
    """
    free = ~body.fixed
    if not free.any():
        return float("inf")
    return _longest(world, free, list(_parts(body, world, rows, substeps, scales).values()))


def what_limits_the_step(body: Body, world: World, rows: Rows, substeps: int) -> str:
    """What shortens the stable step most, in words: that without which it would be longest. See `stable_step`."""
    parts, free = _parts(body, world, rows, substeps, Scales()), ~body.fixed
    without = {name: _longest(world, free, [part for one, part in parts.items() if one != name]) for name in parts}
    return max(without, key=lambda name: without[name])


def _parts(body: Body, world: World, rows: Rows, substeps: int, scales: Scales) -> dict[str, Part]:
    """What limits the step, by its name in words."""
    # Springs that take n smaller steps limit the step n times less, their frequency counts as that much lower.
    fast = fast_springs(body)
    ease = 1.0 if fast is None else np.where(fast, 1.0 / substeps, 1.0)
    masses = body.masses * scales.mass
    stiff = _row_eigenvalues(body, rows, body.stiffness * ease**2)[rows.row_of] * 2 * scales.stiffness / masses
    dash = _row_eigenvalues(body, rows, body.damping * ease)[rows.row_of] * 2 * scales.damping / masses
    none = np.zeros(body.mass_count)
    parts = {
        "the stiffness of the springs": (stiff, none),
        "the damping of the springs": (none, dash),
        "velocity_damping": (none, none + world.velocity_damping),
    }
    for number, contact in enumerate(world.contacts):
        rate = 2 * contact.damping_ratio * np.sqrt(contact.stiffness / masses)
        parts[f"the contact with obstacle {number}"] = contact.stiffness / masses, rate
    if world.sand is not None and world.sand.stiffness is not None:
        parts["the stiffness of the ResistiveGround"] = give_of(body, world.sand) / masses, none
    for number, rule in enumerate(world.collisions):  # two contacts of a mass with its like, which moves the other way
        parts[f"the contact of collision {number}"] = 4.0 * (rule.stiffness or 0.0) / masses, none
    return parts


def _longest(world: World, free: np.ndarray, parts: Sequence[Part]) -> float:
    """Longest stable step [s] where all of these act together."""
    nothing = np.zeros(len(free))
    squared = float(sum((stiff for stiff, _ in parts), nothing)[free].max())
    decay = float(sum((dash for _, dash in parts), nothing)[free].max())
    if squared == 0.0:
        return 2.0 / decay if decay > 0.0 else float("inf")
    if world.integrator == "euler":  # |1 + λ dt|² = 1 - decay dt + (ω dt)²: no step is stable without damping
        return decay / squared
    limit = 8.0 if world.integrator == "rk4" else 4.0  # (ω dt)² at the edge of stability
    return float((-decay + np.sqrt(decay**2 + limit * squared)) / squared)


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
