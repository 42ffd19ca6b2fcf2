"""Edits of a running network."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid import springs
from annelid.benches.edits import stress
from annelid.core.errors import IndicesAreSlots, InvalidValue, StaleHandle
from annelid.springs import graves, pairs

SPRING_ARRAYS = (
    "springs", "rest_lengths", "stiffness", "damping", "diameters", "yield_strains", "spring_materials",
    "signal_kinds", "signal_parameters",
)  # fmt: skip


def shaken_block(nodes=(5, 5, 5)):
    body = springs.block(nodes)
    body.velocities = np.random.default_rng(0).normal(size=body.velocities.shape)
    return body


def without(body, removed):
    keep = np.ones(body.spring_count, bool)
    keep[removed] = False
    return dataclasses.replace(body.copy(), **{name: getattr(body, name)[keep] for name in SPRING_ARRAYS})


def remove_a_held_mass(simulation):
    with simulation.edit() as edit:
        edit.remove_springs(np.array([0, 1]))
        edit.add_masses([[1, 1, 1]], 1.0)
        edit.remove_masses(np.array([4]))


def stumble(simulation):
    with simulation.edit() as edit:
        edit.add_springs(np.array([0]), np.array([26]), stiffness=1.0)
        _ = 1 / 0


def test_removed_springs_act_as_if_they_had_never_been(device):
    body, removed = shaken_block(), np.arange(0, 1000, 7)
    edited = springs.simulation(body, device=device)
    with edited.edit() as edit:
        edit.remove_springs(removed)
    rebuilt = springs.simulation(without(body, removed), device=device)
    edited.step(300)
    rebuilt.step(300)
    assert edited.state_hash() == rebuilt.state_hash()
    edited.solver.model.network.verify()


def test_springs_taken_out_and_put_back_leave_no_trace(device):
    body, chosen = shaken_block(), np.arange(3, 1000, 11)
    plain, edited = (springs.simulation(body, device=device) for _ in range(2))
    with edited.edit() as edit:
        edit.remove_springs(chosen)
    with edited.edit() as edit:
        ends = body.springs[chosen]
        edit.add_springs(
            ends[:, 0], ends[:, 1], stiffness=body.stiffness[chosen], rest_lengths=body.rest_lengths[chosen]
        )
    plain.step(200)
    edited.step(200)
    assert plain.state_hash() == edited.state_hash()


def test_a_changed_spring_pulls_with_its_new_constants(device):
    pair = springs.Body(
        positions=[[0, 0, 0], [1, 0, 0]], masses=[1, 1], springs=[[0, 1]], rest_lengths=[1.0], stiffness=[100.0]
    ).fix(np.array([0]))
    simulation = springs.simulation(pair, device=device, gravity=(0, 0, 0), velocity_damping=20.0)
    with simulation.edit() as edit:
        edit.change_springs(np.array([0]), rest_lengths=0.5, stiffness=200.0)
    simulation.run(1.5)
    assert simulation.state.positions.numpy()[1, 0] == pytest.approx(0.5, abs=1e-3)


def test_added_masses_hang_from_added_springs(device):
    simulation = springs.simulation(springs.block((3, 3, 3)).fix(), device=device, velocity_damping=10.0)
    with simulation.edit() as edit:
        mass = edit.add_masses([[0.1, 0.1, -0.5]], 0.2)
        spring = edit.add_springs(mass, np.array([13]), stiffness=50.0)
    simulation.run(3.0)
    stretch = -0.5 - simulation.state.positions.numpy()[mass.index[0], 2]
    assert stretch == pytest.approx(0.2 * 9.81 / 50.0, rel=0.01)
    assert simulation.solver.model.network.spring_values(spring)["rest_lengths"] == pytest.approx([0.6])


def test_capacity_grows_with_many_masses(device):
    simulation = springs.simulation(springs.block((2, 2, 2)), device=device, gravity=(0, 0, 0))
    chain = None
    for number in range(40):
        with simulation.edit() as edit:
            new = edit.add_masses([[0.1 * number, 5.0, 0.0]], 0.1)
            if chain is not None:
                edit.add_springs(chain, new, stiffness=10.0)
        chain = new
        simulation.step(2)
    simulation.solver.model.network.verify()
    assert simulation.solver.model.network.masses.live_count == 48
    assert np.isfinite(simulation.state.positions.numpy()).all()


def test_momentum_is_conserved_through_edits(device):
    body = shaken_block()
    simulation = springs.simulation(body, device=device, gravity=(0, 0, 0), precision="float64")
    before = simulation.summary().momentum
    for start in range(5):
        with simulation.edit() as edit:
            edit.remove_springs(np.arange(start, 1000, 50))
        simulation.step(50)
    assert np.allclose(simulation.summary().momentum, before, atol=1e-12)


def test_stale_handles_are_refused_but_still_answer(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    network = simulation.solver.model.network
    handle = network.springs.handles(np.array([5]))
    values = network.spring_values(handle)
    with simulation.edit() as edit:
        edit.remove_springs(handle)
    with pytest.raises(StaleHandle, match="spring 5"), simulation.edit() as edit:
        edit.remove_springs(handle)
    with simulation.edit() as edit:  # the slot is taken again
        edit.add_springs(np.array([0]), np.array([26]), stiffness=1.0)
    again = network.spring_values(handle)
    assert not again["alive"][0]
    assert np.array_equal(again["ends"], values["ends"])
    assert np.array_equal(again["stiffness"], values["stiffness"])
    simulation.step(5)
    network.verify()


def test_what_an_edit_adds_it_may_remove_again(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    for _ in range(3):
        with simulation.edit() as edit:
            masses = edit.add_masses([[0.0, 0.0, 2.0], [0.0, 0.0, 3.0]], 0.1)
            edit.remove_masses(masses[0])
    network = simulation.solver.model.network
    assert network.masses.live_count == 30
    simulation.step(2)
    network.verify()
    assert len(simulation.positions()) == 30


def test_springs_that_an_edit_adds_it_may_change_and_remove(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    network, ends = simulation.solver.model.network, (np.array([0, 1]), np.array([26, 25]))
    for _ in range(3):  # in new slots, then in those of removed ones
        with simulation.edit() as edit:
            kept = edit.add_springs(*ends, stiffness=5.0, rest_lengths=0.3)
            edit.change_springs(kept, stiffness=3.0)
            edit.change_springs(kept[1], rest_lengths=0.4)
            gone = edit.add_springs(*ends, stiffness=7.0)
            edit.remove_springs(gone)
        network.verify()
        values = network.spring_values(kept)
        assert values["stiffness"] == pytest.approx(3.0)
        assert values["rest_lengths"] == pytest.approx([0.3, 0.4])
        assert network.spring_values(gone)["stiffness"] == pytest.approx(7.0)
        assert network.springs.live_count == 160
        with simulation.edit() as edit:
            edit.remove_springs(kept)
        simulation.step(2)


def test_a_mass_takes_springs_along_that_the_same_edit_adds(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    network = simulation.solver.model.network
    with simulation.edit() as edit:
        edit.remove_springs(network.springs_of(0))  # slots that the next edit takes
    left = network.springs.live_count - 25
    with simulation.edit() as edit:
        edit.add_springs(np.array([13, 13, 5, 5]), np.array([1, 0, 4, 1]), stiffness=1.0)  # one beside an old one
        edit.remove_masses(np.array([13]), with_springs=True)
    network.verify()
    simulation.step(2)
    assert network.springs.live_count == left + 2


@pytest.mark.parametrize("prepare", [(), ("breaking",)])
def test_a_spring_that_loses_its_stiffness_keeps_its_rest_length(device, tmp_path, prepare):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device, prepare=prepare)
    network = simulation.solver.model.network
    spring = network.springs.handles(np.array([7]))
    was = network.spring_values(spring)
    with simulation.edit() as edit:
        edit.change_springs(spring, stiffness=0.0)
    simulation.save(tmp_path / "slack.npz")
    simulation.load(tmp_path / "slack.npz")
    assert network.spring_values(spring)["rest_lengths"] == pytest.approx(was["rest_lengths"])
    with simulation.edit() as edit:
        edit.change_springs(spring, stiffness=was["stiffness"])
    now = network.spring_values(spring)
    assert {name: now[name].tolist() for name in now} == {name: was[name].tolist() for name in was}


def test_a_body_that_is_edited_for_long_does_not_grow(device, monkeypatch):
    monkeypatch.setattr(graves, "KEPT", 40)
    monkeypatch.setattr(graves, "_PARTS", 8)
    monkeypatch.setattr(pairs, "FEWEST", 16)
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    network, gone = simulation.solver.model.network, []
    network.springs_between(np.array([0]), np.array([1]))  # from now on new springs are noted
    for number in range(100):
        with simulation.edit() as edit:
            gone.append(edit.add_springs(np.array([0]), np.array([1 + number % 26]), stiffness=1.0 + number))
        with simulation.edit() as edit:
            edit.remove_springs(gone[-1])
    assert len(network.graves.joined()[0]) == 40
    assert 0 < network._pairs._noted <= 32
    for number in (99, 60):
        assert network.spring_values(gone[number])["stiffness"] == pytest.approx([1.0 + number])
    with pytest.raises(StaleHandle, match="more than 40 others have been removed since"):
        network.spring_values(gone[0])
    assert [ids.tolist() for ids in network.springs_between(np.array([0]), np.array([26]))] == [[]]
    simulation.step(2)
    network.verify()


def test_an_edit_that_fails_changes_nothing(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    network, before = simulation.solver.model.network, simulation.state_hash()
    count = network.springs.live_count
    with pytest.raises(InvalidValue, match="without an end"):
        remove_a_held_mass(simulation)
    with pytest.raises(ZeroDivisionError):
        stumble(simulation)
    assert (network.springs.live_count, simulation.state_hash()) == (count, before)
    network.verify()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (lambda e: e.add_springs(np.array([0]), np.array([0]), stiffness=1.0), "itself"),
        (lambda e: e.add_springs(np.array([0]), np.array([1]), stiffness=-1.0), "stiffness is -1"),
        (lambda e: e.add_springs(np.array([0]), np.array([1]), stiffness=1.0, rest_lengths=0.0), "rest length is 0"),
        (lambda e: e.add_springs(np.array([0]), np.array([99]), stiffness=1.0), "no mass"),
        (lambda e: e.add_springs(np.array([0]), np.array([1]), stiffness=1.0, damping=1.0), "prepare"),
        (lambda e: e.add_masses([[0, 0, np.nan]], 1.0), "finite"),
        (lambda e: e.add_masses([[0, 0, 0]], 1.0, velocities=np.nan), "velocities of new masses must be finite"),
        (lambda e: e.add_masses([[0, 0, 0]], 1.0, velocities=[[0, 0, np.inf]]), "velocities of new masses"),
        (lambda e: e.add_masses([[0, 0, 0]], 1.0, velocities=[1, 2]), "velocities of new masses"),
        (lambda e: e.add_masses([[0, 0, 0]], 1.0, velocities="fast"), "velocities of new masses"),
        (lambda e: e.add_masses([[0, 0, 0]], 0.0), "mass is 0"),
        (lambda e: e.remove_springs(np.array([10_000])), "no spring"),
        (lambda e: e.change_springs(np.array([0]), colour=1.0), "colour"),
        (lambda e: e.change_masses(np.array([0]), masses=-1.0), "positive"),
        (lambda e: e.change_masses(np.array([0]), positions=np.zeros((2, 3))), r"an array of shape \[1, 3\]"),
        (lambda e: e.change_masses(np.array([0]), masses="heavy"), "masses of 1 masses must be one value"),
    ],
)
def test_bad_wishes_get_a_sentence(wish, message):
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu")
    with pytest.raises(InvalidValue, match=message), simulation.edit() as edit:
        wish(edit)
    simulation.solver.model.network.verify()
    simulation.step(2)


def test_removing_a_mass_takes_its_springs_along(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
    network = simulation.solver.model.network
    with simulation.edit() as edit:
        edit.remove_masses(np.array([13]), with_springs=True)
    network.verify()
    simulation.step(10)
    assert network.springs.live_count == 158 - 26
    assert len(simulation.snapshot().parts[-1].vertices) == 26


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_sequence_of_edits_keeps_the_invariants(seed):
    random = np.random.default_rng(seed)
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu", gravity=(0, 0, 0))
    network = simulation.solver.model.network
    for _ in range(6):
        live = network.live_springs()
        with simulation.edit() as edit:
            edit.remove_springs(random.choice(live, min(len(live), 10), replace=False))
            first = random.integers(0, 27, 12)
            edit.add_springs(first, (first + random.integers(1, 27, 12)) % 27, stiffness=1.0, rest_lengths=0.3)
        network.verify()
        simulation.step(1)
    assert np.isfinite(simulation.state.positions.numpy()).all()


def test_edits_from_eight_threads_are_all_kept():
    edits, _ = stress("cpu", editors=8, seconds=2.0)
    assert edits > 8


# Which masses are meant


def cut_block():
    """A block of 3 x 3 x 3 masses without those at x = 0, so that slots and rows differ."""
    simulation = springs.simulation(springs.block((3, 3, 3)), gravity=(0.0, 0.0, 0.0))
    with simulation.edit() as edit:
        edit.remove_masses(lambda x: x[:, 0] < 0.05, with_springs=True)
    return simulation


@pytest.mark.parametrize(
    "choose",
    [
        lambda edit, x: lambda points: points[:, 1] > 0.15,
        lambda edit, x: x[:, 1] > 0.15,
        lambda edit, x: edit.masses()[np.flatnonzero(x[:, 1] > 0.15)],
    ],
)
def test_a_second_cut_removes_the_masses_that_are_meant(choose):
    simulation = cut_block()
    x = simulation.positions()
    with simulation.edit() as edit:
        edit.remove_masses(choose(edit, x), with_springs=True)
    assert np.array_equal(simulation.positions(), x[x[:, 1] <= 0.15])


def test_springs_are_chosen_by_their_midpoints_and_by_a_mask():
    simulation = cut_block()
    network = simulation.solver.model.network
    with simulation.edit() as edit:
        edit.remove_springs(lambda middle: middle[:, 2] > 0.05)
    assert (
        simulation.solver.positions_of(simulation.state, network.ends[network.live_springs()].ravel())[:, 2] == 0
    ).all()
    with simulation.edit() as edit:
        edit.remove_springs(np.ones(len(network.live_springs()), bool))
    assert len(network.live_springs()) == 0


def test_indices_after_a_cut_are_said_to_be_slots(recwarn):
    simulation = cut_block()
    live = simulation.solver.model.network.masses.handles().index
    with simulation.edit() as edit:
        edit.change_masses(edit.masses(live), fixed=True)
    assert not recwarn
    with pytest.warns(IndicesAreSlots, match="row 17 of positions"), simulation.edit() as edit:
        edit.change_masses(live, fixed=True)


def test_a_body_may_lose_all_its_masses() -> None:
    simulation = cut_block()
    with simulation.edit() as edit:
        edit.remove_masses(lambda x: x[:, 0] > 0.0, with_springs=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.step(10)
        summary = simulation.summary()
        assert len(simulation.snapshot().parts) <= 1
    assert (summary.mass, summary.kinetic, len(simulation.positions())) == (0.0, 0.0, 0)
    assert np.isnan(summary.center_of_mass).all()


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ([1.5], r"whole numbers, not by \[1.5\]"),
        ([0], "no mass in slot 0: it was removed"),
        ([400], "no mass in slot 400: there are 27"),
        (np.ones(27, bool), r"shape \[18\]"),
        (lambda x: x[:, 0] > 9.0, "finds none of the 18"),
        (lambda x: x[:, 0], r"True or False for each mass"),
    ],
)
def test_masses_that_cannot_be_meant_are_refused(choice, sentence):
    simulation = cut_block()
    with pytest.raises(InvalidValue, match=sentence), simulation.edit() as edit:
        edit.remove_masses(choice, with_springs=True)
    assert len(simulation.positions()) == 18
