"""Files of the field: what is written is read back, strangers' files mean what they say, and lies are refused."""

from __future__ import annotations

import base64
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import FileFormatError, InvalidValue, PartlyUsed
from annelid.voxels3d.files.structure import Structure

CURVE = ((0.01, 1e4), (0.05, 3e4), (0.5, 4e4))


STATED = {"static_friction": 1.0, "kinetic_friction": 0.5}
"""What files cannot leave open."""


def robot() -> voxels3d.Robot:
    """One of everything: materials, waves, moduli, held, moved and pushed parts."""
    kinds = (  # files state frictions
        voxels3d.Voxel(youngs_modulus=2e5, poisson_ratio=0.3, name="soft & <wet>", color=(0.25, 0.5, 1.0), **STATED),
        voxels3d.Voxel(plastic_modulus=1e4, yield_stress=2e3, expansion=-0.01, **STATED),
        voxels3d.Voxel(curve=CURVE, failure_stress=4e4, expansion=0.0, **STATED),
        voxels3d.Voxel(failure_stress=1e5, **STATED),
    )
    numbers = np.arange(24).reshape(4, 3, 2) % 5
    numbers[:, 0] = 1
    numbers[:, :, 1] = 2
    where = np.random.default_rng(0)
    made = voxels3d.Robot.from_array(
        numbers, kinds, side_length=0.005, amplitude=10.0, frequency=np.where(numbers == 2, 8.0, 4.0),
        phase=where.random(numbers.shape), stiffness=np.where(numbers == 1, 1.5, 1.0),
    )  # fmt: skip
    made = made.fix(lambda x, y, z: x == 0, ("x", "y", "z")).push(lambda x, y, z: (x == 3) & (z == 0), (0.0, 0.1, 0.2))
    return made.drive(lambda x, y, z: (x == 2) & (z == y), (0.0, 0.0, 1e-3), (0.0, 0.1, 0.0))


def same(one: voxels3d.Robot, other: voxels3d.Robot) -> None:
    np.testing.assert_array_equal(one.grid, other.grid)
    for name in ("amplitude", "frequency", "phase", "stiffness"):
        np.testing.assert_allclose(one.of_voxels(name), other.of_voxels(name), rtol=1e-12, err_msg=name)
    assert one.side_length == other.side_length
    assert one.only_cools == other.only_cools
    held, pushed = [], []
    for each in (one, other):
        held.append(sorted((h.voxels.tolist(), h.bits, h.displacement, h.rotation) for h in each.holds))
        pushed.append(sum(np.outer(np.bincount(p.voxels, minlength=30), p.force) / len(p.voxels) for p in each.pushes))
    assert held[0] == held[1]
    np.testing.assert_allclose(*pushed)


@pytest.mark.parametrize("compression", ["ASCII_READABLE", "ZLIB", "BASE64"])
def test_what_is_written_is_read_and_written_the_same(tmp_path: Path, compression: Any) -> None:
    one, other = tmp_path / "one.vxa", tmp_path / "other.vxa"
    fitness = voxels3d.Formula(("mtSUB", "x", "mtABS", "y"))
    given = robot()
    voxels3d.vxa_of(given, seconds=3.0, fitness=fitness, compression=compression).write(one)
    read = voxels3d.Vxa.read(one)
    read.write(other)
    assert one.read_text() == other.read_text()
    assert read.simulator.fitness == fitness
    made = voxels3d.setup_of(read)
    same(made.robot, given)
    used = [given.materials[k] for k in np.unique(given.material_of)]
    assert list(made.robot.materials) == used
    cells = tmp_path / "one.vxd"
    read.write(cells)
    same(voxels3d.setup_of(voxels3d.Vxa.read(cells, base=one)).robot, given)
    read.write(tmp_path / "one.vxc")
    alone = voxels3d.Vxa.read(tmp_path / "one.vxc")
    np.testing.assert_array_equal(alone.structure.cells, read.structure.cells)


