"""Grains and guests move alike by two forms of the same sums: `kernels.motion` (CUDA) and `kernels.quads` (CPU)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import coupling
from annelid.core.simulation import Simulation
from annelid.grains.kernels.converge import as_expected
from annelid.grains.kernels.layout import STALE, Features, Grains, Lists, Parameters
from annelid.grains.kernels.motion import finish, foresee
from annelid.grains.kernels.quads import finish_quads, foresee_quads, kept_quads

from .conftest import block, box, dropped

wp.set_module_options({"enable_backward": False})

RANGE = 20.0  # of velocities that contacts change, in √(gR)


def _kernel(features: Features, *, quads: bool) -> wp.Kernel:
    """Look ahead into one structure, then move into another, by one of the forms."""
    look_ahead, move = (foresee_quads, finish_quads) if quads else (foresee, finish)
    look_ahead, move = look_ahead(features), move(features)

    @wp.kernel(module="unique", enable_backward=False)
    def both(parameters: Parameters, grains: Grains, lists: Lists, expected: Grains, grains_out: Grains):
        i = wp.tid()
        if wp.static(quads):
            look_ahead(i, kept_quads(i, lists), parameters, grains, lists, expected)
            move(i, 0, kept_quads(i, lists), parameters, grains, lists, grains_out)
        else:
            look_ahead(i, as_expected(lists.totals[i]), parameters, grains, expected)
            move(i, 0, lists.totals[i], parameters, grains, lists, grains_out)

    return both


def _cloned(structure: Any, kind: Any) -> Any:
    """A structure with arrays of its own."""
    out = kind()
    for name in kind.vars:
        value = getattr(structure, name)
        setattr(out, name, wp.clone(value) if isinstance(value, wp.array) and value.ptr else value)
    return out


@pytest.fixture(scope="module")
def struck() -> Simulation[coupling.Solver]:
    body = block().moved((0.0, 0.0, 0.062))
    simulation = dropped(body, box(side=0.13, depth=0.05), inside="remove", threads=1)
    simulation.step(20)
    return simulation


def test_both_forms_move_grains_alike(struck: Simulation[coupling.Solver]) -> None:
    solver = struck.solver.grains
    parameters, work, count = solver.model.parameters, solver._work, solver.model.count
    rng = np.random.default_rng(3)
    sums = np.zeros((count, 16), np.float32)
    scale = RANGE * np.sqrt(9.81 * parameters.smallest) / parameters.lightest
    sums[:, [0, 1, 2, 8, 9, 10]] = rng.normal(size=(count, 6)) * scale
    sums[:, [4, 5, 6, 12, 13, 14]] = rng.normal(size=(count, 6)) * scale * parameters.smallest
    sums[:, 3], sums[:, 7] = rng.integers(0, 9, count), rng.random(count)
    found = []
    for quads in (False, True):
        here, lists = _cloned(work.here, Grains), _cloned(work.lists, Lists)
        expected, after = _cloned(work.there, Grains), _cloned(work.there, Grains)
        np.frombuffer(lists.totals.numpy(), np.float32).reshape(-1, 16)[:count] = sums
        lists.flags.zero_()
        kernel = _kernel(solver.model.features, quads=quads)
        wp.launch(kernel, count, [parameters, here, lists, expected, after], device="cpu")
        found.append((here, lists, expected, after))
    (one, ones, *first), (other, others, *second) = found
    for name in ("velocities", "spins"):
        np.testing.assert_allclose(getattr(one, name).numpy(), getattr(other, name).numpy(), rtol=2e-6, atol=1e-30)
    for a, b in zip(first, second, strict=True):
        for name in ("positions", "forecast", "turning"):
            np.testing.assert_allclose(getattr(a, name).numpy(), getattr(b, name).numpy(), rtol=2e-6, atol=1e-30)
    for name in ("pushes", "touches", "flags", "trouble"):
        np.testing.assert_array_equal(getattr(ones, name).numpy(), getattr(others, name).numpy())
    assert ones.flags.numpy()[STALE] == 1  # some have gone too far for their lists
