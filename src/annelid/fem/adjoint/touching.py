"""Which contacts of a solid can be differentiated: those that push along smooth surfaces and do not rub."""

from __future__ import annotations

from annelid.core.errors import InvalidValue
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.state import Touching
from annelid.fem.kernels.contact import SHARP
from annelid.fem.state import State
from annelid.shapes.kernels.gaps import PLANE, SPHERE


def require_smooth(contacts: Contacts | None) -> None:
    """Refuse contacts whose forces have no exact slope, or depend on what was before."""
    if contacts is None:
        return
    kinds, sizes = contacts.nodes.forms.kinds.numpy(), contacts.nodes.forms.sizes.numpy()
    balls = sizes[kinds == SPHERE, 0]
    small = balls * SHARP <= contacts.nodes.reach
    refused = {
        "contacts of a solid with itself": (contacts.pairs is not None, "leave them out, Contact(itself=False)"),
        "free bodies among the obstacles": (len(contacts.bodies) > 0, "give them motion='fixed' or 'driven'"),
        "friction of contacts": (
            bool(contacts.nodes.points.frictions.numpy().any()), "give surfaces friction=0.0"),
        "obstacles other than planes and spheres": (
            bool(((kinds != PLANE) & (kinds != SPHERE)).any()) or len(contacts.corners) > 0, "use planes and spheres"),
        "spheres of less than five times the reach of contacts": (
            bool(small.any()), "give the contact a smaller reach, Contact(reach=...)"),
    }  # fmt: skip
    for name, (there, remedy) in refused.items():
        if there:
            raise InvalidValue(f"there is no gradient through {name} yet: {remedy}.")


def stand_as_in(contacts: Contacts, state: State) -> None:
    """Have obstacles where they are in a state."""
    assert isinstance(state.touch, Touching)
    contacts.now.set(state.touch.places.numpy(), state.touch.turns.numpy())
    poses = contacts.now.device_pose
    contacts.nodes.begin(poses, poses, state.touch.stretches, state.positions)
