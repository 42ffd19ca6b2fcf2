"""Helical gears: circles, thickness, the involute's law, closed meshes, pairs that roll on each other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.robots import gear_tower
from annelid.shapes import Box, HelicalGear, helical_gear

GEAR = HelicalGear(teeth=20, module=0.01, height=0.1, helix_angle=math.radians(25.0))


def middle_section(gear: HelicalGear, **options: int) -> tuple[np.ndarray, np.ndarray]:
    """Radius and angle of the vertices at half the height of a mesh with an even number of layers."""
    vertices = gear.mesh(**options).vertices
    level = vertices[np.abs(vertices[:, 2]) < 1e-12]
    return np.hypot(level[:, 0], level[:, 1]), np.arctan2(level[:, 1], level[:, 0])


def test_circles_follow_the_formulas() -> None:
    transverse = 0.01 / math.cos(math.radians(25.0))
    assert GEAR.pitch_radius == pytest.approx(10.0 * transverse)
    pressure = math.atan(math.tan(math.radians(20.0)) / math.cos(math.radians(25.0)))
    assert GEAR.base_radius == pytest.approx(GEAR.pitch_radius * math.cos(pressure))
    radius = np.hypot(*GEAR.mesh().vertices[:, :2].T)
    assert radius.max() == pytest.approx(GEAR.pitch_radius + 0.01)
    assert radius[radius > 0.0].min() == pytest.approx(GEAR.pitch_radius - 0.0125)


def test_a_tooth_is_half_a_pitch_thick_at_the_pitch_circle() -> None:
    for backlash in (0.0, 1e-3):
        half = replace(GEAR, backlash=backlash)._half_tooth(np.array(GEAR.pitch_radius))
        thickness = 2.0 * half * GEAR.pitch_radius
        assert thickness == pytest.approx(0.5 * math.pi * GEAR.transverse_module - 0.5 * backlash)


def test_normals_of_a_flank_touch_the_base_circle() -> None:
    """The law of the involute: the string is tangent to the circle that it unwinds from."""
    radius = np.linspace(1.01 * GEAR.base_radius, GEAR.tip_radius, 400)
    angle = GEAR._half_tooth(radius)
    flank = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    tangent = np.gradient(flank, radius, axis=0, edge_order=2)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    arm = np.abs(np.einsum("ni,ni->n", flank, tangent))  # distance of the normal from the centre
    assert arm[1:-1] == pytest.approx(GEAR.base_radius, rel=1e-4)


def test_the_twist_is_that_of_the_helix() -> None:
    assert GEAR.twist == pytest.approx(0.1 * math.tan(math.radians(25.0)) / GEAR.pitch_radius)
    vertices = GEAR.mesh().vertices
    tip = vertices[np.isclose(np.hypot(vertices[:, 0], vertices[:, 1]), GEAR.tip_radius)]
    angle = np.arctan2(tip[:, 1], tip[:, 0])
    bottom, top = (np.sort(angle[np.isclose(tip[:, 2], z)] % (2.0 * math.pi / 20)) for z in (-0.05, 0.05))
    shift = (top[:, None] - bottom - GEAR.twist) % (2.0 * math.pi / 20)
    assert np.minimum(shift, 2.0 * math.pi / 20 - shift).min(axis=1) == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=25)
@given(
    teeth=st.integers(8, 60),
    helix=st.floats(-0.8, 0.8),
    pressure=st.floats(0.25, 0.4),
    bore=st.just(0.0) | st.floats(0.05, 0.9),
    arc_points=st.integers(0, 5),
)
def test_every_gear_is_closed_and_without_flat_triangles(
    teeth: int, helix: float, pressure: float, bore: float, arc_points: int
) -> None:
    gear = HelicalGear(teeth, 0.01, 0.05, pressure_angle=pressure, helix_angle=helix)
    mesh = replace(gear, bore=bore * gear.root_radius).mesh(flank_points=5, arc_points=arc_points)
    mesh.require_closed()
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 1e-10
    disc = math.pi * (gear.pitch_radius**2 - (bore * gear.root_radius) ** 2) * 0.05
    assert 0.5 * disc < mesh.volume < 1.05 * disc


def test_the_volume_is_that_of_the_section() -> None:
    radius, angle, _ = GEAR._contour(40, 20)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    area = 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    assert GEAR.mesh(flank_points=40, arc_points=20).volume == pytest.approx(0.1 * area, rel=1e-3)


def test_a_pair_rolls_without_cutting_into_each_other() -> None:
    tower = gear_tower(2, gear=HelicalGear(12, 0.02, 0.06, backlash=1e-3))
    first, second = tower.placed()
    axis = tower.angular_velocities[0] / np.linalg.norm(tower.angular_velocities[0])
    for angle in np.linspace(0.0, 2.0 * math.pi / 12, 5, endpoint=False):
        a = first.rotated(axis, angle, about=tower.positions[0])
        b = second.rotated(axis, -angle, about=tower.positions[1])
        gap = b.signed_distance(a.vertices).min()
        assert 0.0 < gap < 1e-3


@pytest.mark.parametrize("arrangement", ["pairs", "single"])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_towers_keep_clear_of_the_wall_and_of_each_other(arrangement: str, count: int) -> None:
    tower = gear_tower(count, arrangement=arrangement, clearance=0.05)  # type: ignore[arg-type]
    assert len(tower.positions) == len(tower.orientations) == len(tower.angular_velocities) == count
    assert np.linalg.norm(tower.orientations, axis=1) == pytest.approx(1.0)
    for mesh in tower.placed():
        assert tower.container.signed_distance(mesh.vertices).max() < -0.05
    axes = Rotation.from_quat(tower.orientations).as_matrix()[:, :, 2]
    assert np.abs(np.einsum("ni,ni->n", axes, tower.angular_velocities)) == pytest.approx(
        np.linalg.norm(tower.angular_velocities, axis=1)
    )


def test_pairs_turn_against_each_other_and_lift_in_the_middle() -> None:
    tower = gear_tower(20, speed=3.0, seed=5)
    first, second = tower.angular_velocities[::2], tower.angular_velocities[1::2]
    assert second == pytest.approx(-first)
    size = np.linalg.norm(first, axis=1)
    assert (size >= 1.5).all()
    assert (size <= 3.0).all()
    arm = 0.5 * (tower.positions[1::2] - tower.positions[::2])
    assert (np.cross(first, arm)[:, 2] > 0.0).all()
    assert gear_tower(20, seed=5).angular_velocities == pytest.approx(tower.angular_velocities * 2.0 / 3.0)


def test_bad_gears_are_refused() -> None:
    with pytest.raises(InvalidValue, match="teeth = 3 cannot be used"):
        helical_gear(3, 0.01, 0.1)
    with pytest.raises(InvalidValue, match="come to a point"):
        helical_gear(6, 0.01, 0.1, pressure_angle=0.6)
    with pytest.raises(InvalidValue, match="bore = 1"):
        helical_gear(20, 0.01, 0.1, bore=1.0)
    with pytest.raises(InvalidValue, match="helix_angle = 20"):
        helical_gear(20, 0.01, 0.1, helix_angle=20)
    with pytest.raises(InvalidValue, match="count = 21"):
        gear_tower(21)
    with pytest.raises(InvalidValue, match="clearance = nan"):
        gear_tower(2, clearance=math.nan)


def test_a_gear_occupies_what_its_circles_say() -> None:
    low, high = GEAR.mesh().bounds()
    outer = Box((2 * GEAR.tip_radius, 2 * GEAR.tip_radius, 0.1))
    assert (low >= outer.bounds()[0] - 1e-12).all()
    assert (high <= outer.bounds()[1] + 1e-12).all()
