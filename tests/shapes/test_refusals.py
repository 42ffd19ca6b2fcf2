"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import AnnelidError
from annelid.shapes import (
    Box,
    HeightField,
    HelicalGear,
    ImplicitSurface,
    Medium,
    Plane,
    ResistiveGround,
    Revolved,
    Rigid,
    Sphere,
    TriangleMesh,
    Union,
    baked,
    box_walls,
    hopper,
    tet_beam,
    tet_fill,
    tet_trunk,
    tube,
)
from annelid.shapes.values import as_vector, require_positive, require_step

NO: Any = "no"
THREE: Any = 3
UNEVEN: Any = [[1], [1, 2]]
BOX = Box((0.1, 0.1, 0.1))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: require_step("dt", [[0.0]]), "dt = .* cannot be used; give a finite number above 0"),  # type: ignore[arg-type]
        (lambda: require_positive("radius", 10**400), "radius = 1000"),
        (lambda: as_vector("gravity", 10**400), "gravity = 1000"),
        (lambda: TriangleMesh.read("a.stl", max_bytes=NO), "max_bytes = 'no' cannot be used"),
        (lambda: TriangleMesh(np.eye(3), UNEVEN), "triangles must be integers"),
        (lambda: BOX.surface().scaled(UNEVEN), "factor = .* cannot be used"),
        (lambda: BOX.surface().query(THREE), "the device of a mesh must be a word, 'cpu' or 'cuda:N', not int: 3"),
        (lambda: HeightField(NO, 0.1), "heights of a height field must be given as numbers, not 'no'"),
        (lambda: HeightField(np.zeros((2, 2)), NO), "the spacing of a height field must be given as numbers, not 'no'"),
        (lambda: HeightField(np.zeros((2, 2)), (1.0, 1.0, 1.0)), "must be one number or two, not"),  # type: ignore[arg-type]
        (lambda: HelicalGear(12, 0.01, 0.1, bore=NO), "bore = 'no' cannot be used"),
        (lambda: HelicalGear(12, 0.01, 0.1, backlash=NO), "backlash = 'no' cannot be used"),
        (lambda: ImplicitSurface(THREE), "an implicit surface must be a Warp function, .*, not int: 3"),
        (lambda: Union(THREE), "a union needs a list of shapes, one at least, not 3"),
        (lambda: Union([BOX, "ball"]), "each part of a union must be a shape, not str: 'ball'"),  # type: ignore[list-item]
        (lambda: baked(THREE), "there is nothing to bake in 3"),
        (lambda: baked(BOX, cache=THREE), "a file must be named by a text or a path, not by 3"),
        (lambda: baked(BOX, padding=NO), "margin = 'no' cannot be used"),
        (lambda: box_walls((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), top=NO), "top of a box must be True or False, not 'no'"),
        (lambda: box_walls((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), THREE), "the surface of a box must be a Surface or None"),
        (lambda: hopper(0.1, 0.1, 0.05, angle=NO), "angle = 'no' cannot be used"),
        (lambda: tube(0.1, NO, 0.1), "outer = 'no' cannot be used"),
        (lambda: tube(0.1, 0.2, 0.1, bottom=NO), "bottom = 'no' cannot be used; give a finite number"),
        (lambda: Revolved(NO), "the profile of a revolved shape must be given as numbers, not 'no'"),
        (lambda: tet_beam(0.1, 0.1, 0.1, cells=THREE), "cells = 3 cannot be used; give three numbers"),
        (lambda: tet_trunk(0.1, 0.1, 0.1, equal_area=NO), "equal_area must be True or False, not 'no'"),
        (lambda: tet_fill(BOX, pitch=0.05, repair=NO), "repair must be True or False, not 'no'"),
        (lambda: TriangleMesh.read("a.stl", repair=NO), "repair must be True or False, not 'no'"),
        (
            lambda: tet_beam(1.0, 1.0, 1.0, cells=(1, 1, 1)).rotated("z", 1e300),
            "the angle of a turn must be finite and at most 1e.09 rad",
        ),
        (lambda: TriangleMesh.read(THREE), "a file must be named by a text or a path, not by 3"),
        (lambda: BOX.surface().write(THREE), "a file must be named by a text or a path, not by 3"),
        (lambda: BOX.surface().rotated("x", NO), "angle = 'no' cannot be used; give a finite number"),
        (lambda: tet_beam(0.1, 0.1, 0.1, cells=(1, 1, 1)).save(THREE), "a file must be named by a text or a path"),
        (
            lambda: tet_beam(0.1, 0.1, 0.1, cells=(1, 1, 1)).labelled(NO),
            "regions must be whole numbers of 0 or more, not 'no'",
        ),
        (lambda: Rigid(BOX, inside=NO), "inside of a Rigid must be True or False, not 'no'"),
        (lambda: Rigid(BOX, hidden=NO), "hidden of a Rigid must be True or False, not 'no'"),
        (lambda: Rigid(BOX, cells=NO), "cells of a rigid body = 'no' cannot be used; give a whole number"),
        (lambda: Rigid(BOX, points=NO), "points of a rigid body = 'no' cannot be used; give a whole number"),
        (lambda: Rigid(BOX, name=THREE), "name of a rigid body must be a text, not int: 3"),
        (lambda: Rigid(BOX, color=(2.0, 0.0, 0.0)), "color of a rigid body must be three numbers from 0 to 1"),
        (lambda: Rigid(BOX, color=NO), "color of a rigid body must be three numbers from 0 to 1 .*, not 'no'"),
        (lambda: ResistiveGround("glass", buried=NO), "buried of a ResistiveGround must be True or False, not 'no'"),
        (lambda: ResistiveGround("glass", name=THREE), "name of resistive ground must be a text, not int: 3"),
        (lambda: ResistiveGround("glass", law=["2d"]), "no law of resistive ground named"),  # type: ignore[arg-type]
        (lambda: Medium(name=THREE), "name of a medium must be a word, not 3"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()


def test_what_can_be_meant_is_taken() -> None:
    assert Rigid(Sphere(0.1), inside=np.bool_(True), color=np.array([0.1, 0.2, 0.3])).inside  # type: ignore[arg-type]
    assert len(box_walls((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), top=True)) == 6
    assert isinstance(Rigid(Plane()).geometry, Plane)
    assert Union([Union([BOX]), Sphere(0.1)]).contains(np.zeros((1, 3))).all()  # type: ignore[list-item]
