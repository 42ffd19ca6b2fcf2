"""What a step does with the sums of impulses on grains and guests, held against the formulas of rigid spheres."""

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

from .conftest import block, box, dropped

wp.set_module_options({"enable_backward": False})

RANGE = 20.0  # of velocities that contacts change, in √(gR)


def _kernel(features: Features) -> wp.Kernel:
    """Look ahead into one structure, then move into another."""
    look_ahead, move = foresee(features), finish(features)

    @wp.kernel(module="unique", enable_backward=False)
    def both(parameters: Parameters, grains: Grains, lists: Lists, expected: Grains, grains_out: Grains):
        i = wp.tid()
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


def test_impulses_move_grains_and_are_handed_on_from_guests(struck: Simulation[coupling.Solver]) -> None:
    solver = struck.solver.grains
    parameters, work, count = solver.model.parameters, solver._work, solver.model.count
    rng = np.random.default_rng(3)
    sums = np.zeros((count, 4, 4), np.float32)  # impulse, angular impulse, and what is expected of both
    scale = RANGE * np.sqrt(9.81 * parameters.smallest) / parameters.lightest
    sums[:, (0, 2), :3] = rng.normal(size=(count, 2, 3)) * scale
    sums[:, (1, 3), :3] = rng.normal(size=(count, 2, 3)) * scale * parameters.smallest
    sums[:, 0, 3], sums[:, 1, 3] = rng.integers(0, 9, count), rng.random(count)
    here, lists = _cloned(work.here, Grains), _cloned(work.lists, Lists)
    expected, after = _cloned(work.there, Grains), _cloned(work.there, Grains)
    np.frombuffer(lists.totals.numpy(), np.float32).reshape(-1, 4, 4)[:count] = sums
    lists.flags.zero_()
    x, v, w = (getattr(work.here, name).numpy()[:count].astype(float) for name in ("positions", "velocities", "spins"))
    wp.launch(_kernel(solver.model.features), count, [parameters, here, lists, expected, after], device="cpu")

    names = work.here.names.numpy()[:count, 0]
    guests = names >= parameters.first_guest
    own = np.where(guests, 0.0, 1.0)[:, None]
    gain, mass = own * parameters.dt * np.array(parameters.gravity), w[:, 3:]
    share = own * 2.5 * mass / v[:, 3:] ** 2  # of a sphere
    velocity, spin = v[:, :3] + gain + mass * sums[:, 0, :3], w[:, :3] + share * sums[:, 1, :3]
    ahead = v[:, :3] + gain + mass * sums[:, 2, :3], w[:, :3] + share * sums[:, 3, :3]
    found = {
        "velocities": (here.velocities, velocity), "spins": (here.spins, spin),
        "positions": (after.positions, x[:, :3] + parameters.dt * velocity),
        "forecast": (after.forecast, velocity + gain + mass * sums[:, 2, :3]),
        "turning": (after.turning, spin + share * sums[:, 3, :3]),
        "expected velocity": (expected.forecast, ahead[0]), "expected spin": (expected.turning, ahead[1]),
    }  # fmt: skip
    for name, (rows, right) in found.items():
        np.testing.assert_allclose(
            rows.numpy()[:count, :3], right, rtol=1e-5, atol=1e-5 * np.abs(right).max(), err_msg=name
        )
    np.testing.assert_array_equal(after.positions.numpy()[:count, 3], sums[:, 0, 3])
    np.testing.assert_array_equal(here.velocities.numpy()[:count, 3], work.here.velocities.numpy()[:count, 3])
    order = np.argsort(names[guests])
    pushes = lists.pushes.numpy().reshape(-1, 3, 3)
    np.testing.assert_array_equal(pushes, sums[guests][order][:, :3, :3])
    np.testing.assert_array_equal(lists.touches.numpy(), sums[guests][order][:, 0, 3])
    assert lists.flags.numpy()[STALE] == 1  # some have gone too far for their lists
