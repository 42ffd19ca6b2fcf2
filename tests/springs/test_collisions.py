"""Bodies that touch each other and themselves: depth, momentum, friction, who touches whom, lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from annelid import springs
from annelid.core.errors import InvalidValue, StepTooLong, UnknownName
from annelid.materials import material
from annelid.shapes import Box, Shape, Sphere
from annelid.springs import contacts as contacts_module

Make = Callable[..., Any]
Collide = springs.Collide

G = 9.81
PITCH = 0.1


def block(masses: tuple[int, int, int], group: str, *, at: Any = (0.0, 0.0, 0.0), **options: Any) -> springs.Body:
    """A block whose lowest corner is at a place."""
    return springs.block(masses, PITCH, **options).moved(at).group(group, None)


def gap_of(positions: np.ndarray, split: int) -> float:
    """Smallest distance of a mass of the first body to one of the second [m]."""
    return float(cKDTree(positions[:split]).query(positions[split:])[0].min())


def cloud(count: int, seed: int = 0, spread: float = 1.0) -> springs.Body:
    """Loose masses that fly about, none closer than 9 cm to another at first."""
    rng = np.random.default_rng(seed)
    points: list[np.ndarray] = []
    while len(points) < count:
        point = rng.uniform(-spread, spread, 3)
        if not points or np.linalg.norm(np.array(points) - point, axis=1).min() > 0.09:
            points.append(point)
    return springs.Body(points, rng.uniform(0.05, 0.2, count), [], [], [], velocities=rng.normal(0.0, 3.0, (count, 3)))


# --- two blocks ---


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.03, 0.05)], ids=["aligned", "askew"])
@pytest.mark.parametrize("force", [1000.0, 30000.0])
def test_blocks_pressed_together_do_not_interpenetrate(
    force: float, offset: tuple[float, float], simulate: Make, where: Make
) -> None:
    """Up to a compression of 6 %: spheres sink into each other by less than 2 % of a cell at any time."""
    lower = block((5, 5, 5), "lower", damping=20.0)
    upper = block((5, 5, 5), "upper", at=(*offset, 0.5), damping=20.0)
    bottom, top = (lambda p: p[:, 2] < 1e-9), (lambda p: p[:, 2] > 0.9 - 1e-9)
    lower.push(bottom, (0.0, 0.0, force)).guide(bottom, "line", (0.0, 0.0, 1.0))
    upper.push(top, (0.0, 0.0, -force)).guide(top, "line", (0.0, 0.0, 1.0))
    simulation = simulate(springs.join([lower, upper]), collisions=[Collide("lower", "upper")])
    closest = math.inf
    for _ in range(20):
        simulation.run(0.01)
        closest = min(closest, gap_of(where(simulation), 125))
    assert closest > 0.98 * PITCH
    heights = where(simulation)[:, 2]
    assert heights[:125].max() < heights[125:].min() - 0.5 * PITCH


@pytest.mark.parametrize(
    ("integrator", "friction"), [("symplectic", 0.0), ("symplectic", 0.5), ("verlet", 0.0), ("rk4", 0.5)]
)
def test_an_impact_conserves_momentum(integrator: str, friction: float, simulate: Make, where: Make) -> None:
    """Two blocks meet head-on and askew, spinning: no passing through, and momenta to rounding."""
    left, right = block((4, 4, 4), "left"), block((4, 3, 4), "right", at=(0.45, 0.06, 0.03))
    left.velocities[:] = [2.0, 0.0, 0.0]
    right.velocities[:] = np.cross([0.0, 1.0, 2.0], right.positions - right.center_of_mass) + np.array([-1.0, 0.3, 0.0])
    simulation = simulate(
        springs.join([left, right]), collisions=[Collide("left", "right", friction=friction)], integrator=integrator
    )
    before = simulation.summary()
    simulation.run(0.15)
    after = simulation.summary()
    np.testing.assert_allclose(after.momentum, before.momentum, atol=1e-13)
    if friction == 0.0:  # friction acts at the centres of two spheres that do not turn, which is not one point
        np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=1e-13)
    assert after.total < before.total
    x, masses = where(simulation), simulation.solver.model.body.masses
    assert x[:64].mean(axis=0)[0] < x[64:].mean(axis=0)[0] - 0.3
    speeds = [
        masses[p] @ simulation.state.velocities.numpy()[p] / masses[p].sum() for p in (slice(64), slice(64, None))
    ]
    assert speeds[0][0] < speeds[1][0]


def test_groups_that_are_not_chosen_pass_through_each_other(simulate: Make, where: Make, speed: Make) -> None:
    """The ghost flies through both, while these two bounce."""
    bodies = [
        block((3, 3, 3), "left"),
        block((3, 3, 3), "right", at=(0.5, 0.0, 0.0)),
        block((3, 3, 3), "ghost", at=(0.25, 0.0, 1.0)),
    ]
    bodies[0].velocities[:, 0], bodies[1].velocities[:, 0], bodies[2].velocities[:, 2] = 1.0, -1.0, -10.0
    simulation = simulate(springs.join(bodies), collisions=[Collide("left", "right", restitution=1.0)])
    simulation.run(0.3)
    v = speed(simulation)
    assert v[:27, 0].mean() < -0.5
    assert v[27:54, 0].mean() > 0.5
    np.testing.assert_allclose(v[54:], [[0.0, 0.0, -10.0]] * 27, atol=1e-9)
    assert where(simulation)[54:, 2].max() < -1.5


def test_nothing_touches_unless_told(simulate: Make, speed: Make) -> None:
    left, right = block((3, 3, 3), "left"), block((3, 3, 3), "right", at=(0.5, 0.0, 0.0))
    left.velocities[:, 0], right.velocities[:, 0] = 1.0, -1.0
    simulation = simulate(springs.join([left, right]))
    simulation.run(0.5)
    np.testing.assert_allclose(speed(simulation)[:, 0], np.repeat([1.0, -1.0], 27), atol=1e-9)


@pytest.mark.parametrize("restitution", [0.2, 0.6, 1.0])
def test_restitution_of_two_masses(restitution: float, simulate: Make, speed: Make) -> None:
    """Two spheres of different mass: the relative speed is reversed and scaled, the momentum kept."""
    body = springs.Body([[0.0] * 3, [0.21, 0.0, 0.0]], [0.1, 0.3], [], [], [], velocities=[[1.0, 0, 0], [-0.5, 0, 0]])
    rule = Collide("all", "all", radius=0.1, restitution=restitution, friction=0.0, stiffness=2e4)
    simulation = simulate(body, collisions=[rule], dt=1e-5)
    simulation.run(0.05)
    v = speed(simulation)
    assert v[1, 0] - v[0, 0] == pytest.approx(1.5 * restitution, rel=0.01)
    assert 0.1 * v[0, 0] + 0.3 * v[1, 0] == pytest.approx(0.1 - 0.15, abs=1e-12)


def test_masses_touch_where_no_step_is_stable(simulate: Make, speed: Make) -> None:
    """Forward Euler has no stable step without damping, which says nothing of how stiff contacts may be."""
    body = springs.Body([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.17, 0.0, 0.0]], 1.0, [[0, 1]], 0.1, 100.0)
    body.velocities[2, 0] = -1.0
    with pytest.warns(StepTooLong):
        simulation = simulate(body, integrator="euler", collisions=[springs.Collide("all", "all", radius=0.03)])
    simulation.run(0.1)
    assert speed(simulation)[2, 0] > -0.5


def test_a_stiff_part_that_takes_smaller_steps_touches_too(simulate: Make, where: Make) -> None:
    """Contacts act once in a step, whether masses take it whole or in parts."""
    left, right = block((3, 3, 3), "left"), block((3, 3, 3), "right", at=(0.35, 0.02, 0.0))
    left.velocities[:, 0] = 2.0
    right.stiffness *= 4.0
    right.substeps[:] = 4
    simulation = simulate(springs.join([left, right]), collisions=[Collide("left", "right")])
    simulation.run(0.2)
    momentum = simulation.summary().momentum
    np.testing.assert_allclose(momentum, [5.4, 0.0, 0.0], atol=1e-12)
    assert where(simulation)[:27, 0].mean() < where(simulation)[27:, 0].mean() - 0.25


def test_a_removed_mass_touches_nothing(simulate: Make, speed: Make) -> None:
    body = springs.Body(
        [[0.0] * 3, [0.5, 0.0, 0.0], [0.0, 5.0, 0.0], [0.1, 5.0, 0.0]],
        0.1, [[2, 3]], [0.1], [10.0], velocities=[[1.0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    )  # fmt: skip
    simulation = simulate(body, collisions=[Collide("all", "all", radius=0.1)])
    simulation.step(10)
    with simulation.edit() as edit:
        edit.remove_masses([1])
    simulation.run(1.0)
    assert speed(simulation)[0, 0] == pytest.approx(1.0, abs=1e-12)


# --- friction ---


def stacked(angle: float, friction: float, simulate: Make, *, base_acceleration: float = 0.0) -> Any:
    """A block on a held one, under gravity that is tilted by an angle towards +x."""
    base = block((6, 6, 2), "base").fix()
    load = block((4, 4, 3), "load", at=(0.1, 0.1, 0.2), damping=20.0)
    gravity = (G * math.sin(angle) + base_acceleration, 0.0, -G * math.cos(angle))
    rule = Collide("base", "load", friction=friction)
    return simulate(springs.join([base, load]), collisions=[rule], gravity=gravity)


@pytest.mark.parametrize("friction", [0.2, 0.5, 0.7])
def test_a_stacked_block_slips_at_the_angle_of_friction(
    friction: float, simulate: Make, where: Make, speed: Make
) -> None:
    for factor in (0.96, 1.04):
        simulation = stacked(math.atan(factor * friction), friction, simulate)
        begin = where(simulation)[72:].mean(axis=0)
        simulation.run(0.25)
        moved = where(simulation)[72:].mean(axis=0) - begin
        if factor < 1.0:
            assert moved[0] < 0.01 * PITCH
            assert np.linalg.norm(speed(simulation)[72:], axis=1).max() < 2e-3
        else:
            assert moved[0] > 0.03 * PITCH
            assert speed(simulation)[72:, 0].mean() > 0.02


def test_a_stacked_block_slips_when_its_base_accelerates(simulate: Make, where: Make) -> None:
    """In the frame of the base: a pull to the side of less, and of more, than friction times weight."""
    for factor, slips in ((0.95, False), (1.05, True)):
        simulation = stacked(0.0, 0.4, simulate, base_acceleration=0.4 * factor * G)
        begin = where(simulation)[72:, 0].mean()
        simulation.run(0.25)
        assert (where(simulation)[72:, 0].mean() - begin > 0.02 * PITCH) == slips


def test_a_gripped_mass_does_not_creep(simulate: Make, where: Make, speed: Make) -> None:
    """Two held masses squeeze a third: friction carries its weight, and it stays where it is."""
    depth = 2e-4
    body = springs.Body([[-0.1 + depth, 0, 0], [0, 0, 0], [0.1 - depth, 0, 0]], 0.1, [], [], []).fix(np.array([0, 2]))
    rule = Collide("all", "all", radius=0.05, friction=0.5, stiffness=1e4)
    simulation = simulate(body, collisions=[rule], gravity=(0.0, 0.0, -G))
    simulation.run(0.5)
    sunk = where(simulation)[1, 2]
    simulation.run(2.0)
    assert where(simulation)[1, 2] == pytest.approx(sunk, abs=1e-7)
    assert np.linalg.norm(speed(simulation)[1]) < 1e-9
    slipping = simulate(body, collisions=[replace(rule, friction=0.2)], gravity=(0.0, 0.0, -G))
    slipping.run(0.2)
    assert where(slipping)[1, 2] < -0.05  # 2 x 0.2 x 2 N are less than its weight of 0.98 N


# --- a body with itself ---


class Hairpin(Shape):
    """A bar of 1.2 x 0.2 x 0.6 m with a slot of 0.2 m along its middle, open at one end."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(3), np.array([1.2, 0.2, 0.6])

    def signed_distance(self, points: Any) -> np.ndarray:
        bar, slot = Box((1.2, 0.2, 0.6), (0.6, 0.1, 0.3)), Box((1.2, 0.4, 0.2), (0.8, 0.1, 0.3))
        return np.maximum(bar.signed_distance(points), -slot.signed_distance(points))

    @property
    def volume(self) -> float:
        return 0.104

    def surface(self, resolution: int = 32) -> Any:
        raise NotImplementedError


