"""Lists of neighbours beside a body that moves while most grains do not: none that can touch is missing."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from annelid import coupling
from annelid.core.simulation import Simulation
from annelid.grains.kernels.layout import BUILDS

from .conftest import block, box, dropped


def test_whatever_is_close_is_listed_on_both_sides(device: str) -> None:
    body = block().moved((0.0, 0.0, 0.085))
    body.velocities[:, 2] = -1.0
    simulation = dropped(body, box(side=0.13, depth=0.09), inside="remove", device=device)
    beside_guests = 0
    for _ in range(12):
        simulation.step(13)
        one, other, guests = _close_pairs(simulation)
        beside_guests += guests
        assert _listed(simulation, one, other).all()
        assert _listed(simulation, other, one).all()
    assert beside_guests > 50
    assert simulation.state.grains.flags.numpy()[BUILDS] > 3


def _close_pairs(simulation: Simulation[coupling.Solver]) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows that are closer than a fiftieth of a radius, guests as points, and how many of the pairs have one."""
    bed, parameters = simulation.state.grains, simulation.solver.model.grains.parameters
    count = len(bed.counts)
    places, radii = bed.positions.numpy()[:count, :3], bed.velocities.numpy()[:count, 3]
    guests = bed.names.numpy()[:, 0] >= parameters.first_guest
    one, other = cKDTree(places).query_pairs(2.1 * parameters.radius, output_type="ndarray").T
    gaps = np.linalg.norm(places[one] - places[other], axis=1) - radii[one] - radii[other]
    close = (gaps < 0.02 * parameters.smallest) & ~(guests[one] & guests[other])
    return one[close], other[close], int((guests[one] | guests[other])[close].sum())


def _listed(simulation: Simulation[coupling.Solver], rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether the lists of rows have others in them."""
    bed = simulation.state.grains
    lengths = bed.counts.numpy()[:, 0]
    lists = bed.neighbours.numpy().reshape(len(lengths), -1)
    inside = np.arange(lists.shape[1]) < lengths[rows, None]
    return np.asarray(((lists[rows] == others[:, None]) & inside).any(axis=1))
