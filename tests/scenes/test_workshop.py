"""The workshop without a page: building, marking, and every tool on a body at rest and on one that moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import InvalidMesh, InvalidValue, UnknownName
from annelid.core.snapshot import Mesh
from annelid.scenes.support.workpiece import Workpiece
from annelid.scenes.workshop import Workshop
from annelid.shapes import Box, Cylinder
from annelid.shapes.topology import signed_volumes

SMALL = Workshop(length=0.1, width=0.02, height=0.02, pitch=0.01, drop=0.02)
ALL = ((0.0, 0.0, 0.03), (1.0, 1.0, 1.0))
LEFT = ((-0.05, 0.0, 0.03), (0.045, 0.1, 0.1))


def made(design: Workshop = SMALL) -> Workpiece:
    piece = Workpiece(design, device="cpu", threads=1)
    piece.build()
    return piece


def body_of(piece: Workpiece) -> Any:
    return piece.simulation.solver.model.body


def places(piece: Workpiece) -> np.ndarray:
    return piece._positions()


@pytest.mark.parametrize("shape", ["beam", "box", "sphere", "cylinder", "capsule"])
def test_every_primitive_stands_above_the_ground(shape: Any) -> None:
    piece = made(Workshop(shape=shape, radius=0.03, length=0.08, width=0.05, height=0.05, drop=0.02))
    low, high = body_of(piece).bounds()
    assert low[2] == pytest.approx(0.02)
    assert (low + high)[:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    piece.simulation.step(20)
    assert piece.simulation.attachments["workpiece"] is piece


def test_it_falls_as_a_stone_falls() -> None:
    piece = made(Workshop(length=0.1, drop=1.0))
    before = places(piece)
    piece.simulation.run(0.2)
    fallen = (before - places(piece))[:, 2]
    assert fallen == pytest.approx(np.full(len(fallen), 0.5 * 9.81 * 0.2**2), rel=0.01)


def test_a_file_is_built_in_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "part.stl"
    Box((100.0, 20.0, 20.0)).surface().write(path)
    design = Workshop(scale=1e-3).with_file(str(path))
    assert design.about() == "0.1 × 0.02 × 0.02 m, 10 × 2 × 2 cells"
    assert body_of(made(design)).mass_count == 11 * 3 * 3


def test_a_file_in_millimetres_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "part.stl"
    Box((150.0, 150.0, 150.0)).surface().write(path)
    with pytest.raises(InvalidValue, match="another scale if the body, 150 m wide, is in millimetres"):
        made(Workshop().with_file(str(path)))


def drawn_volume(piece: Workpiece) -> float:
    mesh = next(part for part in piece.simulation.snapshot().parts if part.name == "body")
    assert isinstance(mesh, Mesh)
    return float(signed_volumes(np.asarray(mesh.vertices, float), np.asarray(mesh.triangles)).sum())


def test_a_file_is_drawn_with_its_own_skin_also_where_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "part.stl"
    Cylinder(0.02, 0.1, axis="x").surface(resolution=12).write(path)
    piece = made(Workshop().with_file(str(path)))
    whole = drawn_volume(piece)
    assert whole == pytest.approx(Cylinder(0.02, 0.1).surface(resolution=12).volume, rel=1e-4)
    piece.mark(*LEFT)
    left = len(body_of(piece).coverings[0].covering.partition.lattice.corners) - piece.cut()
    assert drawn_volume(piece) == pytest.approx(left * 0.01**3, rel=0.1)
    piece.simulation.step(3)
    assert drawn_volume(piece) == pytest.approx(left * 0.01**3, rel=0.1)


def test_an_open_file_is_refused_and_can_be_repaired(tmp_path: Path) -> None:
    path, box = tmp_path / "open.obj", Box((0.1, 0.02, 0.02)).surface()
    path.write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in box.vertices)
        + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in box.triangles[1:])
    )
    with pytest.raises(InvalidMesh, match="3 edges are open"):
        Workshop().with_file(str(path))
    assert body_of(made(Workshop(repair=True).with_file(str(path)))).mass_count == 11 * 3 * 3


def test_a_marked_part_is_held() -> None:
    piece = made()
    assert piece.mark(*LEFT) == 3 * 3 * 3
    assert piece.fix() == 27
    before = places(piece)
    held = before[:, 0] < -0.0275
    piece.simulation.run(0.1)
    assert np.array_equal(places(piece)[held], before[held])
    assert places(piece)[:, 2].min() < before[:, 2].min() - 0.005
    piece.reset()
    assert body_of(piece).fixed.sum() == 27
    piece.mark(*ALL)
    piece.fix(False)
    piece.reset()
    assert not body_of(piece).fixed.any()


def test_a_part_is_cut_away_while_it_falls() -> None:
    piece = made()
    piece.simulation.run(0.03)
    before, speed = places(piece), piece.simulation.state.velocities.numpy().mean(axis=0)
    piece.mark((-0.05, 0.0, 0.03), (0.04, 0.1, 0.1))
    assert piece.cut() == 2 * 2 * 2
    after = places(piece)
    assert len(after) == len(before) - 2 * 3 * 3
    assert after[:, 0].min() == pytest.approx(-0.03, abs=1e-3)
    assert after[:, 2].mean() == pytest.approx(before[:, 2].mean(), abs=1e-4)
    assert piece.simulation.state.velocities.numpy().mean(axis=0) == pytest.approx(speed, abs=0.02)
    mesh = piece.simulation.snapshot().parts[-1]
    assert len(mesh.triangles) == 2 * (2 * 2 * 2 + 4 * 2 * 8)  # type: ignore[union-attr]
    piece.simulation.run(0.02)


def test_a_part_gets_another_material() -> None:
    piece = made()
    mass, stiffness = body_of(piece).masses.sum(), body_of(piece).stiffness.max()
    piece.mark(*LEFT)
    assert piece.paint("tpu") == 2 * 2 * 2
    body = body_of(piece)
    assert body.materials == ("ecoflex-00-30", "tpu")
    assert body.masses.sum() == pytest.approx(mass * (0.8 + 0.2 * 1190 / 1070))
    assert body.stiffness.max() == pytest.approx(stiffness * 12e6 / 69e3)
    assert "material" in piece.simulation.fields


def test_an_actuated_part_moves_a_body_that_nothing_else_moves() -> None:
    piece = made(Workshop(length=0.1, width=0.02, height=0.02, gravity=0.0, ground=False))
    piece.simulation.run(0.1)
    assert places(piece) == pytest.approx(body_of(piece).positions, abs=1e-6)
    piece.mark(*ALL)
    assert piece.actuate(0.2, 5.0) == 10 * 2 * 2
    longest = 0.0
    for _ in range(10):
        piece.simulation.run(0.02)
        longest = max(longest, float(np.ptp(places(piece)[:, 0])))
    assert longest > 1.1 * 0.1
    piece.mark(*ALL)
    piece.actuate(0.0, 5.0)
    assert np.ptp(body_of(piece).signal_parameters[:, 0]) == 0.0


def test_a_pull_lifts_the_body_and_a_release_drops_it() -> None:
    piece = made()
    top = places(piece)[:, 2].max()
    piece.pull((0.0, 0.0, top + 0.1), at=(0.0, 0.0, top))
    piece.simulation.run(0.5)
    at, goal = piece.grip() or (None, None)
    assert goal == pytest.approx([0.0, 0.0, top + 0.1])
    assert at is not None
    assert at[2] > top + 0.05
    assert places(piece)[:, 2].min() > 0.0
    piece.pull((0.05, 0.0, top + 0.1))
    piece.simulation.run(0.3)
    assert places(piece)[:, 0].mean() > 0.02
    piece.release()
    assert piece.grip() is None
    piece.simulation.run(0.4)
    assert places(piece)[:, 2].max() < 0.05
    assert len(places(piece)) == body_of(piece).mass_count


def test_a_pull_goes_on_after_other_work() -> None:
    piece = made()
    piece.pull((0.05, 0.0, 0.1), at=(0.05, 0.0, 0.04))
    piece.mark((-0.05, 0.0, 0.03), (0.04, 0.1, 0.1))
    piece.cut()
    assert piece.grip() is not None
    piece.simulation.run(0.1)
    piece.mark((0.05, 0.0, 0.05), (0.06, 0.2, 0.2))
    piece.cut()
    assert piece.grip() is None, "the mass that was pulled is gone"


def test_a_ray_picks_the_near_side() -> None:
    piece = made()
    assert piece.pick((0.0, -1.0, 0.03), (0.0, 1.0, 0.0)) == pytest.approx([0.0, -0.01, 0.03], abs=1e-6)
    with pytest.raises(InvalidValue, match="not where you clicked"):
        piece.pick((0.0, -1.0, 0.5), (0.0, 1.0, 0.0))


def test_the_ground_can_be_taken_away() -> None:
    piece = made()
    piece.set_ground(False)
    piece.simulation.run(0.2)
    assert places(piece)[:, 2].max() < 0.0
    with pytest.raises(InvalidValue, match="fallen below the ground"):
        piece.set_ground(True)
    piece.reset()
    piece.set_ground(True)
    piece.simulation.run(0.3)
    assert places(piece)[:, 2].min() > -0.005


def test_gravity_changes_while_it_runs() -> None:
    piece = made(Workshop(length=0.1, drop=1.0))
    piece.design.adjust(piece.simulation, "gravity", 0.0)
    piece.simulation.run(0.1)
    assert places(piece)[:, 2].min() == pytest.approx(1.0, abs=1e-5)
    piece.reset()
    piece.simulation.run(0.1)
    assert places(piece)[:, 2].min() == pytest.approx(1.0, abs=1e-5)


def test_bad_input_is_told_in_a_sentence() -> None:
    with pytest.raises(InvalidValue, match=r"pitch 0.5 m is larger than the body .* use at most 0.04 m"):
        made(Workshop(pitch=0.5))
    with pytest.raises(UnknownName, match="no material named 'gold'"):
        made(Workshop(material="gold"))
    with pytest.raises(InvalidValue, match="no file was given"):
        made(Workshop(shape="file"))
    piece = made()
    with pytest.raises(InvalidValue, match="no part is marked"):
        piece.fix()
    with pytest.raises(InvalidValue, match="no whole cell is inside the box"):
        piece.cut()
    with pytest.raises(InvalidValue, match="no mass is inside the box"):
        piece.mark((5.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    with pytest.raises(InvalidValue, match="three positive lengths"):
        piece.mark((0.0, 0.0, 0.0), (0.1, -0.1, 0.1))
    piece.mark(*ALL)
    with pytest.raises(InvalidValue, match="nothing would be left"):
        piece.cut()
    with pytest.raises(UnknownName, match="no material"):
        piece.paint("gold")
    with pytest.raises(InvalidValue, match="amplitude"):
        piece.actuate(2.0, 1.0)
    with pytest.raises(InvalidValue, match="frequency"):
        piece.actuate(0.1, 0.0)
    with pytest.raises(InvalidValue, match="three finite numbers"):
        piece.pull((0.0, 0.0, float("nan")))
    piece.simulation.step(10)
