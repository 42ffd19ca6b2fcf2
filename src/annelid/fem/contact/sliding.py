"""How friction changes with the push that limits it, where things slide.

The tangent of a step takes the limit of friction from the iterate before, so that it is symmetric and there is an
energy. What a solid does to first order also depends on how the limit follows the push: where a point slides along
t, a gap that opens by d leaves it mu k d less friction. That is a product of two vectors for each pair that slides,
with t to the left and the normal to the right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts
from annelid.fem.kernels.contact_law import BARRIER


@dataclass(frozen=True, eq=False)
class Sliding:
    """Pairs of point and obstacle that slide.

    Attributes:
        points: Which of the points, shape [s].
        obstacles: Which of the obstacles, shape [s].
        normals: Normals of the obstacles there, shape [s, 3].
        gains: Friction on the point that is lost with a gap that opens by a metre [N/m], shape [s, 3].
    """

    points: np.ndarray
    obstacles: np.ndarray
    normals: np.ndarray
    gains: np.ndarray

    def __len__(self) -> int:
        """How many there are."""
        return len(self.points)


def sliding(contacts: PointContacts, positions: np.ndarray, begin: Pose, now: Pose) -> Sliding:
    """The pairs that slide at positions of all points [m], shape [p, 3], as friction was followed last."""
    strengths = contacts.strengths.numpy()
    frictions = contacts.points.frictions.numpy()
    pairs = np.flatnonzero(frictions * strengths > 0.0)
    points, obstacles = np.divmod(pairs, contacts.size[1])
    numbers, normals = contacts.points.numbers.numpy()[points], contacts.normals.numpy()[pairs]
    stiffness, limits = contacts.forms.stiffnesses.numpy()[obstacles], (frictions * strengths)[pairs]
    moved = positions[numbers] - now.places[obstacles]
    if np.array_equal(begin.turns, now.turns):
        moved += contacts.stretches.numpy()[pairs] - (contacts.starts.numpy()[numbers] - begin.places[obstacles])
    elif len(pairs):
        was, turns = Rotation.from_quat(begin.turns[obstacles]), Rotation.from_quat(now.turns[obstacles])
        turn = turns * was.inv()
        moved -= turn.apply(contacts.starts.numpy()[numbers] - begin.places[obstacles])
        moved += turn.apply(contacts.stretches.numpy()[pairs])
    trial = moved - (moved * normals).sum(axis=1)[:, None] * normals
    length = np.linalg.norm(trial, axis=1)
    slides = stiffness * length > limits
    along = trial[slides] / length[slides, None]
    steep = _steepness(strengths[pairs][slides] / (stiffness[slides] * contacts.reach)) * stiffness[slides]
    gains = (frictions[pairs][slides] * steep)[:, None] * along
    return Sliding(points[slides], obstacles[slides], normals[slides], gains)


def followed_tangents(
    frictions: np.ndarray | float,
    stiffness: np.ndarray | float,
    normals: np.ndarray,
    pushes: np.ndarray,
    rubs: np.ndarray,
    tangents: np.ndarray,
) -> np.ndarray:
    """Tangents of frictions that follow the push, where they slide, shape [p, 3, 3].

    Args:
        frictions: Coefficients of friction, shape [p] or one for all.
        stiffness: Of the springs along the surface [N/m], shape [p] or one for all.
        normals: Unit normals, shape [p, 3].
        pushes: Tangents of the pushes along them [N/m], shape [p, 3, 3].
        rubs: Frictions [N], shape [p, 3].
        tangents: Tangents of the frictions while these keep their limits [N/m], shape [p, 3, 3].
    """
    force = np.linalg.norm(rubs, axis=1)
    resists = np.trace(tangents, axis1=1, axis2=2)  # twice the stiffness where it sticks
    slides = np.flatnonzero((force > 0.0) & (resists < (1.0 - 1e-9) * 2.0 * stiffness))
    along = -rubs[slides] / force[slides, None]
    steep = np.broadcast_to(frictions, force.shape)[slides] * np.trace(pushes[slides], axis1=1, axis2=2)
    found = np.array(tangents)
    found[slides] -= (tangents[slides] @ along[:, :, None]) * along[:, None, :]
    found[slides] -= steep[:, None, None] * along[:, :, None] * normals[slides, None, :]
    return found


def _steepness(force: np.ndarray) -> np.ndarray:
    """Stiffness of the push over that of its spring, at a force over that of the spring within the whole reach."""
    near = BARRIER**2 / np.maximum(force - 1.0 + 2.0 * BARRIER, 1e-300)
    return np.where(force > 1.0 - BARRIER, (BARRIER / near) ** 2, 1.0)
