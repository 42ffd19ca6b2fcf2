"""Robots with joints: where their links are, what others touch of them, and how joints drive them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import fem, grains, springs
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.shapes import Box, Rigid, tet_beam
from annelid.shapes.articulated import JointDrive, RigidTree, joint_controls, read_mjcf, read_urdf

ARM = """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.1 0.1 0.04"/></geometry></collision></link>
  <link name="upper">
    <inertial><mass value="0.5"/></inertial>
    <collision><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.02 0.02"/></geometry></collision>
  </link>
  <link name="fore">
    <inertial><mass value="0.25"/></inertial>
    <collision><origin xyz="0.05 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.01" length="0.1"/></geometry></collision>
    <collision><origin xyz="0.1 0 0"/><geometry><sphere radius="0.015"/></geometry></collision>
  </link>
  <link name="jaw"><visual><geometry><mesh filename="package://hands/jaw.stl" scale="2 1 1"/></geometry></visual></link>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 0.03" rpy="0.1 -0.2 0.3"/><parent link="base"/>
    <child link="upper"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="3" effort="1"/></joint>
  <joint name="slide" type="prismatic"><origin xyz="0.2 0 0" rpy="0 0.4 0"/><parent link="upper"/><child link="fore"/>
    <axis xyz="1 0 0"/><limit lower="0.01" upper="0.1" velocity="1" effort="1"/></joint>
  <joint name="bite" type="continuous"><origin xyz="0.1 0 0"/><parent link="fore"/><child link="jaw"/>
    <axis xyz="0 1 1"/><mimic joint="shoulder" multiplier="-0.5" offset="0.1"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path: Path) -> RigidTree:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return read_urdf(path).placed((0.0, 0.0, 0.5))


def centers(bodies: list[Rigid]) -> np.ndarray:
    return np.array([body.place for body in bodies])


def test_joints_and_their_values(arm: RigidTree) -> None:
    assert arm.names == ("shoulder", "slide")
    assert arm.values({"shoulder": 0.5}).tolist() == [0.5, 0.01]  # the limit nearest to 0
    jaw = arm.frames([[0.8, 0.05]])["jaw"][0]
    follows = arm.frames([[0.8, 0.05]])["fore"][0][:3, :3].T @ jaw[:3, :3]
    assert math.acos(0.5 * (np.trace(follows) - 1.0)) == pytest.approx(0.3)  # |-0.5 · 0.8 + 0.1|
    for wrong, sentence in (
        ({"elbow": 1.0}, "elbow"),
        ({"shoulder": 3.0}, "from -2 to 2, not to 3"),
        ([1.0], "2 finite"),
    ):
        with pytest.raises((InvalidValue, KeyError), match=sentence):
            arm.values(wrong)


def test_bodies_stand_where_the_links_are(arm: RigidTree) -> None:
    bodies = arm.bodies({"shoulder": 0.7, "slide": 0.06})
    assert [body.name for body in bodies] == ["arm/base", "arm/upper", "arm/fore", "arm/fore.1"]
    frames = arm.frames([[0.7, 0.06]])
    np.testing.assert_allclose(bodies[1].place, (frames["upper"][0] @ [0.1, 0, 0, 1])[:3], atol=1e-12)
    np.testing.assert_allclose(bodies[3].place, (frames["fore"][0] @ [0.1, 0, 0, 1])[:3], atol=1e-12)
    np.testing.assert_allclose(bodies[2].turn.apply([0, 0, 1]), frames["fore"][0][:3, 0], atol=1e-12)  # its axis
    with pytest.raises(InvalidValue, match="joints between free links are not simulated"):
        arm.bodies(motion="free")


def test_a_welded_robot_is_one_body(arm: RigidTree, tmp_path: Path) -> None:
    whole = arm.weld({"shoulder": 0.7}, density=2000.0)
    assert whole.motion == "free"
    assert whole.mass is None  # the base does not tell its mass
    known = tmp_path / "known.urdf"
    known.write_text(ARM.replace('<link name="base">', '<link name="base"><inertial><mass value="1"/></inertial>'))
    assert read_urdf(known).weld().total_mass == 1.75
    low, high = whole.extent
    parts = [body.extent for body in arm.bodies({"shoulder": 0.7})]
    np.testing.assert_allclose(low, np.min([part[0] for part in parts], axis=0), atol=2e-3)
    np.testing.assert_allclose(high, np.max([part[1] for part in parts], axis=0), atol=2e-3)


