"""Solids in motion whose factor is kept over steps: the same motion as with a factor of every matrix."""

from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.core.state import state_hash
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.shapes import Box, Capsule, Rigid, Sphere, Surface, TetMesh, ground, tet_beam

from .bodies import SOFT, block

TIGHT = fem.Settings(1e-9, 60)


def across_a_post(linear: Any = "kept", **options: Any) -> Simulation[fem.Solver]:
    """A beam that falls across a post and bends there."""
    beam = fem.Solid(tet_beam(0.2, 0.03, 0.02, cells=(10, 2, 1)), SOFT, surface=Surface(friction=0.5))
    post = Rigid(Capsule(0.02, 0.1, axis="y"), position=(0.11, 0.0, -0.0325))
    return fem.simulation(beam, obstacles=[post], dt=0.01, device="cpu", threads=1, linear=linear, **options)


def beside_bodies(linear: Any) -> Simulation[fem.Solver]:
    """Two blocks, one on the other, a loose ball on them and the corner of a fixed box below."""
    lower, upper = block().mesh, block((0.05, 0.05, 0.04), at=(0.01, 0.02, 0.046)).mesh
    assert isinstance(lower, TetMesh)
    assert isinstance(upper, TetMesh)
    solid = fem.Solid(lower + upper, SOFT, surface=Surface(friction=0.5))
    loose = Rigid(Sphere(0.01), motion="free", mass=0.02, position=(0.035, 0.045, 0.1))
    wedge = Rigid(Box((0.04, 0.04, 0.04)), position=(0.03, 0.03, -0.024), rotation=(0.2, 0.1, 0.0, 0.97))
    return fem.simulation(
        solid, obstacles=[ground(height=-0.06), loose, wedge], dt=0.01, device="cpu", threads=1, linear=linear,
        settings=TIGHT,
    )  # fmt: skip


def test_it_moves_as_with_a_factor_of_every_matrix() -> None:
    kept, direct = (across_a_post(linear, settings=TIGHT) for linear in ("kept", "direct"))
    for simulation in (kept, direct):
        simulation.step(12)
        assert int(simulation.state.unsettled.numpy()[0]) == 0
    assert np.abs(direct.state.touch.forces.numpy()).max() > 0.01
    np.testing.assert_allclose(kept.positions(), direct.positions(), atol=1e-8)
    assert isinstance(kept.solver.model.linear, KeptFactor)
    assert kept.solver.model.linear.factorings <= 12


def test_bodies_corners_and_pairs_are_added_to_the_factor() -> None:
    kept, direct = beside_bodies("kept"), beside_bodies("direct")
    for simulation in (kept, direct):
        simulation.step(8)
    assert np.abs(direct.solver.readout.own_forces(direct.state)).max() > 0.01
    np.testing.assert_allclose(kept.positions(), direct.positions(), atol=1e-7)
    np.testing.assert_allclose(kept.state.touch.places.numpy(), direct.state.touch.places.numpy(), atol=1e-7)


def test_a_saved_state_goes_on_to_the_bit(tmp_path: Any) -> None:
    first, second = across_a_post(), across_a_post()
    first.step(5)
    first.save(tmp_path / "state")
    first.step(3)
    second.load(tmp_path / "state")
    for _ in range(3):
        second.step()
    assert state_hash(first.state) == state_hash(second.state)


def test_it_is_refused_where_it_is_of_no_use() -> None:
    with pytest.raises(InvalidValue, match="touches nothing"):
        fem.simulation(block(), linear="kept", device="cpu")
    with pytest.raises(InvalidValue, match="in motion"):
        fem.simulation(block(), obstacles=[ground(height=-1.0)], dynamic=False, linear="kept", device="cpu")
