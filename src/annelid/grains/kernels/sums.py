"""What a grain or a body sums over its contacts."""

import warp as wp

wp.set_module_options({"enable_backward": False})

vec14 = wp.types.vector(length=14, dtype=wp.float32)
"""The numbers of a `ContactSum` one after the other, as native code exchanges them."""


@wp.struct
class ContactSum:
    """Each vector lies within 16 bytes: a CPU copies so many at a time, and waits where one lies across two of them."""

    impulse: wp.vec3  # [N s]
    contacts: wp.float32
    angular: wp.vec3  # angular impulse [N m s]
    change: wp.float32  # largest change of a relative velocity by a sweep [m/s]
    predicted: wp.vec3  # impulse that the next step is expected to bring [N s]
    spare: wp.float32
    predicted_angular: wp.vec3  # [N m s]
    also_spare: wp.float32


@wp.func
def contact_sum(
    impulse: wp.vec3, angular: wp.vec3, predicted: wp.vec3, predicted_angular: wp.vec3, contacts: float, change: float
) -> ContactSum:
    out = ContactSum()
    out.impulse = impulse
    out.angular = angular
    out.predicted = predicted
    out.predicted_angular = predicted_angular
    out.contacts = contacts
    out.change = change
    return out


@wp.func
def added(a: ContactSum, b: ContactSum) -> ContactSum:
    """The sums of both, and the larger of the two changes."""
    return contact_sum(
        a.impulse + b.impulse,
        a.angular + b.angular,
        a.predicted + b.predicted,
        a.predicted_angular + b.predicted_angular,
        a.contacts + b.contacts,
        wp.max(a.change, b.change),
    )


@wp.func
def from_row(row: vec14) -> ContactSum:
    return contact_sum(
        wp.vec3(row[0], row[1], row[2]),
        wp.vec3(row[3], row[4], row[5]),
        wp.vec3(row[6], row[7], row[8]),
        wp.vec3(row[9], row[10], row[11]),
        row[12],
        row[13],
    )


@wp.func
def as_row(a: ContactSum) -> vec14:
    return vec14(
        a.impulse[0], a.impulse[1], a.impulse[2], a.angular[0], a.angular[1], a.angular[2],
        a.predicted[0], a.predicted[1], a.predicted[2],
        a.predicted_angular[0], a.predicted_angular[1], a.predicted_angular[2], a.contacts, a.change,
    )  # fmt: skip
