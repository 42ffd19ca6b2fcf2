"""Colour maps, scales and legends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import Field
from annelid.view.annotate import legend_title, printable, ticks
from annelid.view.colors import MISSING, Scale, category_colors, color_table, decode, encode, scale_for


def lightness(colors: np.ndarray) -> np.ndarray:
    """CIE lightness, 0 to 100."""
    y = decode(colors.astype(np.float64)) @ [0.2126, 0.7152, 0.0722]
    return np.where(y > 0.008856, 116.0 * np.cbrt(y) - 16.0, 903.3 * y)


@pytest.mark.parametrize("name", ["tide", "ember", "balance", "gray"])
def test_maps_are_colours_and_change_evenly(name: str) -> None:
    table = color_table(name)
    assert table.shape == (256, 3)
    assert (table >= 0.0).all()
    assert (table <= 1.0).all()
    steps = np.abs(np.diff(lightness(table)))
    assert steps.max() < 6.0 * np.median(steps)


@pytest.mark.parametrize("name", ["tide", "ember", "gray"])
def test_sequential_maps_get_lighter_all_the_way(name: str) -> None:
    assert (np.diff(lightness(color_table(name))) > 0.0).all()


def test_the_diverging_map_is_lightest_in_the_middle() -> None:
    light = lightness(color_table("balance", 255))
    assert np.argmax(light) == 127
    assert light[0] == pytest.approx(light[-1], abs=6.0)


def test_categories_differ() -> None:
    colors = category_colors(10)
    apart = np.linalg.norm(colors[:, None] - colors[None], axis=-1)[~np.eye(10, dtype=bool)]
    assert apart.min() > 0.12
    np.testing.assert_array_equal(category_colors(11)[10], colors[0])


@given(st.floats(0.0, 1.0))
def test_encoding_is_undone_by_decoding(x: float) -> None:
    assert decode(encode(np.array(x))) == pytest.approx(x, abs=1e-6)


def test_values_become_the_colours_of_the_map() -> None:
    scale = Scale("speed", "m/s", (0.0, 2.0), "tide")
    table = color_table("tide")
    got = scale.colors(np.array([-1.0, 0.0, 1.0, 2.0, 5.0, np.nan]))
    np.testing.assert_allclose(got[[0, 1]], table[[0, 0]], atol=1e-6)
    np.testing.assert_allclose(got[2], 0.5 * (table[127] + table[128]), atol=1e-6)
    np.testing.assert_allclose(got[[3, 4]], table[[-1, -1]], atol=1e-6)
    np.testing.assert_allclose(got[5], MISSING, atol=1e-6)


def test_labels_make_categories() -> None:
    field = Field(np.array([0, 2, 1]), labels=("soft", "stiff", "muscle"))
    scale = scale_for("material", [field])
    np.testing.assert_allclose(scale.colors(field.values), category_colors(3)[[0, 2, 1]])


@pytest.mark.parametrize(
    ("values", "limits", "color_map"),
    [
        ([0.0, 1.0, 4.0], (0.0, 4.0), "tide"),
        ([-1.0, 3.0], (-3.0, 3.0), "balance"),
        ([-1e-9, 3.0], (-1e-9, 3.0), "tide"),
        ([2.0, 2.0], (2.0, 4.0), "tide"),
        ([0.0, 0.0], (0.0, 1.0), "tide"),
        ([np.nan], (0.0, 1.0), "tide"),
        ([np.inf, 1.0, 2.0], (1.0, 2.0), "tide"),
    ],
)
def test_limits_follow_the_data(values: list[float], limits: tuple[float, float], color_map: str) -> None:
    scale = scale_for("x", [Field(np.array(values))])
    assert scale.limits == pytest.approx(limits)
    assert scale.color_map == color_map


def test_limits_of_the_field_and_of_the_caller_come_first() -> None:
    fields = [Field(np.array([0.0, 9.0]), limits=(0.0, 5.0)), Field(np.array([0.0]), "Pa", limits=(-1.0, 2.0))]
    assert scale_for("x", fields).limits == (-1.0, 5.0)
    assert scale_for("x", fields).unit == "Pa"
    assert scale_for("x", fields, limits=(0.0, 1.0)).limits == (0.0, 1.0)


def test_bad_limits_and_maps_are_refused() -> None:
    field = Field(np.array([0.0, 1.0]))
    with pytest.raises(InvalidValue, match="the lower one first"):
        scale_for("x", [field], limits=(1.0, 0.0))
    with pytest.raises(InvalidValue, match="finite"):
        scale_for("x", [field], limits=(0.0, float("inf")))
    with pytest.raises(UnknownName, match="colour map"):
        scale_for("x", [field], color_map="rainbow")


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_inside_few_and_rising(low: float, span: float) -> None:
    if low + span <= low + 1e-6 * abs(low):
        return
    limits = (low, low + span)
    values = [value for value, _ in ticks(Scale("x", "", limits))]
    assert 2 <= len(values) <= 8
    assert (np.diff(values) > 0.0).all()
    assert min(values) >= low - 1e-5 * span
    assert max(values) <= low + span * (1.0 + 1e-5)


def test_ticks_and_titles_are_written_plainly() -> None:
    assert [text for _, text in ticks(Scale("x", "", (0.0, 2.0)))] == ["0.0", "0.5", "1.0", "1.5", "2.0"]
    assert legend_title(Scale("von-mises", "Pa", (0.0, 3.0e6))) == "von mises [1e6 Pa]"
    assert [text for _, text in ticks(Scale("x", "Pa", (0.0, 4.0e6)))] == ["0", "1", "2", "3", "4"]
    assert legend_title(Scale("speed", "m/s", (0.0, 2.0))) == "speed [m/s]"
    assert printable("N/m² at 5 µm") == "N/m^2 at 5 um"