def test_meshes_are_found_in_the_package(tmp_path: Path) -> None:
    package = tmp_path / "hands"
    (package / "urdf").mkdir(parents=True)
    Box((0.02, 0.02, 0.02)).surface().write(package / "jaw.stl")
    (package / "urdf" / "arm.urdf").write_text(ARM)
    with pytest.raises(FileFormatError, match="name the folder of meshes"):
        read_urdf(package / "urdf" / "arm.urdf", shapes="visual").bodies()
    (package / "package.xml").write_text("<package/>")
    for options in ({}, {"folder": package}):
        (jaw,) = read_urdf(package / "urdf" / "arm.urdf", shapes="visual", **options).bodies()
        assert jaw.shape.bounds()[1] == pytest.approx([0.02, 0.01, 0.01])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('<sphere radius="0.015"/>', '<sphere radius="-1"/>', "radius of the sphere"),
        ('<sphere radius="0.015"/>', "<torus/>", "<torus>; box, cylinder, sphere and mesh are known"),
        ('mimic joint="shoulder"', 'mimic joint="elbow"', "follows 'elbow', which does not move by itself"),
        ('<link name="base">', '<link name="fore"/><link name="base">', "two links have the same name"),
        ('<joint name="slide"', '<joint name="shoulder"', "same name"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace(old, new))
    with pytest.raises(FileFormatError, match=sentence):
        read_urdf(path)


# --- in physics ---

BED = grains.Bed([[0.0, 0.0, 1.31], [0.02, 0.0, 1.34], [0.0, 0.02, 1.37]], 0.01)


def turning(times: np.ndarray) -> np.ndarray:
    return np.stack([0.5 * times, 0.01 + 0.2 * times], axis=1)


def test_joints_follow_a_path_among_grains_and_beside_solids(arm: RigidTree) -> None:
    moved = grains.simulation(BED, obstacles=arm.bodies(motion=turning), device="cpu", threads=1)
    moved.run(0.02)
    end = centers(arm.bodies(turning(np.array([moved.time]))[0]))
    np.testing.assert_allclose(moved.state.places.numpy()[: len(end)], end, atol=1e-6)
    solid = fem.Solid(tet_beam(0.004, 0.004, 0.004, cells=(1, 1, 1)).moved((0.0, 0.0, 2.0)), "ecoflex-00-30")
    beside = fem.simulation(solid, obstacles=arm.bodies(motion=turning), dt=0.01, device="cpu", threads=1)
    beside.run(0.02)
    end = centers(arm.bodies(turning(np.array([0.02]))[0]))
    np.testing.assert_allclose(beside.state.touch.places.numpy(), end, atol=1e-9)


def test_joints_take_commands(arm: RigidTree) -> None:
    begin = {"shoulder": 0.3, "slide": 0.05}
    simulation = grains.simulation(BED, obstacles=arm.bodies(begin, motion="driven"), device="cpu", threads=1)
    drive = JointDrive(simulation, arm, begin, every=10 * simulation.dt)
    drive.command({"shoulder": 2.0, "slide": 9.0})  # faster than it can
    simulation.step(40)
    seconds = 40 * simulation.dt
    expected = {"shoulder": 0.3 + 2.0 * seconds, "slide": min(0.05 + seconds, 0.1)}
    assert drive.values == pytest.approx(expected)
    np.testing.assert_allclose(simulation.state.places.numpy()[:4], centers(arm.bodies(expected)), atol=2e-6)
    there = simulation.state_hash()
    simulation.reset()
    assert drive.values == pytest.approx(begin)
    simulation.step(40)
    assert simulation.state_hash() == there
    with pytest.raises(InvalidValue, match="2 finite numbers"):
        drive.command([1.0, math.nan])


