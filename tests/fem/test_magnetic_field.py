"""Magnetic fields on magnetised solids: the elastica, torque and force on a rigid magnet, derivatives, control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from scipy.integrate import solve_bvp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.replay import Crew
from annelid.core.rollout import Rollout
from annelid.fem.actuation.actuator import drive_of
from annelid.fem.assembly import Assembly
from annelid.materials import Material, NeoHooke
from annelid.shapes import tet_beam

from .solids import STILL, bar, rubber, shaken

MAGNETISATION = (8e4, 0.0, 0.0)  # [A/m]
FALLS = np.array([[2.0, 0.0, 0.5], [0.0, -3.0, 0.0], [0.5, 0.0, 1.0]])  # [1/m]


def field(**given: Any) -> fem.MagneticField:
    chosen = {"name": "coil", "magnetisation": MAGNETISATION, "direction": (0.0, 0.0, 1.0), "field": (-0.5, 0.5)}
    return fem.MagneticField(**chosen | given)


def elastica(load: float) -> tuple[float, float, float]:
    """Angle of the tip [rad], its place along and across, in lengths, of a beam magnetised along itself.

    Equilibrium of moments: EI θ″ + M A B cos θ = 0 with the load M A B L² / EI.
    """
    s = np.linspace(0.0, 1.0, 41)
    found = solve_bvp(
        lambda _, y: np.stack([y[1], -load * np.cos(y[0])]),
        lambda base, tip: np.array([base[0], tip[1]]),
        s, np.stack([0.5 * s, np.full_like(s, 0.5)]), tol=1e-8,
    )  # fmt: skip
    s = np.linspace(0.0, 1.0, 2001)
    angle = found.sol(s)[0]
    return float(angle[-1]), float(np.trapezoid(np.cos(angle), s)), float(np.trapezoid(np.sin(angle), s))


@pytest.mark.parametrize("load", [0.5, 1.8, 3.6])
def test_a_magnetised_beam_bends_as_the_elastica(load: float, device: str) -> None:
    length, thickness, modulus = 0.04, 0.002, 1e6
    mesh = tet_beam(length, thickness, thickness, cells=(20, 1, 1)).quadratic()
    solid = fem.Solid(mesh, rubber(0.3, modulus)).fix(lambda p: p[:, 0] < 1e-9)
    tesla = load * modulus * thickness**2 / (12.0 * MAGNETISATION[0] * length**2)
    robot = fem.Robot(
        solid, [field()], [fem.Point(name="tip", at=(length, 0.0, 0.0))], device=device, gravity=(0, 0, 0)
    )
    fem.Forward(robot).settle({"coil": tesla})
    place = robot.places()[0]
    angle, along, across = elastica(load)
    assert load < 3.6 or np.degrees(angle) > 60.0
    assert place[2] == pytest.approx(across * length, rel=0.01)
    assert place[0] == pytest.approx(along * length, rel=0.01)


@pytest.mark.parametrize("quadratic", [False, True])
def test_torque_and_force_on_a_magnet_that_stays_rigid(quadratic: bool, device: str) -> None:
    solid, tesla, direction = bar(quadratic=quadratic), 0.3, np.array([0.0, 0.6, 0.8])
    moment = solid.element_volumes.sum() * np.array(MAGNETISATION)
    for gradient in (None, FALLS):
        drive = drive_of(field(direction=direction, gradient=gradient), solid, wp.get_device(device), np.zeros(3))
        drive.exert(tesla)
        forces = evaluated(solid, drive, solid.nodes, device)[1]
        rise = np.zeros((3, 3)) if gradient is None else gradient
        centre = solid.nodes[solid.elements[:, :4]].mean(axis=1).T @ solid.element_volumes / solid.element_volumes.sum()
        np.testing.assert_allclose(forces.sum(axis=0), tesla * rise @ moment, rtol=1e-9, atol=1e-9)
        if gradient is None:
            torque = np.cross(solid.nodes - centre, forces).sum(axis=0)
            np.testing.assert_allclose(torque, np.cross(moment, tesla * direction), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("gradient", [None, FALLS])
def test_forces_tangent_and_direction_are_derivatives(quadratic: bool, gradient: Any, device: str) -> None:
    solid = bar(quadratic=quadratic)
    magnetised = np.random.default_rng(1).normal(size=(len(solid.elements), 3)) * 1e4
    magnetised[::3] = 0.0
    actuator = field(direction=(1.0, 2.0, 3.0), gradient=gradient, magnetisation=magnetised)
    drive = drive_of(actuator, solid, wp.get_device(device), np.zeros(3))
    drive.exert(0.2)
    here, way, step = shaken(solid, 0.02), shaken(solid, 1.0, 3) - solid.nodes, 1e-5
    _, forces, matrix, stroke, slope = evaluated(solid, drive, here, device)
    above = evaluated(solid, drive, here + step * way, device)
    below = evaluated(solid, drive, here - step * way, device)
    assert (above[0] - below[0]) / (2.0 * step) == pytest.approx(-(forces * way).sum(), rel=1e-6)
    assert (above[3] - below[3]) / (2.0 * step) == pytest.approx((slope * way).sum(), rel=1e-6)
    np.testing.assert_allclose(forces, 0.2 * slope, rtol=1e-9, atol=1e-9)
    change = (above[1] - below[1]).ravel() / (2.0 * step)
    np.testing.assert_allclose(change, -matrix @ way.ravel(), atol=1e-5 * max(1.0, np.abs(change).max()))
    assert evaluated(solid, drive, solid.nodes, device)[3] == pytest.approx(0.0, abs=1e-6 * abs(stroke))


def evaluated(solid: fem.Solid, drive: Any, positions: np.ndarray, device: str) -> tuple[Any, ...]:
    """Energy [J], forces [N], matrix [N/m], stroke [A m²] and its slope, at positions [m]."""
    model = fem.Model(solid, STILL, device)
    assembly = Assembly(solid.node_count, drive.sets, Crew(model.device, 1))
    where = model.vectors(positions)
    assembly.evaluate(where)
    strokes, directions = model_columns(model)
    for stage in drive.stages(where, 0, strokes, directions):
        stage.launch(model.device)
    parts = (
        assembly.forces.numpy().copy(),
        assembly.matrix(),
        float(strokes.numpy()[0]),
        directions.numpy()[:, 0].copy(),
    )
    return (float(assembly.energy.numpy()[0]), *parts)


def model_columns(model: fem.Model) -> tuple[Any, Any]:
    strokes = wp.zeros(1, dtype=wp.float64, device=model.device)
    return strokes, wp.zeros((model.node_count, 1), dtype=wp.vec3d, device=model.device)


def hyperelastic_bar() -> fem.Solid:
    soft = Material.hyperelastic("soft", NeoHooke(4e5), poisson_ratio=0.4, density=1000.0)
    return fem.Solid(bar().mesh, soft).fix(lambda p: p[:, 0] < 1e-9).group("tip", lambda p: p[:, 0] > 0.999)


def test_coils_bring_a_tip_to_its_target() -> None:
    solid, axes = bar((8, 1, 1), quadratic=True, length=0.04, thickness=0.004), np.eye(3)
    coils = [field(name=f"coil-{axis}", direction=tuple(way)) for axis, way in zip("yz", axes[1:], strict=True)]
    robot = fem.Robot(solid, coils, [fem.Point(name="tip", at=(0.04, 0.0, 0.0))], device="cpu", gravity=(0, 0, 0))
    forward, fields = fem.Forward(robot), [2e-3, -3e-3]
    forward.settle(fields)
    target = robot.places()[0].copy()
    forward.settle([0.0, 0.0])
    assert np.linalg.norm(robot.places()[0] - target) > 4e-3
    assert fem.Inverse(robot).reach({"tip": target}).reached
    np.testing.assert_allclose(robot.efforts, fields, rtol=0.01)


def test_worlds_together_move_as_one_by_one() -> None:
    def swings(together: bool) -> np.ndarray:
        simulation = fem.simulation(
            hyperelastic_bar(),
            actuators=[field()],
            dt=5e-3,
            worlds=2,
            together=together,
            gravity=(0, 0, 0),
            device="cpu",
        )
        simulation.sensors.add("tip", fem.position_of("tip"))
        simulation.controls["coil"] = [0.1, -0.3]
        simulation.step(10)
        return np.array(simulation.sensors["tip"])

    alone, together = swings(False), swings(True)
    moved = np.abs(alone - np.array([1.0, 0.0, 0.0])).max()
    assert moved > 0.05
    np.testing.assert_allclose(together, alone, atol=1e-3 * moved)


def test_gradients_by_the_field_are_central_differences() -> None:
    simulation = fem.simulation(
        bar(), actuators=[field(gradient=FALLS)], dt=5e-3, gravity=(0, 0, 0), velocity_damping=1.0, device="cpu"
    )
    rollout, chance = Rollout(simulation, 3), np.random.default_rng(0)
    fields, way = np.array([[[0.1], [0.2], [-0.3]]]), np.array([[[1.0], [-0.5], [0.7]]])
    weights = chance.standard_normal(rollout.track_shape)
    rollout.forward({"controls": fields})
    found = float((rollout.backward(weights)["controls"] * way).sum())
    above, below = (
        float((weights * rollout.forward({"controls": fields + step * way}).positions).sum()) for step in (1e-3, -1e-3)
    )
    assert found == pytest.approx((above - below) / 2e-3, rel=1e-6)


def test_a_field_with_a_gradient_and_its_moment_are_read() -> None:
    simulation = fem.simulation(
        bar(), actuators=[field(gradient=FALLS)], dynamic=False, gravity=(0, 0, 0), device="cpu"
    )
    simulation.sensors.add("field", fem.effort_of("coil"))
    simulation.sensors.add("moment", fem.stroke_of("coil"))
    simulation.controls["coil"] = 0.4
    simulation.step(1)
    assert simulation.sensors["field"] == pytest.approx(0.4)
    assert np.ravel(simulation.sensors["moment"])[0] > 0.0


def test_fields_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidValue, match="symmetric with a trace of 0"):
        field(gradient=np.eye(3))
    with pytest.raises(InvalidValue, match="symmetric with a trace of 0"):
        field(gradient=[[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    with pytest.raises(InvalidValue, match="three finite numbers, not all 0"):
        field(direction=(0.0, 0.0, 0.0))
    for wrong, why in (((0.0, 0.0, 0.0), "acts on nothing"), (np.ones((3, 3)), "shape"), ((np.nan, 0, 0), "finite")):
        with pytest.raises(InvalidValue, match=why):
            fem.Robot(bar(), [field(magnetisation=wrong)], [], device="cpu")
    with pytest.raises(InvalidValue, match="has a gradient"):
        fem.simulation(hyperelastic_bar(), actuators=[field(gradient=FALLS)], worlds=2, together=True, device="cpu")
