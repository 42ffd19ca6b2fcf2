"""Steps of one linear solve: how near they come to the exact motion, what they report, what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import fem, robots
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.fem.settling import StepsUnsettled
from annelid.fem.state import CarriedOneSolve
from annelid.materials import Material, NeoHooke
from annelid.shapes import ground, tet_beam

ALONE = fem.Contact(itself=False)


def strip(silicone: Material | str, *, quadratic: bool = False) -> fem.Solid:
    mesh = tet_beam(0.12, 0.02, 0.012, cells=(10, 2, 2) if not quadratic else (5, 1, 1))
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, silicone)
    return solid.fix(lambda p: p[:, 0] < 1e-9).group("tip", lambda p: p[:, 0] > 0.12 - 1e-9)


def moving(solid: fem.Solid, integrator: fem.Integrator, dt: float = 0.02) -> Simulation[fem.Solver]:
    return fem.simulation(solid, dt=dt, integrator=integrator, ramp=0.5, device="cpu", threads=1)


def shake(simulation: Simulation[fem.Solver]) -> None:
    """Push to and fro."""
    for step in range(24):
        simulation.controls.command({"push": 0.2 if step % 4 < 2 else -0.2})
        simulation.step()


def error(solid: fem.Solid) -> float:
    """Distance from the exact motion, of the way that a node has come, under loads that grow for 0.5 s."""
    exact, one = (moving(solid, integrator) for integrator in ("backward-euler", "linearly-implicit"))
    apart, way = 0.0, 0.0
    for _ in range(30):
        exact.step()
        one.step()
        apart = max(apart, np.linalg.norm(exact.positions() - one.positions(), axis=1).max())
        way = max(way, np.linalg.norm(exact.positions() - solid.nodes, axis=1).max())
    assert way > 0.03
    return apart / way


def relaxing() -> Material:
    return Material.hyperelastic("soft", NeoHooke(50e3), poisson_ratio=0.49, prony=((0.3, 0.05),))


@pytest.mark.parametrize(
    "solid",
    [
        strip("dragon-skin-10"),
        strip("dragon-skin-10/yeoh", quadratic=True),
        strip("ecoflex-00-50"),
        strip(relaxing()),
    ],
    ids=["ogden", "yeoh-quadratic", "co-rotational", "relaxing"],
)
def test_a_step_of_one_solve_follows_the_exact_motion(solid: fem.Solid) -> None:
    assert error(solid) < 0.03


def test_threads_and_fabrics_that_do_not_stretch_are_followed() -> None:
    """Tensions where nodes would fly are large multiples of what turns add to lengths: without those of before 15 %."""
    solid = strip("dragon-skin-10")
    bottom = solid.nodes[:, 2].min()
    solid.reinforce(
        fem.Fabric(lambda p: p[:, 2] < bottom + 1e-9, modulus=1e9, thickness=1e-4),
        fem.Thread([(x, 0.0, bottom) for x in np.linspace(0.001, 0.119, 11)], 1e4),
    )
    assert error(solid) < 0.03


def test_what_fits_in_one_step_is_exact() -> None:
    """A flight is linear, and so is what is left after small loads."""
    solid = strip("dragon-skin-10").release()
    simulation = fem.simulation(solid, dt=0.05, integrator="linearly-implicit", device="cpu", threads=1)
    simulation.run(0.2)
    moved = simulation.positions() - solid.nodes
    np.testing.assert_allclose(moved, np.broadcast_to([0.0, 0.0, -0.5 * 9.81 * 0.2 * 0.25], moved.shape), atol=1e-9)


def test_what_is_left_does_not_add_up() -> None:
    solid = strip("dragon-skin-10")
    simulation = moving(solid, "linearly-implicit")
    simulation.run(4.0)
    rest = fem.equilibrium(solid, device="cpu", threads=1)
    np.testing.assert_allclose(simulation.positions(), rest, atol=2e-5)


def test_the_error_of_a_step_is_told_and_warned_of() -> None:
    solid = strip("dragon-skin-10")
    slow = moving(solid, "linearly-implicit")
    force = fem.PointForce(name="push", at=int(solid.indices("tip")[0]), direction=(0.0, 0.0, 1.0), force=(-9.0, 9.0))
    fast = fem.simulation(solid, dt=0.1, integrator="linearly-implicit", actuators=[force], device="cpu", threads=1)
    slow.run(0.2)
    assert isinstance(slow.state.solve, CarriedOneSolve)
    assert 0.0 < slow.state.solve.error.numpy()[0] < 1e-4
    assert slow.state.unsettled.numpy()[0] == 0
    with pytest.warns(StepsUnsettled, match=r"too fast for one solve.*state\.solve\.error.*'backward-euler'"):
        shake(fast)
    assert isinstance(fast.state.solve, CarriedOneSolve)
    assert fast.state.solve.error.numpy()[0] > 1e-4


def test_a_saved_motion_goes_on_to_the_bit(tmp_path: Path) -> None:
    simulation = moving(strip("dragon-skin-10"), "linearly-implicit")
    simulation.run(0.1)
    simulation.save(tmp_path / "there.npz")
    simulation.run(0.1)
    again = moving(strip("dragon-skin-10"), "linearly-implicit")
    again.load(tmp_path / "there.npz")
    again.run(0.1)
    assert np.array_equal(again.positions(), simulation.positions())


def test_worlds_come_out_as_alone() -> None:
    solid = strip("ecoflex-00-50")
    alone = moving(solid, "linearly-implicit")
    both = fem.simulation(
        solid, dt=0.02, integrator="linearly-implicit", ramp=0.5, worlds=2, together=False, device="cpu", threads=1
    )
    for each in (alone, both):
        each.run(0.1)
    assert np.array_equal(both.positions()[solid.node_count :], alone.positions())


def test_slides_and_pressures_act() -> None:
    hand = robots.gripper(fingers=2)
    lift = fem.Slide(name="lift", where=hand.solid.held.all(axis=1), direction=(0, 0, 1), travel=(0.0, 0.1))
    actuators = [*hand.actuators, lift]
    found = []
    for integrator in ("backward-euler", "linearly-implicit"):
        simulation = fem.simulation(
            hand.solid, actuators=actuators, dt=0.02, integrator=integrator, contact=ALONE, device="cpu", threads=1
        )
        simulation.controls.command({"lift": 0.02, "air": 4e3}, ramp=0.2)
        simulation.run(0.2)
        found.append(simulation.positions() - hand.solid.nodes)
    np.testing.assert_allclose(found[1], found[0], atol=0.03 * abs(found[0]).max())


def test_what_it_cannot_do_is_refused() -> None:
    solid = strip("dragon-skin-10")
    with pytest.raises(InvalidValue, match=r"'linearly-implicit' cannot step a solid that touches obstacles"):
        fem.simulation(solid, obstacles=[ground(1.0, height=-0.1)], integrator="linearly-implicit", device="cpu")
    with pytest.raises(InvalidValue, match="solves once a step: leave out settings"):
        fem.simulation(solid, settings=fem.Settings(1e-3), integrator="linearly-implicit", device="cpu")
