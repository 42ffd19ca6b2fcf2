"""Springs that break, conditions that stop a run, and groups that take smaller steps."""

import dataclasses

import numpy as np
import pytest
import warp as wp

from annelid import springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.shapes import Plane


def stretched_pair(device, strain, yield_strain=0.1):
    pair = springs.Body(
        positions=[[0, 0, 0], [1.0 + strain, 0, 0]],
        masses=[1, 1],
        springs=[[0, 1]],
        rest_lengths=[1.0],
        stiffness=[100.0],
        yield_strains=[yield_strain],
    )
    return springs.simulation(pair, device=device, gravity=(0, 0, 0))


def test_a_spring_breaks_beyond_its_yield_strain_only(device):
    whole, broken = stretched_pair(device, 0.099), stretched_pair(device, 0.101)
    whole.step(10)
    broken.step(10)
    assert (whole.solver.model.spring_count, broken.solver.model.spring_count) == (1, 0)
    assert [event.kind for event in broken.events] == ["broken"]
    assert len(broken.events[0].detail) == 1
    assert np.abs(broken.state.velocities.numpy()).max() == 0.0
    assert whole.summary().elastic > 0.0
    assert broken.summary().elastic == 0.0


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
def test_what_begins_too_long_is_gone_at_both_ends_when_a_mass_is_tied_to_one(device, integrator):
    pair = stretched_pair(device, 0.2).solver.model.body
    simulation = springs.simulation(pair, device=device, gravity=(0, 0, 0), integrator=integrator)
    simulation.step(5)
    assert [event.step for event in simulation.events] == [0]
    with simulation.edit() as edit:
        new = edit.add_masses([[0.0, 1.0, 0.0]], 1.0)
        edit.add_springs(new, edit.masses(np.array([0])), stiffness=100.0)
    simulation.step(20)
    simulation.solver.model.network.verify()
    assert simulation.solver.model.spring_count == 1
    assert np.abs(simulation.state.velocities.numpy()).max() == 0.0


def test_a_bar_tears_where_it_is_weak_and_both_sides_agree(device):
    body = springs.block((4, 4, 20))
    body.yield_strains[:] = 0.02
    body.fix(lambda x: x[:, 2] < 0.05).push(lambda x: x[:, 2] > 1.85, (0.0, 0.0, 3.0e4))
    runs = [springs.simulation(body, device=device, gravity=(0, 0, 0), threads=threads) for threads in (1, 2)]
    for run in runs:
        run.run(0.02)
        run.solver.model.network.verify()
    assert runs[0].state_hash() == runs[1].state_hash()
    assert runs[0].solver.model.spring_count < body.spring_count
    assert sum(len(event.detail) for event in runs[0].events) == body.spring_count - runs[0].solver.model.spring_count


def test_breaking_comes_from_the_material(device):
    body = springs.box((0.04, 0.04, 0.04), 0.02, "pla", breaking=True)
    assert np.isfinite(body.yield_strains).all()
    assert not np.isfinite(springs.box((0.04, 0.04, 0.04), 0.02, "pla").yield_strains).any()


@wp.func
def below_floor(time: wp.float32, index: int, position: wp.vec3, velocity: wp.vec3) -> bool:
    return position[2] < -0.05


@pytest.mark.parametrize("condition", [below_floor, springs.lower(-0.05)])
def test_a_condition_stops_at_the_first_step_where_it_holds(device, condition):
    simulation, check = (springs.simulation(springs.block((3, 3, 3)), device=device) for _ in range(2))
    simulation.breakpoint(when=condition)
    simulation.start()
    event = simulation.wait(120.0)
    check.step(event.step - 1)
    assert check.state.positions.numpy()[:, 2].min() >= -0.05
    check.step(1)
    assert check.state.positions.numpy()[:, 2].min() < -0.05
    assert check.state_hash() == simulation.state_hash()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: springs.lower(np.nan), "height of a condition must be a finite number, not nan"),
        (lambda: springs.higher("a"), "height of a condition must be a finite number, not 'a'"),
        (lambda: springs.higher(1.0, "xy"), "must be 'x', 'y' or 'z', not 'xy'"),
        (lambda: springs.faster(-1.0), "speed of a condition must be a number of 0 or more"),
        (lambda: springs.Energy("kinetic", below=np.nan), "limit of an energy must be a finite number"),
        (lambda: springs.Energy("heat", below=1.0), "no energy named 'heat'"),
        (lambda: springs.Collide("all", "all", friction="a"), "friction of a collision .* not 'a'"),
        (lambda: springs.Collide("all", "all", restitution=None), "restitution of a collision .* not None"),
        (lambda: springs.box((1.0, 1.0), 0.1, "pla"), "the size of a box = .* give three finite numbers"),
        (lambda: springs.box((1, 1, 1), 0.5, "pla", damping_frequency="a"), "damping_frequency must be positive"),
    ],
)
def test_conditions_that_could_never_hold_and_other_bad_numbers_are_refused(make, words):
    with pytest.raises((InvalidValue, UnknownName), match=words):
        make()


def test_speed_and_energy_conditions(device):
    for condition in (springs.faster(0.5), springs.Energy("kinetic", above=0.3)):
        simulation = springs.simulation(springs.block((3, 3, 3)), device=device)
        simulation.breakpoint(when=condition)
        simulation.start()
        simulation.wait(120.0)
        summary = simulation.summary()
        assert summary.kinetic > 0.3
    with pytest.raises(InvalidValue, match="either"):
        springs.Energy("kinetic")


def stiff_insert(count):
    body = springs.beam(0.1, 0.03, 0.03, 0.01, "ecoflex-00-30", inserts=[(lambda x: x[:, 0] > 0.05, "dragon-skin-30")])
    body.velocities = 0.05 * np.random.default_rng(0).normal(size=body.velocities.shape)
    return body.substep(lambda x: x[:, 0] > 0.045, count) if count > 1 else body


def test_a_stiff_group_takes_smaller_steps(device):
    world = {"device": device, "gravity": (0, 0, 0), "precision": "float64"}
    exact = springs.simulation(stiff_insert(1), dt=1e-5, **world)
    group = springs.simulation(stiff_insert(4), dt=4e-4, **world)
    assert group.solver.stable_step() > 4e-4 > exact.solver.stable_step()
    before = group.summary()
    exact.run(0.02)
    group.run(0.02)
    after = group.summary()
    assert np.abs(group.state.positions.numpy() - exact.state.positions.numpy())[:, :3].max() < 2e-4
    assert np.allclose(after.momentum, before.momentum, atol=1e-15)
    assert np.allclose(after.angular_momentum, before.angular_momentum, atol=1e-15)


def test_the_world_can_change_while_a_condition_is_watched(device):
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device, obstacles=[Plane()])
    simulation.breakpoint(when=springs.faster(100.0))
    with simulation.edit() as edit:
        edit.change_masses(np.array([0]), forces=(0.0, 0.0, 1.0))
    model = simulation.solver.model
    model.set_world(dataclasses.replace(model.world, gravity=(0.0, 0.0, -1.0)))
    simulation.step(10)
    assert model.world.gravity == (0.0, 0.0, -1.0)
