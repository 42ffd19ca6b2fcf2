"""Silicones for large strains: agreement with what was measured, stability, names, and what is suggested for a name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from annelid import fem, springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.materials import Law, Material, matching, material, names
from annelid.materials.silicones import SILICONES, LawName, Silicone
from annelid.shapes import tet_beam

EVERY = [silicone.material(law) for silicone in SILICONES for law in silicone.laws]
MEASURED = {
    "ecoflex-00-30": {0.5: 16.9, 1.0: 29.7, 2.0: 52.4, 3.0: 80.2},
    "dragon-skin-10": {0.5: 53.0, 1.0: 113.0, 2.0: 273.0, 3.0: 445.0},
    "mold-star-16": {0.5: 94.7, 1.0: 185.0, 2.0: 433.0, 3.0: 763.0},
    "sorta-clear-40": {0.5: 307.0, 1.0: 564.0, 2.0: 1220.0, 3.0: 2030.0},
    "rtv615": {0.5: 385.0, 1.0: 801.0, 1.5: 1510.0},
}
"""Stress [kPa] at some apparent strains; Soft Robotics Materials Database (L. Marechal, L. Lindenroth; DbCL 1.0)."""


def named(name: str) -> Silicone:
    return next(silicone for silicone in SILICONES if silicone.name == name)


def test_there_are_nineteen_and_fifteen_are_corrected() -> None:
    assert len(SILICONES) == 19
    assert sum("ogden-corrected" in silicone.laws for silicone in SILICONES) == 15
    assert len({each.name for each in EVERY}) == 3 * 19 + 15


@pytest.mark.parametrize("law", ["ogden", "yeoh"])
def test_fits_are_as_near_to_the_measured_stress_as_they_claim(law: LawName) -> None:
    for name, stresses in MEASURED.items():
        fitted, quality, _, _ = named(name).fit(law)
        strains, wanted = np.array([*stresses]), 1e3 * np.array([*stresses.values()])
        spread = 0.3 * wanted.max()  # of a stress that rises steadily
        assert abs(fitted.uniaxial(1.0 + strains) - wanted).max() < 3.0 * spread * math.sqrt(1.0 - quality + 5e-5), name


def test_neo_hookes_constants_serve_small_strains() -> None:
    for name, stresses in MEASURED.items():
        assert named(name).fit("neo-hooke")[0].uniaxial(1.5) == pytest.approx(1e3 * stresses[0.5], rel=0.09)


def test_corrected_curves_are_stiffer_and_break_sooner() -> None:
    for silicone in SILICONES:
        if silicone.corrected is not None:
            as_published, corrected = silicone.material(), silicone.material("ogden-corrected")
            assert isinstance(as_published.law, Law)
            assert isinstance(corrected.law, Law)
            assert 1.1 < corrected.law.uniaxial(1.5) / as_published.law.uniaxial(1.5) < 2.6
            assert corrected.yield_strain < 0.65 * as_published.yield_strain


def test_every_one_is_stable_as_far_as_it_was_measured() -> None:
    for each in EVERY:
        assert each.law is not None
        assert each.measured_to is not None
        assert each.law.unstable_at(each.measured_to) is None, each.name
        assert each.measured_to <= each.yield_strain
        assert "Marechal" in each.source
        assert "ODbL" in each.source


def test_every_name_makes_a_solid_and_a_body_of_springs() -> None:
    mesh = tet_beam(0.02, 0.01, 0.01, cells=(2, 1, 1))
    for name in {*names(), *(each.name for each in EVERY)}:
        assert fem.Solid(mesh, name).mass == pytest.approx(2e-6 * material(name).density)
        body = springs.box((0.02, 0.01, 0.01), 0.01, name, damping_frequency=10.0)
        assert body.masses.sum() == pytest.approx(2e-6 * material(name).density)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("dragon-skin-10", "dragon-skin-10/ogden"),
        ("Dragon Skin 10 MEDIUM", "dragon-skin-10/ogden"),
        ("Ecoflex 00-30 / Yeoh", "ecoflex-00-30/yeoh"),
        ("ecoflex-00-30", "ecoflex-00-30"),
        ("dragon-skin-30", "dragon-skin-30"),
        ("DRAGON_SKIN_30/OGDEN-CORRECTED", "dragon-skin-30/ogden-corrected"),
    ],
)
def test_a_law_may_be_left_out_where_no_other_material_has_the_name(spelling: str, name: str) -> None:
    found = material(spelling)
    assert found.name == name
    assert material(name) is found
    assert (found.law is None) == ("/" not in name)


@pytest.mark.parametrize(
    ("word", "suggested"),
    [
        ("silicone", ["ecoflex-00-50/ogden", "dragon-skin-30", "pdms"]),
        ("rubber", ["ecoflex-00-50/ogden", "tpu"]),
        ("ecoflex", ["ecoflex-00-10/ogden", "ecoflex-00-30", "ecoflex-00-30/ogden", "ecoflex-00-50/ogden"]),
        ("dragonskin", ["dragon-skin-10/ogden", "dragon-skin-20/ogden", "dragon-skin-30"]),
        ("Smooth-On", ["ecoflex-00-30/ogden", "dragon-skin-10/ogden"]),
        ("moldstarr", ["mold-star-16/ogden", "mold-star-20t/ogden"]),
        ("sylgard", ["pdms"]),
        ("dragon-skin-10/mooney", ["dragon-skin-10/ogden", "dragon-skin-10/yeoh"]),
        ("psycho-paint/ogden-corrected", ["psycho-paint/ogden", "psycho-paint/yeoh"]),
        ("stel", ["steel"]),
    ],
)
def test_a_word_for_several_suggests_them(word: str, suggested: list[str]) -> None:
    with pytest.raises(UnknownName) as caught:
        material(word)
    sentence = str(caught.value)
    assert repr(word) in sentence
    assert [name for name in suggested if repr(name) not in sentence] == []
    assert all(material(name).name == name for name in sentence.split("'")[3::2] if name != word.partition("/")[0])


def test_matching_finds_all_laws_of_what_a_word_means() -> None:
    assert [each.name for each in matching("pla")] == ["pla"]
    assert [each.name for each in matching("dragon-skin-10/yeoh")] == ["dragon-skin-10/yeoh"]
    both = [each.name for each in matching("ecoflex-00-30")]
    assert both == ["ecoflex-00-30", *(f"ecoflex-00-30/{law}" for law in named("ecoflex-00-30").laws)]
    assert len(matching("silicone")) == len(EVERY) + 4
    with pytest.raises(UnknownName, match="'granite'.*Known: "):
        matching("granite")


def test_a_silicone_is_scaled_to_ones_own_casting() -> None:
    cast: Material = material("dragon-skin-10").with_(youngs_modulus=264e3)
    assert cast.law is not None
    assert cast.measured_to == 3.0
    assert 3.0 * cast.law.shear_modulus == pytest.approx(264e3, rel=0.01)


def test_impossible_stretches_and_ranges_are_refused() -> None:
    law = EVERY[0].law
    assert law is not None
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidValue, match="a stretch is a length over that at rest"):
            law.uniaxial(wrong)
    with pytest.raises(InvalidValue, match="stretches must be given as numbers, not 'twice'"):
        law.uniaxial("twice")
    with pytest.raises(InvalidValue, match="measured_to"):
        material("ecoflex-00-30").with_(measured_to=1e9)
