"""The longest stable time step of a spring body."""

from __future__ import annotations

import numpy as np

from annelid.springs.body import Body
from annelid.springs.features import fast_springs
from annelid.springs.rows import Rows
from annelid.springs.world import World

_SAMPLES = 64  # masses of each row that are looked at: rows tell springs apart, not the directions in which they lie


def stable_step(body: Body, world: World, rows: Rows, substeps: int) -> float:
    """Longest stable time step [s], from a bound of the highest frequency.

    A spring network obeys uᵀKu <= 2 Σ uᵢᵀAᵢuᵢ with Aᵢ = Σ k n⊗n over the springs of mass i, so the squared
    frequency is at most 2 max λ(Aᵢ)/mᵢ. Contact springs and dashpots are added to it.

    Args:
        body: The body.
        world: Its surroundings and integration.
        rows: Its springs as each mass sees them.
        substeps: Smaller steps that some springs take in a step.
    """
    free = ~body.fixed
    if not free.any():
        return float("inf")
    # Springs that take n smaller steps limit the step n times less, their frequency counts as that much lower.
    fast = fast_springs(body)
    ease = 1.0 if fast is None else np.where(fast, 1.0 / substeps, 1.0)
    stiff = _row_eigenvalues(body, rows, body.stiffness * ease**2)[rows.row_of] * 2 / body.masses
    dash = _row_eigenvalues(body, rows, body.damping * ease)[rows.row_of] * 2 / body.masses
    dash = dash + world.velocity_damping
    for contact in world.contacts:
        stiff = stiff + contact.stiffness / body.masses
        dash = dash + 2 * contact.damping_ratio * np.sqrt(contact.stiffness / body.masses)
    for rule in world.collisions:  # two contacts of a mass with its like, which moves the other way
        stiff = stiff + 4.0 * (rule.stiffness or 0.0) / body.masses
    squared, decay = float(stiff[free].max()), float(dash[free].max())
    if squared == 0.0:
        return 2.0 / decay if decay > 0.0 else float("inf")
    if world.integrator == "euler":  # |1 + λ dt|² = 1 - decay dt + (ω dt)²: no step is stable without damping
        return decay / squared
    limit = 8.0 if world.integrator == "rk4" else 4.0  # (ω dt)² at the edge of stability
    return (-decay + np.sqrt(decay**2 + limit * squared)) / squared


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
