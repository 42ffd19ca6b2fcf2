"""Types of the kernels of controllers, for each precision."""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class BrainLayout:
    """The types for one precision: `Brain` is one controller, `Brains` all of them."""

    real: Any
    Brain: Any
    Brains: Any


@once
def brain_layout(real: Any) -> BrainLayout:
    """The types for `wp.float32` or `wp.float64`."""
    bits = 32 if real is wp.float32 else 64
    brain = _struct(
        f"Brain{bits}",
        kind=wp.int32,
        channel=wp.int32,  # its first control value
        channels=wp.int32,
        input=wp.int32,
        inputs=wp.int32,
        parameter=wp.int32,
        layer=wp.int32,  # first of its layer sizes
        layers=wp.int32,
        widest=wp.int32,  # largest layer
        neuron=wp.int32,  # first of its scratch activations: two layers, of each channel if distributed
        bias_all=wp.int32,
        driven=wp.int32,  # 0: no driving function, 1: a sine, 2: a column of the table
        column=wp.int32,  # first of its columns of the table
        signals=wp.int32,
        memory=wp.int32,  # first of its remembered signals: twice [channels, 4, signals]
        weights=wp.int32,  # from one channel's weights to the next; 0 where they are shared
        function=wp.int32,  # number of the user's function
        drive=wp.vec3d,  # amplitude, frequency [Hz], phase in turns
    )
    brains = _struct(
        f"Brains{bits}",
        brains=wp.array[brain],
        parameters=wp.array[real],
        layers=wp.array[wp.int32],
        neighbours=wp.array[wp.vec4i],
        table=wp.array2d[real],  # of time functions: a row a call from `first_call` on
        first_call=wp.array[wp.int64],
    )
    return BrainLayout(real, brain, brains)


def _struct(name: str, **members: Any) -> Any:
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))
