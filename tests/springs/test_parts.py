"""What lattices are made of: inserts, volumes that are off, and input that is told what it should have been."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from annelid import springs
from annelid.core.errors import AnnelidError, InvalidMesh, InvalidValue, MeshRepaired, UnknownName, UnlikeShape
from annelid.shapes import Box, Sphere

BOX = Box((0.04, 0.02, 0.02))


def lattice(shape=BOX, pitch=0.01, **options):
    return springs.lattice(shape, pitch, "pdms", **options)


def test_a_coarse_lattice_of_another_volume_is_warned_of(recwarn):
    lattice(Sphere(0.02), 0.002)
    assert not recwarn
    with pytest.warns(UnlikeShape, match=r"fills 191 % of the volume .* smaller than 0.04 m"):
        lattice(Sphere(0.02), 0.04)


def test_shells_that_overlap_are_no_other_volume(recwarn):
    shells = [trimesh.creation.box((0.04, 0.02, 0.02)) for _ in range(2)]
    shells[1].apply_translation((0.02, 0.0, 0.0))
    assert lattice(trimesh.util.concatenate(shells)).bounds()[1][0] == pytest.approx(0.04)
    assert ["surfaces of the mesh overlap" in str(each.message) for each in recwarn] == [True]


def test_a_pitch_as_large_as_a_file_in_single_precision_is_taken(tmp_path: Path):
    thin = Box((0.1, 0.1, float(np.float32(0.02)) * (1.0 - 5e-8))).surface()
    assert lattice(thin, 0.02).mass_count == 72


def test_a_scene_of_trimesh_is_a_body():
    scene = trimesh.Scene([trimesh.creation.box((0.04, 0.02, 0.02))])
    assert np.allclose(lattice(scene).positions, lattice().positions)


def test_inserts_may_be_meshes_and_are_missed_where_they_hold_nothing(tmp_path: Path):
    file = tmp_path / "core.stl"
    Box((20.0, 20.0, 20.0)).surface().write(file)
    body = lattice(BOX.surface().scaled(1000.0), scale=1e-3, inserts=[(file, "pla")])
    assert np.array_equal(body.stiffness, lattice(inserts=[(Box((0.02, 0.02, 0.02)), "pla")]).stiffness)
    with pytest.warns(UnlikeShape, match="insert 0 holds no part"):
        lattice(inserts=[(Sphere(0.01, center=(5.0, 5.0, 5.0)), "pla")])


def test_repair_tells_what_it_filled():
    cube = trimesh.creation.box((0.04, 0.04, 0.04))
    with pytest.raises(InvalidMesh, match="close it with repair=True"):
        lattice(trimesh.Trimesh(cube.vertices, cube.faces[1:]))
    with pytest.warns(MeshRepaired, match=r"1 hole was filled, 8.3 % of the surface"):
        lattice(trimesh.Trimesh(cube.vertices, cube.faces[1:]), repair=True)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: lattice(pitch="0.004"), "pitch must be a positive length in metres, not '0.004'"),
        (lambda: lattice(5), "the shape must be a solid"),
        (lambda: lattice(inserts=[("nope.stl", "pla")]), "no file nope.stl"),
        (lambda: lattice(inserts=(Sphere(0.01), "pla")), r"inserts must be a list of pairs .* is no such pair"),
        (lambda: lattice(inserts=[(3, "pla")]), "the region of an insert must be a solid"),
        (
            lambda: lattice(Box((6.0, 6.0, 6.0)), 0.0002),
            r"another scale if the body, 6 m wide, is in millimetres \(1e-3\)",
        ),
        (lambda: lattice().moved((0.0, 0.0, np.nan)), "three finite numbers"),
        (lambda: lattice().distance_along("up"), "must be 'x', 'y', 'z' or three finite numbers"),
        (lambda: lattice().actuate(lambda t: 1.0), "another springs.Signal, .* not function"),
        (lambda: springs.wave(0.2, "3", 0.1), "frequency = '3' of a signal"),
        (lambda: springs.wave(np.array([0.2, -1.5]), 3.0, 0.1), "amplitude of -1.5 would make rest lengths pass zero"),
        (lambda: springs.contract_expand(1.0, 3.0), "rest lengths pass zero"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(make, sentence):
    with pytest.raises(AnnelidError, match=sentence) as refused:
        make()
    assert isinstance(refused.value, InvalidValue | InvalidMesh)


def test_a_misspelt_option_is_told_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'damping_frequency'"):
        lattice(damping_freq=5.0)


def test_springs_are_actuated_by_midpoints_and_axes_have_names():
    body = lattice()
    assert np.array_equal(body.distance_along("x"), body.distance_along((1.0, 0.0, 0.0)))
    body.actuate(springs.expand_contract(0.2, 3.0), lambda middle: middle[:, 0] > 0.0)
    assert np.array_equal(body.signal_kinds > 0, body.positions[body.springs].mean(axis=1)[:, 0] > 0.0)
