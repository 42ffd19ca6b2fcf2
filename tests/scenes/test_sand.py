"""Robots on sand: they build, move, keep grains out, and tell what they did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import InvalidValue, UnknownName
from annelid.robots.sandbox import stirred_share
from annelid.scenes.gripper import Gripper
from annelid.scenes.pneumatic_worm import PneumaticWormOnSand
from annelid.scenes.sand_walker import SandWalker
from annelid.scenes.sandworm import Sandworm
from annelid.scenes.tyre import Tyre

WORM = Sandworm(length=0.4, depth=0.05, grain_radius=0.014, run_up=0.1, frequency=5.0)


def _results(scene: Any, simulation: Any) -> dict[str, float]:
    return {m.name: float(m.value) for m in scene.measure(simulation)}


def test_the_worm_crawls_forward_and_keeps_grains_out(device: str) -> None:
    simulation = WORM.build(device=device, threads=1)
    simulation.run(0.4)
    results = _results(WORM, simulation)
    assert results["distance"] > 0.005
    assert results["grains-inside"] == 0
    assert results["fastest-grain"] < 2.0
    assert abs(results["sideways"]) < results["distance"]


def test_the_worm_does_not_explode_whatever_the_grains() -> None:
    for seed in (2, 3):
        scene = replace(WORM, seed=seed)
        simulation = scene.build(device="cpu", threads=1)
        simulation.run(0.1)
        results = _results(scene, simulation)
        assert results["grains-inside"] == 0
        assert results["fastest-grain"] < 2.0


def test_the_wave_can_be_changed_while_it_crawls() -> None:
    simulation = WORM.build(device="cpu", threads=1)
    simulation.step(20)
    WORM.adjust(simulation, "amplitude", 0.1)
    WORM.adjust(simulation, "frequency", 3.0)
    simulation.step(20)
    assert simulation.attachments["sandworm"].amplitude == 0.1
    assert np.isfinite(simulation.solver.readout.positions(simulation.state)).all()
    with pytest.raises(InvalidValue, match="frequency of sandworm must be between"):
        WORM.adjust(simulation, "frequency", 0.0)


def test_the_walker_stands_on_sand_and_is_compared_with_hard_ground(device: str) -> None:
    scene = SandWalker(grain_radius=0.005, depth=0.02, run_up=0.02)
    simulation = scene.build(device=device, threads=1)
    simulation.run(0.03)
    results = _results(scene, simulation)
    assert results["grains-inside"] == 0
    assert {"distance-on-sand", "distance-on-hard-ground", "sand-over-hard-ground"} <= set(results)
    assert abs(results["sinking"]) < 0.01


def test_large_grains_do_not_throw_the_walker_up() -> None:
    simulation = SandWalker(grain_radius=0.008, depth=0.03, run_up=0.02).build(device="cpu", threads=1)
    simulation.run(0.05)
    assert np.linalg.norm(simulation.state.springs.velocities.numpy(), axis=1).max() < 0.5  # it falls by 1 cm


def test_fingers_close(device: str) -> None:
    scene = Gripper(grain_radius=0.02, closing=0.5, depth=0.12, dip=0.08)
    simulation = scene.build(device=device, threads=1)
    start = _spread(simulation)
    simulation.run(0.4)
    assert _spread(simulation) < 0.95 * start
    results = _results(scene, simulation)
    assert results["grains-inside"] == 0
    assert results["mass-lifted"] == 0.0


def test_fingers_do_not_reach_below_the_bed() -> None:
    with pytest.raises(InvalidValue, match=r"dip of gripper, 0.12 m, reaches below its bed: make it 0.08 m or less"):
        Gripper(depth=0.08).build(device="cpu", threads=1)


def _spread(simulation: Any) -> float:
    """Mean distance of the tips from the axis [m]."""
    masses = simulation.solver.readout.body_positions(simulation.state)
    tips = simulation.solver.model.springs.body.positions[:, 2] < 0.06
    return float(np.hypot(*masses[tips, :2].T).mean())


def test_the_hand_holds_the_top_of_its_fingers() -> None:
    scene = Gripper(grain_radius=0.02)
    simulation = scene.build(device="cpu", threads=1)
    body = simulation.solver.model.springs.body
    top = body.positions[:, 2] > body.positions[:, 2].max() - 1e-6
    simulation.run(0.02)
    masses = simulation.solver.readout.body_positions(simulation.state)
    assert masses[top] == pytest.approx(body.positions[top], abs=1e-6)


def test_the_tyre_holds_its_hub_and_rolls(device: str) -> None:
    scene = Tyre(track=0.6, width=0.08, grain_radius=0.016, depth=0.06)
    simulation = scene.build(device=device, threads=1)
    simulation.run(0.15)
    results = _results(scene, simulation)
    assert results["distance"] > 0.005
    assert 0.0 < results["sinkage"] < 0.05
    assert results["grains-inside"] == 0
    bed = simulation.state.grains
    hub = simulation.solver.grains.readout.body_position(bed, simulation.attachments["hub"])
    middle = simulation.summary().parts["springs"].center_of_mass
    assert np.linalg.norm(hub - middle) < 0.01


def test_a_robot_moves_stirred_grains_by_a_share_of_what_plates_meet() -> None:
    """As if it were 1.4 radii of a grain wider all round; coarse grains resist more."""
    shares = [stirred_share(radius, 0.05) for radius in (1e-9, 0.009, 0.012, 0.016, 0.1)]
    np.testing.assert_allclose(shares, [0.44, 0.690, 0.785, 0.923, 1.0], atol=1e-3)


def test_the_worm_crawls_without_grains() -> None:
    """It crawls in what stands for its grains, which it has stirred."""
    scene = replace(WORM, ground="resistive")
    share = stirred_share(scene.grain_radius, scene.worm.radius)
    simulation = scene.build(device="cpu", threads=1)
    (sand,) = simulation.solver.model.world.obstacles
    assert sand.of.resistance == pytest.approx(share * 1.06e6)
    simulation.run(0.3)
    results = _results(scene, simulation)
    assert results["distance"] > 0.002
    assert "grains" not in results
    scene.adjust(simulation, "amplitude", 0.1)
    with pytest.raises(UnknownName, match="there is no medium named 'sund'"):
        replace(scene, medium="sund").build(device="cpu")


def test_grains_consist_of_no_medium() -> None:
    with pytest.raises(
        InvalidValue, match="medium = 'glass' is what ground = 'resistive' consists of, but .* 'grains'"
    ):
        Sandworm(medium="glass")


@pytest.mark.parametrize("amplitude", [9.0, -0.1, float("nan")])
def test_a_worm_that_would_shrink_to_nothing(amplitude: float) -> None:
    with pytest.raises(InvalidValue, match="amplitude of sandworm must be between 0 and 0.9, not"):
        Sandworm(amplitude=amplitude).build(device="cpu")


def test_a_pneumatic_worm_takes_its_wave_to_the_sand() -> None:
    """A short worm: its chambers follow the wave, it goes on from a change of it, and no grain gets in."""
    scene = PneumaticWormOnSand(chambers=3, length=0.18, run_up=0.06, frequency=5.0, waves=1.0)
    simulation = scene.build(device="cpu", threads=1)
    simulation.run(0.1)
    wanted = list(scene.pressures(simulation.time).values())
    assert max(wanted) > 1e3
    assert simulation.state.solid.efforts.numpy() == pytest.approx(wanted, abs=1.0)
    found = {one.name: one.value for one in scene.measure(simulation)}
    assert found["grains-inside"] == 0
    assert abs(found["sinking"]) < scene.radius
    scene.adjust(simulation, "pressure", 0.0)
    simulation.run(0.06)
    assert simulation.state.solid.efforts.numpy() == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
