"""Extruded outlines: closed, of the volume that their area says, whichever way they run."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.shapes.extrusion import band, joined, prism, ring

SQUARE = np.array([(0, 0), (2, 0), (2, 1), (0, 1)], dtype=float)


def test_a_prism_has_the_volume_of_its_outline() -> None:
    for outline in (SQUARE, SQUARE[::-1]):
        mesh = prism(outline, 0.5, y=3.0)
        assert mesh.volume == pytest.approx(1.0)
        assert mesh.bounds()[0] == pytest.approx([0.0, 2.75, 0.0])


def test_a_band_is_the_area_between_two_curves() -> None:
    angle = np.linspace(0.0, np.pi, 200)
    curve = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    mesh = band(curve, 0.9 * curve, 2.0)
    assert mesh.volume == pytest.approx(np.pi * (1.0 - 0.81), rel=1e-3)
    assert mesh.signed_distance([[0.0, 0.0, 0.95], [0.0, 0.0, 0.5]]) == pytest.approx([-0.05, 0.4], abs=1e-3)


def test_a_ring_may_have_notches() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    star = unit * np.where(np.arange(16) % 2, 1.0, 0.6)[:, None]
    mesh = ring(star, 0.5 * unit, 1.0)
    assert mesh.volume == pytest.approx(16 * 0.5 * 0.6 * np.sin(2 * np.pi / 16))


def test_joined_meshes_keep_their_volume() -> None:
    first, second = prism(SQUARE, 1.0), prism(SQUARE + 5.0, 1.0)
    assert joined([first, second]).volume == pytest.approx(4.0)


def test_bad_outlines_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at least 3 finite points"):
        prism(SQUARE[:2], 1.0)
    with pytest.raises(InvalidValue, match="4 and 3 points"):
        band(SQUARE, SQUARE[:3], 1.0)
    with pytest.raises(InvalidValue, match="width = 0"):
        prism(SQUARE, 0.0)
    with pytest.raises(InvalidValue, match="no mesh"):
        joined([])
