"""The assembly against a plain sum of dense element matrices, for any number of threads."""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.device import device as choose_device
from annelid.core.replay import Crew
from annelid.fem.assembly import Assembly

from .solids import bar, shaken


class Filled(fem.ElementSet):
    """Elements with given forces and tangents."""

    def __init__(self, nodes: np.ndarray, device: wp.Device, seed: int) -> None:
        super().__init__(nodes, device)
        rng = np.random.default_rng(seed)
        count, width = nodes.shape
        half = rng.standard_normal((count, width, width, 3, 3))
        self.dense = half + half.transpose(0, 2, 1, 4, 3)
        self.push = rng.standard_normal((count, width, 3))
        self.share = rng.standard_normal(count)

    def evaluate(self, positions: wp.array, *, tangent: bool = True) -> None:
        self.forces.assign(self.push)
        self.energy.assign(self.share)
        self.tangent.assign(self.dense)


def test_sum_of_sets_with_unused_places(device: str) -> None:
    chosen = choose_device(device)
    first = np.array([[0, 3, 1], [4, 2, 3], [5, 1, -1]])
    second = np.array([[5, 0], [2, 2], [-1, 4]])
    sets = [Filled(nodes, chosen, seed) for seed, nodes in enumerate((first, second))]
    assembly = Assembly(7, sets, Crew(chosen, 1))
    assembly.evaluate(wp.zeros(7, dtype=wp.vec3d, device=chosen))
    matrix, force = np.zeros((7, 3, 7, 3)), np.zeros((7, 3))
    for each in sets:
        for e, nodes in enumerate(each.nodes):
            for a, i in enumerate(nodes):
                if i < 0:
                    continue
                force[i] += each.push[e, a]
                for b, j in enumerate(nodes):
                    if j >= 0 and not (each is sets[1] and e == 1 and a > b):  # a pair of one node counts once
                        matrix[i, :, j] += each.dense[e, a, b]
    np.testing.assert_allclose(assembly.forces.numpy(), force, atol=1e-14)
    twice = assembly.matrix().toarray()
    expected = matrix.reshape(21, 21)
    keep = np.repeat(np.arange(7) != 2, 3)  # the node that an element names twice has no meaning
    np.testing.assert_allclose(twice[np.ix_(keep, keep)], expected[np.ix_(keep, keep)], atol=1e-14)
    assert float(assembly.energy.numpy()[0]) == sum(float(each.share.sum()) for each in sets)


def test_product_with_vectors(device: str) -> None:
    model = fem.Model(bar((3, 2, 1)), device=device, threads=1)
    model.assembly.evaluate(model.vectors(shaken(model.solid, 0.01)))
    vectors = np.random.default_rng(0).standard_normal((model.node_count, 4, 3))
    given = wp.array(vectors, dtype=wp.vec3d, device=model.device)
    out = wp.empty_like(given)
    model.assembly.multiply(given, out)
    expected = model.assembly.matrix() @ vectors.transpose(0, 2, 1).reshape(-1, 4)
    np.testing.assert_allclose(out.numpy().transpose(0, 2, 1).reshape(-1, 4), expected, rtol=1e-12, atol=1e-6)


def test_threads_do_not_change_a_bit() -> None:
    solid = bar((20, 4, 4), volume="mean")
    results = []
    for threads in (1, 2, 3):
        model = fem.Model(solid, device="cpu", threads=threads)
        model.assembly.evaluate(model.vectors(shaken(solid, 0.002)))
        parts = (model.assembly.forces, model.assembly.values, model.assembly.energy)
        results.append(b"".join(part.numpy().tobytes() for part in parts))
    assert results[0] == results[1] == results[2]
