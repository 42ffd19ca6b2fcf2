"""Sand that stays at its place below bodies of springs: heights are carried along exactly where it lies evenly, it
bears what the law bears, and rubs over a way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import annelid
from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.shapes import Furrow, ResistiveGround
from annelid.springs.kernels.furrowing import MEMORY

SIDE, MASS = 0.06, 0.3
SAND = ResistiveGround("sand-close", buried=True, stiffness=1e6, furrow=Furrow())


def cube(depth: float, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0), *, masses: int = 4) -> springs.Body:
    """A stiff cube in motion, its underside at a depth."""
    body = springs.block((masses,) * 3, SIDE / (masses - 1), mass=MASS / masses**3, stiffness=2000.0, damping=1.0)
    body.velocities[:] = velocity
    return body.moved((0.0, 0.0, -depth))


def moved(simulation: annelid.Simulation[springs.Solver]) -> np.ndarray:
    """How far the centre of mass has come [m], shape [3]."""
    return np.asarray(simulation.summary().center_of_mass - simulation.solver.model.body.center_of_mass)


@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, -1.0), (0.6, 0.8), (-0.8, 0.6)])
def test_heights_of_sand_stay_where_they_are(direction: tuple[float, float]) -> None:
    """A cube floats over sand that falls evenly: below each mass of its underside is what lies there."""
    slope, speed = np.array([0.10, -0.05]), 0.2
    body = cube(0.01, (speed * direction[0], speed * direction[1], 0.0), masses=6)
    simulation = springs.simulation(
        body, obstacles=[SAND], gravity=(0.0, 0.0, 0.0), dt=2e-5, precision="float64", device="cpu", threads=1
    )
    memory = np.ones(simulation.solver.model.hollow_count)  # far from all steep faces
    below = memory[3 * len(body.triangles) :].reshape(-1, MEMORY)
    below[:, 1:4] = 0.0  # and from the walls of the furrow, which masses at the rim have drawn back from
    below[:, 0] = 0.02 - body.positions[:, :2] @ slope
    simulation.state.hollows.assign(memory)
    simulation.step(500)
    found = simulation.state.hollows.numpy()[3 * len(body.triangles) :].reshape(-1, MEMORY)[:, 0]
    places = simulation.positions()
    low = np.isclose(body.positions[:, 2], body.positions[:, 2].min())
    assert low.sum() == 36
    np.testing.assert_allclose(found[low], 0.02 - (places[:, :2] @ slope)[low], atol=2e-6)  # of 100 to 200 µm


def test_it_carries_a_cube_by_its_weight_and_yields_where_the_law_does() -> None:
    simulation = springs.simulation(cube(0.01), obstacles=[SAND], velocity_damping=60.0, device="cpu", threads=1)
    simulation.run(0.25)
    assert moved(simulation)[2] == pytest.approx(-MASS * 9.81 / SIDE**2 / 1e6, rel=0.02)
    hard = ResistiveGround("poppy-loose", stiffness=1e8, furrow=Furrow())
    simulation = springs.simulation(cube(-1e-6, (0.0, 0.0, -0.5)), obstacles=[hard], device="cpu", threads=1)
    simulation.run(0.1)
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81  # m v²/2 + m g z = k z²/2
    assert -moved(simulation)[2] == pytest.approx((weight + np.sqrt(weight**2 + k * MASS * 0.25)) / k, rel=0.02)


@pytest.mark.parametrize(("repose", "friction"), [(None, 0.4), (45.0, 0.4), (np.degrees(np.arctan(0.3)), 0.3)])
def test_friction_is_reached_over_a_way(repose: float | None, friction: float) -> None:
    """On a slope of half its friction, or that within sand, a cube is held once it was dragged by half the way."""
    furrow = Furrow(friction_way=0.002, repose=repose)
    sand = replace(SAND, friction=0.4, stiffness=1e7, furrow=furrow)
    ends = []
    for share in (0.5, 3.0):
        gravity = (share * friction * 9.81, 0.0, -9.81)
        body = cube(1e-5)
        simulation = springs.simulation(
            body, obstacles=[sand], gravity=gravity, velocity_damping=60.0, device="cpu", threads=1
        )
        memory = simulation.state.hollows.numpy()
        memory[: 3 * len(body.triangles)] = 1.0  # no sand beside it, no wall before it
        memory[3 * len(body.triangles) :].reshape(-1, MEMORY)[:, 4] = 1.0
        simulation.run(0.3)
        low = np.isclose(body.positions[:, 2], body.positions[:, 2].min())  # it leans as well
        ends.append(float((simulation.positions() - body.positions)[low, 0].mean()))
    assert ends[0] == pytest.approx(0.001, rel=0.03)
    assert ends[1] > 0.004


def test_a_nose_climbs_where_sand_stays_and_more_where_it_stands_steep() -> None:
    """A cube is drawn ahead in sand without friction, half sunk: sand before it has not been cut."""
    rises = []
    for furrow in (None, Furrow(repose=10.0), Furrow(repose=30.0), Furrow(), Furrow(repose=89.0)):
        sand = ResistiveGround("sand-loose", buried=True, friction=0.0, stiffness=1e6, furrow=furrow)
        body = cube(0.01, (0.5, 0.0, 0.0))
        simulation = springs.simulation(body, obstacles=[sand], velocity_damping=5.0, device="cpu", threads=1)
        simulation.run(0.05)
        rises.append(moved(simulation)[2])
    assert np.all(np.diff(rises[:4]) > 2e-4)
    assert rises[4] == rises[3]  # no steeper than what counts as a slope


def test_threads_change_no_bit_and_constants_change_while_it_runs() -> None:
    ends = []
    for threads in (1, 2):
        body = cube(0.005, (0.2, 0.1, -0.2), masses=11)
        simulation = springs.simulation(body, obstacles=[SAND], device="cpu", threads=threads)
        simulation.step(40)
        model = simulation.solver.model
        model.set_world(replace(model.world, obstacles=[replace(SAND, furrow=Furrow(friction_way=0.01))]))
        simulation.step(40)
        ends.append((simulation.positions().copy(), simulation.state.hollows.numpy().copy()))
    assert (ends[0][0] == ends[1][0]).all()
    assert (ends[0][1] == ends[1][1]).all()
    with pytest.raises(
        InvalidValue, match="whether sand has an angle of repose, a stiffness or a furrow cannot change"
    ):
        model.set_world(replace(model.world, obstacles=[replace(SAND, furrow=None)]))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"with a furrow must give before it yields: add stiffness"):
        ResistiveGround("glass", furrow=Furrow())
    with pytest.raises(InvalidValue, match=r"furrow of resistive ground must be a Furrow, or None, not True"):
        ResistiveGround("glass", stiffness=1e6, furrow=True)
    with pytest.raises(InvalidValue, match=r"slump of a furrow must be between 0 and 1, not 1.5"):
        Furrow(slump=1.5)
    with pytest.raises(InvalidValue, match="friction_way of a furrow"):
        Furrow(friction_way=-0.01)
    with pytest.raises(InvalidValue, match=r"repose of a furrow must be above 0 and at most 89 ° or None"):
        Furrow(repose=90.0)


def test_what_sand_remembers_outlives_an_edit_and_a_file(tmp_path: Path) -> None:
    def begun() -> annelid.Simulation[springs.Solver]:
        return springs.simulation(cube(0.005, (0.2, 0.0, -0.2)), obstacles=[SAND], device="cpu", threads=1)

    simulation = begun()
    simulation.step(40)
    with simulation.edit() as edit:
        edit.remove_masses([0], with_springs=True)
        edit.add_masses([[0.0, 0.0, 0.3]], 0.01)
    simulation.step(10)
    simulation.save(tmp_path / "sunk.npz")
    again = begun()
    again.load(tmp_path / "sunk.npz")
    for each in (simulation, again):
        each.step(40)
    assert (simulation.state.hollows.numpy() == again.state.hollows.numpy()).all()
    assert (simulation.positions() == again.positions()).all()
    assert np.isfinite(simulation.positions()).all()


@pytest.mark.parametrize("way", [0.0, 1e-10, 1e-6, 1e-4])
def test_friction_acts_fully_however_short_its_way(way: float) -> None:
    sand = replace(SAND, friction=0.4, furrow=Furrow(friction_way=way))
    body = cube(1e-5, (0.3, 0.0, 0.0))
    simulation = springs.simulation(body, obstacles=[sand], device="cpu", threads=1)
    memory = simulation.state.hollows.numpy()
    memory[: 3 * len(body.triangles)] = 1.0  # far from all steep faces, and from walls ahead
    memory[3 * len(body.triangles) :].reshape(-1, MEMORY)[:, 4] = 1.0
    simulation.state.hollows.assign(memory)
    simulation.run(0.05)
    speed = simulation.summary().momentum[0] / MASS
    assert speed == pytest.approx(0.3 - 0.4 * 9.81 * 0.05, rel=0.05)


@pytest.mark.parametrize("furrow", [None, Furrow(friction_way=0.005)])
def test_masses_that_are_removed_leave_the_surface(furrow: Furrow | None, tmp_path: Path) -> None:
    """Whoever takes their slots feels no sand, and pulls no triangles along; a loaded state knows it, too."""
    body = cube(0.01, (0.5, 0.0, 0.0))
    low = int(np.flatnonzero(np.isclose(body.positions[:, 2], body.positions[:, 2].min()))[5])
    ground = replace(SAND, furrow=furrow)
    simulation = springs.simulation(body, obstacles=[ground], device="cpu", threads=1)
    with simulation.edit() as edit:
        edit.remove_masses([low], with_springs=True)
    simulation.step(1)
    with simulation.edit() as edit:
        added = edit.add_masses([[3.0, 0.0, -0.005]], 0.01, fixed=True)
    assert added.index[0] == low
    simulation.step(200)
    forces = simulation.state.sand_forces.numpy()
    assert np.abs(forces).max() > 0.01
    assert (forces[low] == 0.0).all()
    assert np.linalg.norm(forces, axis=1).max() < 5.0  # a triangle of 3 m would bring 50 N
    simulation.save(tmp_path / "edited.npz")
    other = springs.simulation(body, obstacles=[ground], device="cpu", threads=1)
    other.load(tmp_path / "edited.npz")
    for one in (simulation, other):
        one.step(50)
    assert (other.positions() == simulation.positions()).all()


def test_what_cannot_be_in_sand() -> None:
    body = cube(0.0)
    body.substeps[:8] = 4
    with pytest.raises(
        InvalidValue, match=r"smaller steps .* are not possible in a ResistiveGround: take a smaller dt"
    ):
        springs.simulation(body, obstacles=[SAND], device="cpu")
    model = springs.simulation(cube(0.0), obstacles=[SAND], device="cpu").solver.model
    for other in (ResistiveGround("sand-close", repose=30.0), replace(SAND, stiffness=None, furrow=None)):
        with pytest.raises(InvalidValue, match="whether sand has an angle of repose, a stiffness or a furrow"):
            model.set_world(replace(model.world, obstacles=(other,)))
