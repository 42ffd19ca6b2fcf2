"""What limits a time step, in all physics: half of what a report names gives the step that it predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, springs, voxels, voxels3d
from annelid.shapes import Rigid, Sphere, ground, tet_beam

CPU = {"device": "cpu", "threads": 1}
GRAINS = 0.021 * np.indices((5, 5, 5)).reshape(3, -1).T + np.array([0.0, 0.0, 0.011])


def box(material: str, *, stiffness: float = 1.0, damping: float = 1.0, **options: Any) -> springs.Body:
    body = springs.box((0.06, 0.05, 0.05), 0.01, material, **options).moved((0.0, 0.0, 0.3))
    body.stiffness, body.damping = stiffness * body.stiffness, damping * body.damping
    return body


def voxel_robot(**material: Any) -> voxels3d.Robot:
    return voxels3d.Robot(np.zeros((3, 2, 2), int), [voxels3d.Voxel(**material)])


def hertz(part: float) -> Any:
    grain = grains.Grain(youngs_modulus=part * 5e6)
    return grains.simulation(grains.Bed(GRAINS, 0.01, grain), method="hertz", **CPU)


def thrown(part: float) -> Any:
    ball = Rigid(Sphere(0.03), position=(0.05, 0.05, 0.2), motion="free", density=900.0, velocity=(0, 0, -part))
    options = {"gravity": (0.0, 0.0, 0.0), "obstacles": [ball], "iterations": 2}
    return grains.simulation(grains.Bed(GRAINS, 0.01), **options, **CPU)


def squares(part: float) -> Any:
    material = voxels.Voxel(frequency=part * 40.0)
    return voxels.simulation(voxels.Robot(np.zeros((2, 2), int), [material]), **CPU)


def fallen(part: float) -> Any:
    body = box("ecoflex-00-30").moved((0.02, 0.02, 0.0))
    body.velocities[:] = (0.0, 0.0, -part)
    return coupling.simulation(body, grains.Bed(GRAINS, 0.01), gravity=(0.0, 0.0, 0.0), **CPU)


CASES: dict[str, tuple[str, Callable[[float], Any]]] = {
    "stiff springs": ("the stiffness of the springs", lambda f: springs.simulation(box("tpu", stiffness=f), **CPU)),
    "damped springs": (
        "the damping of the springs",
        lambda f: springs.simulation(box("tpu", damping=f, damping_frequency=5.0), relaxation=0.0, **CPU),
    ),
    "strongly damped springs": (
        "the stiffness of the springs",
        lambda f: springs.simulation(box("tpu", stiffness=f, damping_frequency=5.0), **CPU),
    ),
    "Verlet": (
        "the damping of the springs",
        lambda f: springs.simulation(box("tpu", damping=f, damping_frequency=5.0), integrator="verlet", **CPU),
    ),
    "hard ground": (
        "the contact with obstacle 0",
        lambda f: springs.simulation(box("ecoflex-00-30"), obstacles=[ground(stiffness=1e6 * f)], **CPU),
    ),
    "thick air": (
        "velocity_damping",
        lambda f: springs.simulation(box("ecoflex-00-30"), velocity_damping=1e6 * f, **CPU),
    ),
    "a bed": ("gravity", lambda f: grains.simulation(grains.Bed(GRAINS, 0.01), gravity=(0, 0, -9.81 * f), **CPU)),
    "Hertz": ("youngs_modulus", hertz),
    "a ball thrown into grains": ("the speed at which obstacle 0, a Sphere meets", thrown),
    "a soft body above grains": ("the speed at which the soft body meets the grains", fallen),
    "squares": ("frequency", squares),
    "cubes": ("youngs_modulus", lambda f: voxels3d.simulation(voxel_robot(youngs_modulus=1e5 * f), **CPU)),
    "cubes in a thick medium": (
        "global_damping",
        lambda f: voxels3d.simulation(voxel_robot(global_damping=9.0 * f), **CPU),
    ),
    "damped cubes": ("internal_damping", lambda f: voxels3d.simulation(voxel_robot(internal_damping=9.0 * f), **CPU)),
}


@pytest.mark.parametrize("name", CASES)
def test_half_of_what_limits_a_step_gives_the_step_that_is_told(name: str) -> None:
    cause, build = CASES[name]
    simulation = build(1.0)
    report = simulation.explain_step()
    assert report.limit is not None
    assert report.limit.name.startswith(cause)
    assert report.limit.name in str(simulation)
    assert report.limit.remedy in str(report)
    half = build(0.5).explain_step()
    assert half.auto == half.dt == pytest.approx(report.limit.halved, rel=0.02)
    assert half.dt > 1.1 * report.dt


def test_nothing_limits_the_steps_of_solids_and_of_soft_light_bodies() -> None:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30")
    for simulation in (
        fem.simulation(solid, device="cpu"),
        springs.simulation(springs.block((3, 3, 3), stiffness=100.0), gravity=(0, 0, 0), **CPU),
    ):
        report = simulation.explain_step()
        assert report.limit is None
        assert report.rule in str(report)
        assert "limited" not in str(simulation)
