"""Anderson's acceleration: steps of a linear iteration become exact once as many ways are known as it has speeds."""

import numpy as np
import warp as wp

from annelid.fem.contact.anderson import Anderson


def test_an_iteration_of_three_speeds_ends_after_three_differences() -> None:
    device, count = wp.get_device("cpu"), 50
    goal = np.random.default_rng(0).normal(size=(count, 3))
    speeds = np.array([0.5, 0.7, 0.9])  # along x, y and z: so much of the way a plain step goes
    places, acceleration = np.zeros((count, 3)), Anderson(count, device)
    step = wp.zeros(count, dtype=wp.vec3d, device=device)
    for number in range(4):
        step.assign(speeds * (goal - places))
        plain = step.numpy().copy()
        improved = acceleration.improve(wp.array(places, dtype=wp.vec3d, device=device), step)
        assert improved == (number > 0)
        if improved and acceleration.taken:
            np.testing.assert_array_equal(acceleration.plain.numpy(), plain)
        places = places + step.numpy()
    np.testing.assert_allclose(places, goal, atol=1e-5)


def test_it_forgets() -> None:
    device = wp.get_device("cpu")
    acceleration, here = Anderson(4, device), wp.zeros(4, dtype=wp.vec3d, device=device)
    step = wp.array(np.ones((4, 3)), dtype=wp.vec3d, device=device)
    acceleration.improve(here, step)
    acceleration.forget()
    assert not acceleration.improve(here, step)
    np.testing.assert_array_equal(step.numpy(), 1.0)
