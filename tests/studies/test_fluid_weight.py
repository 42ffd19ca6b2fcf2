"""The study of fluid weight in its quick form, and the shapes that it uses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.progress import Progress
from annelid.shapes.topology import edges_of
from annelid.studies.fluid_weight import FluidWeight
from annelid.studies.support.cavities import divided_box, icosphere, knot


def test_the_surfaces_are_closed() -> None:
    shapes = [
        (icosphere(4, 1.0), 5120),
        (knot(350, 100, size=0.02, thickness=0.006), 70_000),
        (divided_box((1, 2, 3), 2), 192),
    ]
    for (vertices, triangles), count in shapes:
        assert len(triangles) == count
        assert not edges_of(triangles).balance.any()
        assert len(np.unique(triangles)) == len(vertices)


def test_the_study_holds(chosen: wp.Device, silence: Progress, tmp_path: Path) -> None:
    study = FluidWeight(quick=True, cells=100, seconds=0.02)
    found = study.compute(chosen, None, silence)
    rows = study.measure(found)
    untimed = [row for row in rows if not row.name.startswith("time-")]
    assert all(row.passed is not False for row in untimed)
    assert sum(row.passed is True for row in untimed) >= 20
    assert {row.unit for row in rows if row.name.startswith("time-")} == {"ms"}
    for path in study.plot(replace(found, maps=dict(list(found.maps.items())[:1])), tmp_path):
        assert path.stat().st_size > 1000


@pytest.mark.parametrize("cells", [0, -5])
def test_impossible_grids_are_refused(cells: int) -> None:
    with pytest.raises(ValueError, match=f"cells of fluid-weight must be a whole number of 1 or more, not {cells}"):
        FluidWeight(quick=True, cells=cells)
