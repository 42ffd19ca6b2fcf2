"""Materials: the presets, what follows from them, and what is refused."""

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.voxels import Voxel
from annelid.voxels.tables import material_row


def test_paper_has_the_defaults_of_table_1() -> None:
    voxel = Voxel.paper()
    assert (voxel.side_length, voxel.mass_ratio, voxel.mass, voxel.friction) == (3.0, 0.3, 1.0, 100.0)
    assert (voxel.restitution, voxel.frequency, voxel.damping_ratio) == (0.1, 8.0, 0.3)
    assert (voxel.max_force, voxel.max_area_change, voxel.linear_damping, voxel.angular_damping) == (
        1000.0,
        0.2,
        1.0,
        1.0,
    )
    assert voxel.ropes == "upper"
    assert voxel.lengths == "area"


def test_v1_weighs_what_the_original_weighs() -> None:
    voxel = Voxel.v1()
    assert voxel.mass == pytest.approx(0.2025)
    assert voxel.inertia == pytest.approx(0.027337, abs=1e-6)
    assert voxel.ropes == "lower"
    assert voxel.rope_length == pytest.approx(0.9)


def test_rest_lengths() -> None:
    np.testing.assert_allclose(Voxel.v1().rest_lengths()[1], [1.2, 1.5, 2.1 * np.sqrt(2.0)])


def test_stiffness_at_8_hz() -> None:
    voxel = Voxel.v1()
    soft, spin, square = material_row(voxel, 1 / 60)[:3]
    corner = 0.45**2  # (r × n)² of a facing corner
    assert square / (soft + 2 * spin * corner) == pytest.approx(102.3, abs=0.05)
    assert material_row(voxel, 1 / 60)[8] == pytest.approx(255.8, abs=0.05)
    n = np.array([1.2, -0.9]) / 1.5
    cross = (0.45 * n[1] - 0.45 * n[0]) ** 2
    assert square / (soft + 2 * spin * cross) == pytest.approx(64.9, abs=0.05)


def test_scaffolding_is_any_combination() -> None:
    assert Voxel.paper(scaffolding="CE").scaffolding == "EC"
    assert Voxel.paper(scaffolding="").scaffolding == ""
    with pytest.raises(InvalidValue, match="'Q'"):
        Voxel.paper(scaffolding="EQ")


@pytest.mark.parametrize(
    "wrong",
    [
        {"side_length": 0.0},
        {"mass": -1.0},
        {"mass_ratio": 0.6},
        {"frequency": float("nan")},
        {"damping_ratio": 1.5},
        {"max_area_change": 1.0},
        {"restitution": -0.1},
        {"ropes": "long"},
        {"actuation": "heat"},
        {"mass_ratio": 0.5},
    ],
)
def test_bad_values_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match="voxel"):
        Voxel.paper(**wrong)


def test_dictionary_round_trip() -> None:
    voxel = Voxel.v1(frequency=20.0, scaffolding="EC")
    assert Voxel.from_dict(voxel.to_dict()) == voxel
    with pytest.raises(InvalidValue, match="colour"):
        Voxel.from_dict({"colour": 1})
