"""Free rigid bodies and solids: what one gains the other loses, and stacks come to rest."""

import numpy as np
import pytest
import warp as wp
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.fem.contact.bodies import Bodies
from annelid.fem.contact.obstacles import forms_of
from annelid.fem.contact.state import Touching
from annelid.shapes import Box, Capsule, Obstacle, Rigid, Shape, Sphere, Surface, Torus, ground, turned_about
from annelid.shapes.form import Form

from .bodies import angular_momentum, block, least_gap, turning, turning_of


def totals(simulation: Simulation[fem.Solver], body: Rigid) -> tuple[np.ndarray, float]:
    """Momentum [kg m/s] and energy [J] of the solid and the first obstacle, a free body."""
    touch, solid = simulation.state.touch, simulation.summary()
    assert isinstance(touch, Touching)
    velocity, spin = touch.velocities.numpy()[0], touch.spins.numpy()[0]
    turn = Rotation.from_quat(touch.turns.numpy()[0]).as_matrix()
    inertia = turn @ (body.unit.inertia * body.total_mass / body.unit.mass) @ turn.T
    kinetic = 0.5 * body.total_mass * velocity @ velocity + 0.5 * spin @ inertia @ spin
    return solid.momentum + body.total_mass * velocity, solid.kinetic + solid.elastic + kinetic


SHAPES = [Sphere(0.04), Box((0.06, 0.06, 0.06)), Torus(0.03, 0.02, axis="x")]


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
@pytest.mark.parametrize("shape", SHAPES, ids=["ball", "box", "ring"])
def test_a_collision_keeps_the_momenta_and_no_energy_grows(shape: Shape) -> None:
    body = Rigid(
        shape, motion="free", position=(0.06, 0.05, 0.1), velocity=(0.1, 0.0, -0.5), rotation=turned_about("z", 0.4)
    )
    simulation = fem.simulation(
        block(), obstacles=[body], gravity=(0.0, 0.0, 0.0), dt=0.01, settings=fem.Settings(1e-11, 30),
        device="cpu", threads=1,
    )  # fmt: skip
    momentum, energy = totals(simulation, body)
    parted = simulation.state.touch.velocities.numpy()[0].copy()
    turns = np.linalg.norm(angular_momentum(simulation))
    for _ in range(6):
        assert np.linalg.norm(turning(simulation)) < 1e-9 * turns
        now, less = totals(simulation, body)
        np.testing.assert_allclose(now, momentum, atol=1e-12)
        assert less <= energy * (1.0 + 1e-12)
        assert least_gap(simulation) > 0.0
        energy = less
    assert np.linalg.norm(simulation.state.touch.velocities.numpy()[0] - parted) > 0.1


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
@pytest.mark.parametrize("spin", [(6.0, 20.0, 4.0), (18.0, 60.0, 12.0)])
def test_a_plate_in_flight_keeps_its_angular_momentum_and_its_energy(spin: tuple[float, float, float]) -> None:
    plate = Rigid(Box((0.1, 0.02, 0.005)), motion="free", mass=0.02, position=(0.0, 0.0, 1.0), spin=spin)
    solid = block().fix(lambda p: p[:, 2] < 1e-9)
    simulation = fem.simulation(solid, obstacles=[plate], gravity=(0.0, 0.0, 0.0), dt=0.002, device="cpu", threads=1)
    momentum, energy = turning_of(simulation, plate)
    simulation.run(0.5)
    later, now = turning_of(simulation, plate)
    np.testing.assert_allclose(later, momentum, atol=1e-9 * np.linalg.norm(momentum))
    assert now == pytest.approx(energy, rel=5e-3)


def test_a_soft_block_on_a_free_box_on_the_ground_comes_to_rest() -> None:
    box = Rigid(Box((0.06, 0.06, 0.06)), motion="free", position=(0.04, 0.04, 0.03), density=500.0)
    simulation = fem.simulation(
        block(at=(0.0, 0.0, 0.1)), obstacles=[ground(), box], velocity_damping=5.0, dt=0.02, device="cpu", threads=1
    )
    simulation.step(40)
    touch, solid = simulation.state.touch, simulation.solver.model.solid
    assert touch.velocities.numpy()[1] == pytest.approx(0.0, abs=1e-4)
    assert touch.forces.numpy()[:, 2].sum() == pytest.approx(9.81 * solid.mass, rel=1e-3)
    assert touch.point_forces.numpy()[:, 2].sum() == pytest.approx(9.81 * (solid.mass + box.total_mass), rel=1e-3)