def test_a_folding_strip_does_not_pass_through_itself(simulate: Make, where: Make) -> None:
    """The two arms of a hairpin are thrown at each other: they meet, unless nobody told them to."""
    strip = springs.lattice(Hairpin(), PITCH, replace(material("tpu"), youngs_modulus=2e5), damping_frequency=50.0)
    upper = strip.positions[:, 2] > 0.3
    arm = np.maximum(strip.positions[:, 0] - 0.2, 0.0)
    strip.velocities[:, 2] = np.where(upper, -4.0, 4.0) * arm
    strip.group("strip", None)
    closest = []
    for rules in ([Collide("strip", "strip")], []):
        simulation = simulate(strip, collisions=rules)
        nearest = math.inf
        for _ in range(20):
            simulation.run(0.01)
            x = where(simulation)
            tips = strip.positions[:, 0] > 0.55
            nearest = min(nearest, float(cKDTree(x[upper & tips]).query(x[~upper & tips])[0].min()))
        closest.append(nearest)
    assert closest[0] > 0.97 * PITCH
    assert closest[1] < 0.7 * PITCH


def test_a_body_at_rest_does_not_push_itself(simulate: Make, where: Make) -> None:
    """Masses joined by springs, or within contact of each other as built, do not touch."""
    ball = springs.sphere(0.1, 0.02, "tpu").group("ball", None)
    for rule in (Collide("ball", "ball"), Collide("all", "all", radius=0.05)):
        simulation = simulate(ball, collisions=[rule], dt=1e-5)
        simulation.run(0.004)
        np.testing.assert_allclose(where(simulation), ball.positions, atol=1e-12)


