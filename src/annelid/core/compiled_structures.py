"""Structures of kernels without the functions that no kernel calls.

Warp writes two functions for sums and gradients beside each structure, visible to other files, so that the compiler
must compile them although nothing calls them. That was a fifth of the time for a kernel with structures of a hundred
fields. Functions that only their own file sees are compiled where they are called.
"""

from __future__ import annotations

import re

_SEEN_FROM_OUTSIDE = re.compile(r"^(?=CUDA_CALLABLE )", re.MULTILINE)  # members are indented, others say `static`


def leave_out_uncalled() -> None:
    """Compile functions of structures only where kernels call them; nothing where Warp writes other text."""
    try:
        from warp._src import codegen  # Warp has no public way to choose

        codegen.struct_template = _SEEN_FROM_OUTSIDE.sub("static ", codegen.struct_template)
    except (ImportError, AttributeError, TypeError):  # another Warp: slower, not broken
        return
