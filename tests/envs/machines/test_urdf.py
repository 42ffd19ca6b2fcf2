"""URDF files: chains with fixed joints between, limits, meshes, and files that must be refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annelid.core.errors import FileFormatError, InvalidValue, UnknownName
from annelid.envs.machines import Chain
from annelid.envs.machines.panda import _meshes
from annelid.shapes import Box
from annelid.shapes.articulated import read_urdf, urdf

ARM = """<?xml version="1.0"?>
<robot name="crane">
  <link name="base"/>
  <link name="mast">
    <collision>
      <origin xyz="0 0 1" rpy="0 0 0"/>
      <geometry><mesh filename="package://crane/meshes/box.stl" scale="2 1 1"/></geometry>
    </collision>
  </link>
  <link name="boom"/><link name="hook"/>
  <joint name="swing" type="revolute">
    <origin xyz="0 0 0.5"/><parent link="base"/><child link="mast"/><axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" velocity="3" effort="40"/>
  </joint>
  <joint name="weld" type="fixed">
    <origin xyz="0 0 1" rpy="0 1.5707963267948966 0"/><parent link="mast"/><child link="boom"/>
  </joint>
  <joint name="reach" type="prismatic">
    <parent link="boom"/><child link="hook"/><axis xyz="0 0 1"/><limit lower="0" upper="2" velocity="1" effort="5"/>
  </joint>
</robot>
"""


@pytest.fixture
def crane(tmp_path: Path) -> Path:
    (tmp_path / "meshes").mkdir()
    Box((0.2, 0.2, 0.2)).surface().write(tmp_path / "meshes" / "box.stl")
    path = tmp_path / "crane.urdf"
    path.write_text(ARM)
    return path


def test_fixed_joints_are_part_of_the_frames(crane: Path) -> None:
    chain = Chain.to(read_urdf(crane), "hook")
    assert chain.names == ("swing", "reach")
    assert chain.sliding.tolist() == [False, True]
    # The boom lies along x, 1.5 m up; 0.7 m out, swung by a right angle.
    assert chain.frames([[math.pi / 2, 0.7]])[0, -1, :3, 3] == pytest.approx([0.0, 0.7, 1.5])
    assert (chain.lower.tolist(), chain.upper.tolist()) == ([-1.0, 0.0], [2.0, 2.0])
    assert (chain.speed.tolist(), chain.effort.tolist()) == ([3.0, 1.0], [40.0, 5.0])


def test_the_fixed_end_is_the_tool(crane: Path) -> None:
    chain = Chain.to(read_urdf(crane), "boom")
    assert chain.names == ("swing",)
    assert chain.tool[:3, 3] == pytest.approx([0.0, 0.0, 1.0])


def test_meshes_are_found_scaled_and_placed(crane: Path) -> None:
    robot = read_urdf(crane)
    mesh = _meshes(robot.links["mast"])
    assert mesh is not None
    assert mesh.bounds()[0] == pytest.approx([-0.2, -0.1, 0.9])
    assert _meshes(robot.links["boom"]) is None


def test_meshes_outside_the_folder_are_refused(crane: Path) -> None:
    for name in ("package://crane/../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "missing.stl"):
        crane.write_text(ARM.replace("package://crane/meshes/box.stl", name))
        with pytest.raises(FileFormatError, match="is not a file in"):
            _meshes(read_urdf(crane).links["mast"])


BOMB = '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "document type"),
        ('<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot/>', "document type"),
        ("", "not a readable URDF file"),
        ("<robot><joint></robot>", "not a readable URDF file"),
        ("<robot/><robot/>", "not a readable URDF file"),
        ("<sdf/>", "begins with <sdf>"),
        ('<robot><joint name="a" type="ball"/></robot>', "of the type 'ball'"),
        ('<robot><joint type="fixed"/></robot>', "has no name"),
        ('<robot><joint name="a" type="fixed"/></robot>', "has no <parent>"),
        (ARM.replace('xyz="0 0 0.5"', 'xyz="0 0 nan"'), "is not 3 finite numbers"),
        (ARM.replace('xyz="0 0 0.5"', 'xyz="0 0"'), "is not 3 finite numbers"),
        (ARM.replace('xyz="0 0 2"', 'xyz="0 0 0"'), "has no direction"),
        (ARM.replace('child link="hook"', 'child link="mast"'), "moved by two joints"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_urdf(path)


def test_sizes_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text("<robot>" + "<a/>" * 50 + "</robot>")
    monkeypatch.setattr(urdf, "MOST_ELEMENTS", 20)
    with pytest.raises(FileFormatError, match="more than 20 elements"):
        read_urdf(path)
    monkeypatch.setattr(urdf, "MAX_BYTES", 100)
    with pytest.raises(FileFormatError, match="more than the 100"):
        read_urdf(path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_urdf(tmp_path / "absent.urdf")


def test_joints_in_a_circle_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    joints = "".join(
        f'<joint name="{a}" type="fixed"><parent link="{a}"/><child link="{b}"/></joint>' for a, b in ("ab", "ba")
    )
    path.write_text(f'<robot><link name="a"/><link name="b"/>{joints}</robot>')
    with pytest.raises(FileFormatError, match="circle"):
        read_urdf(path)


def test_links_that_do_not_move_have_no_chain(crane: Path) -> None:
    with pytest.raises(UnknownName, match="hock"):
        Chain.to(read_urdf(crane), "hock")
    crane.write_text(ARM.replace('type="revolute"', 'type="fixed"'))
    with pytest.raises(InvalidValue, match="no joint moves"):
        Chain.to(read_urdf(crane), "boom")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(ARM) - 1), st.binary(min_size=1, max_size=6))
def test_any_damage_is_read_or_refused(tmp_path: Path, at: int, garbage: bytes) -> None:
    path = tmp_path / "fuzzed.urdf"
    content = ARM.encode()
    path.write_bytes(content[:at] + garbage + content[at + len(garbage) :])
    try:
        robot = read_urdf(path)
    except FileFormatError:
        return
    assert all(np.isfinite(joint.frame).all() for joint in robot.joints.values())