def test_bodies_may_touch_each_other_but_not_themselves(simulate: Make, where: Make) -> None:
    """`itself=False`: two copies of a strip with merged groups."""
    strip = block((12, 2, 2), "strip").replicated(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.22]]))
    strip.velocities[:, 2] = np.repeat([0.5, -0.5], 48)
    simulation = simulate(strip, collisions=[Collide("strip", "strip", itself=False)])
    simulation.run(0.3)
    x = where(simulation)
    assert gap_of(x, 48) > 0.98 * PITCH
    table = simulation.solver.model.contacts.struct
    assert len(table.apart) == 0


# --- lists ---


def brute_forces(body: springs.Body, radius: float, stiffness: float) -> np.ndarray:
    """Spring forces of all pairs of loose masses [N], without friction and dashpots."""
    away = body.positions[:, None] - body.positions[None]
    distance = np.linalg.norm(away, axis=2)
    np.fill_diagonal(distance, np.inf)
    push = stiffness * np.maximum(2 * radius - distance, 0.0)
    return np.asarray(((push / distance)[:, :, None] * away).sum(axis=1))


def test_no_pair_is_missed(simulate: Make, speed: Make) -> None:
    """Forces of one step on a dense cloud against the sum over all pairs."""
    body = cloud(400, spread=0.45)
    body.velocities[:] = 0.0
    rule = Collide("all", "all", radius=0.09, restitution=1.0, friction=0.0, stiffness=100.0)
    simulation = simulate(body, collisions=[rule], dt=1e-6)
    simulation.step(1)
    expected = brute_forces(body, 0.09, 100.0) / body.masses[:, None] * 1e-6
    assert np.abs(expected).max() > 1e-6
    np.testing.assert_allclose(speed(simulation), expected, atol=1e-13)


