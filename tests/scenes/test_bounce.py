"""The cube falls freely, loses height at each bounce, and comes to rest on the ground."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.scenes.bounce import Bounce


def test_it_falls_freely_until_it_touches(device: str) -> None:
    scene = Bounce(masses=4, height=0.5, tilt=0.0)
    simulation = scene.build(device=device)
    start = simulation.snapshot_numbers()["center-z"].value
    assert simulation.state.positions.numpy()[:, 2].min() == pytest.approx(0.5, abs=1e-6)
    simulation.run(0.3)
    assert start - simulation.snapshot_numbers()["center-z"].value == pytest.approx(0.5 * 9.81 * 0.09, rel=1e-3)


def test_it_bounces_lower_and_comes_to_rest(device: str) -> None:
    scene = Bounce(masses=4, height=0.3, tilt=0.0)
    simulation = scene.build(device=device)
    heights = [simulation.snapshot_numbers()["center-z"].value]
    simulation.observe(lambda s: heights.append(s.snapshot_numbers()["center-z"].value), every=0.01)
    simulation.run(4.0)
    z = np.array(heights)
    peaks = np.array([z[0], *z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] > z[2:]) & (z[1:-1] > 0.16)]])
    assert len(peaks) >= 3
    assert (np.diff(peaks) < 0.0).all()
    results = {m.name: m.value for m in scene.measure(simulation)}
    assert results["kinetic-share-of-fall"] < 1e-4
    assert results["center-height"] == pytest.approx(0.15, abs=2e-3)
    assert simulation.state.positions.numpy()[:, 2].min() == pytest.approx(-0.4 * 9.81 / 1e4, abs=5e-4)


def test_a_tilted_cube_tumbles_and_loses_energy(device: str) -> None:
    simulation = Bounce(masses=4, height=0.3).build(device=device)
    energies = [simulation.summary().total]
    for _ in range(6):
        simulation.run(0.5)
        energies.append(simulation.summary().total)
    lost = -np.diff(energies)
    assert energies[-1] < 0.6 * energies[0]
    assert (lost > -0.05 * energies[0]).all()  # what the ground has stored at that moment may come back


def test_more_restitution_keeps_more_energy(device: str) -> None:
    left = []
    for restitution in (0.1, 0.9):
        scene = Bounce(masses=4, height=0.3, restitution=restitution, damping=2.0)
        simulation = scene.build(device=device)
        simulation.run(0.5)
        summary = simulation.summary()
        left.append(summary.kinetic + summary.gravitational)
    assert left[0] < left[1]
