"""Recorded launches on the CPU whose arguments lie ready.

Each time a recorded launch is repeated, Warp asks for the types of all arguments and packs them into a new structure,
which takes longer than a small kernel runs. Here the structure is kept, and only what may have changed is packed again.
"""

from __future__ import annotations

import ctypes
from typing import Any

_NUMBERS: dict[type, tuple[type, ...]] = {
    **dict.fromkeys((ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64), (int,)),
    **dict.fromkeys((ctypes.c_float, ctypes.c_double), (int, float)),
}
"""Types of Python's numbers that an argument takes as they are."""


def ready(command: Any) -> Any:
    """A recorded launch that is repeated sooner; the given one on CUDA, for blocks of threads, or from another Warp.

    Args:
        command: What `wp.launch` returned with `record_cmd=True`; None for a launch over nothing.
    """
    try:
        if command is None or not command.device.is_cpu or command.block_dim > 1 or command.adjoint:
            return command
        return ReadyLaunch(command)
    except (AttributeError, ImportError):
        return command


class ReadyLaunch:
    """A recorded launch on the CPU.

    Args:
        command: The launch as Warp recorded it; it keeps the arguments alive.
    """

    def __init__(self, command: Any) -> None:
        from warp._src.types import array_t  # Warp has no public name for what an array is to a kernel

        self._command = command
        self._names = [argument.label for argument in command.kernel.adj.args]
        values = command.params[1 : 1 + len(self._names)]  # after the number of threads
        self._kinds = [type(value) for value in values]
        fields = {"_fields_": list(zip(self._names, self._kinds, strict=True))}
        self._packed = type("Packed", (ctypes.Structure,), fields)(*values)
        self._forward = command.hooks.forward
        self._places = ctypes.byref(command.params[0]), ctypes.byref(self._packed)
        # Neither arrays nor numbers: their fields may have changed at the next launch.
        fixed = (array_t, ctypes.Array, ctypes._SimpleCData)
        named = zip(self._names, values, strict=True)
        self._structures = {name: value for name, value in named if not isinstance(value, fixed)}

    def launch(self) -> None:
        """Launch it; structures among the arguments are read where they lie, as Warp does."""
        self.pack()
        self._forward(*self._places)

    def pack(self) -> None:
        """Take over what structures among the arguments hold by now."""
        for name, structure in self._structures.items():
            setattr(self._packed, name, structure)

    def addresses(self) -> tuple[int, int, int]:
        """Where code, the number of threads and arguments lie, for whoever calls it without Python."""
        code = ctypes.cast(self._forward, ctypes.c_void_p).value
        return code or 0, ctypes.addressof(self._command.params[0]), ctypes.addressof(self._packed)

    def set_param_at_index(self, index: int, value: Any) -> None:
        """Replace an argument from now on."""
        name = self._names[index]
        if type(value) not in _NUMBERS.get(self._kinds[index], ()):
            self._command.set_param_at_index(index, value)  # which also keeps it alive
            value = self._command.params[1 + index]
        if name in self._structures:
            self._structures[name] = value
        setattr(self._packed, name, value)
