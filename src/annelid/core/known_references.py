"""What functions of kernels refer to, found once a process and not once a kernel.

Warp finds the kernel that was compiled before by a hash of all functions in it, and reads each of them for the
constants, types and functions that it names. Kernels for different features share most functions, which were read again
and again: a twelfth of the time of short runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_KNOWN = "_annelid_references"


def know_references() -> None:
    """Let Warp read each function of this package once; nothing where Warp reads them otherwise."""
    try:
        from warp._src.codegen import Adjoint  # Warp has no public way to come between

        given = Adjoint.get_references
    except (ImportError, AttributeError):  # another Warp: slower, not broken
        return
    if "__wrapped__" not in vars(given):
        type.__setattr__(Adjoint, "get_references", _remembering(given))


def _remembering(given: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(given)
    def references(function: Any) -> Any:
        # Constants of this package stay what they are; a user may change those of his own functions.
        if not (function.func.__module__ or "").startswith("annelid."):
            return given(function)
        known = vars(function).get(_KNOWN)
        if known is None:
            known = given(function)
            setattr(function, _KNOWN, known)
        return known

    return references