def test_voxelyze_json_is_read_and_written_the_same(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    given = robot()
    plain = voxels3d.Robot(given.grid, given.materials, 0.005, holds=given.holds, pushes=given.pushes)
    voxels3d.write_json(plain, one)
    read = voxels3d.read_json(one)
    voxels3d.write_json(read, other)
    assert one.read_text() == other.read_text()
    same(read, plain)
    with pytest.raises(InvalidValue, match="no amplitude of voxels"):
        voxels3d.write_json(given, one)


EVOSORO = """<?xml version="1.0" encoding="ISO-8859-1"?>
<VXA Version="1.0"><Simulator><Integration><Integrator>0</Integrator><DtFrac>0.9</DtFrac></Integration>
<Damping><BondDampingZ>1</BondDampingZ><ColDampingZ>0.8</ColDampingZ><SlowDampingZ>0.01</SlowDampingZ></Damping>
<Collisions><SelfColEnabled>1</SelfColEnabled></Collisions>
<StopCondition><StopConditionType>2</StopConditionType><StopConditionValue>0.5</StopConditionValue>
<InitCmTime>0.1</InitCmTime></StopCondition></Simulator>
<Environment><Gravity><GravEnabled>1</GravEnabled><GravAcc>-9.81</GravAcc><FloorEnabled>1</FloorEnabled></Gravity>
<Thermal><TempEnabled>1</TempEnabled><TempAmp>39</TempAmp><TempBase>25</TempBase><VaryTempEnabled>1</VaryTempEnabled>
<TempPeriod>0.25</TempPeriod></Thermal></Environment>
<VXC Version="0.93"><Lattice><Lattice_Dim>0.01</Lattice_Dim></Lattice><Palette>
<Material ID="1"><Name>Passive</Name><Mechanical><Elastic_Mod>5e+006</Elastic_Mod><Density>1e+006</Density>
<Poissons_Ratio>0.35</Poissons_Ratio><uStatic>1</uStatic><uDynamic>0.5</uDynamic></Mechanical></Material>
<Material ID="2"><Name>Muscle</Name><Mechanical><Elastic_Mod>5e+006</Elastic_Mod><Density>1e+006</Density>
<CTE>-0.01</CTE><uStatic>1</uStatic><uDynamic>0.5</uDynamic></Mechanical></Material></Palette>
<Structure Compression="ASCII_READABLE"><X_Voxels>3</X_Voxels><Y_Voxels>1</Y_Voxels><Z_Voxels>2</Z_Voxels>
<Data><Layer><![CDATA[202]]></Layer><Layer><![CDATA[121]]></Layer></Data>
<PhaseOffset><Layer><![CDATA[0.25, 0.0, -0.5, ]]></Layer><Layer><![CDATA[0, 0.125, 0,]]></Layer></PhaseOffset>
</Structure></VXC></VXA>"""


def evosoro(tmp_path: Path, **changes: str) -> voxels3d.Vxa:
    text = EVOSORO
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "bot.vxa"
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartlyUsed)
        return voxels3d.Vxa.read(path)


def test_a_robot_of_evosoro_means_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "bot.vxa"
    path.write_text(EVOSORO)
    with pytest.warns(PartlyUsed, match="not used: VXA/Simulator/Integration/Integrator"):
        vxa = voxels3d.Vxa.read(path)
    setup = voxels3d.setup_of(vxa)
    made = setup.robot
    assert made.cells.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [2, 0, 0], [2, 0, 1]]
    assert made.of_voxels("phase").tolist() == [0.25, 0.0, 0.125, -0.5, 0.0]
    assert made.of_voxels("amplitude").tolist() == [14.0] * 5
    assert made.of_voxels("frequency").tolist() == [4.0] * 5
    assert not made.only_cools
    assert [m.expansion for m in made.materials] == [0.0, -0.01]
    assert [m.poisson_ratio for m in made.materials] == [0.0, 0.0]  # without VolumeEffectsEnabled
    assert made.materials[0].collision_damping == 0.8
    assert setup.dt == pytest.approx(0.9 / (2.0 * np.pi * np.sqrt(5e6 * 0.01 / 1.0)))
    options = setup.options()
    assert options["gravity"] == (0.0, 0.0, -9.81)
    assert options["collisions"] == "self"
    assert options["obstacles"][0].point == (0.0, 0.0, -0.005)


