"""Snapshots: the surface, masses, springs, obstacles, fields and numbers of a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Look, shapes, springs
from annelid.core.errors import UnknownName
from annelid.core.snapshot import Lines, Mesh, Plane, Spheres

Make = Callable[..., Any]


def part(snapshot: Any, kind: type, name: str) -> Any:
    found = [p for p in snapshot.parts if isinstance(p, kind) and p.name == name]
    assert len(found) == 1
    return found[0]


def stretched(simulate: Make, **world: Any) -> Any:
    """A block of two materials, 10 % longer along x than at rest."""
    body = springs.box((0.2, 0.1, 0.1), 0.05, "tpu", inserts=[(lambda x: x[:, 0] > 0.0, "pla")])
    body.positions[:, 0] *= 1.1
    body.velocities[:, 1] = 0.5
    return simulate(body, dt=1e-7, **world)


def test_the_default_is_the_surface(simulate: Make) -> None:
    simulation = stretched(simulate)
    snapshot = simulation.snapshot()
    mesh = part(snapshot, Mesh, "body")
    assert len(snapshot.parts) == 1
    corners = np.asarray(mesh.vertices, float)[mesh.triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(0.22 * 0.1 * 0.1, rel=1e-5)
    assert mesh.triangles.dtype == np.int32
    assert np.unique(mesh.triangles).tolist() == list(range(len(mesh.vertices)))


def test_masses_and_springs(simulate: Make) -> None:
    simulation = stretched(simulate)
    body = simulation.solver.model.body
    snapshot = simulation.snapshot(Look(surface=False, spheres=True, lines=True))
    masses, lines = part(snapshot, Spheres, "masses"), part(snapshot, Lines, "springs")
    np.testing.assert_allclose(masses.centers, body.positions, atol=1e-6)
    np.testing.assert_allclose(lines.points, body.positions, atol=1e-6)
    np.testing.assert_array_equal(lines.segments, body.springs)


def test_obstacles_are_shown(simulate: Make) -> None:
    obstacles = [
        shapes.Plane(point=(0.0, 0.0, -1.0), normal=(0.0, 3.0, 4.0)),
        shapes.Sphere(0.5, center=(9.0, 0.0, 0.0)),
    ]
    snapshot = stretched(simulate, obstacles=obstacles).snapshot()
    plane, ball = part(snapshot, Plane, "plane-0"), part(snapshot, Spheres, "sphere-1")
    assert plane.normal == pytest.approx((0.0, 0.6, 0.8))
    assert plane.point == (0.0, 0.0, -1.0)
    assert (ball.radii, np.asarray(ball.centers).tolist()) == (0.5, [[9.0, 0.0, 0.0]])


def test_a_body_without_surface_shows_its_masses(simulate: Make, oscillator: Make) -> None:
    assert len(part(simulate(oscillator()).snapshot(), Spheres, "masses").centers) == 2


@pytest.mark.parametrize("host", [True, False])
def test_fields_of_masses(host: bool, simulate: Make) -> None:
    simulation = stretched(simulate)
    assert simulation.fields == ("strain", "speed", "stress", "material")
    looks = {name: Look(surface=False, spheres=True, fields=(name,), host=host) for name in simulation.fields}
    fields = {name: part(simulation.snapshot(look), Spheres, "masses").fields[name] for name, look in looks.items()}
    values = {name: np.asarray(f.values.numpy() if not host else f.values) for name, f in fields.items()}
    np.testing.assert_allclose(values["speed"], 0.5, rtol=1e-6)
    assert (values["strain"] > 0.0).all()
    assert (values["stress"] > 0.0).all()
    right = simulation.solver.model.body.positions[:, 0] > 1e-9
    assert fields["material"].labels == ("tpu", "pla")
    assert (values["material"][right] == 1.0).all()
    assert [fields[name].unit for name in ("strain", "speed", "stress")] == ["", "m/s", "Pa"]


def test_fields_of_the_surface_are_those_of_its_masses(simulate: Make) -> None:
    simulation = stretched(simulate)
    mesh = part(simulation.snapshot(Look(fields=("strain",))), Mesh, "body")
    masses = part(simulation.snapshot(Look(surface=False, spheres=True, fields=("strain",))), Spheres, "masses")
    place = {tuple(np.round(c, 5)): v for c, v in zip(masses.centers, masses.fields["strain"].values, strict=True)}
    expected = [place[tuple(np.round(v, 5))] for v in mesh.vertices]
    np.testing.assert_array_equal(mesh.fields["strain"].values, expected)


def test_strain_of_springs(simulate: Make) -> None:
    simulation = stretched(simulate)
    body = simulation.solver.model.body
    lines = part(simulation.snapshot(Look(surface=False, lines=True, fields=("strain",))), Lines, "springs")
    ends = body.positions[body.springs]
    strain = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / body.rest_lengths - 1.0
    np.testing.assert_allclose(lines.fields["strain"].values, strain, atol=1e-5)
    assert strain.max() == pytest.approx(0.1)


def test_an_unknown_field_suggests_another(simulate: Make) -> None:
    with pytest.raises(UnknownName, match="no field named 'stran'. Did you mean 'strain'"):
        stretched(simulate).snapshot(Look(fields=("stran",)))


def test_numbers_and_time(simulate: Make) -> None:
    simulation = stretched(simulate, gravity=(0.0, 0.0, -9.81))
    simulation.step(3)
    snapshot = simulation.snapshot()
    summary = simulation.summary()
    assert (snapshot.step, snapshot.time) == (3, pytest.approx(3e-7))
    assert {name: n.unit for name, n in snapshot.numbers.items()} == {
        "center-x": "m", "center-y": "m", "center-z": "m",
        "elastic-energy": "J", "kinetic-energy": "J", "gravitational-energy": "J",
    }  # fmt: skip
    assert snapshot.numbers["kinetic-energy"].value == summary.kinetic
    assert snapshot.numbers["elastic-energy"].value == summary.elastic
    assert simulation.snapshot_numbers() == snapshot.numbers


def test_triangles_keep_their_identity(simulate: Make) -> None:
    """So that a viewer need not send the topology with every frame."""
    simulation = stretched(simulate)
    before = part(simulation.snapshot(), Mesh, "body").triangles
    simulation.step()
    assert part(simulation.snapshot(), Mesh, "body").triangles is before


def test_an_edit_that_leaves_the_surface_alone_keeps_its_triangles() -> None:
    """Viewers send triangles again whenever they are another array."""
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu")
    before = part(simulation.snapshot(), Mesh, "body").triangles
    with simulation.edit() as edit:
        edit.change_masses([0], velocities=(0.0, 0.0, 1.0))
    assert part(simulation.snapshot(), Mesh, "body").triangles is before
    with simulation.edit() as edit:
        edit.remove_masses([0], with_springs=True)
    assert len(part(simulation.snapshot(), Mesh, "body").triangles) < len(before)


def test_materials_of_springs_follow_edits() -> None:
    """A spring that was added counts as the first material."""
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu")
    with simulation.edit() as edit:
        edit.add_springs([0], [26], stiffness=1.0)
    simulation.solver.model.body.materials = ("a", "b")
    lines = part(simulation.snapshot(Look(surface=False, lines=True, fields=("material",))), Lines, "springs")
    assert len(lines.fields["material"].values) == len(lines.segments)


def test_numbers_are_left_out_when_nobody_wants_them() -> None:
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu")
    assert simulation.snapshot(Look(numbers=False)).numbers == {}
    assert simulation.snapshot(Look()).numbers
