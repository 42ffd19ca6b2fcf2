"""Cavities: what is refused, six-node triangles, fluids."""

import numpy as np
import pytest

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.fluid import Fluid
from annelid.studies.support.cavities import icosphere


def test_local_triangles_and_corners_point_back() -> None:
    vertices, triangles = icosphere(1, 1.0)
    cavity = Cavity(triangles + 7)
    assert (cavity.nodes[cavity.local] == triangles + 7).all()
    first, corner = cavity.corners
    owner = np.repeat(np.arange(len(cavity.nodes)), np.diff(first))
    assert (cavity.local.ravel()[corner] == owner).all()
    positions = np.concatenate([np.zeros((7, 3)), vertices])
    assert cavity.check(positions) == pytest.approx(Cavity(triangles).volume(vertices))


def test_a_six_node_triangle_is_four_flat_ones() -> None:
    vertices, triangles = icosphere(0, 1.0)
    fine, quarters = icosphere(1, 1.0)
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1)
    middles = fine[sides].mean(axis=2)
    middles /= np.linalg.norm(middles, axis=2, keepdims=True)
    nearest = np.linalg.norm(middles[:, :, None] - fine, axis=3).argmin(axis=2)
    six = np.concatenate([triangles, nearest], axis=1)
    assert Cavity(six).volume(fine) == pytest.approx(Cavity(quarters).volume(fine), rel=1e-13)
    assert len(Cavity(six).triangles) == 4 * len(triangles)
    assert len(vertices) == 12


def test_an_open_cavity_tells_how_many_edges() -> None:
    _, triangles = icosphere(1, 1.0)
    with pytest.raises(InvalidMesh, match="3 open edges"):
        Cavity(triangles[1:])


def test_an_inverted_cavity_is_refused() -> None:
    vertices, triangles = icosphere(1, 1.0)
    with pytest.raises(InvalidMesh, match="face the wrong way"):
        Cavity(triangles[:, ::-1].copy()).check(vertices)


def test_a_twisted_triangle_is_refused() -> None:
    _, triangles = icosphere(1, 1.0)
    triangles = triangles.copy()
    triangles[0] = triangles[0, ::-1]
    with pytest.raises(InvalidMesh, match="3 between opposite windings edges"):
        Cavity(triangles)


@pytest.mark.parametrize("triangles", [np.zeros((0, 3), int), np.zeros((4, 4), int), np.zeros((4, 3))])
def test_what_is_no_triangles_is_refused(triangles: np.ndarray) -> None:
    with pytest.raises(InvalidMesh):
        Cavity(triangles)


def test_positions_must_fit() -> None:
    vertices, triangles = icosphere(1, 1.0)
    with pytest.raises(InvalidValue, match="positions only"):
        Cavity(triangles).volume(vertices[:5])
    vertices[3, 1] = np.nan
    with pytest.raises(InvalidValue, match="point 3"):
        Cavity(triangles).volume(vertices)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"density": 0.0}, "density"),
        ({"density": -3.0}, "density"),
        ({"density": float("nan")}, "density"),
        ({"gravity": (0.0, 0.0, 0.0)}, "no weight"),
        ({"level": 1.0, "volume": 1.0}, "exclude"),
        ({"level": float("inf")}, "finite"),
        ({"volume": 0.0}, "volume"),
    ],
)
def test_impossible_fluids_are_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        Fluid(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("level", "side"), [(1.5, "above"), (-1.5, "below")])
def test_a_level_outside_the_cavity_is_refused(level: float, side: str) -> None:
    vertices, triangles = icosphere(1, 1.0)
    with pytest.raises(InvalidValue, match=f"{side} the cavity"):
        Fluid(level=level).check(vertices, Cavity(triangles).volume(vertices))


def test_too_much_fluid_is_refused() -> None:
    vertices, triangles = icosphere(1, 1.0)
    with pytest.raises(InvalidValue, match="do not fit"):
        Fluid(volume=5.0).check(vertices, Cavity(triangles).volume(vertices))
