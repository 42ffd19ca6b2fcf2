"""Kernels without optimisation: which they are, that only the environment asks for them, and that they round alike."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warp as wp
from warp._src.context import Module

from annelid.core import quick_kernels
from annelid.core.kernels import energy
from annelid.grains.kernels import relaxing


@pytest.mark.parametrize(
    ("name", "flags", "quick"),
    [
        ("annelid.envs.kernels.walker", None, True),
        ("totals_kernel__locals__totals_1c2f1321", "-march=native", True),
        ("team_kernel__locals__run_team_4a3212a4", "-march=native", False),
        ("team_kernel__locals__team_56b01269", "-march=native", False),
        ("annelid.core.relay", None, False),
        ("row_kernel__locals__cell_rows_ffac0b02", "-march=native", False),
        ("hyper_row_kernel__locals__cell_rows_2211953f", "-march=native", True),
        ("totals_kernel__locals__totals_1c2f1321", "-march=native -ffp-contract=fast", False),
    ],
)
def test_whole_runs_and_free_rounding_are_optimised(name: str, flags: str | None, quick: bool) -> None:
    assert quick_kernels.is_quick(name, {"cpu_compiler_flags": flags}) is quick


def test_a_level_that_somebody_chose_is_kept() -> None:
    for chosen, level in ((None, 0), (3, 3)):
        resolve = quick_kernels._quick(lambda module, config, chosen=chosen: {"optimization_level": chosen})
        assert resolve(SimpleNamespace(name="mine"), None)["optimization_level"] == level


@pytest.mark.skipif(wp.is_cuda_available(), reason="a level is one for the CPU and CUDA")
def test_tests_ask_for_it_and_long_runs_go_without() -> None:
    assert _level(energy.finish_energy.module) == 0
    assert _level(relaxing.push.module) is None


def _level(module: Any) -> int | None:
    level: int | None = Module.resolve_options(module, wp.config)["optimization_level"]
    return level


def test_nobody_else_gets_it() -> None:
    code = (
        "import annelid.core.device\n"
        "from warp._src.context import Module\n"
        "print(hasattr(Module.resolve_options, '__wrapped__'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ANNELID_QUICK_KERNELS"}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False"]


def _mixed(optimised: int) -> wp.Kernel:
    @wp.kernel(module="unique", enable_backward=False, module_options={"optimization_level": optimised})
    def mixed(a: wp.array[wp.vec3], b: wp.array[wp.vec3], mixed_out: wp.array[float]):
        i = wp.tid()
        across = wp.cross(a[i], b[i])
        mixed_out[i] = wp.length(across) + wp.dot(a[i], b[i]) * wp.sin(a[i][0]) - wp.pow(wp.abs(b[i][1]), 0.3)

    return mixed


def test_what_is_optimised_rounds_as_what_is_not() -> None:
    random = np.random.default_rng(5)
    a, b = (wp.array(random.normal(size=(1000, 3)).astype(np.float32), dtype=wp.vec3, device="cpu") for _ in range(2))
    results = []
    for level in (0, 2):
        mixed = wp.zeros(1000, dtype=float, device="cpu")
        wp.launch(_mixed(level), 1000, inputs=[a, b], outputs=[mixed], device="cpu")
        results.append(mixed.numpy())
    np.testing.assert_array_equal(*results)
