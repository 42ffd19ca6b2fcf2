"""The unified hydraulic constraint: J_p, J_w and their merger; heat maps of weights."""

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.pictures import WEIGHT_FIELD, weight_picture
from annelid.studies.support.cavities import icosphere
from annelid.studies.support.fluid_checks import constraint_errors
from annelid.studies.support.hydraulic_constraint import hydraulic_constraint, pressure_direction, weight_direction


def test_pressure_and_weight_directions(device: str) -> None:
    vertices, triangles = icosphere(3, 0.01)
    slope_error, sum_error = constraint_errors(vertices, triangles, 100, wp.get_device(device))
    assert slope_error < 1e-5
    assert 0.0 < sum_error < 1e-3


def test_a_uniform_pressure_is_in_balance() -> None:
    vertices, triangles = icosphere(2, 0.01)
    direction = pressure_direction(Cavity(triangles), vertices)
    assert direction.sum(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=1e-18)
    assert np.cross(vertices, direction).sum(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=1e-18)
    assert (direction * vertices).sum() == pytest.approx(3.0 * Cavity(triangles).volume(vertices), rel=1e-12)


def test_pressure_and_weight_merge_into_one_direction() -> None:
    vertices, triangles = icosphere(1, 0.01)
    cavity, size = Cavity(triangles), 3 * len(vertices)
    root = np.random.default_rng(0).normal(size=(size, size))
    stiffness = 1e3 * (root @ root.T + size * np.eye(size))
    load = FluidColumns(cavity, Fluid(), cells=50, device="cpu").load(vertices)
    pressure, weight = pressure_direction(cavity, vertices), weight_direction(cavity, load, len(vertices))
    assert weight.sum(axis=0) == pytest.approx([0.0, 0.0, -9810.0], rel=1e-12, abs=1e-9)
    merged = hydraulic_constraint(
        pressure, weight, lambda right: np.linalg.solve(stiffness, right.reshape(size, 2)).reshape(-1, 3, 2)
    )
    inverse = np.linalg.inv(stiffness)
    compliance = pressure.ravel() @ inverse @ pressure.ravel()
    assert merged.compliance == pytest.approx(compliance, rel=1e-10)
    assert merged.direction == pytest.approx(pressure + compliance * weight, rel=1e-10)
    assert merged.displacement.ravel() == pytest.approx(inverse @ merged.direction.ravel(), rel=1e-8)


def test_weights_as_a_heat_map() -> None:
    vertices, triangles = icosphere(2, 0.01)
    cavity = Cavity(triangles)
    load = FluidColumns(cavity, Fluid(), cells=50, device="cpu").load(vertices)
    (mesh,) = weight_picture(cavity, vertices, load).parts
    field = mesh.fields[WEIGHT_FIELD]  # type: ignore[union-attr]
    assert field.unit == "N"
    assert np.asarray(field.values).sum() == pytest.approx(load.weight)
    assert (np.asarray(field.values)[vertices[:, 2] > 0.003] == 0.0).all()
    shares = weight_picture(cavity, vertices, load, relative=True).parts[0].fields[WEIGHT_FIELD]  # type: ignore[union-attr]
    assert shares.limits == (0.0, 1.0)
    with pytest.raises(InvalidValue, match="do not fit"):
        weight_picture(Cavity(icosphere(1, 0.01)[1]), icosphere(1, 0.01)[0], load)
