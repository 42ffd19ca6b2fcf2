"""What is in what, where a step begins with a node or a free body in an obstacle: something was put there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

if TYPE_CHECKING:
    from annelid.fem.contact.contacts import Contacts


def deepest_in(contacts: Contacts, positions: wp.array[Any]) -> str:
    """Why no step can begin with nodes at these positions [m] and obstacles where they are, in a sentence."""
    nodes = contacts.nodes.gaps(positions, contacts.now.device_pose)
    row, number = np.unravel_index(int(nodes.argmin()), nodes.shape)
    gap, one, two = float(nodes[row, number]), f"node {contacts.outer[row]} of the solid", _called(contacts, number)
    if contacts.bodies:
        bodies = contacts.bodies
        between = bodies.points.gaps(bodies.place_points(contacts.now), contacts.now.device_pose)
        point, other = np.unravel_index(int(between.argmin()), between.shape)
        if between[point, other] < gap:
            gap = float(between[point, other])
            one, two = _called(contacts, bodies.owner_of(int(point))) + ",", _called(contacts, other)
    what = f"{one} {-gap:.3g} m deep in {two}" if gap <= 0.0 else "a corner of an obstacle within the skin of contact"
    return f"a step begins with {what}: put what was placed there elsewhere, where it touches nothing (solver.place)."


def _called(contacts: Contacts, number: int | np.integer[Any]) -> str:
    return contacts.rigids[int(number)].called(int(number))
