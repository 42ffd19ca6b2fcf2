"""Pressures too large for one go are approached in parts; where the solid bursts, the last equilibrium stays."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.fem.newton import Newton
from annelid.shapes import tet_hollow_cylinder


def tube() -> fem.Solid:
    """A short tube with a closed bore, held at one end."""
    mesh = tet_hollow_cylinder(0.02, 0.05, wall=0.008, layers=4)
    return fem.Solid(mesh, "ecoflex-00-30").fix(lambda p: p[:, 2] < p[:, 2].min() + 1e-9)


def pressed(solid: fem.Solid, pressure: float, device: str) -> CavityPressure:
    cavity = Cavity(solid.mesh.cavities()[0])
    return CavityPressure(cavity, solid.nodes, device, pressure=pressure)


def test_all_of_a_part_of_the_pressure_is_a_part_of_all(device: str) -> None:
    solid = tube()
    found = []
    for pressure, share in ((3e3, 1.0), (6e3, 0.5)):
        inner = pressed(solid, pressure, device)
        model = fem.Model(solid, fem.World(gravity=(0.0, 0.0, 0.0)), device=device, threads=1, extras=[inner])
        inner.ramp(share)
        model.assembly.evaluate(model.rest)
        found.append((model.assembly.forces.numpy(), model.assembly.values.numpy(), model.assembly.energy.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.abs(one).max())


def test_bursting_stops_at_the_last_equilibrium(device: str) -> None:
    solid = tube()
    inner = pressed(solid, 3e5, device)
    model = fem.Model(solid, device=device, threads=1, extras=[inner])
    positions = model.vectors(solid.nodes)
    newton = Newton(model, fem.Settings(smallest_part=1 / 16))
    with pytest.raises(fem.NoEquilibrium) as caught:
        newton.equilibrium(positions)
    assert 0.0 < caught.value.fraction < 1.0
    assert newton.settle(positions, caught.value.fraction).iterations <= 1
    grown = inner.cavity.volume(positions.numpy()) / inner.cavity.volume(solid.nodes)
    assert 1.0 < grown < 10.0


def test_a_robot_is_filled_at_once_with_as_much_as_in_parts() -> None:
    robots = [fem.Robot(tube(), [fem.Pneumatic(name="bore")], device="cpu", threads=1) for _ in range(2)]
    for robot, way in zip(robots, ([8e3], [1e3, 3e3, 8e3]), strict=True):
        forward = fem.Forward(robot)
        for pressure in way:
            forward.settle({"bore": pressure})
    np.testing.assert_allclose(robots[0].positions.numpy(), robots[1].positions.numpy(), atol=1e-8)


def test_burst_names_pressure_place_and_stretch() -> None:
    """It was called a collapse, at a part of the way."""
    robot = fem.Robot(tube(), [fem.Pneumatic(name="bore")], device="cpu", threads=1)
    forward = fem.Forward(robot, fem.Settings(smallest_part=1 / 64))
    told_of = r"pressure of bore \S+ Pa\): it bursts; .* near \(.*\) m at rest"
    with pytest.raises(fem.NoEquilibrium, match=told_of) as caught:
        forward.settle({"bore": 5e4})
    told = float(str(caught.value).split("pressure of bore ")[1].split(" Pa")[0])
    assert told == pytest.approx(robot.efforts[0], rel=1e-3)
    assert told == pytest.approx(2.27e4, rel=0.02)
    stretch = float(str(caught.value).split("to ")[-1].split(" times")[0])
    assert stretch == pytest.approx(1.0 + robot.solid.strains(robot.positions.numpy()).max(), rel=1e-2)
