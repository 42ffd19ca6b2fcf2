"""What is told of a simulation of grains as it begins: steps that are too long, bodies that begin inside others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import BeginsInside, StepTooLong
from annelid.shapes import Box, Rigid, Sphere, box_walls

from .conftest import RADIUS

SIDE = 0.12
SPOTS = np.stack(np.meshgrid(*3 * [np.arange(3)], indexing="ij"), -1).reshape(-1, 3) * 2.2 * RADIUS + 1.05 * RADIUS


def begun(*bodies: Rigid, **options: Any) -> None:
    walls = box_walls((0.0, 0.0, 0.0), (SIDE, SIDE, 1.0))
    grains.simulation(grains.Bed(SPOTS, RADIUS), obstacles=[*walls, *bodies], device="cpu", threads=1, **options)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ((0.09, 0.09, -0.2), "begin inside obstacle 0, a Plane, the deepest by 0.22 m"),
        ((0.3, 0.09, 0.2), "begin inside obstacle 2, a Plane, the deepest by 0.2 m"),
        ((0.09, 0.09, 0.3), "begin inside obstacle 5, a Box named 'post', the deepest by"),
    ],
)
def test_a_body_that_begins_inside_another_is_told_of(place: tuple[float, float, float], told: str) -> None:
    post = Rigid(Box((0.05, 0.05, 0.1)), position=(0.1, 0.1, 0.3), name="post")
    with pytest.warns(BeginsInside, match=told):
        begun(post, Rigid(Sphere(0.02), position=place, motion="free", density=1000.0))


def test_bodies_that_lie_on_each_other_and_what_is_driven_are_not_told_of() -> None:
    lying = Rigid(Sphere(0.02), position=(0.09, 0.09, 0.0195), motion="free", density=1000.0)
    driven = Rigid(Box((0.02, 0.02, 0.3)), position=(0.02, 0.1, 0.1), motion="driven")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        begun(lying, driven, overlapping="push")


def test_a_step_that_is_too_long_for_the_bed_is_told_of() -> None:
    with pytest.warns(StepTooLong, match="times as long as the .* that suit this bed"):
        begun(dt=5e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        begun(dt=1e-4)
        begun()
        begun(dt=5e-3, gravity=(0.0, 0.0, 0.0))
        begun(dt=5e-3, method="paper")
