"""How far a point is from the surface of a body, and which way out."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import Bodies
from annelid.shapes.kernels.geometry import surface_at

wp.set_module_options({"enable_backward": False})


@once
def surface_gap(kinds: tuple[int, ...]) -> wp.Function:
    """A function `(body number, point in the world, bodies) -> vec4`: unit normal in the world, and gap [m].

    Only the kinds in use are compiled.
    """
    at = surface_at(kinds, wp.float32)

    @wp.func
    def gap(b: int, x: wp.vec3, bodies: Bodies) -> wp.vec4:
        return at(bodies.forms[b].geometry, bodies.places[b], bodies.turns[b], bodies.distances, x)

    return gap
