"""Forces of contact, and the matrix of how they change as nodes and bodies move, friction with the push that limits it.

Elements of Newton's method on all nodes have symmetric tangents. These here are for few nodes, and are not: where
a point slides along t, a gap that opens by d leaves it μ k d less friction, a block −μ k t nᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.fem.contact.bodies import levers_of
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.loads import CornerLoad
from annelid.fem.contact.sliding import Sliding, sliding
from annelid.fem.contact.stiffness import Blocks, dense_on


@dataclass(frozen=True, eq=False)
class Coupling:
    """Bodies among the equations of nodes.

    Attributes:
        matrix: Matrix of the bodies, shape [6 f, 6 f].
        right: How forces on nodes change as bodies move, shape [3 t, 6 f].
        left: How forces on bodies change as nodes move, shape [6 f, 3 t].
    """

    matrix: np.ndarray
    right: np.ndarray
    left: np.ndarray


def contact_forces(contacts: Contacts, node_count: int) -> np.ndarray:
    """Forces of all contacts on nodes as evaluated last [N], shape [n, 3]."""
    found = np.zeros((node_count, 3))
    for each in contacts.sets:
        forces = each.forces.numpy().reshape(-1, 3)
        some = np.flatnonzero(forces.any(axis=1))
        np.add.at(found, each.nodes.ravel()[some], forces[some])
    return found


def touched_nodes(contacts: Contacts, node_count: int) -> np.ndarray:
    """Whether contacts as evaluated last concern a node, shape [n]."""
    found = np.zeros(node_count, bool)
    found[contacts.outer] = contacts.nodes.tangent.numpy()[:, 0, 0].any(axis=(1, 2))
    for nodes, _, _ in contacts.groups():
        found[nodes] = True
    return found


def stiffness_on(contacts: Contacts, nodes: np.ndarray, places: wp.array[np.ndarray], had: np.ndarray) -> np.ndarray:
    """What contacts add to the matrix beyond what they had added to a factor [N/m], shape [3 t, 3 t].

    Args:
        contacts: The contacts, evaluated with their tangents where friction has followed.
        nodes: The nodes, ascending, shape [t].
        places: Where all nodes are [m], vec3d of shape [n].
        had: What they had added to the blocks of these nodes on the diagonal [N/m], shape [t, 3, 3].
    """
    rows = contacts.rows[nodes]
    outer = np.flatnonzero(rows >= 0)
    own = -had
    own[outer] += contacts.nodes.tangent.numpy()[rows[outer], 0, 0]
    known = np.full(len(contacts.rows), -1)
    known[nodes] = np.arange(len(nodes))
    slides = sliding(contacts.nodes, np.asarray(places.numpy()), contacts.begun, contacts.now)
    at = known[contacts.outer[slides.points]]
    parts = [Blocks.on_diagonal(np.arange(len(nodes)), own), Blocks.on_diagonal(at, _losses(slides))]
    for group, coefficients, blocks in contacts.groups(losses=True):
        parts.append(Blocks.of_groups(known[group], coefficients, blocks))
    return dense_on(len(nodes), parts)


def coupling_with(
    contacts: Contacts, nodes: np.ndarray, places: wp.array[np.ndarray], loads: Sequence[CornerLoad]
) -> Coupling:
    """How bodies couple with nodes, shape [t], where contacts were evaluated last and friction has followed.

    Args:
        contacts: The contacts.
        nodes: The nodes.
        places: Where all nodes are [m], vec3d of shape [n].
        loads: What corners of bodies do.
    """
    bodies, now, positions = contacts.bodies, contacts.now, np.asarray(places.numpy())
    outer = positions[contacts.outer]
    matrix, coupling = bodies.matrices(now, contacts.nodes, outer)
    bodies.add_corners(matrix, coupling, now, loads, contacts.rows)
    right, left = coupling, coupling.copy()
    slides = sliding(contacts.nodes, positions, contacts.begun, now)
    for point, number, loss in zip(slides.points, slides.obstacles, _losses(slides), strict=True):
        for body in np.flatnonzero(bodies.numbers == number):
            own = slice(6 * body, 6 * body + 6)
            lever = -levers_of(outer[point] - now.places[number])
            right[point, :, own] += loss @ lever
            left[point, :, own] += loss.T @ lever
            matrix[own, own] += lever.T @ loss @ lever
    rows = contacts.rows[nodes]
    chosen = [
        np.where(np.reshape(rows >= 0, (-1, 1, 1)), each[np.maximum(rows, 0)], 0.0).reshape(3 * len(nodes), len(matrix))
        for each in (right, left)
    ]
    return Coupling(matrix, chosen[0], chosen[1].T)


def _losses(slides: Sliding) -> np.ndarray:
    """Friction that is lost with gaps that open, as blocks of the matrix [N/m], shape [s, 3, 3]."""
    return np.asarray(-slides.gains[:, :, None] * slides.normals[:, None, :])
