"""Topology optimisation on two load cases, against random removals of equal mass."""

import dataclasses

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.scenes.cantilever_topology import CantileverTopology
from annelid.springs.equilibrium import equilibrium
from annelid.springs.topology import Optimiser

SPRING_ARRAYS = (
    "springs", "rest_lengths", "stiffness", "damping", "diameters", "yield_strains", "spring_materials",
    "signal_kinds", "signal_parameters",
)  # fmt: skip


def compliance(body, bars):
    """Work of the load on the displacement in the exact equilibrium of the structure with these bars."""
    kept = dataclasses.replace(body.copy(), **{name: getattr(body, name)[bars] for name in SPRING_ARRAYS})
    held = np.bincount(kept.springs.ravel(), minlength=kept.mass_count) > 0
    kept.fix(~held)
    moved = equilibrium(kept, gravity=(0.0, 0.0, 0.0)) - body.positions
    return float((body.forces * moved).sum())


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
    assert stiffness == pytest.approx(optimiser.stiffness, abs=0.03)
    random, mass = np.random.default_rng(0), body.rest_lengths
    for _ in range(10):
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
