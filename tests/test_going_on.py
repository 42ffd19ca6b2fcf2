"""What is loaded goes on as if it had never stopped, in cases where something outside the state could remember."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import coupling, grains, springs
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.simulation import Simulation
from annelid.shapes import Rigid, Sphere, ground


def _rubbing() -> Simulation[springs.Solver]:
    """Two masses that slide along each other: friction remembers how far they were dragged."""
    body = springs.Body(
        [[0, 0, 0], [0, 0, 0.0999]], [0.1, 0.1], [], [], [], velocities=[[0, 0, 0], [0.02, 0, 0]]
    ).group("a", None)  # fmt: skip
    rule = springs.Collide("a", "a", radius=0.05, friction=0.8, stiffness=50.0)
    # The ball is out of reach: with it, the kernels are those of another test.
    ball, weightless = Rigid(Sphere(0.1), position=(0.0, 0.0, -1.0)), (0.0, 0.0, 0.0)
    return springs.simulation(
        body, dt=1e-4, gravity=weightless, obstacles=[ball], collisions=[rule], device="cpu", threads=1
    )


def _sway(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    where = np.stack([0.5 + 0.05 * np.sin(7 * t), 0.3 + 0.02 * np.cos(5 * t), 0.06 + 0 * t], -1)
    return where, np.tile([0.0, 0.0, 0.0, 1.0], (len(t), 1))


def _pushed() -> Simulation[grains.Solver]:
    """A grain beside a sphere on a path, in steps whose multiples round."""
    sphere = Rigid(Sphere(0.015), motion=_sway)
    # Ground and a free ball, out of reach: with them, the kernels are those of other tests.
    others = [ground(height=-1.0), Rigid(Sphere(0.02), position=(2.0, 0.0, 1.0), motion="free", mass=0.1)]
    bed = grains.Bed([[0.0, 0.0, 0.5]], 0.01)
    return grains.simulation(bed, dt=1e-5, obstacles=[sphere, *others], device="cpu", threads=1)


@pytest.mark.parametrize(("build", "steps"), [(_rubbing, (2, 3)), (_rubbing, (40, 60)), (_pushed, (331, 300))])
def test_load_then_run_is_run(build: Callable[[], Simulation[Any]], steps: tuple[int, int], tmp_path: Path) -> None:
    """Into a fresh simulation, and back into the one that has gone on."""
    first, more = steps
    through = build()
    through.step(first)
    through.save(tmp_path / "middle.npz")
    through.step(more)
    wanted = through.state_hash()
    fresh = build()
    fresh.load(tmp_path / "middle.npz")
    fresh.step(more)
    assert fresh.state_hash() == wanted
    through.load(tmp_path / "middle.npz")
    through.step(more)
    assert through.state_hash() == wanted


def test_a_world_of_springs_begins_again_while_time_goes_on(tmp_path: Path) -> None:
    simulation = springs.simulation(springs.block((3, 3, 3), 0.1, damping=1.0), device="cpu", threads=1)
    begin = simulation.positions()
    simulation.step(100)
    simulation.reset([0])
    assert simulation.step_count == int(simulation.state.clock.numpy()[0]) == 100
    np.testing.assert_array_equal(simulation.positions(), begin)
    simulation.save(tmp_path / "again.npz")
    simulation.load(tmp_path / "again.npz")


def test_worlds_with_edited_bodies_begin_again_together() -> None:
    body = springs.block((3, 3, 3), 0.02, mass=0.01, stiffness=100.0).moved((0.0, 0.0, 0.3))
    bed = grains.Bed(grains.jittered_lattice((2, 2, 2), 0.021, corner=(0.0, 0.0, 0.011)), 0.01)
    simulation = coupling.simulation(body, bed, dt=1e-4, device="cpu", threads=1)
    with simulation.edit() as edit:
        edit.remove_masses([26], with_springs=True)
    with pytest.raises(InvalidValue, match="reset all of them"):
        simulation.reset([0])
    simulation.reset()
    assert simulation.solver.springs.model.spring_count == body.spring_count


@pytest.mark.parametrize("change", [{"friction": 0.1}, {"cohesion": 1e-3}, {"restitution": 0.5}])
def test_grains_of_another_material_are_another_model(change: dict[str, float], tmp_path: Path) -> None:
    def build(**material: float) -> Simulation[grains.Solver]:
        bed = grains.Bed([[0.0, 0.0, 0.05]], 0.01, grains.Grain(**{"friction": 0.5, **material}))
        return grains.simulation(bed, obstacles=[ground()], device="cpu", threads=1)

    build().save(tmp_path / "one.npz")
    with pytest.raises(FileFormatError, match="another model"):
        build(**change).load(tmp_path / "one.npz")
