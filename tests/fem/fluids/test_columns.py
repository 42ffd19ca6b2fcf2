"""Fluid weight by columns: Table I, the exact polyhedron, all methods alike, small and upright triangles, bad input."""

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import ColumnLoad, FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.studies.support.cavities import Surface, divided_box, icosphere, knot
from annelid.studies.support.fluid_checks import column_errors, partly_filled
from annelid.studies.support.polyhedron import moments

TABLE = {30: 4.1835, 50: 4.1828, 100: 4.1803, 200: 4.1798}
METHODS = ("balanced", "triangles", "columns")


def load(surface: Surface, device: str, fluid: Fluid | None = None, **options: object) -> ColumnLoad:
    columns = FluidColumns(Cavity(surface[1]), fluid or Fluid(), device=device, **options)  # type: ignore[arg-type]
    return columns.load(surface[0])


@pytest.mark.parametrize("cells", TABLE)
def test_table_one(cells: int, device: str) -> None:
    found = load(icosphere(4, 0.01), device, cells=cells)
    assert 1e6 * found.volume == pytest.approx(TABLE[cells], abs=2e-4)
    assert 1e6 * found.exact_volume == pytest.approx(4.179739, abs=1e-6)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 9.81, 0.0), (-9.81, 0.0, 0.0), (3.0, -5.0, 2.0)])
def test_a_non_convex_cavity_agrees_with_the_polyhedron(gravity: tuple[float, float, float], device: str) -> None:
    vertices, triangles = knot(120, 24, size=0.02, thickness=0.006)
    fluid = Fluid(gravity=gravity, density=1200.0)
    truth = moments(vertices, triangles)
    found = load((vertices, triangles), device, fluid, cells=200, correction="none")
    assert found.volume == pytest.approx(truth.volume, rel=1e-3)
    assert found.centre == pytest.approx(truth.centre, abs=1e-3 * np.ptp(vertices))
    assert found.exact_volume == pytest.approx(truth.volume, rel=1e-12)
    assert found.exact_centre == pytest.approx(truth.centre, abs=1e-12)
    assert found.weight == pytest.approx(found.volume * fluid.specific_weight, rel=1e-12)
    assert found.forces == pytest.approx(-np.outer(found.weights, fluid.up))


@pytest.mark.parametrize("cells", [3, 30, 100])
def test_triangles_smaller_than_a_cell_are_not_lost(cells: int, device: str) -> None:
    """About 8,000 triangles on grids of 9 to 10,000 cells; the paper lost a third of the volume of such a cavity."""
    surface = knot(160, 25, size=0.02, thickness=0.006)
    found = load(surface, device, cells=cells)
    assert found.volume == pytest.approx(found.exact_volume, rel={3: 0.3, 30: 1e-2, 100: 1e-3}[cells])


@pytest.mark.parametrize("degrees", [0.0, 1e-9, 0.3, 45.0])
def test_a_box_with_walls_along_the_grid(degrees: float, device: str) -> None:
    vertices, triangles = divided_box((0.01, 0.02, 0.03), 2)
    angle = np.radians(degrees)
    turned = vertices @ np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]).T
    errors = column_errors(turned, triangles, 200, wp.get_device(device), "moment")
    assert errors.weight < 1e-9
    assert errors.centre < 1e-9
    uncorrected = column_errors(turned, triangles, 200, wp.get_device(device), "none")
    assert uncorrected.weight < 4e-3


def test_the_corrections_do_what_they_say(device: str) -> None:
    vertices, triangles = knot(60, 12, size=0.02, thickness=0.006)
    errors = {
        name: column_errors(vertices, triangles, 40, wp.get_device(device), name)  # type: ignore[arg-type]
        for name in ("none", "volume", "moment")
    }
    assert errors["none"].weight > 1e-6
    assert errors["volume"].weight < 1e-12
    assert errors["volume"].centre > 1e-7
    assert errors["moment"].weight < 1e-12
    assert errors["moment"].centre < 1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [None, 0.002])
def test_all_methods_find_the_same(method: str, level: float | None, device: str) -> None:
    surface = knot(50, 11, size=0.02, thickness=0.006)
    fluid = Fluid(gravity=(1.0, 2.0, -9.0), level=level)
    reference = load(surface, "cpu", fluid, cells=40, method="spans")
    found = load(surface, device, fluid, cells=40, method=method)
    assert found.volume == pytest.approx(reference.volume, rel=1e-13)
    assert found.weights == pytest.approx(reference.weights, rel=1e-9, abs=1e-12 * reference.weight)