def test_voxcraft_only_cools_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    vxa = evosoro(tmp_path, amplitude=("<TempAmp>39</TempAmp>", "<TempAmplitude>14</TempAmplitude>"))
    assert voxels3d.setup_of(vxa).robot.only_cools
    simulation = voxels3d.simulation(
        voxels3d.Robot(np.zeros((2, 1, 1), int), amplitude=10.0, frequency=4.0, only_cools=True),
        gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1,
    )  # fmt: skip
    seen = []
    for _ in range(8):
        simulation.run(1.0 / 32.0)
        seen.append(simulation.solver.readout.sizes(simulation.state)[0])
    np.testing.assert_allclose(seen[:4], 1.0, atol=1e-3)
    np.testing.assert_allclose(seen[4:], [1 - 0.07071, 0.9, 1 - 0.07071, 1.0], atol=1e-3)
    assert simulation.positions()[1, 0] - simulation.positions()[0, 0] < 0.01


LIES = {
    "cells": (("[202]", "[2020]"), "has 4 cells, but X_Voxels and Y_Voxels say that there are 3"),
    "layers": (("<Z_Voxels>2", "<Z_Voxels>3"), "Data of bot.vxa has 2 layers, but Z_Voxels says that there are 3"),
    "size": (("<X_Voxels>3", "<X_Voxels>99999999"), "cells, more than the 20000000 that can be read"),
    "sign": (("<X_Voxels>3", "<X_Voxels>-3"), "must be a whole number above 0, not '-3'"),
    "letters": (("[202]", "[2 2]"), "characters that stand for no material"),
    "numbers": (("0.25, 0.0, -0.5", "0.25, 0.0, nan"), "has a number that is not finite"),
    "fewer": (("0.25, 0.0, -0.5", "0.25, 0.0"), "has 2 numbers, but its cells need 3"),
    "value": (("<DtFrac>0.9", "<DtFrac>fast"), "Integration/DtFrac of bot.vxa must be a finite number, not 'fast'"),
    "model": (("<CTE>-0.01", "<MatModel>7</MatModel><CTE>-0.01"), "MatModel of material 2 of bot.vxa must be 0, 1, 2"),
    "entity": (("<VXA ", "<!DOCTYPE x [<!ENTITY a 'aaaa'>]><VXA "), "declares a document type"),
    "stranger": (("VXA", "ABC"), "begins with <ABC>, not with <VXA>"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_in_a_sentence(tmp_path: Path, lie: str) -> None:
    change, sentence = LIES[lie]
    with pytest.raises(FileFormatError, match=sentence.replace("(", r"\(")):
        evosoro(tmp_path, change=change)


def test_what_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    bomb = base64.b64encode(zlib.compress(bytes(3_000_000), 9)).decode()
    packed = {"compression": ("ASCII_READABLE", "ZLIB"), "data": ("[202]", f"[{bomb}]")}
    with pytest.raises(FileFormatError, match="unpacks to more than the 3 cells"):
        evosoro(tmp_path, **packed)
    with pytest.raises(FileFormatError, match="cannot be unpacked as ZLIB"):
        evosoro(tmp_path, compression=("ASCII_READABLE", "ZLIB"))
    long = base64.b64encode(bytes(30)).decode()
    with pytest.raises(FileFormatError, match="has 30 cells"):
        evosoro(tmp_path, compression=("ASCII_READABLE", "Base64"), data=("[202]", f"[{long}]"))


@pytest.mark.filterwarnings("ignore::annelid.core.errors.PartlyUsed")
def test_bodies_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="refers to material 4, but its palette has 2"):
        voxels3d.setup_of(evosoro(tmp_path, data=("[202]", "[204]")))
    with pytest.raises(FileFormatError, match="has no voxels"):
        voxels3d.setup_of(evosoro(tmp_path, data=("[202]", "[000]"), more=("[121]", "[000]")))
    parted = evosoro(tmp_path, data=("[121]", "[101]"))
    with pytest.raises(FileFormatError, match="bot has 2 parts that share no face.*--parts largest"):
        voxels3d.setup_of(parted)
    assert voxels3d.setup_of(parted, parts="largest").robot.voxel_count == 2
    setup = voxels3d.setup_of(parted, parts="all")
    simulation = voxels3d.simulation(setup.robot, **setup.options(), precision="float64", device="cpu", threads=1)
    simulation.step(50)
    assert np.isfinite(simulation.positions()).all()
    with pytest.raises(InvalidValue, match=r"made of a voxels3d.Robot, not of Simulation.*model.robots\[0\]"):
        voxels3d.vxa_of(simulation)
    with pytest.raises(InvalidValue, match="has the number 2, but 1 to 1 are"):
        voxels3d.Robot.from_array([[[2]]])
    with pytest.raises(InvalidValue, match="material 1, but there are 1, counted from 0"):
        voxels3d.Robot(np.array([[[1]]]))
    unknown: Any = "some"
    with pytest.raises(InvalidValue, match="parts 'some' must be"):
        voxels3d.setup_of(parted, parts=unknown)
    with pytest.raises(InvalidValue, match="room for 78 materials, not for 200"):
        Structure(np.full((1, 1, 1), 200, np.uint8))
    many = voxels3d.Robot(np.arange(256).reshape(-1, 1, 1), (voxels3d.Voxel(),) * 256)
    with pytest.raises(InvalidValue, match="room for 255 materials, not for 256"):
        voxels3d.vxa_of(many, compression="ZLIB")


def formula_file(tmp_path: Path, tree: str) -> voxels3d.Vxa:
    formula = f"<StopConditionFormula>{tree}</StopConditionFormula>"
    return evosoro(tmp_path, stop=("<InitCmTime>", f"{formula}<InitCmTime>"))


TREES = {
    "<mtSUB><mtVAR>t</mtVAR></mtSUB>": "mtSUB in .* has 1 operands, but it takes 2",
    "<mtSIN><mtVAR>t</mtVAR><mtE/></mtSIN>": "mtSIN in .* has 2 operands, but it takes 1",
    "<mtVAR>w</mtVAR>": "mtVAR in .* must be one of x, y, z, .* not 'w'",
    "<mtCONST>1e999</mtCONST>": "mtCONST in .* must be a finite number, not '1e999'",
    "<mtSWIM/>": "'mtSWIM' in .* is no operator of a formula",
    "<mtE/><mtE/>": "has 2 formulas, where there is room for one",
    "<mtABS>" * 1100 + "<mtE/>" + "</mtABS>" * 1100: "has more than 1024 tokens",
}


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree[:20])
def test_trees_that_are_none_are_refused(tmp_path: Path, tree: str) -> None:
    with pytest.raises(FileFormatError, match=TREES[tree]):
        formula_file(tmp_path, tree)


