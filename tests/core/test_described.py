"""What is printed of things is short, however large they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import fem, grains, shapes, springs, voxels, voxels3d
from annelid.core.described import in_brief
from annelid.core.summary import Summary
from annelid.shapes.articulated.controls import joint_controls
from annelid.shapes.articulated.tree import Joint, Link, RigidTree

MANY = [shapes.Rigid(shapes.Sphere(0.1).surface(16), name=f"ball {number}") for number in range(500)]


def arm(count: int = 40) -> RigidTree:
    names = [f"link-{number}" for number in range(count + 1)]
    joints = {
        child: Joint(f"{child}-joint", "fixed", parent, child, np.eye(4), np.array([0.0, 0.0, 1.0]))
        for parent, child in zip(names[:-1], names[1:], strict=True)
    }
    joints[names[1]] = Joint("turn", "revolute", names[0], names[1], np.eye(4), np.array([0.0, 0.0, 1.0]))
    return RigidTree("arm", {name: Link(name) for name in names}, joints)


LARGE: dict[str, Callable[[], Any]] = {
    "body": lambda: springs.block((20, 20, 20), 0.005),
    "signal": lambda: springs.wave(0.1, 1.0, np.zeros(5000)),
    "modes": lambda: springs.modes(springs.block((4, 4, 4), 0.005)),
    "world of springs": lambda: springs.World(obstacles=MANY),
    "world of solids": lambda: fem.World(obstacles=MANY),
    "world of voxels": lambda: voxels3d.World(obstacles=[shapes.ground()] * 100),
    "bed": lambda: grains.Bed(grains.jittered_lattice((20, 20, 20), 0.021), 0.01),
    "voxels": lambda: voxels.biped(40),
    "height field": lambda: shapes.HeightField(np.zeros((100, 100)), 0.1),
    "rigid": lambda: MANY[0],
    "arm": arm,
    "joint control": lambda: joint_controls(arm()),
    "summary": lambda: Summary(
        mass=1.0, kinetic=2.0, center_of_mass=np.ones(3), momentum=np.ones(3), angular_momentum=np.ones(3)
    ),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.filterwarnings("ignore")
def test_what_is_printed_is_short(kind: str) -> None:
    assert len(repr(LARGE[kind]())) < 400


def test_what_differs_from_the_default_is_printed() -> None:
    assert repr(grains.World(dt=1e-3, method="hertz")) == "World(dt=0.001, method='hertz')"
    assert repr(springs.World()) == "World()"
    assert repr(shapes.Surface(friction=0.5)) == "Surface(friction=0.5)"
    assert repr(arm(1)) == "RigidTree(of arm, links 2, joints turn)"
    assert in_brief([1.0, 2]) == "[1, 2]"
    assert in_brief(np.arange(3)) == "[0, 1, 2]"
    assert in_brief(["a"] * 9) == "9 of str"
