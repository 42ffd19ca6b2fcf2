"""Modules of this package: loaded by one thread at a time, and compiled again where files of them were damaged.

Warp lets threads load kernels side by side, but its compiler takes flags apart with `strtok`, which has one place for
all threads, and of two threads that load one module the second replaces, and so unloads, the code that the first one
is about to run. What was cut off or written over in the folder of compiled kernels would stay so, and code with a
flipped bit would be run.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from annelid.core.warp_build.kept_files import drop_damaged, note_sums
from annelid.core.warp_build.lean_headers import compile_lean

LOADING = threading.RLock()
"""Who makes, compiles or loads a kernel holds it."""

_OWN = __name__.partition(".")[0] + "."
_looked_through = 0


def take_own_modules() -> None:
    """Let the modules of this package that Warp has by now be loaded in turn, and compiled with the lean header."""
    global _looked_through
    import warp as wp  # here: `core.device`, which starts it quietly, comes first

    with LOADING:
        modules: list[Any] = list(wp._src.context.user_modules.values())  # none is ever taken away
        for module in modules[_looked_through:]:
            if _is_own(module) and "load" not in vars(module):
                module.load = loading_in_turn(module)
                compile_lean(module)
        _looked_through = len(modules)


def _is_own(module: Any) -> bool:
    """Whether a module is that of a file of this package, or of a kernel from one."""
    places = [module.name, *(kernel.func.__module__ for kernel in module.kernels.values())]
    return any(place.startswith(_OWN) for place in places)


def loading_in_turn(module: Any) -> Callable[..., Any]:
    """The function that stands for `module.load`."""
    load = module.load

    def linked(device: Any, size: int, *given: Any, **options: Any) -> Any:
        found = load(device, size, *given, **options)
        if device.is_cpu:  # where the code is linked when it is asked for
            for kernel in list(found.kernel_names):
                found.get_kernel_hooks(kernel)
        return found

    def in_turn(device: Any, block_dim: int | None = None, *given: Any, **options: Any) -> Any:
        import warp as wp  # here: `core.device`, which starts it quietly, comes first

        device = wp.get_device(device)
        size = module.options["block_dim"] if block_dim is None else block_dim
        found, known = module.execs.get((device.context, size)), module.hashers.get(size)
        if found is not None and known is not None and found.module_hash == known.get_hash():
            return found  # others may be loading meanwhile
        with LOADING:
            folder = Path(wp.config.kernel_cache_dir or "", module.get_module_identifier(size))
            drop_damaged(folder)
            try:
                made = linked(device, size, *given, **options)
            except Exception:  # that is what Warp raises
                if not folder.exists():  # nothing was compiled
                    raise
                shutil.rmtree(folder, ignore_errors=True)
                module.mark_modified()  # or it would remember that it failed
                made = linked(device, size, *given, **options)
            note_sums(folder)
            return made

    return in_turn
