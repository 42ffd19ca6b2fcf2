"""Bulldozer, bucket and arm: closed parts, sizes, distances of the union, and the optional package."""

from __future__ import annotations

import importlib.metadata
import math
from pathlib import Path

import numpy as np
import pytest

from annelid.core.errors import InvalidValue, MissingPackage
from annelid.envs.machines import HOME, Bucket, Bulldozer, panda
from annelid.envs.machines import panda as panda_function
from annelid.envs.machines.panda import panda_chain, robot_data
from annelid.shapes import baked


def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)


def test_every_part_of_the_bulldozer_is_closed_and_above_ground() -> None:
    for size in (0.4, 0.8, 2.0):
        machine = Bulldozer(size, blade_width=0.8 * size, blade_height=0.33 * size)
        parts = machine.parts()
        assert len(parts) == 13
        for mesh in parts.values():
            mesh.require_closed()
        low, high = machine.mesh().bounds()
        assert low[2] >= -1e-9
        assert high[0] - low[0] == pytest.approx(1.16 * size, rel=0.05)


def test_the_bulldozer_is_symmetric() -> None:
    mesh = Bulldozer().parts()["blade"]
    mirrored = mesh.scaled((1.0, -1.0, 1.0))
    assert mirrored.volume == pytest.approx(mesh.volume)
    assert np.sort(mirrored.vertices[:, 1]) == pytest.approx(np.sort(mesh.vertices[:, 1]), abs=1e-9)


def test_the_blade_is_hollow_to_the_front_and_stands_before_the_tracks() -> None:
    machine = Bulldozer()
    front = machine._profile()
    assert front[:, 0].min() < front[0, 0] - 0.02  # the middle lies behind the edge
    assert front[0] == pytest.approx([machine.blade_reach, machine.ground_clearance])
    assert machine.blade_reach > machine.parts()["tracks"].bounds()[1][0] + 0.05


def test_distances_of_the_bulldozer_know_inside_from_outside() -> None:
    machine = Bulldozer()
    grid = baked(machine.mesh(), cells=80, cache=False)
    size = machine.length
    front = machine._profile()
    middle = len(front) // 2
    within = [(0.2 * size, 0.0, 0.4 * size), (0.0, 0.5 * machine.gauge, 0.15 * size), (0.0, 0.0, 0.2 * size)]
    before = [(front[middle, 0] + 0.05, 0.0, front[middle, 1]), (0.0, 0.0, 0.9 * size), (0.0, 0.0, 0.02 * size)]
    assert (grid.sample(within)[0] < -0.01).all()
    assert (grid.sample(before)[0] > 0.01).all()
    # In the middle of the plate the walls are half a thickness away.
    core = [(front[middle, 0] - 0.5 * machine.blade_thickness, 0.15, front[middle, 1])]
    assert grid.sample(core)[0] == pytest.approx([-0.5 * machine.blade_thickness], abs=0.005)


def test_the_bucket_holds_what_its_section_says() -> None:
    bucket = Bucket(width=0.2, depth=0.15, height=0.12, thickness=0.005, teeth=0)
    radius, straight_top, straight_floor = 0.055, 0.75 * 0.15 - 0.06, 0.15 - 0.06
    section = 0.5 * math.pi * radius**2 + 0.5 * (straight_top + straight_floor) * 2.0 * radius
    assert bucket.capacity == pytest.approx(0.19 * section, rel=0.02)


def test_the_bucket_is_open_in_front_only() -> None:
    bucket = Bucket()
    mesh, hold = bucket.mesh(), bucket.hold()
    for part in bucket.parts().values():
        part.require_closed()
    middle = hold.vertices.mean(axis=0)
    ways = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], dtype=float)
    steps = np.linspace(0.0, 0.2, 400)
    blocked = [(mesh.signed_distance(middle + steps[:, None] * way) < 0.0).any() for way in ways]
    assert blocked == [False, True, True, True, True, True]
    assert mesh.signed_distance([middle])[0] > 0.02
    assert bucket.lip[0] > 0.0


def test_capsules_follow_the_joints() -> None:
    arm = panda(meshes=False)
    assert arm.source == "capsules"
    assert len(arm.links) == 8
    links = arm.placed(HOME)
    frames = arm.chain.frames(HOME[None])[0]
    for link, frame in zip(links[1:], frames, strict=False):
        link.require_closed()
        assert link.signed_distance([frame[:3, 3]])[0] < 0.03  # a joint is in or beside the links that it joins
    assert links[0].bounds()[0][2] == pytest.approx(0.0, abs=0.005)


def test_capsules_are_taken_where_the_package_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    without_package(monkeypatch)
    assert robot_data() is None
    assert panda_function().source == "capsules"
    with pytest.raises(MissingPackage, match="pip install example-robot-data"):
        panda_function(meshes=True)


def test_the_package_says_the_same_as_the_published_parameters() -> None:
    if robot_data() is None:
        pytest.skip("example-robot-data is not installed")
    arm, plain = panda(meshes=True), panda_chain()
    angles = np.random.default_rng(0).uniform(plain.lower, plain.upper, (20, 7))
    assert arm.chain.frames(angles) == pytest.approx(plain.frames(angles), abs=1e-9)
    assert arm.chain.names == plain.names
    for key in ("lower", "upper", "speed", "effort"):
        assert getattr(arm.chain, key) == pytest.approx(getattr(plain, key))
    for link in arm.links:
        link.require_closed()


def test_a_package_is_found_by_its_list_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up distribution in the layout of the real one: links without meshes fall back to capsules."""
    info = tmp_path / "example_robot_data-1.0.dist-info"
    place = Path("prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf")
    (tmp_path / place).parent.mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-robot-data\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{place},,\n")
    joints = "".join(
        f'<joint name="panda_joint{i}" type="{kind}"><parent link="panda_link{i - 1}"/><child link="panda_link{i}"/>'
        f'<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        for i, kind in enumerate(["revolute"] * 7 + ["fixed"], start=1)
    )
    (tmp_path / place).write_text(f'<robot name="panda">{joints}</robot>')
    found = importlib.metadata.Distribution.at(info)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: found)
    assert robot_data() == (tmp_path / place).parents[3].resolve()
    assert panda_function(meshes=True).source == "example-robot-data"


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="blade_width of a bulldozer must be a finite number above 0 m, not -1"):
        Bulldozer(blade_width=-1.0)
    with pytest.raises(InvalidValue, match="thickness = 0.1 leaves no room"):
        Bucket(thickness=0.1)
    with pytest.raises(InvalidValue, match="teeth of a bucket must be a whole number between 0 and 20, not 99"):
        Bucket(teeth=99)