def test_balanced_threads_follow_the_mean_box(device: str) -> None:
    vertices, triangles = icosphere(3, 0.01)
    columns = FluidColumns(Cavity(triangles), Fluid(), cells=200, method="balanced", alpha=0.25, device=device)
    columns.load(vertices)
    boxes = columns._memory.boxes.numpy()
    sizes = (boxes["row_end"] - boxes["row"]) * (boxes["column_end"] - boxes["column"])
    assert columns.threads == int(0.25 * sizes.mean()) > 1


def test_results_repeat_to_the_bit(device: str) -> None:
    surface = knot(50, 11, size=0.02, thickness=0.006)
    columns = FluidColumns(Cavity(surface[1]), Fluid(), cells=60, device=device)
    first = columns.load(surface[0]).weights
    columns.load(1.1 * surface[0])
    assert columns.load(surface[0]).weights.tobytes() == first.tobytes()
    again = FluidColumns(Cavity(surface[1]), Fluid(), cells=60, device=device)
    assert again.load(surface[0]).weights.tobytes() == first.tobytes()


def test_columns_through_more_layers_than_expected(device: str) -> None:
    """A stack of twenty balls: columns cross up to twenty layers of fluid."""
    vertices, triangles = icosphere(1, 0.01)
    count = 20
    stack = np.concatenate([vertices + np.array([0.0, 0.0, 0.03 * k]) for k in range(count)])
    faces = np.concatenate([triangles + k * len(vertices) for k in range(count)])
    for method in ("auto", "balanced"):
        found = load((stack, faces), device, cells=20, method=method, correction="none")
        one = load((vertices, triangles), device, cells=20, method=method, correction="none")
        assert found.volume == pytest.approx(count * one.volume, rel=1e-12)
        assert found.weights == pytest.approx(np.tile(one.weights, count), abs=1e-12)


def test_half_a_millimetre_of_fluid_rests_on_the_bottom(device: str) -> None:
    surface = divided_box((0.02, 0.02, 0.02), 3)
    found = load(surface, device, Fluid(level=-0.0095), cells=50)
    assert found.volume == pytest.approx(0.0004 * 0.0005, rel=1e-9)
    assert found.level == -0.0095
    assert (found.weights[surface[0][:, 2] > -0.0099] == 0.0).all()


def test_partly_filled_cavities(device: str) -> None:
    errors = partly_filled(*knot(80, 16, size=0.02, thickness=0.006), 200, wp.get_device(device))
    for way in ("columns", "pressure"):
        assert errors[way].weight < 1e-10
        assert errors[way].centre < 1e-10
    assert errors["columns-uncorrected"].weight < 2e-3
    assert errors["columns-uncorrected"].centre < 2e-3


def test_a_volume_of_fluid(device: str) -> None:
    vertices, triangles = knot(60, 12, size=0.02, thickness=0.006)
    volume = 0.3 * Cavity(triangles).volume(vertices)
    found = load((vertices, triangles), device, Fluid(volume=volume), cells=100)
    assert found.exact_volume == pytest.approx(volume, rel=1e-12)
    assert found.weight == pytest.approx(9810.0 * volume, rel=1e-12)


def test_only_the_nodes_of_the_cavity_are_looked_at(device: str) -> None:
    vertices, triangles = icosphere(2, 0.01)
    positions = np.concatenate([np.full((5, 3), 9.0), vertices, np.full((5, 3), -9.0)])
    found = load((positions, triangles + 5), device, cells=50)
    assert found.weights == pytest.approx(load((vertices, triangles), device, cells=50).weights, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cells": 0}, "cells of the column grid = 0"),
        ({"cells": (10, -1)}, "cells of the column grid = -1"),
        ({"cells": 10.5}, "whole number"),
        ({"method": "rows"}, "one of auto"),
        ({"correction": "all"}, "one of none"),
        ({"alpha": 0.0}, "alpha"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        load(icosphere(1, 0.01), "cpu", **options)


def test_a_level_above_the_cavity_is_refused() -> None:
    with pytest.raises(InvalidValue, match="level 1 m lies above"):
        load(icosphere(1, 0.01), "cpu", Fluid(level=1.0))


def test_positions_that_are_not_finite_are_noticed(device: str) -> None:
    vertices, triangles = icosphere(2, 0.01)
    columns = FluidColumns(Cavity(triangles), Fluid(), cells=20, device=device)
    good = wp.array(vertices, dtype=wp.vec3d, device=device)
    bad = vertices.copy()
    bad[7] = np.nan
    columns.evaluate(wp.array(bad, dtype=wp.vec3d, device=device))
    with pytest.raises(InvalidValue, match="not finite"):
        columns.read()
    columns.evaluate(good)
    assert columns.read().weight > 0.0


def test_an_inverted_cavity_is_refused() -> None:
    vertices, triangles = icosphere(1, 0.01)
    with pytest.raises(InvalidMesh, match="wrong way"):
        load((vertices, triangles[:, ::-1].copy()), "cpu")
