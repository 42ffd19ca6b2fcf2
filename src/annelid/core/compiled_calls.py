"""Functions of CPU kernels that stand in one place, put there before anything is optimised.

The compiler optimises a function, copies it to where it is called and optimises it again with what is around, so that
what lies five calls deep is done six times. A function that is called once needs no code of its own: where the compiler
is told so, it puts it in place first. The code of large kernels is the same, in five sixths of the time.
"""

from __future__ import annotations

import re
from collections import Counter

FLAGS = "-mconstructor-aliases -discard-value-names -disable-llvm-verifier"
"""What Clang as a program asks of itself, and Warp does not: one copy of constructors, no names, no second look."""

FREE_TO_FUSE = "-ffp-contract=fast"
"""What lets the compiler choose which product and sum become one operation."""

_BACKWARD = "_cpu_kernel_backward("  # such files call functions once more to go back
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_NAMED = re.compile(r"\b(\w+)(?=\()")
_HEAD = re.compile(r"^static (?=(?!CUDA_CALLABLE |WP_FORCEINLINE |__attribute__)[\w:<>, ]+? (\w+)\(\n)", re.MULTILINE)
_KERNEL = re.compile(r"_cpu_kernel_forward$")  # each form of it is called once
_IN_PLACE = "static __attribute__((always_inline)) "


def called_in_place(source: str, flags: str = "") -> str:
    """The C++ of a module without gradients whose functions that are called once are no functions of their own.

    Where the flags let the compiler choose which product and sum become one operation, it would choose others: such
    files stay as they are.
    """
    if _BACKWARD in source or FREE_TO_FUSE in flags:
        return source
    counts = Counter(_NAMED.findall(_COMMENT.sub("", source)))

    def head(found: re.Match[str]) -> str:
        once = counts[found[1]] == 2  # here and where it is called
        return _IN_PLACE if once or _KERNEL.search(found[1]) else found[0]

    return _HEAD.sub(head, source)
