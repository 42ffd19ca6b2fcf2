"""Topology optimisation on two load cases, against random removals of equal mass."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.scenes.cantilever_topology import CantileverTopology
from annelid.springs.topology import Optimiser


def compliance(body, bars):
    """Work of the load on the small displacement that it causes in the structure with these bars."""
    ends = body.springs[bars]
    along = body.positions[ends[:, 1]] - body.positions[ends[:, 0]]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    column = np.concatenate([-along, along], axis=1)  # stretch of a bar per displacement of its two ends
    where = (3 * np.repeat(ends, 3, axis=1) + np.tile(np.arange(3), 2)).ravel()
    stretch = sparse.csr_array(
        (column.ravel(), (np.repeat(np.arange(len(ends)), 6), where)), shape=(len(ends), 3 * body.mass_count)
    )
    matrix = (stretch.T @ sparse.diags_array(body.stiffness[bars]) @ stretch).tocsc()
    free = np.repeat(~body.fixed, 3)
    matrix = matrix[free][:, free]
    matrix = matrix + 1e-7 * matrix.diagonal().max() * sparse.eye_array(matrix.shape[0])  # masses that nothing holds
    load = body.forces.ravel()[free]
    return float(load @ spsolve(matrix.tocsc(), load))


@pytest.mark.parametrize("load", ["cantilever", "bridge"])
def test_sixty_per_cent_of_the_mass_keep_the_stiffness(load):
    scene = CantileverTopology(load=load)
    simulation = scene.build(device="cpu")
    simulation.run(scene.duration)
    optimiser = simulation.attachments["optimiser"]
    simulation.solver.model.network.verify()
    assert optimiser.mass <= 0.6
    body, bars = scene.body(), optimiser.bars
    whole = compliance(body, np.ones(body.spring_count, bool))
    stiffness = whole / compliance(body, bars)
    assert stiffness >= 0.85
    assert optimiser.stiffness >= 0.85
    random, mass = np.random.default_rng(0), body.rest_lengths
    for _ in range(4):
        order = random.permutation(body.spring_count)
        kept = np.zeros(body.spring_count, bool)
        kept[order[np.cumsum(mass[order]) <= mass[bars].sum()]] = True
        assert whole / compliance(body, kept) < stiffness


def test_a_structure_without_load_or_support_is_refused():
    body = springs.block((3, 3, 3))
    with pytest.raises(InvalidValue, match="load"):
        Optimiser(springs.simulation(body, device="cpu"))
    body.fix(np.array([0])).push(np.array([26]), (1, 0, 0))
    with pytest.raises(InvalidValue, match="target"):
        Optimiser(springs.simulation(body, device="cpu"), target=1.5)
    wrong: Any = "no"
    with pytest.raises(InvalidValue, match="the mass target must be between 0 and 1, not 'no'"):
        Optimiser(springs.simulation(body, device="cpu"), target=wrong)
    with pytest.raises(InvalidValue, match="what is optimised must be a simulation of springs, not str"):
        Optimiser(wrong)
