"""Which steps are chosen: shorter ones for what is fast, heavy or stiff; and contacts that do not depend on them."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from annelid import coupling, grains, springs
from annelid.core.errors import StepTooLong
from annelid.coupling.steps import loads_on, rounded_down
from annelid.grains.model import rigid_load
from annelid.grains.rigid import Solid, touched_by_grains
from annelid.grains.steps import default_step, meeting_step
from annelid.shapes import Box, Rigid, Surface

from .conftest import RADIUS, SKIN, block, box, dropped

SAND = box(side=0.14, depth=0.06)
DOWN = (0.0, 0.0, -9.81)
BOX = coupling.World(obstacles=SAND.walls(), skin=SKIN)


@functools.cache
def _bed() -> grains.Bed:
    """The bed, filled when a test wants it: every worker imports this file, and one runs it."""
    return SAND.bed()


def _block(mass: float = 0.2, fall: float = 0.05, stiffness: float = 600.0) -> springs.Body:
    top = float((_bed().positions[:, 2] + _bed().radii).max())
    return block(mass=mass, stiffness=stiffness).moved((0.0, 0.0, top + fall))


def _speed(body: springs.Body, gravity: tuple[float, float, float] = DOWN) -> float:
    return loads_on(_bed(), body, [], gravity)[0].speed


def test_a_fall_ends_at_its_speed() -> None:
    assert _speed(_block(fall=0.05)) == pytest.approx((2.0 * 9.81 * 0.05) ** 0.5)
    thrown = _block(fall=0.05)
    thrown.velocities[:, 0] = 2.0
    assert _speed(thrown) == pytest.approx((4.0 + 2.0 * 9.81 * 0.05) ** 0.5)
    assert _speed(thrown, (0.0, 0.0, 0.0)) == pytest.approx(2.0)
    assert _speed(_block(fall=-0.02)) == pytest.approx((2.0 * 9.81 * 0.02 * RADIUS) ** 0.5)


def test_fast_and_heavy_bodies_want_short_steps() -> None:
    slow, fast = (meeting_step(_bed(), loads_on(_bed(), _block(fall=fall), [], DOWN)) for fall in (0.05, 0.2))
    assert fast == pytest.approx(0.5 * slow)
    alone, light, heavy = (default_step(_bed(), grains.World(), loads=loads_on(_bed(), _block(mass=mass), [], DOWN))
                           for mass in (1e-6, 0.2, 5.0))  # fmt: skip
    assert alone == pytest.approx(default_step(_bed(), grains.World()), rel=1e-4)
    assert heavy < 0.5 * light < 0.5 * alone


def _touched(*obstacles: Rigid) -> list[Solid]:
    return [one for one in touched_by_grains(obstacles) if isinstance(one, Solid)]


def test_a_rigid_body_counts_as_a_spring_body_does() -> None:
    soft = _block(mass=2.0)
    low, high = soft.bounds()
    middle = tuple(0.5 * (low + high))
    solid = Rigid(Box(tuple(high - low)), position=middle, motion="free", mass=2.0)
    (wanted,), (found,) = loads_on(_bed(), soft, [], DOWN), [rigid_load(one, _bed(), DOWN) for one in _touched(solid)]
    assert found.pressure == pytest.approx(wanted.pressure)
    assert found.speed == pytest.approx(wanted.speed)
    beside = grains.Model(_bed(), world=grains.World(obstacles=[*SAND.walls(), solid], converge=False), device="cpu")
    assert beside.dt == pytest.approx(meeting_step(_bed(), [found]))
    within = coupling.Model(soft, _bed(), world=BOX, device="cpu")
    assert beside.contact_step == pytest.approx(within.grains.contact_step)
    assert beside.parameters.calm_speed == within.grains.parameters.calm_speed


def test_a_body_within_the_body_adds_its_weight() -> None:
    soft = _block(mass=2.0)
    low, high = soft.bounds()
    hub = Rigid(Box(tuple(0.5 * (high - low))), position=tuple(0.5 * (low + high)), motion="free", mass=1.0)
    alone, (both,) = loads_on(_bed(), soft, [], DOWN)[0], loads_on(_bed(), soft, _touched(hub), DOWN)
    assert both.pressure == pytest.approx(1.5 * alone.pressure)
    assert both.speed == alone.speed


def test_the_step_of_the_springs_follows() -> None:
    chosen = [coupling.Model(_block(fall=fall), _bed(), world=BOX, device="cpu") for fall in (0.01, 1.5)]
    assert chosen[1].springs.world.dt < 5e-5
    for model in chosen:
        assert model.springs.world.dt <= 2e-4
        assert model.dt <= meeting_step(_bed(), model.loads, solved=True) * (1.0 + 1e-6)


def test_steps_that_converge_are_those_of_the_bed() -> None:
    """What bounces, or takes a given number of sweeps, keeps short steps of plain sweeps."""
    soft = _block(fall=0.001, stiffness=30.0)
    plain = coupling.World(obstacles=SAND.walls(), grains={"converge": False}, skin=SKIN)
    counted = coupling.World(obstacles=SAND.walls(), grains={"iterations": 2}, skin=SKIN)
    lively = coupling.World(obstacles=SAND.walls(), skin=Surface(friction=0.5, restitution=0.5))
    solved, *others = (
        coupling.Model(soft, _bed(), world=world, device="cpu") for world in (BOX, plain, counted, lively)
    )
    assert solved.grains.features.converging
    assert solved.dt == pytest.approx(default_step(_bed(), grains.World(), loads=solved.loads), rel=0.1)
    for model in others:
        assert not model.grains.features.converging
        assert model.dt <= 0.51 * solved.dt


def test_contacts_do_not_depend_on_the_step() -> None:
    found = []
    for dt in (1e-4, 2e-5):
        p = dropped(_block(), SAND, dt=2.0 * dt, spring_dt=dt).solver.model.grains.parameters
        stiffness, damping = p.correction / (p.softness * p.dt**2), 1.0 / (p.softness * p.dt)
        found.append((p.calm_speed, stiffness, damping))
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_a_step_too_long_for_the_impact_is_told() -> None:
    with pytest.warns(
        StepTooLong, match=r"a body that meets the grains at 4\.4 m/s: it may sink too deep or not deep enough"
    ):
        simulation = dropped(_block(fall=1.0, stiffness=10.0), SAND)
    assert simulation.dt == pytest.approx(2e-4)  # as asked for, all the same


def test_stiff_springs_get_steps_that_are_stable() -> None:
    model = coupling.Model(_block(fall=0.01, stiffness=3.0e5), _bed(), world=BOX, device="cpu")
    assert model.springs.world.dt <= 0.8 * model.springs.stable_step()
    assert model.dt <= 4.0 * model.springs.stable_step()


def test_stiff_springs_without_damping_come_to_rest() -> None:
    """In steps as long as damped ones take, meetings with grains would shake them: 1.7 m/s instead of 6 mm/s."""
    block = springs.lattice(Box((0.039, 0.039, 0.039)), 0.013, "tpu").moved((0.0, 0.0, 0.0915))
    simulation = dropped(block, SAND, dt="auto", spring_dt="auto")
    assert simulation.dt <= 1.25 * simulation.solver.springs.stable_step()
    simulation.run(0.12)
    assert np.linalg.norm(simulation.solver.readout.body_velocities(simulation.state), axis=1).max() < 0.05
    block.damping = 0.3 * simulation.solver.springs.stable_step() * block.stiffness
    damped = dropped(block, SAND, dt="auto", spring_dt="auto").solver
    assert damped.dt > 1.25 * damped.springs.stable_step()


def test_springs_for_which_no_step_is_stable_are_told() -> None:
    """As springs alone are, instead of a division by zero."""
    soft = _block(fall=0.01)
    soft.damping[:] = 0.0
    with pytest.warns(StepTooLong, match="the longest for springs as stiff as these"):
        simulation = dropped(soft, SAND, dt="auto", spring_dt="auto", springs={"integrator": "euler"})
    assert simulation.explain_step().dt == simulation.dt > 0.0


def test_a_step_too_long_for_the_bed_is_told() -> None:
    soft = _block(fall=0.001, stiffness=1.0)
    soft.damping[:] = 0.0
    with pytest.warns(StepTooLong, match="a bed as deep: grains may overlap"):
        simulation = dropped(soft, SAND, dt=2e-3)
    assert simulation.dt == pytest.approx(2e-3)


def test_rounding() -> None:
    assert [rounded_down(step) for step in (9.87e-5, 1e-4, 4.2e-6)] == [9.8e-5, 1e-4, 4.2e-6]