def test_formulas_are_computed_as_they_are_written(tmp_path: Path) -> None:
    tree = "<mtSUB><mtADD><mtVAR>x</mtVAR><mtPI/></mtADD><mtDIV><mtCONST>6</mtCONST><mtVAR>t</mtVAR></mtDIV></mtSUB>"
    formula = formula_file(tmp_path, tree).simulator.stop
    assert formula is not None
    assert formula(x=1.0, t=3.0) == pytest.approx(np.pi - 1.0)
    np.testing.assert_allclose(formula(x=np.array([1.0, 2.0]), t=3.0), [np.pi - 1.0, np.pi])
    assert formula.variables == {"x", "t"}
    assert voxels3d.Formula.after(2.0)(t=2.5) == 0.5
    assert voxels3d.Formula(("mtSUB", "x", 3))(x=5) == 2.0
    with pytest.raises(InvalidValue, match="too few operands"):
        voxels3d.Formula(("mtADD", "x"))
    with pytest.raises(InvalidValue, match="'w' in a formula is neither a finite number nor one of x, y, z"):
        voxels3d.Formula(("mtABS", "w"))


def test_fields_of_force_are_computed_in_kernels_as_on_the_host() -> None:
    one = [(name, "y") for name in ("mtSQRT", "mtSIN", "mtCOS", "mtTAN", "mtATAN", "mtLOG", "mtABS", "mtNORMALCDF")]
    one += [("mtINT", "mtMUL", 300.0, "y"), ("mtNOT", "y"), ("mtNOT", 0.0)]
    two = [(name, "y", "z") for name in ("mtADD", "mtSUB", "mtMUL", "mtDIV", "mtPOW", "mtGREATERTHAN", "mtLESSTHAN")]
    two += [("mtAND", "y", 0.0), ("mtOR", "y", 0.0), ("mtADD", "mtSUB", "mtPI", "x", "mtMUL", "mtE", "t")]
    formulas = [voxels3d.Formula(tokens) for tokens in (*one, *two)]
    body = voxels3d.Robot(np.zeros((1, 1, 1), int))
    for k in range(0, len(formulas), 3):
        simulation = voxels3d.simulation(
            body, dt=1e-4, gravity=(0.0, 0.0, 0.0), force_field=formulas[k : k + 3], precision="float64",
            positions=(0.003, 0.001, 0.002), device="cpu", threads=1,
        )  # fmt: skip
        simulation.step(1)
        x, y, z = (0.008, 0.006, 0.007)
        expected = [float(formula(x=x, y=y, z=z, t=0.0)) for formula in formulas[k : k + 3]]
        np.testing.assert_allclose(simulation.velocities()[0] * 1e-3 / 1e-4, expected, rtol=1e-9, err_msg=str(k))
    with pytest.raises(InvalidValue, match="depends on hit"):
        voxels3d.simulation(body, force_field=[voxels3d.Formula(("hit",))] * 3, device="cpu")
    deep = voxels3d.Formula(("mtADD",) * 20 + ("x",) * 21)
    with pytest.raises(InvalidValue, match="makes 21 numbers wait"):
        voxels3d.simulation(body, force_field=[deep] * 3, device="cpu")


