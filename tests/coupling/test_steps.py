"""Which steps are chosen: shorter ones for what is fast, heavy or stiff."""

from __future__ import annotations

import pytest

from annelid import coupling, springs
from annelid.core.errors import StepTooLong
from annelid.coupling.steps import calm_speed, hard_step, meeting_speed, rounded_down
from annelid.grains import World

from .conftest import RADIUS, SKIN, block, box, dropped

SAND = box(side=0.14, depth=0.06)
BED, DOWN = SAND.bed(), (0.0, 0.0, -9.81)
TOP = float((BED.positions[:, 2] + BED.radii).max())


def _block(mass: float = 0.2, fall: float = 0.05, stiffness: float = 600.0) -> springs.Body:
    return block(mass=mass, stiffness=stiffness).moved((0.0, 0.0, TOP + fall))


def test_a_fall_ends_at_its_speed() -> None:
    assert meeting_speed(_block(fall=0.05), BED, DOWN) == pytest.approx((2.0 * 9.81 * 0.05) ** 0.5)
    thrown = _block(fall=0.05)
    thrown.velocities[:, 0] = 2.0
    assert meeting_speed(thrown, BED, DOWN) == pytest.approx((4.0 + 2.0 * 9.81 * 0.05) ** 0.5)
    assert meeting_speed(thrown, BED, (0.0, 0.0, 0.0)) == pytest.approx(2.0)


def test_fast_and_heavy_bodies_want_short_steps() -> None:
    light = hard_step(_block(mass=1e-3), BED, World())
    assert light == pytest.approx(0.02 * RADIUS / meeting_speed(_block(), BED, DOWN))
    assert hard_step(_block(mass=1e-3, fall=0.2), BED, World()) == pytest.approx(0.5 * light)
    heavy, heavier = (hard_step(_block(mass=mass), BED, World()) for mass in (5.0, 20.0))
    assert heavy < light
    assert heavier == pytest.approx(0.5 * heavy)


def test_the_step_of_the_springs_follows() -> None:
    chosen = [coupling.Model(_block(fall=fall), BED, SAND.walls(), skin=SKIN, device="cpu") for fall in (0.01, 1.5)]
    assert chosen[0].springs.world.dt == 1e-4
    assert chosen[1].springs.world.dt < 5e-5
    for model in chosen:
        assert model.time_step <= hard_step(model.springs.body, BED, model.grains.world) * (1.0 + 1e-6)


def test_letting_go_does_not_depend_on_the_step() -> None:
    speeds = [dropped(_block(), SAND, dt=dt, grain_dt=2.0 * dt).solver.model.grains.parameters.calm_speed
              for dt in (1e-4, 2e-5)]  # fmt: skip
    assert speeds[0] == speeds[1] == pytest.approx(calm_speed(BED, DOWN))


def test_a_step_too_long_for_the_impact_is_told() -> None:
    with pytest.warns(StepTooLong, match=r"a body as heavy that meets the grains at 4\.4 m/s: it may sink too deep"):
        dropped(_block(fall=1.0, stiffness=10.0), SAND)


def test_rounding() -> None:
    assert [rounded_down(step) for step in (9.87e-5, 1e-4, 4.2e-6)] == [9.8e-5, 1e-4, 4.2e-6]
