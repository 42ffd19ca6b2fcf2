"""Mechanics of voxels against closed forms: actuation, momentum, damping, ropes, statics."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import control, voxels
from annelid.voxels import Robot, Voxel
from annelid.voxels.tables import compile_shape


def test_full_actuation_of_a_single_voxel(simulate: Callable[..., Any]) -> None:
    """The original settles at 0.8000 within 20 steps and never goes below 0.79."""
    simulation = simulate(voxels.box(1, 1, Voxel.v1()))
    simulation.solver.set_controls(simulation.state, np.array([1.0]))
    ratios = []
    for _ in range(60):
        simulation.step()
        ratios.append(simulation.solver.readout.area_ratios(simulation.state)[0])
    assert ratios[-1] == pytest.approx(0.8, abs=1e-6)
    assert abs(ratios[19] - 0.8) < 0.002
    assert min(ratios) > 0.78


@pytest.mark.parametrize(
    ("material", "control_value", "ratio"),
    [
        (Voxel.v1(), 0.5, 0.89766),
        (Voxel.paper(), 0.5, 0.9),
        (Voxel.v1(), -1.0, 1.2),
        (Voxel.paper(), -0.25, 1.05),
        (Voxel.paper(), 3.0, 0.8),  # clipped
    ],
)
def test_area_follows_the_control(
    simulate: Callable[..., Any], material: Voxel, control_value: float, ratio: float
) -> None:
    simulation = simulate(voxels.box(1, 1, material))
    simulation.solver.set_controls(simulation.state, np.array([control_value]))
    simulation.step(300)
    assert simulation.solver.readout.area_ratios(simulation.state)[0] == pytest.approx(ratio, abs=1e-5)


def test_force_actuation_is_in_balance_with_the_springs(simulate: Callable[..., Any]) -> None:
    """With central springs only, a pull F towards the centre is twice F/2 a spring: its length changes by F/k."""
    force = 20.0
    material = Voxel.v1(actuation="force", max_force=force, scaffolding="EIXC", ropes=None)
    plain = Voxel.v1(actuation="force", max_force=force, scaffolding="C", ropes=None)
    simulation = simulate([voxels.box(1, 1, material), voxels.box(1, 1, plain)])
    simulation.solver.set_controls(simulation.state, np.array([1.0, 1.0]))
    simulation.step(600)
    masses = simulation.solver.readout.mass_positions(simulation.state)
    diagonal = np.linalg.norm(masses[1, 0] - masses[1, 2])
    k = 0.5 * plain.mass * plain.spin_rate**2
    assert diagonal == pytest.approx(2.1 * np.sqrt(2.0) - force / k, abs=1e-6)
    assert simulation.solver.readout.area_ratios(simulation.state)[0] < 0.99


def test_momentum_of_a_floating_robot(simulate: Callable[..., Any], calm: Callable[..., Voxel]) -> None:
    """Whatever the controls, a robot that nothing touches keeps its momentum and its angular momentum."""
    hard, soft = calm(frequency=20.0), calm(frequency=6.0, scaffolding="EC")
    pulled = calm(actuation="force", max_force=30.0)
    robot = Robot.from_text("hsp\nh h\nssh", {"h": hard, "s": soft, "p": pulled})
    simulation = simulate(robot, positions=[[5.0, -3.0]])
    state, rng = simulation.state, np.random.default_rng(1)
    velocities = state.velocities.numpy()
    velocities[:, :3] = rng.normal(0.0, 1.0, (len(velocities), 3))
    state.velocities.assign(velocities)
    before = simulation.summary()
    for _ in range(100):
        simulation.solver.set_controls(state, rng.uniform(-1.0, 1.0, robot.voxel_count))
        simulation.step(2)
    after = simulation.summary()
    np.testing.assert_allclose(after.momentum, before.momentum, atol=1e-12)
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=1e-11)
    assert after.kinetic > 0.0


def test_damping_of_free_motion(simulate: Callable[..., Any]) -> None:
    """Velocity of an undeformed robot decays by 1 - h d each substep."""
    simulation = simulate(voxels.box(2, 1, Voxel.v1(linear_damping=2.0)), substeps=4)
    velocities = simulation.state.velocities.numpy()
    velocities[:, 0] = 3.0
    simulation.state.velocities.assign(velocities)
    simulation.step(30)
    expected = 3.0 * (1.0 - 2.0 / 240.0) ** 120
    np.testing.assert_allclose(simulation.state.velocities.numpy()[:, 0], expected, rtol=1e-10)


def test_free_fall(simulate: Callable[..., Any], calm: Callable[..., Voxel]) -> None:
    simulation = simulate(voxels.biped(material=calm()), gravity=(0.0, 0.0, -9.8))
    start = simulation.solver.readout.centers(simulation.state)[0, 1]
    simulation.step(60)
    n, h = 240, 1.0 / 240.0
    fallen = 9.8 * h * h * n * (n + 1) / 2  # of semi-implicit Euler
    assert start - simulation.solver.readout.centers(simulation.state)[0, 1] == pytest.approx(fallen, rel=1e-9)


def test_lower_ropes_keep_masses_apart(simulate: Callable[..., Any]) -> None:
    """Soft voxels that are crushed: the centres of two masses of a side come no closer than a mass."""
    push = np.zeros((1, 1, 4, 2))
    push[0, 0, :, 0] = [2.0, -2.0, -2.0, 2.0]
    gaps = []
    for ropes in ("lower", None):
        simulation = simulate(voxels.box(1, 1, Voxel.v1(frequency=1.5, scaffolding="XC", ropes=ropes)).push(push))
        simulation.step(150)
        masses = simulation.solver.readout.mass_positions(simulation.state)[0]
        gaps.append(np.linalg.norm(masses[0] - masses[1]))
    assert gaps[0] == pytest.approx(0.9, abs=0.005)
    assert gaps[1] < 0.6


def test_upper_ropes_hold_masses_together(simulate: Callable[..., Any]) -> None:
    material = Voxel.paper(frequency=1.0)
    pull = np.zeros((1, 1, 4, 2))
    pull[0, 0, :, 0] = [-100.0, 100.0, 100.0, -100.0]
    simulation = simulate(voxels.box(1, 1, material).push(pull))
    simulation.step(600)
    masses = simulation.solver.readout.mass_positions(simulation.state)[0]
    assert np.linalg.norm(masses[0] - masses[1]) == pytest.approx(material.rope_length, abs=0.01)


def test_welds_cannot_stretch(simulate: Callable[..., Any]) -> None:
    """Masses of neighbours stay exactly side by side, whatever pulls at them."""
    rng = np.random.default_rng(3)
    robot = voxels.box(3, 2, Voxel.v1()).push(rng.normal(0.0, 30.0, (3, 2, 4, 2)))
    simulation = simulate(robot)
    simulation.step(120)
    masses = simulation.solver.readout.mass_positions(simulation.state)
    where = {tuple(cell): i for i, cell in enumerate(robot.cells.tolist())}
    for (x, y), i in where.items():
        if (x + 1, y) in where:
            gap = masses[where[x + 1, y], [0, 3]] - masses[i, [1, 2]]
            np.testing.assert_allclose(np.linalg.norm(gap, axis=1), 0.9, atol=1e-12)


@pytest.mark.parametrize("scaffolding", ["EIXC", "EIC", "EIX", "IXC"])
@pytest.mark.parametrize(("width", "height"), [(3, 1), (4, 3)])
def test_small_loads_bend_as_linear_statics_says(
    simulate: Callable[..., Any], width: int, height: int, scaffolding: str
) -> None:
    """K u = f, with K summed spring by spring here, in a way of its own."""
    material = Voxel.v1(frequency=20.0, scaffolding=scaffolding)
    beam = voxels.box(width, height, material).fix(lambda x, y, c: (x == 0) & (c % 3 == 0))
    force = np.zeros((width, height, 4, 2))
    force[-1, :, 1:3, 1] = -1e-3
    simulation = simulate(beam.push(force))
    start = simulation.solver.readout.mass_positions(simulation.state)
    simulation.step(3000)
    moved = simulation.solver.readout.mass_positions(simulation.state) - start
    expected = _linear_statics(beam, material, force)
    np.testing.assert_allclose(moved[-1, :, 1], expected, rtol=2e-3)


def _linear_statics(beam: Robot, material: Voxel, force: np.ndarray) -> np.ndarray:
    """Vertical displacement of the four masses of the last voxel [m]."""
    shape = compile_shape([beam], [], 1 / 60)
    half, freedoms = 0.45, 3 * shape.body_count
    stiffness, load = np.zeros((freedoms, freedoms)), np.zeros(freedoms)
    sides = [(0, 1, (1, 0), (0, 1)), (1, 2, (0, -1), (1, 0)), (3, 2, (1, 0), (0, -1)), (0, 3, (0, -1), (-1, 0))]
    off = np.array([[-1.05, 1.05], [1.05, 1.05], [1.05, -1.05], [-1.05, -1.05]])
    for voxel in range(shape.voxel_count):
        springs = []
        for a, b, along, out in sides:
            u, o = half * np.array(along), half * np.array(out)
            lanes = {"E": [(u + o, -u + o)], "I": [(u - o, -u - o)], "X": [(u + o, -u - o), (u - o, -u + o)]}
            springs += [
                (a, b, p, q) for group, pairs in lanes.items() if group in material.scaffolding for p, q in pairs
            ]
        if "C" in material.scaffolding:
            springs += [(0, 2, np.zeros(2), np.zeros(2)), (1, 3, np.zeros(2), np.zeros(2))]
        for a, b, p, q in springs:
            d = off[b] + q - off[a] - p
            n = d / np.linalg.norm(d)
            cross = [r[0] * n[1] - r[1] * n[0] for r in (p, q)]
            k = material.spin_rate**2 / (2 / material.mass + (cross[0] ** 2 + cross[1] ** 2) / material.inertia)
            row = np.zeros(freedoms)
            for mass, corner, sign in ((a, p, -1.0), (b, q, 1.0)):
                body, arm = shape.mass_body[4 * voxel + mass], shape.mass_arm[4 * voxel + mass] + corner
                row[3 * body : 3 * body + 3] += sign * np.array([*n, arm[0] * n[1] - arm[1] * n[0]])
            stiffness += k * np.outer(row, row)
        for mass in range(4):
            body, arm = shape.mass_body[4 * voxel + mass], shape.mass_arm[4 * voxel + mass]
            f = force[tuple(beam.cells[voxel])][mass]
            load[3 * body : 3 * body + 3] += [*f, arm[0] * f[1] - arm[1] * f[0]]
    free = np.repeat(shape.body_constants[:, 0] > 0, 3)
    u = np.zeros(freedoms)
    u[free] = np.linalg.solve(stiffness[np.ix_(free, free)], load[free])
    last = slice(4 * (shape.voxel_count - 1), None)
    body, arm = shape.mass_body[last], shape.mass_arm[last]
    return u[3 * body + 1] + u[3 * body + 2] * arm[:, 0]


@pytest.mark.parametrize("frequency", [4.0, 8.0, 15.0, 30.0])
@pytest.mark.parametrize("per_second", [30, 60])
def test_stable_under_random_control(device: str, frequency: float, per_second: int) -> None:
    """Worst controls on rough ground: ±1 at random every second step, in single precision, for 20 s."""
    body = voxels.Robot.from_text("####\n# ##", Voxel.v1(frequency=frequency))
    switch = np.random.default_rng(0).choice([-1.0, 1.0], (per_second * 20, body.voxel_count))

    def jerk(time: np.ndarray) -> np.ndarray:
        return switch[np.minimum(np.rint(time * per_second / 2).astype(int), len(switch) - 1)]

    robot = body.with_controller(control.TimeFunctions(jerk))
    simulation = voxels.simulation(robot, obstacles=[voxels.terrain("hilly-1-5-0")], dt=1.0 / per_second, device=device)
    simulation.step(20 * per_second)
    areas = simulation.solver.readout.area_ratios(simulation.state)
    assert np.all((areas > 0.3) & (areas < 2.0))
