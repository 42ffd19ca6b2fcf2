"""Structures of kernels without the functions that no kernel calls.

Warp writes functions for sums and gradients beside each structure, and one that makes it from its fields. Some are
visible to other files, so that the compiler must compile them although nothing calls them: functions that only their
own file sees are compiled where they are called. It still has to read and check all of them, which takes a sixth of the
time for a kernel with structures of a hundred fields: modules without gradients get none of them.
"""

from __future__ import annotations

import re

_SEEN_FROM_OUTSIDE = re.compile(r"^(?=CUDA_CALLABLE )", re.MULTILINE)  # members are indented, others say `static`
_MAKING = re.compile(r"(?ms)^    CUDA_CALLABLE \{name\}\(\{forward_args\}\)\n.*?^    \}\}\n")
_ADDING = re.compile(r"(?ms)^    CUDA_CALLABLE \{name\}& operator \+=.*?^\{tile_member_ops\}\n")
_GRADIENTS = re.compile(r"(?ms)^static CUDA_CALLABLE void adj_\{name\}\(.*?^(?=\{tile_helper_body\}$)")
_STRUCTURE = re.compile(r"^struct (\w+)\n\{", re.MULTILINE)
_BACKWARD = "_cpu_kernel_backward("


def leave_out_uncalled() -> None:
    """Compile functions of structures only where kernels call them; nothing where Warp writes other text."""
    try:
        from warp._src import codegen  # Warp has no public way to choose

        codegen.struct_template = guarded(codegen.struct_template)
    except (ImportError, AttributeError, TypeError):  # another Warp: slower, not broken
        return


def guarded(template: str) -> str:
    """Warp's template of a structure with functions that `without_gradients` leaves out."""
    if "ANNELID_FORWARD" in template:
        return template
    template = _SEEN_FROM_OUTSIDE.sub("static ", template)
    template = _MAKING.sub(
        r"#if !defined(ANNELID_FORWARD) || defined(ANNELID_MAKES_{name})\n\g<0>#endif\n", template, count=1
    )
    for part in (_ADDING, _GRADIENTS):
        template = part.sub(r"#ifndef ANNELID_FORWARD\n\g<0>#endif\n", template, count=1)
    return template


def without_gradients(source: str) -> str:
    """The C++ of a module for the CPU that leaves out what only gradients need, where it has none."""
    if _BACKWARD in source:
        return source
    made = [name for name in _STRUCTURE.findall(source) if re.search(rf"= {name}\([^)]", source)]
    macros = ["ANNELID_FORWARD", *(f"ANNELID_MAKES_{name}" for name in made)]
    return "".join(f"#define {macro}\n" for macro in macros) + source
