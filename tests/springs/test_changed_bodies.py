"""Bodies that were edited or have broken: saving, loading and going back to the beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.archives import read_archive, write_archive
from annelid.core.checkpoint import KIND
from annelid.core.errors import AnnelidError, FileFormatError
from annelid.core.simulation import Simulation
from annelid.shapes import Box


def _body(breaking: bool = True) -> springs.Body:
    body = springs.lattice(Box((0.06, 0.03, 0.03)), 0.01, "pdms")
    velocities = np.zeros_like(body.positions)
    velocities[:, 0] = 40.0 * (body.positions[:, 0] - body.positions[:, 0].mean()) / 0.03
    body.velocities[:] = velocities
    if breaking:
        body.yield_strains[:] = np.linspace(0.05, 0.5, body.spring_count)
    return body


def _simulate(device: str, **options: Any) -> Simulation[springs.Solver]:
    return springs.simulation(_body(), dt=2e-5, prepare=("damping",), device=device, **options)


def _edit(simulation: Simulation[springs.Solver], seed: int) -> None:
    """A random edit: masses and springs come, springs go and change."""
    chance = np.random.default_rng(seed)
    network = simulation.solver.model.network
    masses = np.flatnonzero(network.masses.alive[: network.masses.used])
    chosen = chance.choice(network.live_springs(), 12, replace=False)
    with simulation.edit() as edit:
        new = edit.add_masses(chance.uniform((0.0, 0.0, 0.05), (0.05, 0.05, 0.1), (5, 3)), 1e-4)
        to = chance.choice(masses, 5, replace=False)
        edit.add_springs(new, to, stiffness=chance.uniform(5.0, 50.0, 5), damping=1e-3, yield_strains=0.4)
        edit.change_masses(to, forces=chance.normal(size=(5, 3)) * 1e-3)
    with simulation.edit() as edit:
        edit.remove_springs(chosen[:6])
        edit.change_springs(chosen[6:], stiffness=20.0)


@pytest.mark.parametrize("options", [{}, {"integrator": "verlet"}], ids=["symplectic", "verlet"])
def test_a_body_that_breaks_and_is_edited_is_saved_whole(device: str, tmp_path: Path, options: dict[str, Any]) -> None:
    """Break, edit, break, save: a fresh simulation that loads this goes on to the bit, edits included."""
    one = _simulate(device, **options)
    one.step(60)
    _edit(one, 0)
    one.step(60)
    assert len(one.events) >= 2
    one.save(tmp_path / "middle.npz")
    other = _simulate(device, **options)
    other.load(tmp_path / "middle.npz")
    assert other.solver.model.spring_count == one.solver.model.spring_count
    for simulation in (one, other):
        simulation.events.clear()
        simulation.step(60)
    assert other.state_hash() == one.state_hash()
    broken = [sorted(i for event in s.events for i in event.detail.index.tolist()) for s in (one, other)]
    assert broken[0] == broken[1] != []
    for simulation in (one, other):
        _edit(simulation, 1)
        simulation.step(60)
        simulation.solver.model.network.verify()
    assert other.state_hash() == one.state_hash()
    assert other.summary().elastic == one.summary().elastic


def test_going_back_undoes_edits_and_breaks(device: str, tmp_path: Path) -> None:
    """Reset, and loading a checkpoint from before the edits, give the body back as it was built."""
    simulation = _simulate(device)
    simulation.save(tmp_path / "begin.npz")
    begin, springs_then = simulation.state_hash(), simulation.solver.model.spring_count
    simulation.step(80)
    plain = simulation.state_hash()
    for back in (simulation.reset, lambda: simulation.load(tmp_path / "begin.npz")):
        _edit(simulation, 3)
        simulation.step(20)
        back()
        assert simulation.state_hash() == begin
        assert simulation.solver.model.spring_count == springs_then
        assert len(simulation.positions()) == simulation.solver.model.body.mass_count
        simulation.step(80)
        assert simulation.state_hash() == plain


@pytest.mark.parametrize("name", ["row_of", "starts", "ends", "springs.free", "mass", "spare", "offsets", "counters"])
def test_a_damaged_network_is_refused_and_nothing_changes(device: str, tmp_path: Path, name: str) -> None:
    """Whatever array of the network points outside, the file is refused in one sentence."""
    simulation = _simulate(device)
    simulation.step(60)
    _edit(simulation, 5)
    path = tmp_path / "edited.npz"
    simulation.save(path)
    _damage(path, name)
    simulation.step(20)
    before = simulation.state_hash()
    with pytest.raises(FileFormatError, match="damaged"):
        simulation.load(path)
    assert simulation.state_hash() == before
    simulation.solver.model.network.verify()


def test_an_edited_checkpoint_of_another_body_is_refused(device: str, tmp_path: Path) -> None:
    """The identity is that of the body as it was built."""
    simulation = _simulate(device)
    _edit(simulation, 5)
    simulation.save(tmp_path / "edited.npz")
    other = springs.simulation(_body(breaking=False).moved((0.0, 0.0, 1.0)), dt=2e-5, device=device)
    with pytest.raises(AnnelidError):
        other.load(tmp_path / "edited.npz")


def _damage(path: Path, name: str) -> None:
    """Write nonsense with a valid checksum."""
    header, arrays = read_archive(path, KIND)
    arrays[f"changes/{name}"][...] = -7 if name == "mass" else 2**30
    write_archive(path, KIND, header, arrays)


def test_a_body_that_grows_between_checkpoints_can_be_loaded_from_each(device: str, tmp_path: Path) -> None:
    """What is loaded has more room on the device than it had when it was saved, and uses it."""
    simulation, other = (springs.simulation(springs.block((3, 3, 3)), device=device) for _ in range(2))
    for number in range(12):
        for _ in range(5):
            with simulation.edit() as edit:
                new = edit.add_masses([[0.0, 0.0, 2.0 + 0.1 * number]], 0.1)
                edit.add_springs(new, [number], stiffness=1.0)
        path = tmp_path / f"{number}.npz"
        simulation.save(path)
        other.load(path)
        simulation.step(3)
        other.step(3)
        assert other.state_hash() == simulation.state_hash()
        simulation.load(path)


def test_a_body_that_is_changed_afterwards_is_none_of_the_simulation(device: str) -> None:
    """Edits are undone to the body as it was built, and a copy, which would be of another body, is refused."""
    body = springs.block((3, 3, 3))
    simulation = springs.simulation(body, device=device)
    masses = body.masses.copy()
    body.masses *= 2.0
    with simulation.edit() as edit:
        edit.add_masses([[0.0, 0.0, 2.0]], 0.1)
    simulation.reset()
    np.testing.assert_array_equal(simulation.solver.model.masses, masses)
    with pytest.raises(AnnelidError, match="was changed afterwards"):
        simulation.clone()
