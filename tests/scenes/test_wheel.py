"""A wheel with grousers in sand: in grains it is carried, and without them it pulls the more the more it slips."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from annelid.core.errors import InvalidValue, UnknownName
from annelid.scenes.wheel import Wheel
from annelid.shapes import ResistiveGround
from annelid.shapes.extrusion import prism
from annelid.shapes.resistive.rigid import resisted

SMALL = Wheel(
    velocity=0.2, load=5.0, radius=0.03, width=0.04, grousers=8, grouser=0.01, depth=0.04, grain_radius=0.01, track=0.24
)


def test_a_plate_feels_what_the_law_says() -> None:
    ground = ResistiveGround("poppy-loose", height=0.03)
    plate = prism([(-0.05, -0.001), (0.05, -0.001), (0.05, 0.001), (-0.05, 0.001)], 0.05)
    down = resisted(ground, plate, position=(0.4, 0.0, 0.011), velocity=(0.0, 0.0, -0.01))
    wanted = [0.0, 0.0, 0.254e6 * 0.02 * 0.005]  # of its lower face, 2 cm deep
    assert down.force == pytest.approx(wanted, rel=1e-3, abs=1e-6)
    assert np.abs(down.torque).max() < 1e-6
    assert (resisted(ground, plate, position=(0.0, 0.0, 0.04), velocity=(0.0, 0.0, -0.01)).force == 0.0).all()


def test_without_grains_slip_pulls_and_a_heavy_wheel_sinks_deeper() -> None:
    found = [replace(SMALL, slip=slip).without_grains() for slip in (-0.3, 0.3, 0.6)]
    pulls = [felt.force[0] for _, felt in found]
    assert pulls[0] < 0.0 < pulls[1] < pulls[2]
    assert all(felt.force[2] == pytest.approx(SMALL.load, rel=0.01) for _, felt in found)
    assert found[1][1].torque[1] < 0.0, "the ground holds back a wheel that turns about +y"
    assert replace(SMALL, slip=0.3, load=10.0).without_grains()[0] > found[1][0]
    assert math.isnan(replace(SMALL, load=1e4).without_grains()[0])
    with pytest.raises(UnknownName, match="medium"):
        replace(SMALL, medium="mud").without_grains()


def test_grains_carry_the_load() -> None:
    simulation = SMALL.build(device="cpu", threads=1)
    simulation.run(0.95)
    rows = {row.name: row.value for row in SMALL.measure(simulation)}
    assert rows["carried-over-load"] == pytest.approx(1.0, abs=0.35)
    assert rows["distance"] == pytest.approx(0.2 * 0.6, rel=0.03)
    assert 0.0 < rows["sinkage"] < 0.04
    assert rows["torque"] > 0.0


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"radius": 7.0}, "does not fit a track of 0.5 m: make --track 22.47 m or more"),
        ({"grouser": 0.2}, "grousers of 0.2 m are higher than the radius of the wheel, 0.07 m"),
    ],
)
def test_wheels_that_cannot_be_meant_are_refused(bad: dict[str, float], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        Wheel(**bad)


def test_a_wheel_fits_the_track_that_it_is_told_to_need() -> None:
    assert Wheel(radius=7.0, track=22.47).reach == pytest.approx(7.012)
