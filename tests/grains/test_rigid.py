"""Bodies turn about their centre of mass, however they are moved."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.shapes.extrusion import prism

OUTLINE = [(0.0, 0.0), (0.1, 0.0), (0.1, 0.03), (0.03, 0.03), (0.03, 0.1), (0.0, 0.1)]
CENTER = (0.003 * 0.05 + 0.0021 * 0.015) / 0.0051, (0.003 * 0.015 + 0.0021 * 0.065) / 0.0051  # of a bar and the rest


@pytest.mark.parametrize("motion", ["free", "driven", "fixed"])
def test_the_place_of_a_body_is_its_centre_of_mass(motion: str) -> None:
    body = grains.Rigid(shape=prism(OUTLINE, 0.05), motion=motion, position=(1.0, 2.0, 3.0))
    assert body.place[[0, 2]] == pytest.approx(np.array([1.0 + CENTER[0], 3.0 + CENTER[1]]))
    arms = np.array(OUTLINE) - CENTER
    assert body.reach == pytest.approx(np.sqrt((arms**2).sum(axis=1).max() + 0.025**2))