def test_joints_are_controls(arm: RigidTree, tmp_path: Path) -> None:
    begin = {"shoulder": 0.3, "slide": 0.05}
    simulation = grains.simulation(
        BED, obstacles=arm.bodies(begin, motion="driven"), controls=joint_controls(arm, begin, every=0.01),
        dt=0.001, worlds=2, device="cpu", threads=1,
    )  # fmt: skip
    assert simulation.controls.names == arm.names
    assert (simulation.controls.highs == [3.0, 1.0]).all()
    simulation.sensors.add("joints", grains.joints_of(arm))
    simulation.sensors.add("turn", grains.orientation_of("arm/fore"))
    simulation.controls["shoulder"] = [2.0, -1.0]
    simulation.controls["slide"] = [1.0, 0.0]
    simulation.step(35)  # ends within an interval
    expected = [{"shoulder": 0.37, "slide": 0.085}, {"shoulder": 0.265, "slide": 0.05}]
    np.testing.assert_allclose(simulation.sensors["joints"], [list(e.values()) for e in expected], atol=1e-7)
    simulation.step(5)
    places = simulation.state.places.numpy().reshape(2, -1, 3)
    reached = [arm.bodies({"shoulder": 0.38, "slide": 0.09}), arm.bodies({"shoulder": 0.26, "slide": 0.05})]
    np.testing.assert_allclose(places, [centers(bodies) for bodies in reached], atol=4e-7)  # rounding of ten steps
    fore = Rotation.from_quat([body.rotation for bodies in reached for body in bodies if body.name == "arm/fore"])
    assert (Rotation.from_quat(simulation.sensors["turn"]) * fore.inv()).magnitude().max() < 1e-6
    saved, there = tmp_path / "joints.npz", simulation.state_hash()
    simulation.step(20)
    assert simulation.sensors["joints"][0, 1] == pytest.approx(0.1)  # its limit
    simulation.reset()
    simulation.controls.command({"shoulder": [2.0, -1.0], "slide": [1.0, 0.0]})
    simulation.step(23)
    simulation.save(saved)
    simulation.step(17)
    assert simulation.state_hash() == there
    simulation.load(saved)
    simulation.step(17)
    assert simulation.state_hash() == there


def test_joints_are_refused_without_all_of_them_or_driven_links(arm: RigidTree) -> None:
    joints = joint_controls(arm)
    with pytest.raises(InvalidValue, match=r"all joints of arm \(shoulder, slide\)"):
        grains.simulation(BED, obstacles=arm.bodies(motion="driven"), controls=joints[:1], device="cpu")
    with pytest.raises(InvalidValue, match="motion='driven'"):
        grains.simulation(BED, obstacles=arm.bodies(), controls=joints, device="cpu")


def test_joints_follow_a_policy_beside_solids(arm: RigidTree) -> None:
    solid = fem.Solid(tet_beam(0.004, 0.004, 0.004, cells=(1, 1, 1)).moved((0.0, 0.0, 2.0)), "ecoflex-00-30")
    simulation = fem.simulation(solid, obstacles=arm.bodies(motion="driven"), dt=0.01, device="cpu", threads=1)
    drive = JointDrive(simulation, arm, every=0.01, policy=lambda time, values: [1.0 + time, 0.5 - values[1]])
    simulation.step(3)
    shoulder, slide = 0.0, 0.01
    for step in range(3):
        shoulder, slide = shoulder + 0.01 * (1.0 + 0.01 * step), slide + 0.01 * (0.5 - slide)
    assert drive.values == pytest.approx({"shoulder": shoulder, "slide": slide})
    np.testing.assert_allclose(simulation.state.touch.places.numpy(), centers(arm.bodies(drive.values)), atol=1e-12)
    with pytest.raises(InvalidValue, match="follow a policy"):
        drive.command({"shoulder": 1.0})


