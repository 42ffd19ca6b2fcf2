"""CPU kernels that run for milliseconds, compiled without optimisation where the environment asks for it.

Most of the time of many tests goes into compiling kernels that then run for a few milliseconds. With
`ANNELID_QUICK_KERNELS=1` in the environment, as in the tests, such kernels compile in half the time. Kernels that hold
whole runs are optimised as ever. Sums and products are the same in both: the compiler may neither change
their order nor fuse them, and kernels that let it do so are always optimised. Compiled kernels of both kinds are kept
side by side.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any

LONG_RUNNING = re.compile(
    r"__(run_team|team|blocks|run_back|run_stretch|whole|factor_fronts|solve_fronts|cell_products)(_|$)"
    r"|__(fall|hand_over|press|seat)(_|$)|\b(point|row)_kernel__|\bstretch_kernel__locals__strain_points"
    r"|annelid\.(core\.relay|view\.camera|shapes|grains\.kernels\.relaxing)"
    r"|annelid\.fem\.kernels\.(assembly|batch_products|batch_woodbury|columns|iteration|tile)"
)
"""Names of modules with kernels that are optimised in any case: whole runs, solvers, pictures, searches of points."""

_ASKED = os.environ.get("ANNELID_QUICK_KERNELS", "0") not in ("", "0")
_FREE_TO_FUSE = "-ffp-contract=fast"


def compile_quickly() -> None:
    """Leave out optimisation where the environment asks for it; nothing where there is CUDA, nor with another Warp."""
    import warp as wp  # here: `core.device`, which starts it quietly, comes first

    if not _ASKED or wp.is_cuda_available():  # a level is one for the CPU and CUDA
        return
    try:
        from warp._src.context import Module  # Warp has no public way to come between

        given = Module.resolve_options
    except (ImportError, AttributeError):  # another Warp: slower, not broken
        return
    if "__wrapped__" not in vars(given):
        type.__setattr__(Module, "resolve_options", _quick(given))  # a plain assignment is refused by mypy


def _quick(given: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(given)
    def resolve_options(module: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
        options = given(module, *arguments, **named)
        if options.get("optimization_level") is None and is_quick(module.name, options):
            options["optimization_level"] = 0
        return options

    return resolve_options


def is_quick(name: str, options: dict[str, Any]) -> bool:
    """Whether the module of that name with Warp's options may go without optimisation."""
    return not LONG_RUNNING.search(name) and _FREE_TO_FUSE not in (options.get("cpu_compiler_flags") or "")
