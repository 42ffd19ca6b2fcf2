"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annelid import voxels3d
from annelid.core.errors import AnnelidError

NO: Any = "no"
THREE: Any = 3


def robot(**options: Any) -> voxels3d.Robot:
    return voxels3d.Robot.from_array([[[1, 1]]] * 4, **options)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: voxels3d.World(precision=["float32"]), "precision .* must be 'float32' or 'float64'"),  # type: ignore[arg-type]
        (lambda: voxels3d.World(fluid=NO), "fluid = 'no' cannot be used; give a finite number of 0 or more"),
        (lambda: voxels3d.Voxel(name=THREE), "name of a voxel must be a text, not int: 3"),
        (lambda: voxels3d.Voxel(color=NO), "color of a voxel must be three numbers from 0 to 1 .*, not 'no'"),
        (lambda: voxels3d.position_of(each=NO), "each must be True or False, not 'no'"),
        (lambda: robot(whole=NO), "whole of a robot must be True or False, not 'no'"),
        (lambda: robot(only_cools=NO), "only_cools of a robot must be True or False, not 'no'"),
        (lambda: robot(holds=THREE), "holds of a robot must be a list of voxels3d.Hold, not int: 3"),
        (lambda: robot(pushes=[3]), "each of the pushes of a robot must be a voxels3d.Push, not int: 3"),
        (lambda: robot().fix(lambda x, y, z: x < 1, THREE), "freedoms that are held must be a list of their names"),
        (lambda: voxels3d.largest_connected(NO), "a grid must be given as numbers, not 'no'"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
