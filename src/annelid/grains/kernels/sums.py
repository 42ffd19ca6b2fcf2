"""What a grain or a body sums over its contacts."""

import warp as wp

from annelid.grains.kernels.simd4 import add, with_last  # noqa: F401 (what + means)

wp.set_module_options({"enable_backward": False})


@wp.struct
class ContactSum:
    """Each vector and the number after it are four numbers that a processor reads, adds and writes at once."""

    impulse: wp.vec4  # [N s], and the number of contacts
    angular: wp.vec4  # angular impulse [N m s], and the largest change of a relative velocity by a sweep [m/s]
    predicted: wp.vec4  # impulse that the next step is expected to bring [N s]
    predicted_angular: wp.vec4  # [N m s]


@wp.func
def contact_sum(
    impulse: wp.vec3, angular: wp.vec3, predicted: wp.vec3, predicted_angular: wp.vec3, contacts: float, change: float
) -> ContactSum:
    out = ContactSum()
    out.impulse = wp.vec4(impulse[0], impulse[1], impulse[2], contacts)
    out.angular = wp.vec4(angular[0], angular[1], angular[2], change)
    out.predicted = wp.vec4(predicted[0], predicted[1], predicted[2], 0.0)
    out.predicted_angular = wp.vec4(predicted_angular[0], predicted_angular[1], predicted_angular[2], 0.0)
    return out


@wp.func
def added(a: ContactSum, b: ContactSum) -> ContactSum:
    """The sums of both, and the larger of the two changes."""
    out = ContactSum()
    out.impulse = a.impulse + b.impulse
    out.angular = with_last(a.angular + b.angular, wp.max(a.angular[3], b.angular[3]))
    out.predicted = a.predicted + b.predicted
    out.predicted_angular = a.predicted_angular + b.predicted_angular
    return out


@wp.func
def from_rows(rows: wp.mat44) -> ContactSum:
    """The sums in the four rows that native code exchanges."""
    out = ContactSum()
    out.impulse = rows[0]
    out.angular = rows[1]
    out.predicted = rows[2]
    out.predicted_angular = rows[3]
    return out


@wp.func
def as_rows(a: ContactSum) -> wp.mat44:
    """These rows."""
    return wp.matrix_from_rows(a.impulse, a.angular, a.predicted, a.predicted_angular)
