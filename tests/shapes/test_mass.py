"""Mass properties: closed forms, meshes against them, cavities, and the theorem of Steiner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import Box, Capsule, Cylinder, Shape, Sphere, Torus, TriangleMesh, mass_properties, tube
from annelid.shapes.extrusion import joined

SOLIDS: list[Shape] = [
    Box((0.3, 0.2, 0.5), center=(1.0, -2.0, 0.5)),
    Sphere(0.4, center=(0.0, 3.0, 0.0)),
    Cylinder(0.2, 0.7, axis=(1.0, 2.0, -1.0), center=(0.1, 0.2, 0.3)),
    Capsule(0.15, 0.4, axis=(0.0, 1.0, 1.0), center=(-1.0, 0.0, 0.0)),
    Torus(0.3, 0.1, axis=(1.0, 0.0, 1.0), center=(0.0, 2.0, 0.0)),
]


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda solid: type(solid).__name__)
def test_a_fine_mesh_agrees_with_the_closed_form(solid: Shape) -> None:
    exact, found = mass_properties(solid, 1200.0), mass_properties(solid.surface(256), 1200.0)
    assert found.mass == pytest.approx(exact.mass, rel=5e-4)
    assert found.center == pytest.approx(exact.center, abs=1e-9)
    assert found.inertia == pytest.approx(exact.inertia, abs=1e-3 * np.trace(exact.inertia))


def test_a_box_mesh_is_exact_far_from_the_origin() -> None:
    box = Box((0.3, 0.2, 0.5), center=(100.0, -200.0, 50.0))
    exact, found = mass_properties(box, 2.0), mass_properties(box.surface(), 2.0)
    assert found.volume == pytest.approx(0.03, rel=1e-12)
    assert found.inertia == pytest.approx(exact.inertia, abs=1e-12)


def test_a_cavity_is_taken_away(hollow) -> None:
    found, outer, inner = (mass_properties(s) for s in (hollow.mesh(), Box((1.0, 1.0, 1.0)), Box((0.5, 0.5, 0.5))))
    assert found.volume == pytest.approx(0.875)
    assert found.inertia == pytest.approx(outer.inertia - inner.inertia)


@given(st.floats(-3.0, 3.0), st.tuples(*[st.floats(-5.0, 5.0)] * 3))
def test_a_rigid_motion_turns_the_tensor_and_moves_the_centre(angle: float, shift: tuple[float, float, float]) -> None:
    mesh = Box((0.3, 0.2, 0.5), center=(0.1, 0.0, 0.0)).surface()
    before, after = mass_properties(mesh), mass_properties(mesh.rotated("y", angle).moved(shift))
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    assert after.center == pytest.approx(turn @ before.center + shift, abs=1e-12)
    assert after.inertia == pytest.approx(turn @ before.inertia @ turn.T, abs=1e-12)


def test_principal_axes_rebuild_the_tensor() -> None:
    properties = mass_properties(SOLIDS[2].surface(64), 700.0)
    moments, axes = properties.principal
    assert axes @ np.diag(moments) @ axes.T == pytest.approx(properties.inertia)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_two_boxes_are_the_sum_of_their_halves() -> None:
    whole, half = mass_properties(Box((1.0, 0.2, 0.2))), mass_properties(Box((0.5, 0.2, 0.2), center=(0.25, 0.0, 0.0)))
    assert 2.0 * half.about(np.zeros(3))[2, 2] == pytest.approx(whole.inertia[2, 2])


def test_shells_that_overlap_are_one_solid() -> None:
    slab, post = (
        Box((0.1, 0.03, 0.05), center=(0.05, 0.015, 0.025)),
        Box((0.03, 0.1, 0.05), center=(0.015, 0.05, 0.025)),
    )
    found = mass_properties(joined([slab.surface(), post.surface()]), 1000.0)
    areas, spots = np.array([0.003, 0.003, -0.0009]), np.array([[0.05, 0.015], [0.015, 0.05], [0.015, 0.015]])
    assert found.mass == pytest.approx(0.255, rel=2.5e-3)  # the grid rounds edges
    assert found.center[:2] == pytest.approx(areas @ spots / areas.sum(), abs=1e-4)
    parts = [mass_properties(box, 1000.0).about(found.center) for box in (slab, post)]
    common = mass_properties(Box((0.03, 0.03, 0.05), center=(0.015, 0.015, 0.025)), 1000.0).about(found.center)
    exact = parts[0] + parts[1] - common
    assert found.inertia == pytest.approx(exact, abs=5e-3 * np.trace(exact))


def test_shells_that_only_touch_are_summed_exactly() -> None:
    left, right = (Box((0.1, 0.1, 0.1), center=(x, 0.0, 0.0)).surface() for x in (-0.05, 0.05))
    assert mass_properties(joined([left, right])).volume == pytest.approx(0.002, rel=1e-12)


def test_a_tube_has_a_mass() -> None:
    found = mass_properties(tube(0.08, 0.1, 0.3, bottom=0.5), 1000.0)
    assert found.mass == pytest.approx(np.pi * (0.1**2 - 0.08**2) * 300.0, rel=1e-3)
    assert found.center == pytest.approx([0.0, 0.0, 0.65], abs=1e-9)


def test_bad_input_is_refused() -> None:
    sheet = TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    with pytest.raises(InvalidMesh, match="3 edges are open"):
        mass_properties(sheet)
    with pytest.raises(InvalidValue, match="density = -1"):
        mass_properties(Sphere(1.0), -1.0)
    with pytest.raises(InvalidValue, match="mass of str"):
        mass_properties("ball")  # type: ignore[arg-type]
