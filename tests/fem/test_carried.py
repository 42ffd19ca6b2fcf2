"""Holds that follow a path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.shapes import Path, Rigid, Sphere, tet_beam

from .solids import bar, rubber

UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def lifted(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Up, ever faster, from a place that does not matter."""
    height = 0.5 * 4.0 * times**2
    return np.column_stack([np.full_like(times, 7.0), 0.0 * times, height]), np.tile(UPRIGHT, (len(times), 1))


def turned(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A quarter of a turn about y in a second, about a point beside the origin."""
    turns = Rotation.from_rotvec(np.outer(0.5 * np.pi * times, (0.0, 1.0, 0.0)))
    return np.tile([0.0, 0.0, 0.5], (len(times), 1)), turns.as_quat()


def carried(path: Path, *, dynamic: bool = True, dt: float = 0.01, **options: object) -> fem.Solver:
    solid = bar().fix(lambda p: p[:, 0] < 1e-9, motion=path)
    return fem.simulation(solid, dynamic=dynamic, dt=dt, gravity=(0.0, 0.0, 0.0), device="cpu", **options)


@pytest.mark.parametrize("integrator", ["backward-euler", "midpoint"])
def test_held_nodes_follow_their_path_in_motion(integrator: fem.Integrator) -> None:
    simulation = carried(lifted, integrator=integrator)
    simulation.run(0.2)
    solid = simulation.solver.model.solid
    held = solid.held.all(axis=1)
    moved = simulation.positions()[held] - solid.nodes[held]
    np.testing.assert_allclose(moved, np.tile([0.0, 0.0, 0.08], (held.sum(), 1)), atol=1e-12)
    middle = {"backward-euler": 0.78, "midpoint": 0.78}[integrator]  # between the beginning and the end of a step
    np.testing.assert_allclose(simulation.velocities()[held][:, 2], middle, atol=0.021)


def test_a_turn_at_rest_turns_the_whole_solid() -> None:
    simulation = carried(turned, dynamic=False, dt=0.1)
    simulation.run(1.0)
    nodes = simulation.solver.model.solid.nodes
    about = np.array([0.0, 0.0, 0.5])
    expected = Rotation.from_rotvec([0.0, 0.5 * np.pi, 0.0]).apply(nodes - about) + about
    np.testing.assert_allclose(simulation.positions(), expected, atol=1e-6)


def test_a_run_that_is_saved_in_the_middle_goes_on_to_the_bit(tmp_path) -> None:
    whole, first, second = carried(lifted), carried(lifted), carried(lifted)
    whole.run(0.1)
    first.run(0.05)
    first.save(tmp_path / "middle.npz")
    second.load(tmp_path / "middle.npz")
    second.run(0.05)
    assert second.state_hash() == whole.state_hash()


def test_a_world_that_begins_again_is_carried_from_the_beginning() -> None:
    simulation = carried(lifted, worlds=2)
    simulation.run(0.05)
    simulation.reset([1])
    simulation.run(0.05)
    alone = carried(lifted)
    alone.run(0.05)
    np.testing.assert_array_equal(np.split(simulation.positions(), 2)[1], alone.positions())


def test_a_carried_solid_pushes_a_free_ball() -> None:
    solid = fem.Solid(tet_beam(0.04, 0.04, 0.02, cells=(2, 2, 1)), rubber(0.3, 1e5))
    top = solid.nodes[:, 2].max()
    push = lambda times: (np.outer(times, (0.0, 0.0, 0.2)), np.tile(UPRIGHT, (len(times), 1)))  # noqa: E731
    solid.fix(lambda p: p[:, 2] < solid.nodes[:, 2].min() + 1e-9, motion=push)
    middle = solid.nodes.mean(axis=0)
    ball = Rigid(Sphere(0.01), motion="free", mass=0.01, position=(middle[0], middle[1], top + 0.013), name="ball")
    simulation = fem.simulation(solid, obstacles=[ball], gravity=(0.0, 0.0, 0.0), dt=0.005, device="cpu")
    simulation.run(0.1)
    assert simulation.state.touch.velocities.numpy()[0, 2] > 0.19
    assert simulation.state.touch.places.numpy()[0, 2] > simulation.positions()[:, 2].max() + 0.01


def test_a_later_hold_replaces_a_motion_where_they_meet() -> None:
    solid = bar().fix(lambda p: p[:, 0] < 1e-9, motion=lifted)
    solid.fix(lambda p: p[:, 0] < 1e-9, axes="z")
    assert [one.columns.tolist() for one in solid.carried] == [[0, 1]]
    assert not solid.copy().release().carried
    assert solid.carried


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"motion of a hold must be a path.*'up'"):
        bar().fix(None, motion="up")
    with pytest.raises(InvalidValue, match=r"path of a hold must give positions of shape \[k, 3\]"):
        bar().fix(None, motion=lambda times: (times, times))
    with pytest.raises(InvalidValue, match=r"fem\.Robot is held where it is"):
        fem.Robot(bar().fix(lambda p: p[:, 0] < 1e-9, motion=lifted), [])
    with pytest.raises(InvalidValue, match="holds of the solid follow a path"):
        carried(lifted, worlds=2, together=True)
