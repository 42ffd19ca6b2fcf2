"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annelid import voxels3d
from annelid.core.errors import AnnelidError

NO: Any = "no"
THREE: Any = 3
UNEVEN: Any = [[1], [1, 2]]


def robot(**options: Any) -> voxels3d.Robot:
    return voxels3d.Robot.from_array([[[1, 1]]] * 4, **options)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: voxels3d.World(precision=["float32"]), "precision .* must be one of float32, float64"),  # type: ignore[arg-type]
        (lambda: voxels3d.World(fluid=NO), "fluid .* must be a finite number of 0 kg/m³ or more, not 'no'"),
        (lambda: voxels3d.Voxel(name=THREE), "name of a voxel must be a str, not 3"),
        (lambda: voxels3d.Voxel(color=NO), "color of a voxel must be three numbers from 0 to 1 .*, not 'no'"),
        (lambda: voxels3d.position_of(each=NO), "each must be True or False, not 'no'"),
        (lambda: robot(whole=NO), "whole of a robot must be True or False, not 'no'"),
        (lambda: robot(only_cools=NO), "only_cools of a robot must be True or False, not 'no'"),
        (lambda: robot(holds=THREE), "holds of a robot must be a list of voxels3d.Hold, not int: 3"),
        (lambda: robot(pushes=[3]), "each of the pushes of a robot must be a voxels3d.Push, not int: 3"),
        (lambda: robot().fix(lambda x, y, z: x < 1, THREE), "freedoms that are held must be a list of their names"),
        (lambda: voxels3d.World(links=NO), "links .* must be one of balanced, compatible, not 'no'"),
        (lambda: voxels3d.World(skin=UNEVEN), "skin .* must be one of blocky, smooth"),
        (lambda: voxels3d.Robot(UNEVEN), "the grid of a robot must be an array of whole numbers"),
        (lambda: voxels3d.Voxel(curve=UNEVEN), "the curve of a voxel must be pairs of strain and stress"),
        (lambda: voxels3d.body_key(UNEVEN), "a body must be given as numbers"),
        (lambda: voxels3d.setup_of(THREE), "what a robot is made of must be a voxels3d.Vxa, not int: 3"),
        (lambda: voxels3d.vxa_of(robot(), seconds=NO), "seconds after which a run stops must be above 0, not 'no'"),
        (lambda: voxels3d.vxa_of(robot(), gravity=NO), "gravity of a .vxa file must be a finite number .*, not 'no'"),
        (lambda: voxels3d.vxa_of(robot(), stop=THREE), "stop of a .vxa file must be a voxels3d.Formula or None"),
        (lambda: voxels3d.write_json(THREE, "a.json"), "what is written for Voxelyze must be a voxels3d.Robot"),
        (lambda: voxels3d.Formula(THREE), "tokens of a formula must be a sequence"),
        (
            lambda: voxels3d.simulation(robot(), worlds=True),
            "worlds of .* must be a whole number of 1 or more, not True",
        ),
        (lambda: voxels3d.simulation(robot(), worlds=10**12), "worlds of 1 robots .* simulate fewer worlds"),
        (lambda: voxels3d.largest_connected(NO), "a grid must be given as numbers, not 'no'"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda edit: edit.cut([(0, 0, 0)], robot=None), "there is no robot None: there are 1"),
        (lambda edit: edit.add([(0, 1, 0)], robot="first"), "there is no robot 'first': there are 1"),
        (lambda edit: edit.add([(0, 1, 0)], material="soft"), "there is no material 'soft': robot 0 has 1"),
        (lambda edit: edit.add([(0, 1, 0)], stiffness=None), "stiffness of an added voxel must be a finite number"),
        (lambda edit: edit.attach((0, 0, 0), (3, 0, 0), rise=None), "rise of a bond must be 0 s or more, not None"),
        (lambda edit: edit.attach((0, 0, 0), (3, 0, 0), robots=None), r"robots must be the numbers of two robots"),
        (lambda edit: edit.detach((0, 0, 0), (1, 0, 0), robots=(0, 2)), "there is no robot 2: there are 1"),
        (lambda edit: edit.detach([[0], [1, 2]], (1, 0, 0)), "a voxel is told by the three whole numbers of its cell"),
    ],
)
def test_edits(wrong: Callable[[Any], Any], sentence: str) -> None:
    simulation = voxels3d.simulation(robot(), device="cpu", threads=1)
    before = simulation.state_hash()
    with pytest.raises(AnnelidError, match=sentence), simulation.edit() as edit:
        wrong(edit)
    assert simulation.state_hash() == before
