"""Ready robots refuse what cannot be meant in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annelid import robots
from annelid.core.errors import AnnelidError

NO: Any = "no"
THREE: Any = 3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: robots.finger_mesh(groove=NO), "groove = 'no' cannot be used; give a width of 0 or more"),
        (lambda: robots.finger_mesh(arch=NO), "arch = 'no' cannot be used"),
        (lambda: robots.finger_mesh(channel=THREE), "channel = 3 cannot be used; give its width and its height"),
        (lambda: robots.pendulum_mesh(share=NO), "share = 'no' cannot be used; give a number between 0 and 1"),
        (lambda: robots.egg_mesh(0.05, clearance=NO), "clearance = 'no' cannot be used; give a height"),
        (lambda: robots.thing("ball", clearance=NO), "clearance = 'no' cannot be used; give a height"),
        (lambda: robots.gear_tower(2, gear=THREE), "gear must be a shapes.HelicalGear, not int: 3"),
        (lambda: robots.gear_tower(2, speed=NO), "speed = 'no' cannot be used; give a finite number of 0 or more"),
        (lambda: robots.pneunet(width=NO), "width = 'no' cannot be used; give a finite number above 0"),
        (lambda: robots.crawler(thickness=NO), "thickness = 'no' cannot be used; give a finite number above 0"),
        (lambda: robots.gripper(width=NO), "width = 'no' cannot be used; give a finite number above 0"),
        (lambda: robots.trunk_parts(radii=THREE), "radii = 3 cannot be used; give those of base and tip"),
        (lambda: robots.pusher(heading=NO), "heading = 'no' cannot be used; give a finite number"),
        (lambda: robots.fibre_actuator(double=NO), "double of a fibre actuator must be True or False, not 'no'"),
        (lambda: sandbox(grain=THREE), "grain of a sandbox must be a grains.Grain, not 3"),
        (lambda: sandbox(seed=NO), "seed of a sandbox must be a whole number of 0 or more, not 'no'"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()


def sandbox(**options: Any) -> robots.Sandbox:
    return robots.Sandbox(length=1.0, width=1.0, depth=1.0, radius=0.1, **options)
