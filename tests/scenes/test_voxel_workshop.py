"""The workshop for voxels without a page: tools, rays, undoing, files and what cannot play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.scenes.support.voxel_brush import amplitudes, phases
from annelid.scenes.support.voxel_canvas import VoxelCanvas
from annelid.scenes.support.voxel_picking import first_hit
from annelid.scenes.voxel_workshop import VoxelWorkshop

ONE = (0, 0, 0)


@pytest.fixture
def canvas() -> VoxelCanvas:
    """A lattice of 4 x 3 x 3 cells with one voxel at its corner."""
    made = VoxelWorkshop(x=4, y=3, z=3).canvas(device="cpu", threads=1)
    made.clear()
    made.apply("add", made.box(ONE, ONE))
    return made


def test_tools_change_what_they_say_and_nothing_else(canvas: VoxelCanvas) -> None:
    canvas.take_brush(material=2, phase=0.25, amplitude=0.5)
    assert canvas.apply("add", canvas.box(ONE, (1, 0, 0))) == 1  # the other is there already
    assert canvas.vxa.structure.cells[:2, 0, 0].tolist() == [1, 2]
    assert phases(canvas.vxa)[:2, 0, 0].tolist() == [0.0, 0.25]
    assert amplitudes(canvas.vxa)[:2, 0, 0].tolist() == [1.0, 0.5]
    assert canvas.apply("paint", canvas.box(ONE, ONE)) == 1
    assert phases(canvas.vxa)[ONE] == 0.0
    canvas.take_brush(material=4, phase=0.75, amplitude=1.5)
    assert canvas.apply("wave", canvas.box((3, 2, 2), ONE)) == 2
    assert canvas.vxa.structure.cells[:2, 0, 0].tolist() == [2, 2]
    assert phases(canvas.vxa)[:2, 0, 0].tolist() == [0.75, 0.75]
    assert canvas.apply("erase", canvas.box((1, 0, 0), (9, 9, 9))) == 1
    setup = voxels3d.setup_of(canvas.vxa)
    assert setup.robot.voxel_count == 1
    assert setup.robot.amplitude[ONE] == pytest.approx(1.5 * 14.0)


def test_a_ray_means_the_voxel_or_the_cell_before_it() -> None:
    there = np.zeros((4, 3, 3), bool)
    there[1, 1, 0] = True
    down, from_left = np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0])
    above, left = np.array([1.5, 1.5, 9.0]), np.array([-5.0, 1.5, 0.5])
    assert first_hit(there, above, down, layer=0) == (1, 1, 0)
    assert first_hit(there, above, down, layer=0, before=True) == (1, 1, 1)
    assert first_hit(there, left, from_left, layer=0, before=True) == (0, 1, 0)
    beside = np.array([3.5, 0.5, 9.0])
    assert first_hit(there, beside, down, layer=2, before=True) == (3, 0, 2)
    assert first_hit(there, beside, down, layer=2) is None
    assert first_hit(there, np.array([7.5, 0.5, 9.0]), down, layer=0, before=True) is None
    there[0, 1, 0] = True
    assert first_hit(there, left, from_left, layer=0, before=True) is None  # beyond the lattice


def test_everything_can_be_undone_and_done_again(canvas: VoxelCanvas) -> None:
    first = canvas.text()
    canvas.apply("add", canvas.box(ONE, (3, 2, 2)))
    full = canvas.text()
    assert canvas.resize((2, 3, 3)) == 18
    assert canvas.shape == (2, 3, 3)
    canvas.wave(2.0)
    assert canvas.frequency == pytest.approx(2.0)
    assert [canvas.undo(), canvas.undo(), canvas.text() == full] == [True, True, True]
    assert [canvas.undo(), canvas.text() == first, canvas.redo(), canvas.text() == full] == [True] * 4
    assert canvas.apply("add", canvas.box(ONE, ONE)) == 0  # nothing happened: nothing to undo
    assert canvas.redo()


def test_what_cannot_play_is_said_and_nothing_is_lost(canvas: VoxelCanvas) -> None:
    canvas.apply("add", canvas.box((2, 0, 0), (3, 0, 0)))
    before = canvas.text()
    with pytest.raises(InvalidValue, match=r"has 2 parts that share no face, the smallest of 1 at cell \(0, 0, 0\)"):
        canvas.simulation()
    assert "in 2 parts" in canvas.about()
    assert canvas.simulation(largest=True)[0].solver.model.voxel_count == 2
    assert canvas.text() == before
    canvas.clear()
    with pytest.raises(InvalidValue, match="the lattice is empty; add a voxel first"):
        canvas.simulation()
    assert canvas.undo()
    assert canvas.text() == before
    with pytest.raises(InvalidValue, match="1 to 250,000 cells, not 1000 × 1000 × 1"):
        canvas.resize((1000, 1000, 1))


def test_a_file_keeps_what_is_not_painted(canvas: VoxelCanvas, tmp_path: Path) -> None:
    robot = voxels3d.Robot(np.zeros((2, 1, 1), int), side_length=0.02).fix(lambda x, y, z: x == 0)
    path = tmp_path / "still.vxa"
    voxels3d.vxa_of(robot, seconds=0.5, gravity=-3.0).write(path)
    assert canvas.load(path) == []
    assert canvas.text() == path.read_text()
    canvas.take_brush(material=1, phase=0.5, amplitude=1.0)
    canvas.apply("wave", canvas.box(ONE, ONE))  # of a robot without any
    path.write_text(canvas.text())
    vxa = voxels3d.Vxa.read(path)
    assert vxa.environment.gravity == -3.0
    assert len(vxa.regions) == 1
    assert vxa.environment.swing > 0.0
    assert VoxelWorkshop(file=str(path)).canvas().text() == canvas.text()
    before = canvas.text()
    path.write_text("<VXA></VXA>")
    with pytest.raises(AnnelidError, match="no element VXC/Structure"):
        canvas.load(path)
    assert canvas.text() == before
