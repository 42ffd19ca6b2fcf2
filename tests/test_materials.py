"""Materials: presets, look-up, validation and adaptation."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from annelid.core.errors import InvalidValue, UnknownName
from annelid.materials import Material, NeoHooke, matching, material, names, steady_loss
from annelid.materials.presets import PRESETS
from annelid.materials.silicones import SILICONES

POSITIVE = ("density", "youngs_modulus", "yield_strain")
NUMBERS = (*POSITIVE, "poisson_ratio", "damping")


def test_the_wanted_presets_exist() -> None:
    wanted = {
        "ecoflex-00-30",
        "dragon-skin-30",
        "pdms",
        "tpu",
        "nylon",
        "nylon-titan",
        "pla",
        "steel",
        "silicone-marchal",
    }
    assert wanted <= set(names())
    assert len(names()) == len(set(names())) == len(PRESETS) + len(SILICONES)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_says_where_its_figures_come_from(preset: Material) -> None:
    assert len(preset.source) > 40
    assert material(preset.name) is preset


def test_presets_are_ordered_by_stiffness_as_in_reality() -> None:
    order = ["silicone-marchal", "ecoflex-00-30", "dragon-skin-30", "pdms", "tpu", "nylon", "steel"]
    moduli = [material(name).youngs_modulus for name in order]
    assert moduli == sorted(moduli)
    assert all(900.0 < preset.density < 8000.0 for preset in PRESETS)


def test_a_bar_of_titans_nylon_has_the_published_spring_constant() -> None:
    area, length = math.pi * 0.5e-3**2, 1e-2
    assert material("nylon-titan").youngs_modulus * area / length == pytest.approx(3.58e5, rel=1e-3)


def test_marchals_cylinder_has_the_published_mass() -> None:
    assert material("silicone-marchal").density * math.pi * 0.019**2 * 0.178 == pytest.approx(0.216, rel=2e-3)


@pytest.mark.parametrize("spelling", ["Ecoflex 00-30", "ECOFLEX_00_30", " ecoflex 00 30 ", "Ecoflex00-30"])
def test_spelling_of_a_name_is_free(spelling: str) -> None:
    assert material(spelling).name == "ecoflex-00-30"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"'ecoflx-00-30'.*Did you mean 'ecoflex-00-30'\?"):
        material("ecoflx-00-30")
    with pytest.raises(InvalidValue, match="not by 3"):
        material(3)  # type: ignore[arg-type]


def test_a_material_passes_through() -> None:
    steel = material("steel")
    assert material(steel) is steel


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -2.0, "soft", None, True])
def test_unusable_numbers_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidValue, match=f"{name} = .*'steel'"):
        material("steel").with_(**{name: value})


@pytest.mark.parametrize("name", POSITIVE)
def test_zero_is_refused_where_it_means_nothing(name: str) -> None:
    with pytest.raises(InvalidValue, match=f"{name} = 0.0"):
        material("steel").with_(**{name: 0.0})


@pytest.mark.parametrize("value", [0.5, 0.7, -1.0])
def test_impossible_poisson_ratios_are_refused(value: float) -> None:
    with pytest.raises(InvalidValue, match="0.49 for rubber"):
        material("pdms").with_(poisson_ratio=value)


def test_a_nameless_material_is_refused() -> None:
    with pytest.raises(InvalidValue, match="name"):
        material("pdms").with_(name=" ")


def test_adapting_keeps_the_rest_and_says_so() -> None:
    steel = material("steel")
    soft = steel.with_(youngs_modulus=1e9, damping=0.0)
    assert (soft.youngs_modulus, soft.damping, soft.density) == (1e9, 0.0, steel.density)
    assert soft.source.endswith("Changed by the user: damping, youngs_modulus.")
    assert steel.with_(density=1.0, source="mine").source == "mine"
    assert steel.with_(name="iron").source == steel.source
    assert dataclasses.replace(steel, density=7800.0).density == 7800.0
    with pytest.raises(UnknownName, match="Did you mean 'density'"):
        steel.with_(densty=3.0)


def test_moduli_of_an_isotropic_material() -> None:
    steel = material("steel")
    assert steel.shear_modulus == pytest.approx(80.77e9, rel=1e-3)
    assert steel.bulk_modulus == pytest.approx(175e9)
    bulk, shear = steel.bulk_modulus, steel.shear_modulus
    assert 9 * bulk * shear / (3 * bulk + shear) == pytest.approx(steel.youngs_modulus)


def test_a_material_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        material("steel").density = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"youngs_modulus": 0.0}, r"youngs_modulus = 0\.0 .* above 0"),
        ({"youngs_modulus": "stiff"}, "youngs_modulus = 'stiff'"),
        ({"poisson_ratio": -1}, "poisson_ratio = -1"),
        ({"poisson_ratio": None}, "poisson_ratio = None"),
        ({"law": "yeoh"}, "law = 'yeoh' .* give a law such as"),
    ],
)
def test_a_law_is_never_scaled_by_what_is_no_number(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        material("dragon-skin-10").with_(**changes)


@pytest.mark.parametrize("wrong", [None, "yeoh", NeoHooke])
def test_a_material_is_not_made_of_something_else_than_a_law(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="give one such as materials.Yeoh"):
        Material.hyperelastic("mine", wrong)
    with pytest.raises(InvalidValue, match="poisson_ratio = 'high'"):
        Material.hyperelastic("mine", NeoHooke(1e4), poisson_ratio="high")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [(1.0,), 5.0, "ab", (1e-200, 1e200), (10.0, 1.0)])
def test_frequencies_between_which_no_series_can_be_made_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="give a low and a higher one"):
        steady_loss(0.1, wrong)
    with pytest.raises(InvalidValue, match="a loss factor of 'much' cannot be made"):
        steady_loss("much")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="named by a string"):
        matching(3)  # type: ignore[arg-type]
