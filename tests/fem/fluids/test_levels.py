"""The level of a given volume of fluid, against the exact clipped polyhedron."""

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid.core.errors import InvalidValue
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.levels import FluidLevel
from annelid.studies.support.cavities import divided_box, icosphere, knot
from annelid.studies.support.polyhedron import moments_below


def level_of(cavity: Cavity, positions: np.ndarray, fluid: Fluid) -> float:
    level = FluidLevel(cavity, fluid, device="cpu")
    level.evaluate(wp.array(positions, dtype=wp.vec3d, device="cpu"))
    return float(level.height.numpy()[0])


@given(st.floats(1e-6, 1.0 - 1e-9), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
@settings(max_examples=40)
def test_the_level_holds_the_volume(part: float, x: float, y: float) -> None:
    vertices, triangles = knot(40, 9, size=0.02, thickness=0.006)
    cavity = Cavity(triangles)
    fluid = Fluid(gravity=(x, y, -0.5), volume=part * cavity.volume(vertices))
    below = moments_below(vertices, triangles, level_of(cavity, vertices, fluid), up=fluid.up)
    assert below.volume == pytest.approx(fluid.volume, rel=1e-9)


@pytest.mark.parametrize("part", [1e-9, 0.25, 0.5, 1.0])
def test_flat_walls(part: float) -> None:
    """A box: the area of the surface jumps at its bottom and top."""
    vertices, triangles = divided_box((1.0, 1.0, 2.0), 1)
    level = level_of(Cavity(triangles), vertices, Fluid(volume=2.0 * part))
    assert level == pytest.approx(-1.0 + 2.0 * part, abs=1e-12)


def test_the_level_follows_the_walls(device: str) -> None:
    vertices, triangles = icosphere(2, 0.01)
    fluid = Fluid(volume=2e-6)
    level = FluidLevel(Cavity(triangles), fluid, device=device)
    heights = []
    for stretch in (1.0, 1.2):
        level.evaluate(wp.array(vertices * (stretch, 1.0, 1.0), dtype=wp.vec3d, device=device))
        heights.append(float(level.height.numpy()[0]))
    assert heights[1] < heights[0]
    below = moments_below(vertices * (1.2, 1.0, 1.0), triangles, heights[1])
    assert below.volume == pytest.approx(2e-6, rel=1e-12)
    disc = moments_below(vertices * (1.2, 1.0, 1.0), triangles, heights[1] + 1e-8).volume - below.volume
    assert float(level.area.numpy()[0]) == pytest.approx(disc / 1e-8, rel=1e-4)


def test_a_cavity_squeezed_below_its_fluid_is_full(device: str) -> None:
    vertices, triangles = icosphere(2, 0.01)
    level = FluidLevel(Cavity(triangles), Fluid(volume=2e-6), device=device)
    level.evaluate(wp.array(0.5 * vertices, dtype=wp.vec3d, device=device))
    assert float(level.height.numpy()[0]) == pytest.approx(0.5 * vertices[:, 2].max(), rel=1e-9)


def test_levels_that_cannot_be_set() -> None:
    cavity = Cavity(icosphere(1, 0.01)[1])
    with pytest.raises(InvalidValue, match="no level of its own"):
        FluidLevel(cavity, Fluid(volume=1e-6), device="cpu").set(0.0)
    with pytest.raises(InvalidValue, match="finite height"):
        FluidLevel(cavity, Fluid(level=0.0), device="cpu").set(np.nan)