def test_joints_follow_commands_beside_springs(arm: RigidTree) -> None:
    body = springs.block((3, 3, 3), 0.02, mass=0.002, stiffness=10.0).moved((0.0, 0.0, 2.0))
    simulation = springs.simulation(body, obstacles=arm.bodies(motion="driven"), dt=1e-3, device="cpu", threads=1)
    drive = JointDrive(simulation, arm, every=0.01)
    drive.command({"shoulder": 1.0, "slide": 0.5})
    simulation.step(30)
    assert drive.values == pytest.approx({"shoulder": 0.03, "slide": 0.025})
    readout, bodies = simulation.solver.readout, arm.bodies(drive.values)
    found = [readout.body_position(simulation.state, one.name) for one in bodies]
    np.testing.assert_allclose(found, centers(bodies), atol=1e-9)
    with pytest.raises(InvalidValue, match="give it motion='driven'"):
        JointDrive(springs.simulation(body, obstacles=arm.bodies(), device="cpu", threads=1), arm)


# --- MuJoCo reads the same ---

MJCF = """<mujoco model="leg"><compiler angle="radian"/>
  <asset><mesh name="foot" vertex="0 0 0  0.1 0 0  0 0.1 0  0 0 0.1  0.02 0.02 0.02"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="hip" pos="0 0 1" euler="0.1 0.2 0.3">
      <freejoint/><geom type="box" size="0.1 0.05 0.02"/>
      <body name="leg" pos="0.1 0 0" quat="0.9 0.1 0.3 0">
        <joint name="swing" type="hinge" axis="0 1 0" pos="0 0 0.05" range="-1 1" ref="0.2"/>
        <joint name="stretch" type="slide" axis="0 0 -1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"/>
        <geom type="sphere" size="1" contype="0" conaffinity="0"/>
        <body name="foot" pos="0 0 -0.3"><geom type="mesh" mesh="foot"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def test_links_of_urdf_are_where_mujoco_has_them(arm: RigidTree) -> None:
    mujoco = pytest.importorskip("mujoco")
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = re.sub("<visual>.*</visual>", '<inertial><mass value="1"/></inertial>', ARM)
    model = mujoco.MjModel.from_xml_string(text.replace("</inertial>", inertia))
    data = mujoco.MjData(model)
    data.qpos[:] = [0.8, 0.05, -0.3]
    mujoco.mj_kinematics(model, data)
    frames = arm.placed().frames([[0.8, 0.05]])
    for name in ("upper", "fore", "jaw"):
        np.testing.assert_allclose(frames[name][0][:3, 3], data.body(name).xpos, atol=1e-9)
        np.testing.assert_allclose(frames[name][0][:3, :3].ravel(), data.body(name).xmat, atol=1e-9)


def test_links_of_mjcf_are_where_mujoco_has_them(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "leg.xml"
    path.write_text(MJCF)
    with pytest.warns(UserWarning, match="without free and ball joints, which are held|without planes"):
        leg = read_mjcf(path)
    assert (leg.name, leg.names) == ("leg", ("swing", "stretch"))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[7:] = [0.6, 0.05]
    mujoco.mj_kinematics(model, data)
    frames = leg.frames([[0.6, 0.05]])
    for name in ("hip", "leg", "foot"):
        np.testing.assert_allclose(frames[name][0][:3, 3], data.body(name).xpos, atol=1e-9)
        np.testing.assert_allclose(frames[name][0][:3, :3].ravel(), data.body(name).xmat, atol=1e-9)
    bodies = {body.name: body for body in leg.bodies({"swing": 0.6, "stretch": 0.05})}
    assert list(bodies) == ["leg/hip", "leg/leg", "leg/foot"]
    np.testing.assert_allclose(bodies["leg/leg"].place, data.geom_xpos[2], atol=1e-9)
    corner = data.body("foot").xpos + data.body("foot").xmat.reshape(3, 3) @ [0.1, 0, 0]
    assert np.abs(bodies["leg/foot"].where.surface().vertices - corner).max(axis=1).min() < 1e-6
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><body/></nothing>")
    with pytest.raises(FileFormatError, match="not a readable MJCF file"):
        read_mjcf(tmp_path / "bad.xml")
