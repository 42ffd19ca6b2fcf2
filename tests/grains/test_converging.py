"""Steps beside free bodies are solved: depths do not depend on the step, and a bed at rest takes one sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.shapes import Plane, Rigid, Sphere, Surface

from .conftest import RADIUS, SIDE, bed_with_ball

BALL = 5  # after the walls


def depth_after(simulation: Simulation[grains.Solver], seconds: float) -> float:
    """How far the ball has gone down [m]."""
    height = simulation.solver.readout.body_position(simulation.state, BALL)[2]
    simulation.run(round(seconds / simulation.dt) * simulation.dt)
    return float(height - simulation.solver.readout.body_position(simulation.state, BALL)[2])


def dropped(dt: float, **options: Any) -> Simulation[grains.Solver]:
    """A ball above a bed, with contacts that are as stiff whatever the step is."""
    model = bed_with_ball("cpu").solver.model
    return grains.simulation(
        model.bed, obstacles=model.world.obstacles, dt=dt, contact_step=2.5e-4, device="cpu", threads=1, **options
    )


def test_depths_do_not_depend_on_the_step() -> None:
    """A plain sweep a step lets the ball sink deeper by more than a tenth."""
    fine, coarse, plain = (
        depth_after(dropped(dt, **options), 0.045)
        for dt, options in ((1.25e-4, {}), (2.5e-4, {}), (2.5e-4, {"converge": False, "iterations": 1}))
    )
    assert coarse == pytest.approx(fine, rel=0.03)
    assert plain > 1.1 * fine


def test_a_bed_at_rest_takes_one_sweep() -> None:
    """A ball that lies on the ground between grains that lie there, too."""
    places = np.array([[x, y, RADIUS] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]) * [0.1, 0.1, 1.0]
    ball = Rigid(Sphere(0.04), Surface(), position=(0.0, 0.0, 0.04), motion="free", density=2000.0)
    simulation = grains.simulation(
        grains.Bed(places, RADIUS, grains.Grain()), obstacles=[Plane(), ball], device="cpu", threads=1
    )
    simulation.run(0.2)
    assert simulation.solver.model.features.converging
    assert simulation.solver.lists.active.numpy()[1] == 1


def test_steps_are_those_of_the_bed() -> None:
    bed = grains.Bed(np.array([[0.0, 0.0, RADIUS], [0.0, 0.0, 3.0 * RADIUS]]), RADIUS, grains.Grain())
    ball = Rigid(Sphere(0.04), position=(0.0, 0.2, SIDE), motion="free", density=2000.0, velocity=(0.0, 0.0, -3.0))
    solved, plain = (
        grains.simulation(bed, obstacles=[Plane(), ball], converge=converge, device="cpu").dt
        for converge in ("auto", False)
    )
    assert solved > 4.0 * plain


def test_what_cannot_converge_is_refused() -> None:
    bed = grains.Bed(np.array([[0.0, 0.0, RADIUS]]), RADIUS, grains.Grain())
    with pytest.raises(InvalidValue, match="nonsmooth method converge to a tolerance, not of 'hertz'"):
        grains.simulation(bed, method="hertz", converge=True, device="cpu")
    with pytest.raises(InvalidValue, match="converge .* must be True, False or 'auto', not 3"):
        grains.simulation(bed, converge=3, device="cpu")  # type: ignore[arg-type]
    bouncing = grains.Bed(bed.positions, RADIUS, grains.Grain(restitution=0.5))
    with pytest.raises(InvalidValue, match="converge=True cannot be used where something bounces"):
        grains.simulation(bouncing, converge=True, device="cpu")
