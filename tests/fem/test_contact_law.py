"""The law of contact against differences: push, friction, and what sticks."""

import numpy as np
import pytest
import warp as wp

from annelid.fem.kernels import contact_law as law

wp.set_module_options({"enable_backward": False})

REACH, STIFFNESS = 2e-3, 500.0


@wp.kernel
def push(
    reach: wp.float64,
    stiffness: wp.float64,
    gaps: wp.array[wp.float64],
    energy_out: wp.array[wp.float64],
    force_out: wp.array[wp.float64],
    stiffness_out: wp.array[wp.float64],
):
    i = wp.tid()
    energy_out[i] = law.push_energy(gaps[i], reach, stiffness)
    force_out[i] = law.push_force(gaps[i], reach, stiffness)
    stiffness_out[i] = law.push_stiffness(gaps[i], reach, stiffness)


@wp.kernel
def push_single(reach: wp.float32, stiffness: wp.float32, gaps: wp.array[wp.float32], force_out: wp.array[wp.float32]):
    i = wp.tid()
    force_out[i] = law.push_force(gaps[i], reach, stiffness)


@wp.kernel
def rub(
    limit: wp.float64,
    stiffness: wp.float64,
    trials: wp.array[wp.vec3d],
    energy_out: wp.array[wp.float64],
    force_out: wp.array[wp.vec3d],
    tangent_out: wp.array[wp.mat33d],
    kept_out: wp.array[wp.vec3d],
):
    i = wp.tid()
    factor = law.friction_factor(trials[i], limit, stiffness)
    slide = law.sliding_direction(trials[i], limit, stiffness)
    energy_out[i] = law.friction_energy(trials[i], limit, stiffness)
    force_out[i] = -factor * trials[i]
    tangent_out[i] = factor * (wp.identity(3, dtype=wp.float64) - wp.outer(slide, slide))
    kept_out[i] = law.kept_stretch(trials[i], limit, stiffness)


def pushed(gaps: np.ndarray) -> tuple[np.ndarray, ...]:
    out = [wp.zeros(len(gaps), dtype=wp.float64, device="cpu") for _ in range(3)]
    inputs = [wp.float64(REACH), wp.float64(STIFFNESS), wp.array(gaps, dtype=wp.float64, device="cpu")]
    wp.launch(push, len(gaps), inputs, out, device="cpu")
    return tuple(each.numpy() for each in out)


def rubbed(trials: np.ndarray, limit: float) -> tuple[np.ndarray, ...]:
    kinds = (wp.float64, wp.vec3d, wp.mat33d, wp.vec3d)
    out = [wp.zeros(len(trials), dtype=kind, device="cpu") for kind in kinds]
    inputs = [wp.float64(limit), wp.float64(STIFFNESS), wp.array(trials, dtype=wp.vec3d, device="cpu")]
    wp.launch(rub, len(trials), inputs, out, device="cpu")
    return tuple(each.numpy() for each in out)


def test_push_is_the_slope_of_its_energy_and_stiffness_that_of_the_push() -> None:
    gaps, step = REACH * np.array([0.02, 0.1, 0.2, 0.3, 0.6, 0.9, 1.2]), 1e-4 * REACH
    (_, force, stiffness), more, less = pushed(gaps), pushed(gaps + step), pushed(gaps - step)
    np.testing.assert_allclose(force, (less[0] - more[0]) / (2 * step), rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(stiffness, (less[1] - more[1]) / (2 * step), rtol=1e-4, atol=1e-9)


def test_push_and_stiffness_have_no_jump_where_the_spring_becomes_a_barrier() -> None:
    edge = 0.25 * REACH
    energy, force, stiffness = pushed(np.array([edge * (1 - 1e-12), edge * (1 + 1e-12)]))
    for value in (energy, force, stiffness):
        assert value[0] == pytest.approx(value[1], rel=1e-9)


def test_nothing_gets_through() -> None:
    energy, force, _ = pushed(np.array([-1e-4, 0.0, 1e-12, 1e-9 * REACH]))
    assert np.isinf(energy[:2]).all()
    assert np.isfinite(force).all()
    assert (force >= 1e3 * STIFFNESS * REACH).all()


def test_single_precision_is_the_same_law() -> None:
    gaps = (REACH * np.linspace(0.01, 1.1, 40)).astype(np.float32)
    out = wp.zeros(len(gaps), dtype=wp.float32, device="cpu")
    given = wp.array(gaps, dtype=wp.float32, device="cpu")
    wp.launch(push_single, len(gaps), [REACH, STIFFNESS, given], [out], device="cpu")
    np.testing.assert_allclose(out.numpy(), pushed(gaps.astype(float))[1], rtol=1e-4, atol=1e-5)


def test_friction_is_the_slope_of_its_energy_whether_it_sticks_or_slides() -> None:
    rng, limit, step = np.random.default_rng(1), 0.5, 1e-8
    trials = rng.normal(size=(20, 3)) * limit / STIFFNESS
    assert 0 < (np.linalg.norm(trials, axis=1) * STIFFNESS > limit).sum() < 20
    _, force, tangent, _ = rubbed(trials, limit)
    for axis in np.eye(3):
        more, less = rubbed(trials + step * axis, limit), rubbed(trials - step * axis, limit)
        np.testing.assert_allclose(force @ axis, (less[0] - more[0]) / (2 * step), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(tangent @ axis, (less[1] - more[1]) / (2 * step), rtol=1e-5, atol=1e-4)


def test_stretch_is_kept_whole_while_it_sticks_and_cut_to_what_friction_holds_where_it_slides() -> None:
    limit = 0.5
    trials = np.array([[1.0, 0.0, 0.0], [0.0, 3.0, 4.0]]) * 0.5 * limit / STIFFNESS
    kept = rubbed(trials, limit)[3]
    np.testing.assert_array_equal(kept[0], trials[0])
    np.testing.assert_allclose(kept[1], trials[1] / 2.5, rtol=1e-12)
    assert not rubbed(trials, 0.0)[3].any()
