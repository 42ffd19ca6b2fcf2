"""The error that a mesh makes, estimated by a finer one, against meshes that are finer by far."""

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.fem.refinement import refined
from annelid.shapes import tet_beam

from .robots.robots import hollow_solid
from .solids import bar, rubber

SIZE = (0.1, 0.02, 0.02)


def finger(cells: int, *, quadratic: bool) -> fem.Solid:
    mesh = tet_beam(*SIZE, cells=(4 * cells, cells, cells))
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, "dragon-skin-10")
    return solid.fix(lambda p: p[:, 0] < 1e-9)


def hanging(solid: fem.Solid) -> fem.Solid:
    return solid


def pulled(solid: fem.Solid) -> fem.Solid:
    return solid.pull(lambda p: p[:, 0] > SIZE[0] - 1e-9, (0.0, 0.05, 0.1))


@pytest.fixture(scope="module", params=[hanging, pulled])
def truth(request):
    solid = request.param(finger(6, quadratic=True))
    return request.param, solid, fem.equilibrium(solid)


@pytest.mark.parametrize(("cells", "quadratic"), [(1, False), (2, False), (3, False), (1, True), (2, True)])
def test_it_is_within_a_factor_of_two(truth, cells, quadratic):
    load, right, right_positions = truth
    solid = load(finger(cells, quadratic=quadratic))
    found = solid.mesh_error()
    positions = fem.equilibrium(solid)
    tip = np.array([SIZE[0], 0.0, 0.0]) if cells % 2 == 0 else np.array([SIZE[0], SIZE[1] / 2, SIZE[2] / 2])
    here, there = (int(np.linalg.norm(each.nodes - tip, axis=1).argmin()) for each in (solid, right))
    true = np.linalg.norm(positions[here] - right_positions[there])
    assert 0.5 * true < found.errors[here] < 2.0 * true


def test_a_chamber_under_pressure_by_number_and_by_its_triangles():
    solid = hollow_solid()
    chambers = [fem.Pneumatic(name="air"), fem.Pneumatic(name="air", cavity=fem.Cavity(solid.mesh.cavities()[0]))]
    first, second = (solid.mesh_error(actuators=[chamber], efforts={"air": 4e3}) for chamber in chambers)
    np.testing.assert_allclose(first.errors, second.errors, rtol=1e-6)
    better = first.finer.mesh_error(actuators=[chambers[0]], efforts=[4e3])
    true = np.linalg.norm(better.positions[: len(first.errors)] - first.positions[: len(first.errors)], axis=1)
    assert true.max() < 0.5 * first.largest  # so that the finer mesh is a measure of the coarser one
    assert better.linear is False
    assert first.linear is True


def test_finer_solids_keep_mass_holds_forces_groups_and_parts():
    for solid in (bar(), bar(quadratic=True)):
        solid.pull("tip", (0.0, 1.0, 2.0)).push([0], (3.0, 0.0, 0.0)).hang("tip", 0.5)
        solid.reinforce(fem.Thread(path=[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], stiffness=10.0))
        solid.reinforce(fem.Fabric(where=lambda p: p[:, 2] > 0.1 - 1e-9, modulus=1e5, thickness=1e-3))
        finer = refined(solid)
        count = solid.node_count
        np.testing.assert_array_equal(finer.nodes[:count], solid.nodes)
        assert finer.elements.shape[1] == 10
        assert finer.mass == pytest.approx(solid.mass)
        np.testing.assert_allclose(finer.forces.sum(axis=0), solid.forces.sum(axis=0))
        np.testing.assert_array_equal(finer.held[:, 0], finer.nodes[:, 0] < 1e-9)
        np.testing.assert_array_equal(np.sort(finer.groups["tip"]), np.flatnonzero(finer.nodes[:, 0] > 1.0 - 1e-9))
        np.testing.assert_allclose(finer.fabrics[0].areas.sum(), solid.fabrics[0].areas.sum())
        assert finer.threads[0].lengths.sum() == pytest.approx(1.0)
        even = finer.copy().release().pull("tip", (0.0, 1.0, 2.0)).push([0], (3.0, 0.0, 0.0))
        np.testing.assert_allclose(finer.forces, even.forces, atol=1e-12)


def test_regions_keep_their_materials():
    mesh = tet_beam(*SIZE, cells=(4, 1, 1)).labelled(3) + tet_beam(*SIZE, cells=(4, 1, 1)).moved((0, 0, 1)).labelled(1)
    solid = fem.Solid(mesh, {1: rubber(youngs_modulus=2e6), 3: rubber()})
    for _ in range(2):
        finer = refined(solid)
        high = finer.nodes[finer.elements].mean(axis=1)[:, 2] > 0.5
        np.testing.assert_array_equal(finer.property_of("youngs_modulus") > 1.5e6, high)
        solid = finer


def test_it_says_what_to_do():
    linear, ten = finger(2, quadratic=False).mesh_error(), finger(2, quadratic=True).mesh_error()
    assert "use mesh.quadratic()" in str(linear)
    assert "fine enough" in str(ten)
    assert 0.0 < ten.relative < 0.05 < linear.relative


def test_actuators_without_efforts_are_refused():
    with pytest.raises(InvalidValue, match="give both"):
        hollow_solid().mesh_error(actuators=[fem.Pneumatic(name="air")])
