"""Bodies that one network steers to lights: bodies as they are drawn and placed, and the gradient by the weights."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from scipy import ndimage

from annelid import voxels3d
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.voxels3d.codesign.batch import MUSCLE, SIDE, Ground
from annelid.voxels3d.codesign.bodies import BOX, FEWEST, child, diversity, key, mutant, random_bodies, settled
from annelid.voxels3d.codesign.network import Network, random_weights
from annelid.voxels3d.codesign.seekers import Seekers

HIDDEN = (6, 5)


def test_random_bodies_are_in_one_part_on_the_ground_and_in_the_middle() -> None:
    grids = random_bodies(np.random.default_rng(0), 200)
    assert grids.shape == (200, *BOX)
    assert grids.sum(axis=(1, 2, 3)).min() >= FEWEST
    assert all(ndimage.label(grid)[1] == 1 for grid in grids)
    assert grids[:, :, :, 0].any(axis=(1, 2)).all()
    middles = np.array([0.5 * (np.argwhere(grid).min(axis=0) + np.argwhere(grid).max(axis=0))[:2] for grid in grids])
    assert (np.abs(middles - 2.5) <= 0.5).all()
    np.testing.assert_array_equal(settled(grids), grids)
    np.testing.assert_array_equal(random_bodies(np.random.default_rng(0), 200), grids)


def test_mutants_and_children_are_new_bodies() -> None:
    rng = np.random.default_rng(1)
    one, other = random_bodies(rng, 2)
    for made in (mutant(rng, one), child(rng, one, other), child(rng, one, one)):
        assert key(made) != key(one)
        assert ndimage.label(made)[1] == 1
    turned = settled(np.rot90(one)[::-1][None])[0]
    assert key(turned) == key(one) != key(other)
    assert diversity(np.array([one, one])) == 0.0
    assert diversity(np.array([one, other])) == (one ^ other).sum()


def test_bodies_are_placed_as_a_model_would() -> None:
    cpu, grids = choose_device("cpu"), random_bodies(np.random.default_rng(2), 3)
    bodies = Ground(cpu).place(grids).bodies
    robots = [voxels3d.Robot(np.where(grid, 0, -1), (MUSCLE,), SIDE) for grid in grids]
    tables = voxels3d.Model(robots, voxels3d.World(dt=0.004), cpu).tables
    for mine, theirs in (
        (bodies.tables.next, tables.next), (bodies.tables.before, tables.before),
        (bodies.tables.begins, tables.begins), (bodies.tables.world_of, tables.world_of),
    ):  # fmt: skip
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    np.testing.assert_array_equal(bodies.tables.row_of_link.numpy() < 0, tables.row_of_link.numpy() < 0)
    places, first = bodies.tables.places.numpy(), bodies.first
    for world in range(3):
        part = slice(first[world], first[world + 1])
        np.testing.assert_allclose(places[part][:, :2].mean(axis=0), 0.0, atol=1e-12)
        assert places[part][:, 2].min() == pytest.approx(0.5 * SIDE)
        np.testing.assert_allclose(
            np.diff(places[part], axis=0), np.diff(tables.places.numpy()[part], axis=0), atol=1e-12
        )


def seekers(device: str, *, keep: bool = True) -> tuple[Seekers, Ground]:
    ground = Ground(choose_device(device), "float64")
    grids = random_bodies(np.random.default_rng(4), 3)
    lights = np.array([[0.5, 0.2], [-1.0, 1.0], [0.1, -0.7]])
    return Seekers(ground, grids, lights, intervals=30, every=5, threads=1, keep=keep), ground


def test_rates_by_weights_agree_with_central_differences(device: str) -> None:
    """Through the network, what voxels sense, links, the floor and friction."""
    walk, ground = seekers(device)
    rng = np.random.default_rng(5)
    weights = 1.5 * random_weights(rng, HIDDEN)

    def loss(changed: np.ndarray) -> float:
        return float(walk.run(Network(changed, HIDDEN, ground.device, wp.float64)).mean())

    losses, rates = walk.gradient(Network(weights, HIDDEN, ground.device, wp.float64))
    assert losses.shape == (3,)
    _, clipped = walk.gradient(Network(weights, HIDDEN, ground.device, wp.float64), clip=1e-3)
    assert np.linalg.norm(clipped) < 0.01 * np.linalg.norm(rates)
    along = rng.standard_normal(weights.shape)
    differences = [(loss(weights + h * along) - loss(weights - h * along)) / (2.0 * h) for h in (1e-5, 1e-6)]
    assert min(abs(each - rates @ along) for each in differences) < 1e-6 * abs(rates @ along)


def test_a_walk_that_is_not_kept_is_the_same(device: str) -> None:
    weights, found = random_weights(np.random.default_rng(6), HIDDEN), []
    for keep in (True, False):
        walk, ground = seekers(device, keep=keep)
        found.append(walk.run(Network(weights, HIDDEN, ground.device, wp.float64)))
    np.testing.assert_array_equal(*found)


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidValue, match="this network has 161 weights, not"):
        Network(np.zeros(7), HIDDEN, choose_device("cpu"), wp.float64)
