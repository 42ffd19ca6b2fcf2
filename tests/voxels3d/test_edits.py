"""Edits of running robots: cut, add, attach, detach; refused as a whole; saved, loaded and reset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.snapshot import Look


def floating(*robots: voxels3d.Robot, positions: Any = None, collisions: Any = "all") -> Any:
    return voxels3d.simulation(
        list(robots), gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1,
        collisions=collisions, positions=positions,
    )  # fmt: skip


def bar(length: int = 4, **options: Any) -> voxels3d.Robot:
    return voxels3d.Robot(np.zeros((length, 1, 1), int), (voxels3d.Voxel(global_damping=0.0),), **options)


def test_cut_and_added_voxels_move_with_the_others(tmp_path: Path) -> None:
    pulled = bar(6).fix(lambda x, y, z: x == 0).push(lambda x, y, z: x >= 4, force=(0.02, 0.0, 0.0))
    simulation = floating(pulled)
    simulation.run(0.2)
    before = simulation.positions()
    with simulation.edit() as edit:
        edit.cut(lambda x, y, z: x == 5)
        edit.add([(4, 0, 1), (4, 0, 2)])
    assert len(simulation.positions()) == 7
    np.testing.assert_array_equal(simulation.positions()[:5], before[:5])
    assert simulation.positions()[6] - before[4] == pytest.approx([0.0, 0.0, 0.02])
    simulation.save(tmp_path / "edited.npz")
    simulation.run(0.2)
    middle = simulation.solver.readout.displacements(simulation.state)[3, 0]
    assert middle == pytest.approx(3 * 0.01 * 0.01 / (1e5 * 1e-4), rel=0.05)  # half of the load is gone with its voxel
    goal = simulation.state_hash()
    other = floating(pulled)
    other.load(tmp_path / "edited.npz")
    other.run(0.2)
    assert other.state_hash() == goal
    assert other.snapshot(Look()).parts
    other.reset()
    other.run(0.2)
    np.testing.assert_array_equal(other.positions(), before)


def test_detached_voxels_part_and_bonds_hold() -> None:
    simulation = floating(bar().push(lambda x, y, z: x == 3, force=(0.01, 0.0, 0.0)), collisions="none")
    with simulation.edit() as edit:
        edit.detach((1, 0, 0), (2, 0, 0))
    simulation.run(0.05)
    assert simulation.solver.readout.velocities(simulation.state)[:2] == pytest.approx(0.0)
    assert simulation.solver.readout.velocities(simulation.state)[2:, 0].min() > 0.1
    with simulation.edit() as edit:
        edit.attach((1, 0, 0), (2, 0, 0), rise=0.01)
    simulation.run(0.3)
    x = simulation.positions()
    assert x[2, 0] - x[1, 0] == pytest.approx(0.01, rel=0.05)
    assert simulation.solver.readout.velocities(simulation.state)[0, 0] > 0.1
    with simulation.edit() as edit:
        edit.detach((2, 0, 0), (1, 0, 0))
    simulation.run(0.1)
    assert simulation.positions()[2, 0] - simulation.positions()[1, 0] > 0.012


def test_a_voxel_in_the_cell_of_one_that_was_cut_has_links_and_no_bonds() -> None:
    simulation = floating(bar())
    with simulation.edit() as edit:
        edit.attach((0, 0, 0), (2, 0, 0))
        edit.detach((0, 0, 0), (1, 0, 0))
    with simulation.edit() as edit:
        edit.cut(lambda x, y, z: x == 0)
    with simulation.edit() as edit:
        edit.add([(0, 0, 0)])
    assert len(simulation.solver.readout.links) == 3
    assert len(simulation.solver.model.changed.bonds) == 0


def test_turned_robots_are_attached_as_they_stand_and_keep_both_momenta() -> None:
    simulation = floating(bar(3), bar(3), positions=[(0.0, 0.0, 0.0), (0.0, 0.0, 0.03)])
    spins, velocities = simulation.state.spins.numpy(), simulation.state.velocities.numpy()
    spins[3:] = (0.0, 0.0, 20.0)
    velocities[3:] = np.cross([0.0, 0.0, 20.0], simulation.positions()[3:] - simulation.positions()[4])
    simulation.state.spins.assign(spins)
    simulation.state.velocities.assign(velocities)
    simulation.run(0.02)
    with simulation.edit() as edit:
        edit.attach((1, 0, 0), (1, 0, 0), robots=(0, 1))
    bonded = simulation.summary()
    simulation.run(0.2)
    after = simulation.summary()
    assert after.momentum == pytest.approx(bonded.momentum, abs=1e-14)
    assert after.angular_momentum == pytest.approx(bonded.angular_momentum, abs=1e-15)
    x = simulation.positions()
    assert np.linalg.norm(x[4] - x[1]) == pytest.approx(0.01, rel=0.2)
    turned = simulation.solver.readout.rotations(simulation.state)
    assert (turned[4] * turned[1].inv()).magnitude() == pytest.approx(0.4, abs=0.1)  # as when they were attached


def test_what_cannot_be_is_refused_as_a_whole() -> None:
    simulation = floating(bar())
    goal = simulation.state_hash()
    cases: list[tuple[str, Any]] = [
        ("share a face", lambda e: e.add([(7, 0, 0)])),
        ("before the grid", lambda e: e.add([(0, -1, 0)])),
        ("has a voxel already", lambda e: e.add([(1, 0, 0)])),
        ("no material 4", lambda e: e.add([(4, 0, 0)], material=4)),
        ("no 'force'", lambda e: e.add([(4, 0, 0)], force=1.0)),
        ("no voxels left", lambda e: e.cut(lambda x, y, z: x >= 0)),
        (r"no voxel in cell \(4, 0, 0\)", lambda e: e.cut([(2, 0, 0), (4, 0, 0)])),
        (r"\[k, 3\] of its voxels, not by int64 values of shape \[2\]", lambda e: e.cut([2, 3])),
        ("no robot 2", lambda e: e.cut(lambda x, y, z: x >= 0, robot=2)),
        ("joined already", lambda e: e.attach((0, 0, 0), (1, 0, 0))),
        ("not joined", lambda e: e.detach((0, 0, 0), (2, 0, 0))),
        ("no voxel in cell", lambda e: e.detach((0, 0, 0), (0, 1, 0))),
        ("to itself|one place", lambda e: e.attach((0, 0, 0), (0, 0, 0))),
        ("three whole numbers", lambda e: e.attach((0, 0), (1, 0, 0))),
        ("detached from all others", lambda e: (e.add([(0, 1, 0)]), e.detach((0, 0, 0), (0, 1, 0)))),
    ]

    def edited(ask: Any) -> None:
        with simulation.edit() as edit:
            edit.cut(lambda x, y, z: x == 3)
            ask(edit)

    for message, ask in cases:
        with pytest.raises(InvalidValue, match=message):
            edited(ask)
    assert simulation.state_hash() == goal
    assert len(simulation.positions()) == 4
    state = {"displacements": np.zeros((4, 3))}
    for numbers in (
        np.zeros((1, 3), np.int64),
        np.full((1, 10), 7),
        np.array([[1, 0, *[2**63 - 1] * 3, 0, 0, 0, 0, 0]]),
    ):
        with pytest.raises(FileFormatError, match="damaged"):
            simulation.solver.restore_changes({"edit_numbers": numbers, "edit_values": np.zeros((1, 8))}, state)
    with simulation.edit() as late:
        late.cut([(3, 0, 0), (2, 0, 0)])
    assert len(simulation.positions()) == 2
    with pytest.raises(AnnelidError, match="over"):
        late.cut(lambda x, y, z: x == 3)
