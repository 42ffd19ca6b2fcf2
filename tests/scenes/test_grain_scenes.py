"""The scenes of grains in small: they build, run, measure and can be drawn; their parameters are checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import AnnelidError
from annelid.core.measurement import Measurement
from annelid.core.scene import Scene
from annelid.core.snapshot import Lines, Mesh
from annelid.scenes.column import Column, bead_height_law, height_law, run_out_law
from annelid.scenes.drum import Drum
from annelid.scenes.gears import Gears
from annelid.scenes.hopper import Hopper

SMALL: dict[str, Any] = {
    "column": Column(width=5.0, aspect=1.0, pause=0.05),
    "hopper": Hopper(width=14.0, filling=6.0, opening=7.0),
    "drum": Drum(radius=0.06, length=0.06, diameter=0.01),
    "gears": Gears(gears=1, count=150, cells=24),
}


def values(rows: list[Measurement]) -> dict[str, float]:
    return {row.name: row.value for row in rows}


@pytest.mark.parametrize("name", SMALL)
def test_it_builds_and_draws(name: str) -> None:
    scene = SMALL[name]
    assert isinstance(scene, Scene)
    simulation = scene.build(device="cpu", threads=1)
    parts = {part.name: part for part in simulation.snapshot().parts}
    assert len(parts["grains"].centers) == simulation.solver.model.count > 100
    assert any(isinstance(part, (Mesh, Lines)) for part in parts.values())
    assert simulation.solver.readout.overlap(simulation.state).largest < 1e-3


def test_a_column_collapses_only_when_its_tube_is_lifted(device: str) -> None:
    scene = SMALL["column"]
    simulation = scene.build(device=device, threads=1)
    simulation.run(0.05)
    away = np.hypot(*simulation.solver.readout.positions(simulation.state)[:, :2].T)
    assert away.max() + 0.5 * scene.diameter < 1.06 * scene.radius
    simulation.run(0.4)
    found = values(scene.measure(simulation))
    assert 0.5 < found["run-out"] < 2.0
    assert found["final-height"] < 0.85
    assert found["overlap-largest"] < 0.08
    assert simulation.solver.readout.body_position(simulation.state, 1)[2] > scene.height


def test_a_hopper_runs(device: str) -> None:
    """It shares its kernels with the column."""
    scene = SMALL["hopper"]
    simulation = scene.build(device=device, threads=1)
    simulation.run(0.4)
    found = values(scene.measure(simulation))
    assert 0.05 < found["share-outside"] < 1.0
    assert 0.4 < found["outflow-over-beverloo"] < 2.0
    x = simulation.solver.readout.positions(simulation.state)
    inside = x[:, 2] > 0.0
    assert (np.hypot(x[inside, 0], x[inside, 1]) < 0.5 * scene.width * scene.diameter).all()


def test_a_drum_tilts_its_bed(device: str) -> None:
    scene = SMALL["drum"]
    simulation = scene.build(device=device, threads=1)
    simulation.run(0.8)
    found = values(scene.measure(simulation))
    assert 12.0 < found["tilt"] < 50.0
    x, radii = simulation.solver.readout.positions(simulation.state), simulation.solver.model.bed.radii
    assert (np.hypot(x[:, 0], x[:, 2]) + radii < 1.02 * scene.radius).all()
    assert ((x[:, 1] >= 0.0) & (x[:, 1] <= scene.length)).all()


def test_what_leaves_the_tower_below_comes_back_on_top(device: str) -> None:
    scene = SMALL["gears"]
    simulation = scene.build(device=device, threads=1)
    length, readout = scene.tower().container.length, simulation.solver.readout
    angle, heights = readout.body_turn(simulation.state, 0), []
    simulation.observe(lambda sim: heights.append(readout.positions(sim.state)[:, 2]), every=0.05)
    simulation.run(0.7)
    z = np.array(heights)
    assert ((z >= 0.0) & (z <= length)).all()
    assert (np.diff(z, axis=0) > 0.5 * length).any()
    assert np.abs(simulation.solver.readout.body_turn(simulation.state, 0) - angle).max() > 0.01
    assert values(scene.measure(simulation))["torque-largest"] > 0.0


def test_laws_of_columns_meet() -> None:
    assert run_out_law(1.0) == 1.24
    assert run_out_law(4.0) == 3.2
    assert run_out_law(1.6999) == pytest.approx(run_out_law(1.7), rel=0.02)
    assert height_law(0.5) == 0.5
    assert height_law(64.0) == pytest.approx(1.76)
    assert bead_height_law(0.5) == 0.5
    assert bead_height_law(3.0) == 0.74


def test_beverloo() -> None:
    assert Hopper(opening=2.0, diameter=0.01).beverloo(constant=1.0, lost=0.0) == pytest.approx(
        0.59 * 2500.0 * math.sqrt(9.81) * 0.02**2.5
    )


@pytest.mark.parametrize(
    ("scene", "sentence"),
    [
        (Hopper(opening=40.0), "below its width of 32 grain diameters, not 40"),
        (Gears(count=10**7), "grains fit between the gears, not 10000000"),
        (Column(width=1000.0), "grains would be needed"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(scene: Any, sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        scene.build(device="cpu")
