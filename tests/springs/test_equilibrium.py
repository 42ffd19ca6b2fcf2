"""Static equilibrium against closed forms and against a simulation that has come to rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.materials import material
from annelid.springs.body import Body
from annelid.springs.equilibrium import NotConverged, equilibrium
from annelid.springs.potential import Potential


def test_weight_on_a_spring() -> None:
    body = Body([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]], 2.0, [[0, 1]], 1.0, 50.0).fix(np.array([0]))
    still = equilibrium(body)
    np.testing.assert_allclose(still[1], [0.0, 0.0, -1.0 - 2.0 * 9.81 / 50.0], atol=1e-9)
    np.testing.assert_array_equal(still[0], body.positions[0])


def test_flat_rope_finds_its_sag() -> None:
    """Two springs in a line have no stiffness across: the exact matrix is singular at the start."""
    body = Body([[-1.0, 0, 0], [0, 0, 0], [1.0, 0, 0]], 1.0, [[0, 1], [1, 2]], 1.0, 1000.0).fix(np.array([0, 2]))
    depth = -equilibrium(body)[1, 2]
    length = math.hypot(1.0, depth)
    assert 2 * 1000.0 * (length - 1.0) * depth / length == pytest.approx(9.81, rel=1e-6)


def test_large_bending_agrees_with_a_simulation() -> None:
    soft = material("ecoflex-00-30")
    body = springs.beam(0.2, 0.02, 0.02, 0.01, soft).fix(lambda p: p[:, 0] < 1e-6)
    still = equilibrium(body)
    tip = np.argmax(body.positions[:, 0])
    assert body.positions[tip, 2] - still[tip, 2] > 0.05
    assert np.abs(Potential(body, (0.0, 0.0, -9.81)).forces(still)[~body.fixed]).max() < 1e-8
    simulation = springs.simulation(body, device="cpu", precision="float64", dt=5e-4, velocity_damping=8.0)
    simulation.run(4.0)
    np.testing.assert_allclose(simulation.state.positions.numpy()[:, :3], still, atol=2e-5)


def test_strained_body_without_load_relaxes() -> None:
    body = springs.block((4, 3, 3))
    body.rest_lengths *= 1.1
    body.fix(lambda p: (p[:, 0] < 0.01) & (p[:, 1] + p[:, 2] < 0.01))
    body.guide(lambda p: (p[:, 0] < 0.01) & (p[:, 1] < 0.01) & (p[:, 2] > 0.19), "line", (0.0, 0.0, 1.0))
    body.guide(lambda p: (p[:, 0] < 0.01) & (p[:, 2] < 0.01) & (p[:, 1] > 0.19), "plane", (1.0, 0.0, 0.0))
    still = equilibrium(body, gravity=(0.0, 0.0, 0.0))
    lengths = np.linalg.norm(still[body.springs[:, 1]] - still[body.springs[:, 0]], axis=1)
    np.testing.assert_allclose(lengths, body.rest_lengths, rtol=1e-7)


def test_already_at_rest() -> None:
    body = springs.block((4, 3, 3)).fix(lambda p: p[:, 0] < 0.01)
    np.testing.assert_allclose(equilibrium(body, gravity=(0.0, 0.0, 0.0)), body.positions, atol=1e-12)


def test_guides_are_kept() -> None:
    body = Body([[0.0, 0, 0], [1.0, 0, 0]], 1.0, [[0, 1]], 1.0, 10.0)
    body.fix(np.array([0])).guide(np.array([1]), "line", (1.0, 0.0, 0.0)).push(np.array([1]), (5.0, 3.0, 0.0))
    np.testing.assert_allclose(equilibrium(body)[1], [1.5, 0.0, 0.0], atol=1e-9)


def test_start_close_by_gives_the_same() -> None:
    body = springs.beam(0.2, 0.02, 0.02, 0.01, "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-6)
    still = equilibrium(body)
    again = equilibrium(body, start=equilibrium(body, gravity=(0.0, 0.0, -5.0)))
    np.testing.assert_allclose(again, still, atol=1e-8)


def test_nothing_to_move() -> None:
    body = springs.block((2, 2, 2)).fix()
    np.testing.assert_array_equal(equilibrium(body), body.positions)


def test_free_body_is_refused() -> None:
    held = springs.block((3, 3, 3)).fix(lambda p: p[:, 2] < 0.01)
    with pytest.raises(InvalidValue, match="nothing holds"):
        equilibrium(held + springs.block((3, 3, 3)).moved((5.0, 0.0, 0.0)))


def test_start_must_fit() -> None:
    body = springs.block((3, 3, 3)).fix(lambda p: p[:, 2] < 0.01)
    with pytest.raises(InvalidValue, match="start"):
        equilibrium(body, start=np.zeros((2, 3)))


def test_too_few_iterations_are_reported() -> None:
    body = springs.beam(0.2, 0.02, 0.02, 0.01, "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-6)
    with pytest.raises(NotConverged, match="no equilibrium"):
        equilibrium(body, limit=2)
