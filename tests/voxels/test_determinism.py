"""One robot moves to the bit alone, in any batch, on any number of threads, in any number of launches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, control, voxels
from annelid.control.kernels.kinds import DISTRIBUTED, FUNCTION, MLP, TABLE, WAVES
from annelid.core.errors import FileFormatError
from annelid.voxels import Voxel
from annelid.voxels.kernels.program import Features, shared_by_teams


def crowd(count: int, seed: int = 0) -> list[voxels.Robot]:
    """Robots of different shapes, materials, sensors and controllers."""
    rng = np.random.default_rng(seed)
    robots = []
    for number in range(count):
        material = Voxel.v1(frequency=float(rng.uniform(5.0, 20.0)))
        body = voxels.random_body(4, 3, material, seed=number, sensors=voxels.talamini_sensors(), fill=0.7)
        if number % 2:
            body = body.with_controller(control.PhasedSines(rng.uniform(-3, 3, body.voxel_count)))
        else:
            n = body.voxel_count
            body = body.with_controller(control.MLP(rng.uniform(-1, 1, (6 * n + 2) * n)))
        robots.append(body)
    return robots


def world_hash(simulation: Simulation[voxels.Solver], world: int) -> list[bytes]:
    """Every bit of the motion of one world."""
    model, state = simulation.solver.model, simulation.state
    bodies = slice(*model.first_body[world : world + 2])
    cells = slice(*model.first_voxel[world : world + 2])
    return [
        getattr(state, name).numpy()[rows].tobytes()
        for rows, names in (
            (bodies, ("positions", "velocities", "touching", "heights")),
            (cells, ("controls", "efforts")),
        )
        for name in names
    ]


def hashes(simulation: Simulation[voxels.Solver]) -> list[list[bytes]]:
    return [world_hash(simulation, w) for w in range(len(simulation.solver.model.worlds))]


def test_alone_and_in_a_batch_of_hundreds(device: str) -> None:
    robots = crowd(300)
    together = voxels.simulation(robots, obstacles=[voxels.terrain("hilly-1-5-0")], device=device)
    together.solver.advance(together.state, 60)
    for number in (0, 1, 149, 298):
        alone = voxels.simulation(robots[number], obstacles=[voxels.terrain("hilly-1-5-0")], device=device)
        alone.solver.advance(alone.state, 60)
        assert world_hash(alone, 0) == world_hash(together, number)


def test_one_and_two_threads() -> None:
    results = []
    for threads in (1, 2):
        simulation = voxels.simulation(crowd(7), obstacles=[voxels.terrain("flat")], device="cpu", threads=threads)
        simulation.step(90)
        results.append(simulation.state_hash())
    assert results[0] == results[1]


def test_any_division_into_launches(device: str) -> None:
    whole, pieces = (voxels.simulation(crowd(4), obstacles=[voxels.terrain("flat")], device=device) for _ in range(2))
    whole.solver.advance(whole.state, 61)
    for count in (1, 2, 3, 5, 20, 30):
        pieces.solver.advance(pieces.state, count)
    assert whole.state_hash() == pieces.state_hash()


def test_save_and_load(device: str, tmp_path: Any) -> None:
    first = voxels.simulation(crowd(3), obstacles=[voxels.terrain("flat")], device=device)
    first.step(33)
    first.save(tmp_path / "state.npz")
    first.step(40)
    second = voxels.simulation(crowd(3), obstacles=[voxels.terrain("flat")], device=device)
    second.load(tmp_path / "state.npz")
    second.step(40)
    assert first.state_hash() == second.state_hash()
    other = voxels.simulation(crowd(3, seed=1), obstacles=[voxels.terrain("flat")], device=device)
    with pytest.raises(FileFormatError):
        other.load(tmp_path / "state.npz")


def test_reset_and_run_again(simulate: Callable[..., Any]) -> None:
    simulation = simulate(crowd(3), obstacles=[voxels.terrain("flat")], gravity=(0.0, 0.0, -9.8), precision="float32")
    simulation.step(50)
    first = hashes(simulation)
    simulation.reset()
    simulation.step(50)
    assert hashes(simulation) == first


def test_models_share_the_kernel_of_a_team_where_that_costs_little() -> None:
    def shared(*kinds: int, **others: bool) -> Features:
        return shared_by_teams(Features(kinds=frozenset(kinds), **others))

    assert shared(0, commanded=True) == shared(WAVES) == shared(TABLE, watched=True) != shared(MLP)
    assert shared(MLP) == shared(DISTRIBUTED, WAVES) != shared(FUNCTION)
    assert shared().kinds == frozenset()  # the host acts
    assert shared(WAVES) != shared(WAVES, worked=True)