@pytest.mark.parametrize(
    ("obstacles", "sentence"),
    [
        (
            [ground(), Rigid(Box((0.1, 0.1, 0.1)), motion="free")],
            "obstacle 1, a Box, starts in obstacle 0, a Plane, 0.0",
        ),
        ([Rigid(Sphere(0.05), motion="free", position=(0.04, 0.04, 0.0))], "the solid starts in obstacle 0, a Sphere"),
    ],
)
def test_bodies_that_start_in_something_are_refused(obstacles: list[Obstacle], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        fem.simulation(block(at=(0.0, 0.0, 0.01)), obstacles=obstacles, device="cpu")


def test_free_bodies_need_motion() -> None:
    ball = Rigid(Sphere(0.2), motion="free", position=(0.0, 0.0, 9.0))
    with pytest.raises(InvalidValue, match="free bodies move, and this solid does not: use dynamic=True"):
        fem.simulation(block(), obstacles=[ball], dynamic=False, device="cpu")


def test_bodies_go_downhill_where_their_matrix_has_a_negative_eigenvalue() -> None:
    ball = Rigid(Sphere(0.02), motion="free", mass=1e-3, name="ball")
    form, cpu = Form(ball), wp.get_device("cpu")
    bodies = Bodies([ball], [form], forms_of([ball], [form], ball.surface, 1.0, cpu), 1e-3, cpu)
    right = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    stiff, soft = np.diag([4.0, 5.0, 6.0, 1e-3, 2e-3, 3e-3]), np.diag([4.0, -5.0, 6.0, 1e-3, -2e-3, 3e-3])
    np.testing.assert_array_equal(bodies.solution(stiff, right), np.linalg.solve(stiff, right))
    np.testing.assert_allclose(bodies.solution(soft, right), np.linalg.solve(np.abs(soft), right))


def on_a_slope(angle: float, *obstacles: Obstacle) -> Simulation[fem.Solver]:
    """Things on the ground that gravity pulls along x, as on a slope, beside a block that is held."""
    pull = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    beside = block(at=(0.0, 1.0, 0.0)).fix(lambda p: p[:, 2] < 1e-9)
    return fem.simulation(beside, obstacles=[*obstacles], gravity=tuple(pull), dt=0.01, device="cpu", threads=1)


@pytest.mark.parametrize("friction", [0.5, 0.1], ids=["rolls", "slides"])
def test_a_ball_on_a_slope_goes_as_its_friction_lets_it(friction: float) -> None:
    angle, radius = np.radians(30.0), 0.05
    ball = Rigid(Sphere(radius), Surface(friction=friction), motion="free", position=(0.0, 0.0, 0.05))
    simulation = on_a_slope(angle, ground(friction), ball)
    simulation.step(10)  # what falls by less than the reach has come to rest on the ground
    before = motion_of(simulation)
    simulation.step(10)
    gain, spin = (motion_of(simulation) - before) / 0.1
    if friction > 2.0 / 7.0 * np.tan(angle):
        assert gain == pytest.approx(5.0 / 7.0 * 9.81 * np.sin(angle), rel=1e-6)
        assert motion_of(simulation) @ (1.0, -radius) == pytest.approx(0.0, abs=1e-8)  # no slip
    else:
        assert gain == pytest.approx(9.81 * (np.sin(angle) - friction * np.cos(angle)), rel=1e-6)
        assert spin == pytest.approx(2.5 * friction * 9.81 * np.cos(angle) / radius, rel=1e-6)


def motion_of(simulation: Simulation[fem.Solver]) -> np.ndarray:
    """Velocity of the second obstacle along x [m/s] and its spin about y [rad/s]."""
    touch = simulation.state.touch
    assert isinstance(touch, Touching)
    return np.array([touch.velocities.numpy()[1, 0], touch.spins.numpy()[1, 1]])


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_a_capsule_that_spins_on_a_free_plate_drags_it_along_and_keeps_the_momenta() -> None:
    surface = Surface(friction=0.6)
    roller = Rigid(Capsule(0.05, 0.08, axis="y"), surface, motion="free", position=(0.0, 0.0, 0.061), spin=(0, 9.0, 0))
    plate = Rigid(Box((0.6, 0.6, 0.02)), surface, motion="free", position=(0.0, 0.0, -0.01), velocity=(0.0, 0.0, 0.05))
    pair = [plate, roller]
    beside = block(at=(0.0, 1.0, 0.0)).fix(lambda p: p[:, 2] < 1e-9)
    simulation = fem.simulation(
        beside, obstacles=pair, gravity=(0.0, 0.0, 0.0), dt=5e-3, settings=fem.Settings(1e-11, 30), device="cpu",
        threads=1,
    )  # fmt: skip
    touch = simulation.state.touch
    assert isinstance(touch, Touching)
    masses = np.array([body.total_mass for body in pair])[:, None]
    for _ in range(8):
        before, spun = masses * touch.velocities.numpy(), spins_of(touch, pair)
        simulation.step()
        gains = masses * touch.velocities.numpy() - before
        assert np.abs(gains.sum(axis=0)).max() < 1e-12
        # Of backward Euler: forces act where things are at the end of a step.
        turned = np.cross(touch.places.numpy(), gains).sum(axis=0) + spins_of(touch, pair) - spun
        assert np.abs(turned).max() < 1e-9 * spun[1]
    assert touch.velocities.numpy()[0, 0] < -1e-3 < 1e-3 < touch.velocities.numpy()[1, 0]


def spins_of(touch: Touching, bodies: list[Rigid]) -> np.ndarray:
    """Sum of the angular momenta of bodies, each about its own centre [kg m²/s]."""
    found = np.zeros(3)
    for body, turn, spin in zip(bodies, touch.turns.numpy(), touch.spins.numpy(), strict=True):
        axes = (Rotation.from_quat(turn) * Form(body).axes.inv()).as_matrix()
        found += axes @ (body.unit.inertia * body.total_mass / body.unit.mass) @ axes.T @ spin
    return found


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_a_person_leads_bodies_with_finite_speed_and_nothing_goes_through() -> None:
    ball = Rigid(Sphere(0.04), motion="free", position=(0.04, 0.04, 0.1), density=500.0, name="ball")
    post = Rigid(Box((0.02, 0.02, 0.02)), position=(0.2, 0.04, 0.02), name="post")
    solid = block()
    solid.fix(lambda p: p[:, 2] < 1e-9)
    simulation = fem.simulation(solid, obstacles=[ground(height=-0.1), ball, post], dt=0.01, device="cpu", threads=1)
    solver = simulation.solver
    assert list(solver.grips(simulation.state)) == ["ball", "post"]  # the ground has no end

    def places() -> np.ndarray:
        return np.array(list(solver.grips(simulation.state).values()))

    solver.lead("ball", (0.04, 0.04, -0.05))  # through the block
    solver.lead("post", (0.2, 0.06, 0.02))
    for _ in range(15):
        before = places()
        simulation.step()
        assert np.linalg.norm(places() - before, axis=1).max() < 0.4 * 0.01 + 1e-9
        assert least_gap(simulation) > 0.0
    assert 0.07 < places()[0, 2] < 0.095  # on the block, which it presses down
    assert places()[1] == pytest.approx((0.2, 0.06, 0.02), abs=6e-3)
    solver.lead("ball", (0.04, 0.04, 0.12))
    simulation.step(25)
    assert places()[0, 2] == pytest.approx(0.12, abs=0.02)  # a hand bears its weight
    solver.lead("ball", None)
    simulation.step(5)
    assert simulation.state.touch.velocities.numpy()[1, 2] < -0.2
    with pytest.raises(UnknownName, match="no obstacle to be led by hand named 'bull'. Did you mean 'ball'"):
        solver.lead("bull", (0.0, 0.0, 0.0))
    simulation.reset()
    assert len(solver.contacts.leading) == 0