def test_results_do_not_depend_on_the_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short lists, long lists, lists that overflow, any number of threads and of steps at a time: the same bits."""
    body = cloud(1200, spread=0.7)
    rule = Collide("all", "all", radius=0.045)
    hashes = set()
    for margin, room, threads, piece in ((0.25, 16, 1, 150), (2.0, 16, 2, 50), (0.1, 2, 2, 150), (0.25, 64, 2, 7)):
        monkeypatch.setattr(contacts_module, "_MARGIN", margin)
        monkeypatch.setattr(contacts_module, "_ROOM", room)
        options: dict[str, Any] = {
            "gravity": (0.0, 0.0, 0.0),
            "obstacles": [Sphere(0.2)],
        }
        simulation = springs.simulation(body, collisions=[rule], threads=threads, device="cpu", **options)
        while simulation.step_count < 150:
            simulation.step(min(piece, 150 - simulation.step_count))
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_a_checkpoint_keeps_what_friction_holds(tmp_path: Any, simulate: Make) -> None:
    """Saved while blocks are in contact; continued in another simulation with the same bits."""
    path = tmp_path / "state.npz"
    first, second = (stacked(math.atan(0.3), 0.5, simulate) for _ in range(2))
    first.step(700)
    first.save(path)
    first.step(300)
    second.step(50)
    second.load(path)
    second.step(300)
    assert first.state_hash() == second.state_hash()


def test_long_lists_get_more_room(monkeypatch: pytest.MonkeyPatch, simulate: Make) -> None:
    monkeypatch.setattr(contacts_module, "_ROOM", 2)
    simulation = simulate(cloud(300, spread=0.4), collisions=[Collide("all", "all", radius=0.05)], dt=1e-5)
    simulation.step(2)
    assert simulation.solver.model.contacts.struct.capacity > 2


def test_friction_can_change_while_it_runs(simulate: Make, speed: Make) -> None:
    simulation = stacked(math.atan(0.3), 0.5, simulate)
    simulation.run(0.1)
    model = simulation.solver.model
    model.set_world(replace(model.world, collisions=[Collide("base", "load", friction=0.1)]))
    simulation.run(0.1)
    assert speed(simulation)[72:, 0].mean() > 0.1
    with pytest.raises(InvalidValue, match="groups and radii"):
        model.set_world(replace(model.world, collisions=[Collide("base", "base")]))


# --- radii and bad values ---


def test_radii_close_the_surface_of_a_lattice() -> None:
    radii = springs.contact_radii(springs.block((4, 4, 4), PITCH))
    assert (radii > 0.0).sum() == 64 - 8
    assert radii[radii > 0.0] == pytest.approx(0.5 * PITCH)


def test_bare_masses_have_half_their_shortest_spring() -> None:
    points = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.4, 0.0, 0.0], [9.0, 0.0, 0.0]])
    body = springs.Body(points, 1.0, [[0, 1], [1, 2]], [0.1, 0.3], 10.0)
    np.testing.assert_allclose(springs.contact_radii(body), [0.05, 0.05, 0.15, 0.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"friction": -0.1}, "friction of a collision must be a finite number of 0 or more, not -0.1"),
        ({"friction": math.nan}, "friction"),
        ({"restitution": 1.5}, "restitution of a collision must be between 0 and 1, not 1.5"),
        ({"stiffness": 0.0}, "stiffness of a collision must be a finite number above 0 N/m or None, not 0.0"),
        ({"radius": -1.0}, "radius of a collision"),
    ],
)
def test_bad_rules_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        Collide("a", "b", **options)


def test_bad_groups_are_refused() -> None:
    body = block((3, 3, 3), "a")
    with pytest.raises(UnknownName, match="'b'"):
        springs.simulation(body, collisions=[Collide("a", "b")], device="cpu")
    with pytest.raises(InvalidValue, match="no surface mass"):
        springs.simulation(body.group("core", np.array([13])), collisions=[Collide("core", "core")], device="cpu")
    with pytest.raises(InvalidValue, match="give the collision a radius"):
        springs.simulation(cloud(3), collisions=[Collide("all", "all")], device="cpu")
    with pytest.raises(InvalidValue, match="must be a list of Collide, such as .one., not .'a'."):
        springs.simulation(body, collisions=["a"], device="cpu")
    with pytest.raises(InvalidValue, match="must be a list of Collide, such as .one., not Collide"):
        springs.simulation(body, collisions=Collide("a", "a"), device="cpu")
