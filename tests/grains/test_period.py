"""Periodic axes: the box is [0, L), grains are brought into it, and bodies stay clear of its seam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.grains.packing import wrapped
from annelid.shapes import Box, Cylinder, Obstacle, Plane, Rigid, Sphere

RADIUS, LENGTH = 0.005, 0.1


def model(spots: np.ndarray, obstacles: Sequence[Obstacle] = (), **options: Any) -> grains.Model:
    world = grains.World(period=(LENGTH, 0.0, 0.0), obstacles=obstacles)
    return grains.Model(grains.Bed(spots, RADIUS), world=world, device="cpu", **options)


def test_grains_start_within_the_period() -> None:
    spots = np.array([[-0.03, -0.2, 0.0], [0.25, 0.2, 0.0], [-1e-20, 0.0, 0.5]])
    assert np.allclose(model(spots).bed.positions, [[0.07, -0.2, 0.0], [0.05, 0.2, 0.0], [0.0, 0.0, 0.5]])
    assert (wrapped(spots, (LENGTH, 0.0, 0.0))[:, 0] < LENGTH).all()


def test_overlaps_across_the_seam_and_with_what_stands_there_are_seen() -> None:
    seam = np.array([[0.001, 0.0, 0.0], [LENGTH - 0.001, 0.0, 0.0]])
    with pytest.raises(InvalidValue, match="1 pair of grains starts inside each other, by up to 80 %"):
        model(seam)
    assert len(model(seam, overlapping="allow").bed) == 2
    with pytest.raises(InvalidValue, match="across the seam"):
        model(seam, overlapping="push")
    post = Rigid(Sphere(0.02), position=(0.075, 0.0, 0.0))
    with pytest.raises(InvalidValue, match="1 grain starts inside a body"):
        model(np.array([[-0.025, 0.0, 0.0]]), [post])


def test_worlds_at_the_same_place_do_not_overlap_with_all_axes_periodic() -> None:
    bed = grains.Bed(np.full((2, 3), 0.001), RADIUS)
    world = grains.World(period=(LENGTH,) * 3)
    assert grains.Model(bed, world=world, world_of=np.array([0, 1]), device="cpu").count == 2
    with pytest.raises(InvalidValue, match="1 pair"):
        grains.Model(bed, world=world, world_of=np.array([0, 0]), device="cpu")


@pytest.mark.parametrize(
    "body",
    [
        Rigid(Sphere(0.02), position=(-0.025, 0.0, 0.3), name="post"),
        Rigid(Box((0.02, 0.1, 0.1)), position=(0.095, 0.0, 0.3), name="post"),
        Rigid(Sphere(0.02), position=(0.022, 0.0, 0.3), name="post"),
    ],
)
def test_bodies_out_of_the_box_or_near_its_seam_are_refused(body: Rigid) -> None:
    with pytest.raises(
        InvalidValue, match=r"body 1 \(post\) reaches from .* along x, where space repeats from 0 to 0.1"
    ):
        model(np.array([[0.05, 0.0, 0.0]]), [Plane(point=(0.0, 0.0, -1.0)), body])


def test_bodies_inside_it_or_all_along_it_are_not() -> None:
    bodies: list[Rigid] = [
        Rigid(Sphere(0.02), position=(0.03, 0.0, 0.3)),
        Rigid(Box((LENGTH, 0.1, 0.1)), position=(0.05, 0.0, 0.5)),
        Rigid(Cylinder(0.4, 0.2, axis="x"), position=(0.05, 0.0, 0.0), inside=True),
    ]
    assert model(np.array([[0.05, 0.0, 0.0]]), bodies).count == 1


def test_a_period_of_less_than_two_diameters_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"the period of 0.015 m along z is shorter than two diameters"):
        grains.simulation(grains.Bed([[0.0, 0.0, 0.0]], RADIUS), period=(0.0, 0.0, 0.015), device="cpu")
