"""Links, materials and friction held against numbers measured with Voxelyze, closed forms and conservation laws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import BeginsInside, InvalidValue
from annelid.scenes.table import Table
from annelid.shapes import Plane, ResistiveGround, Rigid, Sphere, Surface

SIDE = 0.005


def beam(shape: tuple[int, int, int] = (10, 1, 1), **material: Any) -> voxels3d.Robot:
    voxel = voxels3d.Voxel(youngs_modulus=1e6, **{"global_damping": 0.0125, **material})
    return voxels3d.Robot(np.zeros(shape, int), (voxel,), SIDE).fix(lambda x, y, z: x == 0)


def at_rest(
    robot: voxels3d.Robot, seconds: float = 0.5, *, dt: float = 2e-5, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Mean displacement [mm] and rotation [rad] of the last layer."""
    world = {"gravity": (0.0, 0.0, 0.0), "links": "compatible", "precision": "float64", **options}
    simulation = voxels3d.simulation(robot, dt=dt, device="cpu", threads=1, **world)
    simulation.run(seconds)
    readout, end = simulation.solver.readout, robot.cells[:, 0] == robot.cells[:, 0].max()
    moved = 1e3 * readout.displacements(simulation.state)[end].mean(axis=0)
    return moved, readout.rotations(simulation.state)[np.flatnonzero(end)].as_rotvec().mean(axis=0)


