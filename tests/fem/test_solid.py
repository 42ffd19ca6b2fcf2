"""Building a solid: masses, holds, loads, materials, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid import fem
from annelid.core.errors import InvalidMesh, InvalidValue, UnknownName, UnlikelyUnit
from annelid.materials import NeoHooke
from annelid.shapes import Box, TetMesh, ground, tet_beam

from .solids import bar, rubber

sizes = st.floats(0.01, 3.0)
counts = st.integers(1, 3)


@given(length=sizes, width=sizes, height=sizes, cells=st.tuples(counts, counts, counts), quadratic=st.booleans())
def test_masses_sum_to_density_times_volume(
    length: float, width: float, height: float, cells: tuple[int, int, int], quadratic: bool
) -> None:
    mesh = tet_beam(length, width, height, cells=cells)
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, rubber())
    mass = 1000.0 * length * width * height
    assert solid.mass == pytest.approx(mass)
    assert solid.weights().sum() == pytest.approx(mass)


def test_a_mesh_in_millimetres_is_warned_of_with_its_size() -> None:
    with pytest.warns(UnlikelyUnit, match=r"80 m wide: are its lengths in millimetres\? Give metres"):
        fem.Solid(tet_beam(80.0, 20.0, 20.0, cells=(2, 1, 1)), rubber())


def test_weight_has_the_right_moment() -> None:
    solid = bar((3, 1, 1), quadratic=True)
    np.testing.assert_allclose(solid.weights() @ solid.nodes / solid.mass, [0.5, 0.0, 0.0], atol=1e-12)


def test_ways_to_choose_nodes() -> None:
    solid = bar((4, 1, 1))
    tip = np.flatnonzero(solid.nodes[:, 0] > 0.99)
    box = Box((0.02, 1.0, 1.0), center=(1.0, 0.0, 0.0))
    for where in (tip, solid.nodes[:, 0] > 0.99, lambda p: p[:, 0] > 0.99, box, "tip", tip.tolist()):
        assert np.array_equal(solid.indices(where), tip)
    assert len(solid.indices(None)) == solid.node_count


@pytest.mark.parametrize("quadratic", [False, True])
def test_force_on_a_face_has_resultant_and_moment(quadratic: bool) -> None:
    solid = bar((2, 2, 2), quadratic=quadratic).pull("tip", (1.0, 2.0, 3.0))
    np.testing.assert_allclose(solid.forces.sum(axis=0), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.cross(solid.nodes, solid.forces).sum(axis=0), [0.0, -3.0, 2.0], atol=1e-12)
    assert not solid.forces[solid.nodes[:, 0] < 0.99].any()


def test_push_adds_up_and_release_takes_all_away() -> None:
    solid = bar().push("tip", (4.0, 0.0, 0.0)).push([0], (0.0, 1.0, 0.0))
    np.testing.assert_allclose(solid.forces.sum(axis=0), [4.0, 1.0, 0.0])
    twin = solid.copy()
    solid.release()
    assert not solid.forces.any()
    assert not solid.held.any()
    assert twin.forces.any()


def test_holds_along_some_axes() -> None:
    solid = bar().displace("tip", (0.1, 0.2, 0.3), axes="xz")
    tip = solid.indices("tip")
    assert solid.held[tip].tolist() == [[True, False, True]] * len(tip)
    np.testing.assert_allclose(solid.offsets[tip], [[0.1, 0.0, 0.3]] * len(tip))


def test_materials_by_region() -> None:
    mesh = tet_beam(1.0, 0.1, 0.1, cells=(2, 1, 1))
    regions = np.where(mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0] > 0.5, 7, 3)
    two = TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions, cells=mesh.cells)
    solid = fem.Solid(two, {3: rubber(0.3), 7: "steel"})
    assert solid.mass == pytest.approx(0.005 * 1000.0 + 0.005 * 7850.0)
    assert solid.moduli[0].max() == pytest.approx(210e9 / 2.6)
    with pytest.raises(InvalidValue, match="region 7 of the mesh has no material"):
        fem.Solid(two, {3: "steel"})


def test_remedy_is_chosen_by_poissons_ratio() -> None:
    assert bar(poisson_ratio=0.3).shared_volumes() is None
    assert bar(poisson_ratio=0.49).shared_volumes() is not None
    assert bar(poisson_ratio=0.49, volume="plain").shared_volumes() is None
    assert bar(poisson_ratio=0.49, quadratic=True).shared_volumes() is None
    loose = TetMesh(bar().nodes, bar().elements)
    assert fem.Solid(loose, rubber(0.49)).shared_volumes() is not None


@pytest.mark.parametrize(
    ("hold", "ways"),
    [
        (lambda s: s, 6),
        (lambda s: s.fix([0]), 3),
        (lambda s: s.fix([0, 1]), 1),
        (lambda s: s.fix(lambda p: p[:, 0] < 1e-9, axes="x"), 3),
    ],
)
def test_solid_that_can_still_move_is_refused(hold: object, ways: int) -> None:
    solid = bar().release()
    hold(solid)  # type: ignore[operator]
    with pytest.raises(InvalidValue, match=f"singular.* in {ways} of 6 ways"):
        fem.equilibrium(solid, device="cpu")


def test_part_that_hangs_in_the_air_is_named() -> None:
    mesh = tet_beam(1.0, 0.1, 0.1, cells=(2, 1, 1))
    count = len(mesh.nodes)
    two = TetMesh(
        np.concatenate([mesh.nodes, mesh.nodes + np.array([0.0, 1.0, 0.0])]),
        np.concatenate([mesh.tetrahedra, mesh.tetrahedra + count]),
    )
    solid = fem.Solid(two, rubber()).fix(lambda p: (p[:, 0] < 1e-9) & (p[:, 1] < 0.5))
    with pytest.raises(InvalidValue, match=f"the part of the solid with node {count}"):
        fem.equilibrium(solid, device="cpu")


def test_bad_meshes_are_refused() -> None:
    good = tet_beam(1.0, 0.1, 0.1, cells=(1, 1, 1))

    def mesh(nodes: np.ndarray, tetrahedra: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(nodes=nodes, tetrahedra=tetrahedra)

    turned = good.tetrahedra.copy()
    turned[2] = turned[2][[1, 0, 2, 3]]
    with pytest.raises(InvalidMesh, match="1 of 6 tetrahedra are inverted or flat, the first is number 2"):
        fem.Solid(mesh(good.nodes, turned), "steel")
    flat = good.nodes.copy()
    flat[:, 2] = 0.0
    with pytest.raises(InvalidMesh, match="6 of 6 tetrahedra are inverted or flat"):
        fem.Solid(mesh(flat, good.tetrahedra), "steel")
    with pytest.raises(InvalidMesh, match="4 or 10 nodes"):
        fem.Solid(mesh(good.nodes, good.tetrahedra[:, :3]), "steel")
    with pytest.raises(InvalidMesh, match="belong to no tetrahedron"):
        fem.Solid(mesh(np.concatenate([good.nodes, [[9.0, 9.0, 9.0]]]), good.tetrahedra), "steel")
    with pytest.raises(InvalidMesh, match="names node 99"):
        fem.Solid(mesh(good.nodes, np.where(good.tetrahedra == 7, 99, good.tetrahedra)), "steel")
    twice = TetMesh(good.nodes, np.concatenate([good.tetrahedra, good.tetrahedra[:1]]))
    with pytest.raises(InvalidMesh, match="belong to more than two tetrahedra.*remove doubles"):
        fem.Solid(twice, "steel")  # it would weigh and resist twice there
    with pytest.raises(InvalidMesh, match="finite"):
        fem.Solid(mesh(np.where(good.nodes > 0.5, np.nan, good.nodes), good.tetrahedra), "steel")


def test_bad_values_are_refused() -> None:
    solid = bar()
    with pytest.raises(InvalidValue, match="there is no node to be held; the solid lies between"):
        solid.fix(lambda p: p[:, 0] > 5.0)
    with pytest.raises(InvalidValue, match="axes"):
        solid.fix([0], axes="xw")
    with pytest.raises(InvalidValue, match="three finite numbers"):
        solid.push("tip", (0.0, np.nan, 0.0))
    with pytest.raises(InvalidValue, match="no boundary face"):
        solid.pull([0], (0.0, 0.0, 1.0))
    with pytest.raises(InvalidValue, match="there is no node 1000"):
        solid.fix([1000])
    with pytest.raises(InvalidValue, match="mask of nodes"):
        solid.fix(np.ones(3, bool))
    with pytest.raises(UnknownName, match="tip"):
        solid.fix("tipp")
    with pytest.raises(InvalidValue, match="volume"):
        bar(volume="some")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="gravity"):
        fem.Model(solid, fem.World(gravity=(0.0, 1.0)), device="cpu")
    with pytest.raises(UnknownName, match="steel"):
        fem.Solid(tet_beam(1.0, 0.1, 0.1, cells=(1, 1, 1)), "steeel")


@pytest.mark.parametrize(
    "answer",
    [
        lambda p: np.flatnonzero(p[:, 0] < 0.1),  # indices would be taken for truths
        lambda p: p[:, 0],
        lambda p: p < 0.1,
        lambda p: p[:3, 0] < 0.1,
        lambda p: None,
    ],
)
def test_a_function_that_is_no_mask_chooses_no_nodes(answer: Any) -> None:
    with pytest.raises(InvalidValue, match=r"must say true or false of each, shape \[\d+\]"):
        bar().fix(answer)


def test_things_of_another_kind_are_refused_in_a_sentence() -> None:
    solid: Any = bar()
    mesh = tet_beam(1.0, 0.1, 0.1, cells=(1, 1, 1))
    for wrong in ("beam.stl", None, np.zeros((4, 3))):
        with pytest.raises(InvalidMesh, match="made of tetrahedra, not of"):
            fem.Solid(wrong, "steel")  # type: ignore[arg-type]
    for material in (None, 3, NeoHooke(1e4)):
        with pytest.raises(InvalidValue, match="needs a material"):
            fem.Solid(mesh, material)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="three finite numbers, not 'down'"):
        solid.push("tip", "down")
    with pytest.raises(InvalidValue, match="0 kg or more, not 'much'"):
        solid.hang("tip", "much")
    with pytest.raises(InvalidValue, match="not 3"):
        solid.fix("tip", axes=3)
    with pytest.raises(InvalidValue, match="there is no node -2"):
        solid.fix([-2, 1])
    with pytest.raises(InvalidValue, match="nodes are chosen by"):
        solid.fix([[0, 1]])
    with pytest.raises(InvalidValue, match="the name of a group must be a word, not 3"):
        solid.group(3, "tip")
    with pytest.raises(InvalidValue, match="an extra of a solid must be a fem.ElementSet, not int: 3"):
        fem.equilibrium(solid, extras=[3], device="cpu")
    with pytest.raises(InvalidValue, match="actuators of .* must be a list of Actuator, such as .one., not 3"):
        fem.simulation(solid, actuators=3, device="cpu")
    with pytest.raises(UnknownName, match="no option of a solid named 'densities'"):
        fem.Solid(mesh, "steel", densities=1.0)


def test_worlds_and_obstacles_that_are_not_there_are_refused() -> None:
    pair = fem.simulation(bar(), worlds=2, device="cpu")
    for number in (2, -1):
        with pytest.raises(InvalidValue, match=f"there is no world {number}: worlds are 0 to 1"):
            pair.solver.world(pair.state, number)
    touching = fem.simulation(bar(), obstacles=[ground(0.5, height=-9.0), ground(0.5, height=-10.0)], device="cpu")
    with pytest.raises(InvalidValue, match="a sensor of an obstacle needs one"):
        touching.sensors.add("place", fem.obstacle_position(None))  # it read the sum of all places


def test_a_solid_that_is_held_everywhere_is_refused() -> None:
    with pytest.raises(InvalidValue, match="every node of the solid is held"):
        fem.equilibrium(bar().fix(None), device="cpu")


def test_what_is_no_solid_has_no_equilibrium_model_or_robot() -> None:
    mesh: Any = tet_beam(1.0, 0.1, 0.1, cells=(1, 1, 1))
    for made in (fem.equilibrium, fem.Model):
        with pytest.raises(InvalidValue, match="must be a fem.Solid, not TetMesh"):
            made(mesh, device="cpu")
    for control in (fem.Forward, fem.Inverse):
        with pytest.raises(InvalidValue, match="must be a fem.Robot, not TetMesh"):
            control(mesh)
    damping: Any = "much"
    with pytest.raises(InvalidValue, match="velocity_damping .* must be a finite number of 0 1.s or more"):
        fem.World(velocity_damping=damping)
