"""Whoever drops a simulation has its memory back at once: Python's collector does not see the memory of a GPU."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import warp as wp

import annelid
from annelid import control, coupling, envs, fem, grains, springs, voxels, voxels3d
from annelid.core.simulation import Simulation
from annelid.core.state import state_arrays
from annelid.shapes import Rigid, Sphere, ground, tet_beam
from annelid.shapes.articulated import JointDrive
from annelid.view.browser.runner import Runner

from ..test_other_models import arm, machine_model
from ..threads import until

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}


@pytest.fixture(autouse=True, scope="module")
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _collected() -> None:
    gc.collect()


def _in_circles() -> set[str]:
    """Kinds of what only the collector can free: arrays, threads and objects of the library."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    heavy = [each for each in gc.garbage if isinstance(each, wp.array | Thread) or _is_of_library(type(each))]
    gc.garbage.clear()
    return {type(each).__qualname__ for each in heavy}


def _is_of_library(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "annelid"


def _block() -> springs.Body:
    return springs.block((3, 3, 3), 0.02, mass=0.01, stiffness=100.0)


def _bed() -> grains.Bed:
    return grains.Bed(grains.jittered_lattice((2, 2, 2), 0.021, corner=(0.0, 0.0, 0.011)), 0.01)


def _springs() -> Simulation[Any]:
    return springs.simulation(_block(), obstacles=[ground()], **CPU)


def _grains() -> Simulation[Any]:
    ball = Rigid(Sphere(0.01), position=(0.0, 0.0, 1.0), motion="free", mass=0.1)
    return grains.simulation(_bed(), obstacles=[ground(), ball], **CPU)


def _coupled() -> Simulation[Any]:
    return coupling.simulation(_block().moved((0.0, 0.0, 0.3)), _bed(), dt=1e-4, **CPU)


def _finger() -> Simulation[Any]:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(4, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-6)
    cable = fem.Cable(name="cable", through=[2, 18], tension=(0.0, 1.0))
    simulation = fem.simulation(solid, actuators=[cable], device="cpu", threads=1)
    simulation.sensors.add("tip", fem.position_of([18]))
    control.connect(simulation, lambda time, readings: 0.1 * readings[:, :1], every=0.02)
    return simulation


def _touching() -> Simulation[Any]:
    """A solid on the ground that can touch itself."""
    solid = fem.Solid(tet_beam(0.04, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30")
    return fem.simulation(solid, obstacles=[ground(height=-0.011)], contact=fem.Contact(itself=True), **CPU)


def _inverse() -> Simulation[Any]:
    """Control whose factors are made in the background."""
    solid = fem.Solid(tet_beam(0.06, 0.02, 0.02, cells=(3, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-9)
    cable = fem.Cable(name="cable", through=[15, 11, 3], tension=(0.0, 1.0))
    robot = fem.Robot(solid, [cable], [fem.Point(name="tip", at=12)], **CPU)
    return fem.inverse_simulation(robot, refresh=2, script=lambda time: {"tip": (0.06, -0.01, -0.01 - 0.02 * time)})


def _voxels() -> Simulation[Any]:
    return voxels.simulation(voxels.Robot.from_text("hh\nhh", {"h": voxels.Voxel()}), **CPU)


def _voxels3d() -> Simulation[Any]:
    return voxels3d.simulation(voxels3d.Robot.from_array(np.ones((2, 2, 2), int)), **CPU)


def _environment() -> Simulation[Any]:
    worlds = envs.make_worlds("WormCrawl", 2, **CPU)
    worlds.restart()
    worlds.step(np.zeros((2, worlds.action_size)))
    return worlds.simulation


def _driven() -> Simulation[Any]:
    """Links that a policy moves."""
    tree = arm()
    simulation = grains.simulation(_bed(), obstacles=[ground(), *tree.bodies(motion="driven")], **CPU)
    JointDrive(simulation, tree, policy=lambda time, values: np.ones_like(values))
    return simulation


MAKERS = [
    _springs, _grains, _coupled, _finger, _touching, _inverse, _voxels, _voxels3d, _environment, machine_model, _driven,
]  # fmt: skip


def _parts(simulation: Simulation[Any]) -> list[weakref.ref[Any]]:
    parts = [simulation, simulation.solver, simulation.sensors, *state_arrays(simulation.state).values()]
    return [weakref.ref(part) for part in parts]


@pytest.mark.parametrize("make", MAKERS)
def test_memory_is_free_when_the_last_reference_goes(make: Callable[[], Simulation[Any]], tmp_path: Path) -> None:
    """After steps here and in a thread, pictures, recordings, observers, breakpoints, copies and resets."""
    simulation = make()
    simulation.observe(lambda sim: sim.positions(), every=simulation.dt)
    with simulation.record(tmp_path / "run.rec", every=simulation.dt):
        simulation.step(2)
    simulation.breakpoint(when=lambda sim: sim.step_count > 3)
    simulation.start()
    simulation.wait()
    simulation.clone().step(1)
    simulation.reset()
    simulation.record(tmp_path / "open.rec", every=simulation.dt)
    simulation.step(1)
    left = _parts(simulation)
    del simulation
    assert not [part() for part in left if part() is not None]
    assert not _in_circles()


def _fail(simulation: Simulation[Any]) -> None:
    try:
        raise OSError("full disk")
    except OSError as error:
        raise RuntimeError(f"at step {simulation.step_count}") from error


@pytest.mark.parametrize("told", [True, False])
def test_a_run_that_failed_keeps_no_memory(told: bool) -> None:
    """Errors know the frames that they passed, and these the simulation, which knows how its run has ended."""
    simulation = _springs()
    simulation.observe(_fail, every=simulation.dt)
    simulation.start()
    simulation._runs.join(60.0)
    if told:
        with suppress(RuntimeError):
            simulation.wait()
        assert isinstance(simulation.wait().detail, RuntimeError)
    left = _parts(simulation)
    del simulation
    assert not [part() for part in left if part() is not None]
    assert not _in_circles()


@pytest.mark.parametrize(
    ("library", "make"),
    [
        ("gymnasium", envs.make_env), ("gymnasium", envs.make_vector_env), ("stable_baselines3", envs.make_stable_env),
        ("torch", envs.make_rsl_env),
    ],
)  # fmt: skip
def test_an_environment_keeps_no_memory(library: str, make: Callable[..., Any]) -> None:
    pytest.importorskip(library)
    env = make("WormCrawl", **CPU)
    env.reset()
    left = _parts(env.worlds.simulation)
    del env
    assert not [part() for part in left if part() is not None]
    assert not _in_circles()


def _gradient(rollout: annelid.Rollout, numpy: Any) -> None:
    rollout.gradient(annelid.Travel("x"), {"stiffness_factor": numpy.ones(())})


def _in_torch(rollout: annelid.Rollout, torch: Any) -> None:
    factor = torch.ones((), requires_grad=True)
    annelid.TorchRollout(rollout)(stiffness_factor=factor)[0].sum().backward()


def _in_jax(rollout: annelid.Rollout, jax: Any) -> None:
    motion = annelid.JaxRollout(rollout)
    jax.grad(lambda factor: motion(stiffness_factor=factor)[0].sum())(1.0)


@pytest.mark.parametrize(("library", "use"), [("numpy", _gradient), ("torch", _in_torch), ("jax", _in_jax)])
def test_a_motion_that_was_run_back_keeps_no_memory(library: str, use: Callable[[annelid.Rollout, Any], None]) -> None:
    module = pytest.importorskip(library)
    rollout = annelid.Rollout(_springs(), 3)
    use(rollout, module)
    left = weakref.ref(rollout)
    del rollout
    assert left() is None
    assert not _in_circles()


def test_a_viewer_lets_go_of_its_simulations_when_it_is_closed() -> None:
    """And of those that failed."""
    _view()
    assert not _in_circles()


def _view() -> None:
    runner = Runner([_springs()])
    runner.simulations[0].observe(_fail, every=runner.simulations[0].dt)
    runner.play()
    until(lambda: runner.error is not None)
    with suppress(RuntimeError):
        runner.step().result()
    left = _parts(runner.simulations[0])
    runner.close()
    assert not [part() for part in left if part() is not None]
