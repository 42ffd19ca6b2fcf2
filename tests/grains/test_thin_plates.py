"""Free bodies that fall on plates that are thin beside what they move in a step: they are borne, or it is reported."""

from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import StepTooLong
from annelid.shapes import Box, Cylinder, Rigid, Surface

TURNED = tuple(np.array([0.2, 0.1, 0.05, 1.0]) / np.linalg.norm([0.2, 0.1, 0.05, 1.0]))


def drop(shape: Any, speed: float, thickness: float, restitution: float = 0.0, **options: Any) -> grains.Simulation:
    surface = Surface(restitution=restitution)
    plate = Rigid(Box((0.4, 0.4, thickness)), surface, position=(0.0, 0.0, -thickness / 2))
    rotation = options.pop("rotation", (0.0, 0.0, 0.0, 1.0))
    start = {"position": (0.0, 0.0, 0.05), "velocity": (0.0, 0.0, -speed), "rotation": rotation}
    body = Rigid(shape, surface, motion="free", **start)
    bed = grains.Bed(np.array([[0.15, 0.15, 0.003]]), np.array([0.003]))
    return grains.simulation(bed, obstacles=[plate, body], device="cpu", threads=1, **options)


def height(simulation: Any) -> float:
    return float(simulation.state.places.numpy()[1, 2])


@pytest.mark.filterwarnings("ignore::annelid.core.errors.StepTooLong")
@pytest.mark.parametrize("thickness", [0.002, 0.0005])
@pytest.mark.parametrize("speed", [0.5, 4.4, 10.0])
@pytest.mark.parametrize("rotation", [(0.0, 0.0, 0.0, 1.0), TURNED])
@pytest.mark.parametrize("too_fast", ["warn", "substep"])
def test_boxes_are_borne_by_thin_plates(thickness: float, speed: float, rotation: Any, too_fast: str) -> None:
    simulation = drop(Box((0.05, 0.05, 0.05)), speed, thickness, rotation=rotation, too_fast=too_fast)
    lowest = 1.0
    for _ in range(8):
        simulation.run(0.02)
        lowest = min(lowest, height(simulation))
    assert lowest > 0.0245
    # Almost four thicknesses a step, of which StepTooLong warns: a corner goes beyond the middle and is caught there.
    caught = too_fast == "warn" and (speed, thickness) == (10.0, 0.0005)
    if rotation[3] == 1.0:
        assert height(simulation) == pytest.approx(0.025, abs=2e-3 if caught else 5e-4)


@pytest.mark.filterwarnings("ignore::annelid.core.errors.StepTooLong")
def test_other_shapes_are_borne_too_and_bounce() -> None:
    for shape, half in ((Cylinder(0.02, 0.05), 0.025), (Box((0.08, 0.04, 0.01)), 0.005)):
        simulation = drop(shape, 4.4, 0.001)
        simulation.run(0.1)
        assert height(simulation) == pytest.approx(half, abs=5e-4)
    thrown = drop(Box((0.05, 0.05, 0.05)), 4.4, 0.002, restitution=0.5)
    thrown.run(0.05)
    assert height(thrown) > 0.06


def test_bodies_that_are_too_fast_for_a_plate_are_told_of_and_held_by_substeps() -> None:
    fast = drop(Box((0.08, 0.04, 0.01)), 30.0, 0.0005)
    with pytest.warns(StepTooLong, match=r"a body moved by more than what the thinnest body is thick, 0\.0005 m"):
        fast.run(0.01)
    held = drop(Box((0.08, 0.04, 0.01)), 30.0, 0.0005, too_fast="substep")
    held.run(0.05)
    assert height(held) == pytest.approx(0.005, abs=5e-4)
