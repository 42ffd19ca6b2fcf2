"""Contact: bounces, Coulomb friction on an incline, balls, walls, surfaces of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.shapes import ImplicitSurface, Plane, Rigid, Sphere, Surface, ground
from annelid.springs.obstacles import contacts_of

Make = Callable[..., Any]

G = 9.81
STATIC, KINETIC = 0.5, 0.3


@wp.func
def bowl(time: Any, position: Any):
    """The inside of a sphere of radius 1 m around the origin."""
    distance = wp.length(position)
    normal = -position / distance
    return wp.vector(normal[0], normal[1], normal[2], type(distance)(1.0) - distance)


@wp.func
def lift(time: Any, position: Any):
    """A floor that rises at 5 cm/s."""
    zero = time * type(time)(0.0)
    one = zero + type(time)(1.0)
    return wp.vector(zero, zero, one, position[2] - time * type(time)(0.05))


def particle(
    x: float = 0.0, y: float = 0.0, z: float = 0.0, *, mass: float = 0.1, velocity: Any = (0.0, 0.0, 0.0)
) -> springs.Body:
    return springs.Body([[x, y, z]], mass, [], [], [], velocities=[velocity])


# --- bounces ---


@pytest.mark.parametrize("restitution", [0.1, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_restitution_of_a_bounce(restitution: float, simulate: Make, speed: Make) -> None:
    """Whatever the mass and the speed, v_out / v_in is the coefficient."""
    falls = [(0.1, 1.0), (0.1, 3.0), (2.0, 1.0), (0.05, 0.2)]
    bodies = [particle(float(i), 0.0, 1e-3, mass=m, velocity=(0.0, 0.0, -v)) for i, (m, v) in enumerate(falls)]
    plane = ground(0.0, restitution=restitution, stiffness=1e4)
    simulation = simulate(springs.join(bodies), obstacles=[plane], dt=5e-6)
    simulation.run(0.08)
    out = speed(simulation)[:, 2]
    np.testing.assert_allclose(out / [v for _, v in falls], restitution, rtol=0.01)


def test_a_dead_contact_does_not_bounce(simulate: Make, speed: Make) -> None:
    simulation = simulate(particle(z=1e-3, velocity=(0.0, 0.0, -1.0)), obstacles=[ground(restitution=0.0)], dt=5e-6)
    simulation.run(0.08)
    assert 0.0 <= speed(simulation)[0, 2] < 0.02


@pytest.mark.parametrize("restitution", [0.5, 0.9])
def test_restitution_at_the_default_step(restitution: float, simulate: Make, speed: Make) -> None:
    simulation = simulate(particle(z=1e-3, velocity=(0.0, 0.0, -1.0)), obstacles=[ground(restitution=restitution)])
    simulation.run(0.05)
    assert speed(simulation)[0, 2] == pytest.approx(restitution, rel=0.1)


@pytest.mark.parametrize("restitution", [0.0, 0.03, 0.1, 0.3, 0.8])
@pytest.mark.parametrize("stiffness", [1e4, 1e7])
def test_no_bounce_in_steps_of_auto_is_much_faster_than_it_should(
    restitution: float, stiffness: float, simulate: Make, speed: Make
) -> None:
    """Masses that touch down at 40 moments within a step."""
    wall = ground(restitution=restitution, stiffness=stiffness)
    masses = springs.join([particle(z=z, velocity=(0.0, 0.0, -1.0)) for z in np.linspace(1e-3, 2e-3, 40)])
    simulation = simulate(masses, obstacles=[wall])
    simulation.run(0.2)
    assert speed(simulation)[:, 2].max() < 1.25 * restitution + 0.02


def test_a_bounce_keeps_the_speed_along_a_smooth_wall(simulate: Make, speed: Make) -> None:
    """A wall askew, without friction and without loss: the speed is mirrored."""
    normal = np.array([1.0, 2.0, -2.0]) / 3.0
    wall = Rigid(Plane(point=tuple(-0.5 * normal), normal=tuple(5.0 * normal)), Surface(restitution=1.0, friction=0.0))
    arriving = np.array([0.3, -0.9, 0.4])
    simulation = simulate(particle(velocity=arriving), obstacles=[wall], dt=1e-5)
    simulation.run(1.5)
    np.testing.assert_allclose(speed(simulation)[0], arriving - 2.0 * (arriving @ normal) * normal, atol=2e-3)


def test_a_contact_never_pulls(simulate: Make, speed: Make) -> None:
    """A mass that is drawn out of a wall faster than the wall relaxes feels nothing."""
    body = particle(z=-1e-3, velocity=(0.0, 0.0, 1.0))
    simulation = simulate(body, obstacles=[ground(restitution=0.1)], dt=1e-5)
    simulation.step(200)
    assert speed(simulation)[0, 2] >= 1.0


def test_a_mass_rests_as_deep_as_its_weight(simulate: Make, where: Make) -> None:
    body = springs.join([particle(0.0, mass=0.1), particle(1.0, mass=0.5)])
    simulation = simulate(body, obstacles=[ground(stiffness=2e4)], gravity=(0.0, 0.0, -G))
    simulation.run(2.0)
    np.testing.assert_allclose(where(simulation)[:, 2], [-0.1 * G / 2e4, -0.5 * G / 2e4], rtol=1e-6)


def test_surfaces_that_give_no_stiffness_suit_the_body(simulate: Make, where: Make) -> None:
    """Masses sink as deep whatever they weigh; a fall from the height of the body presses them in by few hundredths."""
    pair = springs.join([particle(0.0, mass=0.1), particle(1.0, mass=0.5)])
    simulation = simulate(pair, obstacles=[ground()], gravity=(0.0, 0.0, -G))
    simulation.run(0.5)
    np.testing.assert_allclose(where(simulation)[:, 2], -G / 1e6, rtol=1e-6)
    for scale, stiffness in ((1.0, 1e4), (1.0, 1e7), (0.01, 1e4), (30.0, 10.0)):
        body = springs.block((3, 3, 4), 0.1 * scale, mass=0.1 * scale**3, stiffness=stiffness * scale**3, damping=0.0)
        body.velocities[:, 2] = -math.sqrt(2.0 * G * 0.3 * scale)
        simulation = simulate(body, obstacles=[ground()], gravity=(0.0, 0.0, -G))
        deepest = []
        simulation.observe(lambda s, deepest=deepest: deepest.append(where(s)[:, 2].min()), every=simulation.dt)
        simulation.step(200)
        assert -0.2 * 0.1 * scale < min(deepest) < 0.0, (scale, stiffness)


def test_a_stiffness_that_is_given_is_taken_in_any_step(simulate: Make, where: Make) -> None:
    for dt in ("auto", 1e-4):
        simulation = simulate(particle(), obstacles=[ground(stiffness=2e4)], gravity=(0.0, 0.0, -G), dt=dt)
        simulation.run(1.0)
        assert where(simulation)[0, 2] == pytest.approx(-0.1 * G / 2e4, rel=1e-6)


# --- friction on an incline ---


def incline(angle: float, *, static: float = STATIC, kinetic: float | None = KINETIC) -> Rigid:
    plane = Plane(normal=(-math.sin(angle), 0.0, math.cos(angle)))
    return Rigid(plane, Surface(friction=static, sliding_friction=kinetic, stiffness=1e4))


def resting(angle: float, mass: float = 0.1, velocity: float = 0.0) -> springs.Body:
    """A mass on an incline, as deep in it as its weight presses; downhill is -x."""
    depth = mass * G * math.cos(angle) / 1e4
    x, _, z = -depth * np.array([-math.sin(angle), 0.0, math.cos(angle)])
    downhill = velocity * np.array([-math.cos(angle), 0.0, -math.sin(angle)])
    return particle(x, 0.0, z, mass=mass, velocity=downhill)


def downhill(simulation: Any, where: Make, angle: float) -> float:
    """Distance that the centre of mass has come down along the slope [m]."""
    body = simulation.solver.model.body
    moved = body.masses @ (where(simulation) - body.positions) / body.masses.sum()
    return float(moved @ [-math.cos(angle), 0.0, -math.sin(angle)])


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
@pytest.mark.parametrize("static", [0.1, 0.5, 1.2])
def test_a_mass_sticks_below_the_angle_of_friction_and_slips_above(
    static: float, integrator: str, simulate: Make, where: Make, speed: Make
) -> None:
    for factor in (0.99, 1.01):
        angle = math.atan(factor * static)
        plane = incline(angle, static=static, kinetic=0.6 * static)
        simulation = simulate(resting(angle), obstacles=[plane], gravity=(0.0, 0.0, -G), integrator=integrator)
        simulation.run(0.5)
        down = downhill(simulation, where, angle)
        if factor < 1.0:
            assert abs(down) < 1e-9
            assert np.linalg.norm(speed(simulation)) < 1e-9
        else:
            acceleration = G * (math.sin(angle) - 0.6 * static * math.cos(angle))
            assert down == pytest.approx(0.5 * acceleration * 0.25, rel=0.01)


@pytest.mark.parametrize("degrees", [30.0, 45.0, 70.0])
def test_a_sliding_mass_feels_the_kinetic_coefficient(degrees: float, simulate: Make, where: Make, speed: Make) -> None:
    angle = math.radians(degrees)
    simulation = simulate(resting(angle), obstacles=[incline(angle)], gravity=(0.0, 0.0, -G))
    simulation.run(0.4)
    acceleration = G * (math.sin(angle) - KINETIC * math.cos(angle))
    assert downhill(simulation, where, angle) == pytest.approx(0.5 * acceleration * 0.16, rel=0.01)
    assert np.linalg.norm(speed(simulation)) == pytest.approx(acceleration * 0.4, rel=0.01)


def test_a_sliding_mass_comes_to_rest(simulate: Make, where: Make, speed: Make) -> None:
    """It slides v²/2a on the level, stops, and stays."""
    simulation = simulate(resting(0.0, velocity=1.0), obstacles=[incline(0.0)], gravity=(0.0, 0.0, -G))
    simulation.run(1.0)
    slid = downhill(simulation, where, 0.0)
    assert slid == pytest.approx(1.0 / (2.0 * KINETIC * G), rel=0.01)
    assert np.linalg.norm(speed(simulation)) < 1e-9
    simulation.run(0.5)
    assert downhill(simulation, where, 0.0) == pytest.approx(slid, abs=1e-9)


def test_friction_is_the_same_in_every_direction(simulate: Make, where: Make) -> None:
    angles = np.linspace(0.0, 2.0 * math.pi, 8, endpoint=False)
    depth = 0.1 * G / 1e4
    bodies = [particle(3.0 * i, 0.0, -depth, velocity=(math.cos(a), math.sin(a), 0.0)) for i, a in enumerate(angles)]
    body = springs.join(bodies)
    simulation = simulate(body, obstacles=[incline(0.0)], gravity=(0.0, 0.0, -G))
    simulation.run(0.5)
    moved = where(simulation) - body.positions
    slid = np.linalg.norm(moved[:, :2], axis=1)
    np.testing.assert_allclose(slid, slid[0], rtol=1e-9)
    np.testing.assert_allclose(moved[:, 0] * np.sin(angles) - moved[:, 1] * np.cos(angles), 0.0, atol=1e-12)


def tilted(simulation: Any, angle: float, **changes: Any) -> None:
    """Turn gravity instead of the plane: downhill is -x."""
    model = simulation.solver.model
    gravity = (-G * math.sin(angle), 0.0, -G * math.cos(angle))
    model.set_world(replace(model.world, gravity=gravity, **changes))


def settled_block(simulate: Make, angle: float, plane: Rigid) -> Any:
    """A damped block that has come to rest on a plane whose slope then rose, slowly, to the angle."""
    body = springs.block((4, 4, 3), 0.1, damping=10.0)
    simulation = simulate(body, obstacles=[plane], gravity=(0.0, 0.0, -G), velocity_damping=30.0)
    simulation.run(0.5)
    for part in np.linspace(0.0, 1.0, 41)[1:]:
        tilted(simulation, part * angle)
        simulation.run(0.05)
    tilted(simulation, angle, velocity_damping=0.0)
    return simulation


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_block_sticks_below_the_angle_of_friction_and_slips_above(factor: float, simulate: Make, where: Make) -> None:
    angle = math.atan(factor * STATIC)
    simulation = settled_block(simulate, angle, ground(STATIC))
    before = where(simulation)
    simulation.run(1.0)
    moved = (before - where(simulation)).mean(axis=0)
    if factor < 1.0:
        assert np.abs(moved).max() < 1e-6
    else:
        acceleration = G * (math.sin(angle) - STATIC * math.cos(angle))
        assert moved[0] > 0.5 * (0.5 * acceleration)


@pytest.mark.parametrize("degrees", [25.0, 35.0])
def test_a_sliding_block_feels_the_kinetic_coefficient(degrees: float, simulate: Make, speed: Make) -> None:
    angle = math.radians(degrees)
    body = springs.block((4, 4, 3), 0.1, damping=10.0)
    body.positions[:, 2] -= 4.8 * G / 16 / 1e4  # its weight on the 16 masses below
    plane = ground(KINETIC + 0.05, sliding_friction=KINETIC, stiffness=1e4)
    gravity = (-G * math.sin(angle), 0.0, -G * math.cos(angle))
    simulation = simulate(body, obstacles=[plane], gravity=gravity)
    simulation.run(0.5)
    early = speed(simulation).mean(axis=0)[0]
    simulation.run(0.5)
    late = speed(simulation).mean(axis=0)[0]
    acceleration = G * (math.sin(angle) - KINETIC * math.cos(angle))
    assert (early - late) / 0.5 == pytest.approx(acceleration, rel=0.01)


# --- balls and the user's surfaces ---


def test_a_mass_bounces_off_a_ball(simulate: Make, speed: Make) -> None:
    """Head-on from any side: straight back, with the restitution of the ball."""
    ball = Rigid(Sphere(0.5), Surface(restitution=0.7), position=(1.0, 2.0, 3.0))
    sides = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.6, 0.0, 0.8]])
    bodies = [particle(*(np.array(ball.position) + 0.51 * side), velocity=-side) for side in sides]
    simulation = simulate(springs.join(bodies), obstacles=[ball], dt=5e-6)
    simulation.run(0.1)
    np.testing.assert_allclose(speed(simulation), 0.7 * sides, atol=0.007)


def test_a_mass_slides_off_a_smooth_ball(simulate: Make, where: Make) -> None:
    """It leaves a smooth ball where the height above the centre is two thirds of the radius."""
    ball = Rigid(Sphere(1.0), Surface(friction=0.0, restitution=0.0, stiffness=1e5))
    angle = 0.1
    body = particle(math.sin(angle), 0.0, math.cos(angle))
    simulation = simulate(body, obstacles=[ball], gravity=(0.0, 0.0, -G), dt=2e-5)
    simulation.step(100)
    while np.linalg.norm(where(simulation)[0]) < 1.0 and simulation.time < 3.0:
        simulation.step(50)
    assert where(simulation)[0, 2] == pytest.approx(2.0 / 3.0 * math.cos(angle), abs=0.01)


def test_a_surface_of_the_user(simulate: Make, where: Make) -> None:
    """A mass dropped into a bowl ends at its lowest point."""
    surface = Rigid(ImplicitSurface(bowl), Surface(restitution=0.2, friction=0.05))
    body = particle(0.3, -0.2, 0.0)
    simulation = simulate(body, obstacles=[surface], gravity=(0.0, 0.0, -G), velocity_damping=2.0)
    simulation.run(8.0)
    x, y, z = where(simulation)[0]
    assert math.hypot(x, y) < 0.05 + 1e-3  # no further up than where friction holds it
    assert math.hypot(x, y, z) == pytest.approx(1.0, abs=2e-4)


def test_a_surface_may_move(simulate: Make, where: Make) -> None:
    """A rising floor carries what lies on it, beside a wall and another surface."""
    obstacles = [
        ImplicitSurface(lift),
        Plane(point=(5.0, 0.0, 0.0), normal=(-1.0, 0.0, 0.0)),
        Rigid(ImplicitSurface(lift), Surface(stiffness=1e3)),
    ]
    simulation = simulate(particle(z=0.0), obstacles=obstacles, gravity=(0.0, 0.0, -G))
    simulation.run(2.0)
    assert where(simulation)[0, 2] == pytest.approx(0.1 - 0.1 * G / 1.1e4, abs=2e-4)


def test_a_corner_holds_from_all_sides(simulate: Make, where: Make) -> None:
    walls = [
        Rigid(Plane(normal=normal), Surface(friction=0.0, stiffness=1e4))
        for normal in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    ]
    simulation = simulate(particle(0.1, 0.1, 0.1), obstacles=walls, gravity=(-5.0, -5.0, -5.0))
    simulation.run(3.0)
    np.testing.assert_allclose(where(simulation)[0], -0.1 * 5.0 / 1e4, atol=1e-6)


# --- bad values ---


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (Surface, {"stiffness": 0.0}, "stiffness of a surface must be a number above 0 \\[N/m\\], not 0.0"),
        (Surface, {"stiffness": math.nan}, "stiffness"),
        (Surface, {"restitution": 1.1}, "restitution of a surface must be between 0 and 1, not 1.1"),
        (Surface, {"restitution": math.nan}, "restitution"),
        (Surface, {"friction": -0.1}, "friction of a surface must be a number of 0 or more, not -0.1"),
        (Surface, {"friction": math.inf}, "friction"),
        (Surface, {"friction": 0.3, "sliding_friction": 0.4}, "must not exceed friction 0.3"),
        (Surface, {"sliding_friction": -0.4}, "sliding_friction of a surface"),
        (Plane, {"normal": (0.0, 0.0, 0.0)}, "normal of a plane"),
        (Plane, {"normal": (math.nan, 0.0, 1.0)}, "normal of a plane"),
        (Plane, {"normal": (math.inf, 0.0, 1.0)}, "normal of a plane"),
        (Plane, {"normal": (0.0, 1.0)}, "normal of a plane"),
        (Plane, {"point": (0.0, 0.0, math.nan)}, "point"),
        (Plane, {"point": (0.0, 0.0)}, "point"),
        (Sphere, {"radius": 0.0}, "radius of the sphere = 0.0 cannot be used"),
        (Sphere, {"radius": math.nan}, "radius of the sphere"),
        (Sphere, {"center": (0.0, math.nan, 0.0), "radius": 1.0}, "center"),
    ],
)
def test_bad_obstacles_are_refused(kind: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        kind(**options)


def test_friction_of_sliding_alone_holds_what_rests_too() -> None:
    (contact,) = contacts_of([ground(sliding_friction=0.8)], 1.0)
    assert (contact.friction, contact.sliding_friction) == (0.8, 0.8)