def test_histories_are_read_as_they_were_written(tmp_path: Path) -> None:
    body = voxels3d.Robot(np.zeros((3, 3, 3), int), side_length=0.01, amplitude=10.0, frequency=4.0)
    simulation = voxels3d.simulation(body, dt=1e-4, precision="float64", device="cpu", threads=1)
    simulation.step(300)
    path = tmp_path / "walk.history"
    with path.open("w") as file:
        writer = voxels3d.HistoryWriter(
            file, simulation.solver.readout, 0, np.full(27, 3), [(0.1, 0.2, 0.3, 1.0)], links=True
        )
        writer.write(simulation.state, 300, simulation.time)
        file.write("something that voxcraft-sim says between two frames\n")
        writer.write(simulation.state, 301, simulation.time)
    history = voxels3d.read_history(path)
    assert history.colors == {1: (0.1, 0.2, 0.3)}
    assert history.voxel_size == 0.01
    assert [frame.step for frame in history.frames] == [300, 301]
    frame = history.frames[0]
    surface = (body.cells != 1).any(axis=1)  # all but the one in the middle
    np.testing.assert_allclose(frame.positions, simulation.positions()[surface], atol=0.51e-4)
    assert frame.materials.tolist() == [3] * 26
    assert frame.links.shape == (54, 2, 3)
    np.testing.assert_allclose(
        frame.corners[:, 1], 0.005 * simulation.solver.readout.sizes(simulation.state)[0], atol=1e-4
    )
    path.write_text("<<<Step1 Time:0.1>>>1,2,3;<<<>>>\n")
    with pytest.raises(FileFormatError, match="not 15 numbers"):
        voxels3d.read_history(path)