def tip(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return x == x.max()


def test_cantilevers_bend_as_in_the_original() -> None:
    moved, turned = at_rest(beam().push(tip, force=(0.0, 0.0, -1e-3)))
    assert moved[2] == pytest.approx(-0.583100, rel=1e-4)
    assert turned[1] == pytest.approx(0.0194374, rel=1e-4)
    moved, turned = at_rest(beam().push(tip, force=(0.0, 0.0, -60e-3)))
    assert moved[[0, 2]] == pytest.approx([-8.67521, -24.2111], rel=1e-4)
    single, _ = at_rest(beam().push(tip, force=(0.0, 0.0, -1e-3)), precision="float32")
    assert single[2] == pytest.approx(-0.583100, rel=1e-3)


def test_torsion_and_stretch_with_poissons_ratio() -> None:
    moved, turned = at_rest(beam(poisson_ratio=0.35).push(tip, moment=(1e-4, 0.0, 0.0)), dt=1e-5)
    assert turned[0] == pytest.approx(0.11664, rel=1e-4)
    thick = beam((10, 3, 3), poisson_ratio=0.35, global_damping=0.04).push(tip, force=(5.0, 0.0, 0.0))
    moved, _ = at_rest(thick, 0.2, dt=1e-5)
    assert moved[0] == pytest.approx(0.944764, rel=1e-3)


def test_bimorphs_bend_as_in_the_original() -> None:
    layers = [
        voxels3d.Voxel(youngs_modulus=1e6, global_damping=0.025, poisson_ratio=0.35, expansion=e) for e in (0, 0.01)
    ]
    robot = voxels3d.Robot(np.tile([0, 1], (10, 1, 1)), tuple(layers), SIDE, temperature=2.0)
    moved, turned = at_rest(robot.fix(lambda x, y, z: x == 0), 0.25, dt=1e-5)
    assert turned[1] == pytest.approx(0.133752, rel=1e-4)
    assert moved[2] == pytest.approx(-3.06829, rel=2e-3)  # with its small-angle branch


def test_slopes_let_go_of_a_body_that_is_loaded_slowly_as_in_the_original() -> None:
    material = voxels3d.Voxel(
        youngs_modulus=1e6, global_damping=0.0, collision_damping=0.5, static_friction=0.6, kinetic_friction=0.4
    )
    robot = voxels3d.Robot(np.zeros((4, 4, 2), int), (material,), SIDE)
    down, along = 9.80665 * np.cos(np.radians(28.0)), 9.80665 * np.sin(np.radians(28.0))
    pushed = robot.push(lambda x, y, z: x >= 0, force=(32.0 * 1000.0 * SIDE**3 * along, 0.0, 0.0), begin=0.1, rise=0.2)
    simulation = voxels3d.simulation(
        pushed, dt=2e-5, gravity=(0.0, 0.0, -down), obstacles=[Plane()], links="compatible", precision="float64",
        device="cpu", threads=1,
    )  # fmt: skip
    simulation.run(0.8)
    moved = 1e3 * simulation.solver.readout.displacements(simulation.state)[:, 0].mean()
    assert moved == pytest.approx(149.6, rel=0.02)


def test_plastic_links_keep_what_they_flowed() -> None:
    flowing = {"plastic_modulus": 1e5, "yield_stress": 1e4, "global_damping": 0.05}
    pulled = beam((5, 1, 1), **flowing).push(tip, force=(0.5, 0.0, 0.0), end=0.4)
    assert at_rest(pulled, 0.39)[0][0] == pytest.approx(2.2, rel=1e-4)
    assert at_rest(pulled, 0.8)[0][0] == pytest.approx(1.8, rel=1e-4)
    curve = beam((5, 1, 1), curve=((0.01, 1e4), (1.01, 1.1e5)), global_damping=0.05)
    assert at_rest(curve.push(tip, force=(0.5, 0.0, 0.0)), 0.39)[0][0] == pytest.approx(2.2, rel=1e-4)


def test_links_break_for_good() -> None:
    weak = beam((3, 1, 1), failure_stress=1e4).push(tip, force=(0.3, 0.0, 0.0), end=0.02)
    simulation = voxels3d.simulation(
        weak, dt=2e-5, gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1
    )
    simulation.run(0.05)
    before = simulation.summary().momentum
    simulation.run(0.01)
    assert simulation.positions()[2, 0] > 0.02
    assert simulation.solver.readout.displacements(simulation.state)[0] == pytest.approx(0.0)
    assert abs(before[0]) > 0.0


def test_broken_links_tell_no_strains() -> None:
    robot = beam((3, 2, 1), poisson_ratio=0.3, failure_stress=1e4).push(tip, force=(0.6, 0.0, 0.0), end=0.02)
    simulation = voxels3d.simulation(robot, gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1)
    simulation.run(0.06)
    assert simulation.solver.readout.link_strains(simulation.state).max() > 1.0
    assert np.abs(simulation.state.strains.numpy()).max() < 0.1


def test_an_axial_mode_has_the_frequency_of_a_chain() -> None:
    still = {"internal_damping": 0.0, "global_damping": 0.0}
    robot = beam(**still).push(tip, force=(1e-3, 0.0, 0.0), end=2e-5)
    simulation = voxels3d.simulation(
        robot, dt=2e-5, gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1
    )
    track = []
    for _ in range(3000):
        simulation.step(5)
        track.append(simulation.solver.readout.displacements(simulation.state)[-1, 0])
    spectrum = np.abs(np.fft.rfft(np.array(track) * np.hanning(len(track)), 2**18))
    frequencies = np.fft.rfftfreq(2**18, 1e-4)
    low = frequencies < 300.0
    found = frequencies[low][np.argmax(spectrum[low])]
    assert found == pytest.approx(np.sqrt(1e6 * SIDE / (1000.0 * SIDE**3)) / np.pi * np.sin(np.pi / 38), rel=1e-3)


def test_balanced_links_conserve_both_momenta() -> None:
    grid = Table().robot().grid
    robot = voxels3d.Robot(
        grid, (voxels3d.Voxel(global_damping=0.0),), amplitude=14.0, frequency=4.0,
        phase=np.arange(45).reshape(5, 3, 3) / 7.0,
    )  # fmt: skip
    simulation = voxels3d.simulation(robot, gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1)
    simulation.run(0.5)
    summary = simulation.summary()
    assert summary.kinetic > 1e-7
    assert np.abs(summary.momentum).max() < 1e-15
    assert np.abs(summary.angular_momentum).max() < 1e-17


def test_the_table_walks_as_far_as_in_the_original() -> None:
    simulation = Table(links="compatible", precision="float64").build(device="cpu", threads=1)
    start = simulation.summary().center_of_mass
    simulation.run(2.0)
    x, y, _ = simulation.summary().center_of_mass - start
    assert x == pytest.approx(0.02452, rel=0.01)
    assert abs(y) < 1e-4


@pytest.mark.parametrize("obstacle", [Plane(), Rigid(Sphere(1.0), Surface(friction=0.6), position=(0.0, 0.0, -1.0))])
def test_a_cube_rests_on_what_it_touches(obstacle: Any) -> None:
    robot = voxels3d.Robot(np.zeros((1, 1, 1), int))
    where = (-0.005, -0.005, 0.0)
    simulation = voxels3d.simulation(
        robot, obstacles=[obstacle], positions=where, precision="float64", device="cpu", threads=1
    )
    simulation.run(0.5)
    assert simulation.positions()[0, 2] == pytest.approx(0.005 - 1e-3 * 9.81 / (2.0 * 1e5 * 0.01), abs=1e-9)


def test_bad_robots_are_refused() -> None:
    with pytest.raises(InvalidValue, match="2 parts .* largest_connected"):
        voxels3d.Robot(np.array([[[0, -1, 0]]]))
    with pytest.raises(InvalidValue, match="no voxels"):
        voxels3d.Robot(np.full((2, 2, 2), -1))
    with pytest.raises(InvalidValue, match="material 3, but there are 1"):
        voxels3d.Robot(np.full((2, 2, 2), 3))
    with pytest.raises(InvalidValue, match="whole numbers of shape"):
        voxels3d.Robot(np.zeros((2, 2)))
    with pytest.raises(InvalidValue, match="up to 1073741824, not 4294967296"):
        voxels3d.Robot(np.full((2, 2, 2), 2**32))
    pair = voxels3d.Robot(np.zeros((2, 1, 1), int))
    some: Any = 5
    with pytest.raises(InvalidValue, match="materials of a robot must be .* not 5"):
        voxels3d.Robot(pair.grid, some)
    with pytest.raises(InvalidValue, match="give 1e-07 to"):
        voxels3d.Robot(pair.grid, side_length=1e-30)
    with pytest.raises(InvalidValue, match="must be some of the voxels 0 to 1, not .2."):
        voxels3d.Robot(pair.grid, holds=(voxels3d.Hold(np.array([2])),))
    with pytest.raises(InvalidValue, match="is above .* unstable"):
        voxels3d.simulation(pair, dt=0.01)
    with pytest.raises(InvalidValue, match="shape .3., or .2, 3. for the 2 robots"):
        voxels3d.simulation([pair, pair], positions=np.zeros((3, 3)))
    with pytest.raises(InvalidValue, match="finite numbers, not .0.0, 0.0, nan"):
        voxels3d.simulation(pair, positions=(0.0, 0.0, np.nan))
    with pytest.raises(InvalidValue, match="below 0.5|less than 0.5"):
        voxels3d.Voxel(poisson_ratio=0.5)
    with pytest.raises(InvalidValue, match="must rise"):
        voxels3d.Voxel(curve=((0.1, 1e4), (0.05, 2e4)))


@pytest.mark.parametrize("name", ["youngs_modulus", "density", "internal_damping", "curve"])
def test_numbers_of_a_material_that_are_none_are_refused(name):
    with pytest.raises(InvalidValue, match=f"{name.split('_')[0]}.* of a voxel must be"):
        voxels3d.Voxel(**{name: None})


def test_a_force_field_of_one_number_is_refused():
    with pytest.raises(InvalidValue, match="force_field .* must be a list of Formula, such as .*, not 3"):
        voxels3d.World(force_field=3)


def test_a_robot_that_begins_inside_a_ball_is_told_of() -> None:
    """Its obstacles are counted as they were given, also behind sand."""
    robot, ball = voxels3d.Robot(np.zeros((2, 2, 2), int)), Sphere(0.5, center=(0.0, 0.0, -0.4))
    sand = ResistiveGround("sand-loose", height=-0.5)
    with pytest.warns(BeginsInside, match="8 of 8 voxels begin inside obstacle 1, a Sphere"):
        voxels3d.simulation(robot, obstacles=[sand, ball], device="cpu", threads=1)


def test_a_robot_that_begins_inside_a_slope_is_told_of() -> None:
    robot = voxels3d.Robot(np.zeros((4, 1, 1), int))
    slope = Plane(normal=(-np.sin(0.2), 0.0, np.cos(0.2)))
    told = r"2 of 4 voxels begin inside obstacle 0, a Plane, the deepest by 0\.00205 m, .*positions=\(x, y, z\)"
    with pytest.warns(BeginsInside, match=told):
        voxels3d.simulation(robot, obstacles=[slope], device="cpu", threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BeginsInside)
        voxels3d.simulation(robot, obstacles=[slope], positions=(0.0, 0.0, 0.004), device="cpu", threads=1)
