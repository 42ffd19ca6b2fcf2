"""Bodies from meshes are drawn with the skin of their mesh, which follows them and is closed where they are cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy import sparse

from annelid import Look, springs
from annelid.core.recording import Recording
from annelid.core.snapshot import Mesh
from annelid.shapes import Box, TriangleMesh
from annelid.shapes.extrusion import band
from annelid.shapes.topology import signed_volumes
from annelid.view.files.export import ExportOptions, export

Make = Callable[..., Any]
SOFT = "ecoflex-00-30"
RING = trimesh.creation.torus(0.08, 0.025, 24, 12)
PITCH = 0.0125


def ring() -> springs.Body:
    return springs.lattice(RING, PITCH, SOFT)


def bar() -> springs.Body:
    """A round bar along x from -0.1 to 0.1 m, of 16 cells."""
    mesh = trimesh.creation.cylinder(0.024, 0.2, sections=16)
    return springs.lattice(TriangleMesh(mesh.vertices[:, [2, 0, 1]], mesh.faces), PITCH, SOFT)


def drawn(simulation: Any, **look: Any) -> Mesh:
    return next(p for p in simulation.snapshot(Look(**look)).parts if isinstance(p, Mesh) and p.name == "body")


def volume(mesh: Mesh) -> float:
    return float(signed_volumes(np.asarray(mesh.vertices, float), mesh.triangles).sum())


def closed(mesh: Mesh) -> bool:
    """Whether each edge is shared; walls may be folded over, thus their edges need not run both ways."""
    sides = np.sort(np.stack([mesh.triangles, np.roll(mesh.triangles, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    return bool((np.unique(sides, axis=0, return_counts=True)[1] % 2 == 0).all())


def pieces(mesh: Mesh) -> int:
    first, second = mesh.triangles[:, [0, 1]].ravel(), mesh.triangles[:, [1, 2]].ravel()
    graph = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(len(mesh.vertices),) * 2)
    return int(sparse.csgraph.connected_components(graph, directed=False)[0])


def cut(simulation: Any, where: np.ndarray) -> None:
    with simulation.edit() as edit:
        edit.remove_masses(np.flatnonzero(where), with_springs=True)


@pytest.mark.parametrize("build", [springs.lattice, springs.quasi_lattice])
def test_the_skin_is_that_of_the_mesh(build: Make, simulate: Make) -> None:
    mesh = drawn(simulate(build(RING, PITCH, SOFT)))
    distance = TriangleMesh(RING.vertices, RING.faces).signed_distance(mesh.vertices)
    assert closed(mesh)
    assert pieces(mesh) == 1
    assert volume(mesh) == pytest.approx(RING.volume, rel=1e-4)
    assert np.abs(distance).max() < 1e-6


def test_it_follows_affine_motions(simulate: Make) -> None:
    body, turn = ring(), np.array([[1.1, 0.2, 0.0], [-0.3, 0.9, 0.1], [0.0, 0.4, 1.2]])
    before = drawn(simulate(body))
    body.positions = body.positions @ turn.T + [1.0, -2.0, 0.5]
    after = drawn(simulate(body))
    np.testing.assert_allclose(after.vertices, np.asarray(before.vertices) @ turn.T + [1.0, -2.0, 0.5], atol=1e-5)
    assert np.array_equal(after.triangles, before.triangles)


def test_bodies_are_copied_moved_and_joined_with_their_skins(simulate: Make) -> None:
    whole, block = RING.volume, 0.05**3
    body = ring()
    box = springs.box((0.05, 0.05, 0.05), 0.025, SOFT).moved((0.5, 0.0, 0.0))
    turned = body.rotated((1.0, 1.0, 0.0), 1.0).moved((0.0, 0.0, 1.0))
    others = body.scaled(2.0).moved((0.0, 1.0, 0.0)) + body.replicated(np.array([[0.0, -1.0, 0.0], [0.0, -2.0, 0.0]]))
    simulation = simulate(box + body.copy() + turned + others)
    mesh = drawn(simulation)
    assert (closed(mesh), pieces(mesh)) == (True, 6)
    assert volume(mesh) == pytest.approx(block + whole * (1 + 1 + 8 + 2), rel=1e-4)
    cut(simulation, simulation.solver.readout.positions(simulation.state)[:, 1] < -1.5)
    mesh = drawn(simulation)
    assert (closed(mesh), pieces(mesh)) == (True, 5)


def test_a_cut_is_closed(simulate: Make) -> None:
    body = bar()
    simulation = simulate(body)
    before = drawn(simulation)
    cut(simulation, np.abs(body.positions[:, 0]) < 0.1 * PITCH)
    after = drawn(simulation)
    assert (closed(after), pieces(after)) == (True, 2)
    lost = 1.0 - volume(after) / volume(before)
    assert lost == pytest.approx(2 / 16, rel=0.05)  # the two layers of cells that the masses held
    right = np.flatnonzero(body.positions[:, 0] > 0.1 * PITCH)
    with simulation.edit() as edit:
        edit.change_masses(right, positions=body.positions[right] + [1.0, 0.0, 0.0])
    apart = np.asarray(drawn(simulation).vertices)
    assert volume(drawn(simulation)) == pytest.approx(volume(after), rel=1e-3)
    assert not ((apart[:, 0] > 0.0) & (apart[:, 0] < 1.0)).any()  # nothing hangs on what was cut away


def test_a_hole_inside_is_not_seen_but_is_there(simulate: Make) -> None:
    body = springs.lattice(Box((0.1, 0.1, 0.1)).surface(), PITCH, SOFT)
    simulation = simulate(body)
    before = volume(drawn(simulation))
    cut(simulation, np.linalg.norm(body.positions, axis=1) < 0.1 * PITCH)
    mesh = drawn(simulation)
    assert (closed(mesh), pieces(mesh)) == (True, 2)
    assert before - volume(mesh) == pytest.approx(8 * PITCH**3, rel=1e-3)


def test_broken_springs_open_the_skin_where_they_part_the_body(simulate: Make) -> None:
    body = bar()
    ends = body.positions[body.springs][:, :, 0]
    across = np.flatnonzero((ends.min(axis=1) < 0.5 * PITCH) & (ends.max(axis=1) > 0.5 * PITCH))
    body.yield_strains[:] = 0.5
    simulation = simulate(body)
    before = drawn(simulation)
    handles = simulation.solver.model.network.springs.handles(across)
    with simulation.edit() as edit:
        edit.remove_springs(handles[:2])
    assert drawn(simulation).triangles is before.triangles  # two of many
    with simulation.edit() as edit:
        edit.remove_springs(handles[2:])
    mesh = drawn(simulation)
    assert (closed(mesh), pieces(mesh)) == (True, 2)
    with simulation.edit() as edit:
        edit.add_springs(*body.springs[across].T, stiffness=100.0)
    assert np.array_equal(drawn(simulation).triangles, before.triangles)


def test_masses_that_break_off_are_drawn_as_pieces(device: str) -> None:
    body = bar()
    body.yield_strains[np.abs(body.positions[body.springs].mean(axis=1)[:, 0]) < 0.9 * PITCH] = 0.05
    body.velocities[:, 0] = 5.0 * np.sign(body.positions[:, 0])
    simulation = springs.simulation(body, device=device, gravity=(0.0, 0.0, 0.0))
    simulation.run(0.002)
    assert simulation.solver.model.spring_count < body.spring_count
    mesh = drawn(simulation)
    assert closed(mesh)
    assert pieces(mesh) >= 2


def test_masses_without_order_are_cut_too(simulate: Make) -> None:
    body = springs.quasi_lattice(RING, PITCH, SOFT)
    simulation = simulate(body)
    before = volume(drawn(simulation))
    cut(simulation, body.positions[:, 0] > 0.0)
    after = drawn(simulation)
    assert closed(after)
    assert 0.2 * before < volume(after) < 0.55 * before


def test_a_checkpoint_brings_the_cut_back(simulate: Make, tmp_path: Path) -> None:
    body = bar()
    simulation, other = simulate(body), simulate(bar())
    simulation.save(tmp_path / "whole.h5")
    cut(simulation, np.abs(body.positions[:, 0]) < 0.1 * PITCH)
    simulation.save(tmp_path / "cut.h5")
    other.load(tmp_path / "cut.h5")
    np.testing.assert_array_equal(drawn(other).triangles, drawn(simulation).triangles)
    np.testing.assert_array_equal(drawn(other).vertices, drawn(simulation).vertices)
    other.load(tmp_path / "whole.h5")
    assert pieces(drawn(other)) == 1


def test_it_is_no_part_of_the_physics(simulate: Make) -> None:
    bare = ring()
    bare.coverings = ()
    runs = [simulate(body, gravity=(0.0, 0.0, -9.81)) for body in (ring(), bare)]
    for run in runs:
        run.snapshot()
        run.step(20)
    assert runs[0].state_hash() == runs[1].state_hash()
    assert runs[0].solver.fingerprint() == runs[1].solver.fingerprint()


@pytest.mark.parametrize("host", [True, False])
def test_fields_lie_between_those_of_the_masses(host: bool, simulate: Make) -> None:
    body = springs.lattice(RING, PITCH, SOFT, inserts=[(Box((1.0, 0.05, 1.0)), "pla")])
    body.positions[:, 0] *= 1.0 + 0.5 * body.positions[:, 0]
    simulation = simulate(body, dt=1e-7)
    mesh = drawn(simulation, fields=("strain", "material"), host=host)
    masses = simulation.snapshot(Look(surface=False, spheres=True, fields=("strain",))).parts[-1].fields["strain"]
    strain, matter = (np.asarray(f.values if host else f.values.numpy()) for f in mesh.fields.values())
    assert len(strain) == len(matter) == len(mesh.vertices)
    assert masses.values.min() <= strain.min() < strain.max() <= masses.values.max()
    assert set(matter.tolist()) == {0.0, 1.0}
    assert mesh.fields["material"].labels == (SOFT, "pla")


def test_recordings_and_exports_hold_the_skin_and_the_cut(simulate: Make, tmp_path: Path) -> None:
    body = bar()
    simulation = simulate(body, dt=1e-4)
    with simulation.record(tmp_path / "cut.rec", every=1e-4):
        simulation.step()
        cut(simulation, np.abs(body.positions[:, 0]) < 0.1 * PITCH)
        simulation.step()
    with Recording(tmp_path / "cut.rec") as recording:
        shown = [next(p for p in recording.frame(k).parts if isinstance(p, Mesh)) for k in (0, len(recording) - 1)]
    assert [(closed(mesh), pieces(mesh)) for mesh in shown] == [(True, 1), (True, 2)]
    for suffix in (".ply", ".vtu", ".html"):
        export(tmp_path / "cut.rec", tmp_path / f"cut{suffix}", ExportOptions())
    written = trimesh.load(tmp_path / "cut.ply", process=False)
    assert len(written.faces) == len(shown[1].triangles)


def test_a_mesh_finer_than_the_lattice_is_drawn_whole(simulate: Make) -> None:
    """A thin fin without a cell of its own hangs on the body that it grows from."""
    along = np.array([-0.05, -0.0021, -0.002, 0.002, 0.0021, 0.05])
    mesh = band(np.stack([along, 0.0 * along], 1), np.stack([along, [0.1, 0.1, 0.16, 0.16, 0.1, 0.1]], 1), 0.1)
    simulation = simulate(springs.lattice(mesh, 0.05, SOFT).moved((0.0, 0.0, 1.0)))
    shown = drawn(simulation)
    assert volume(shown) == pytest.approx(mesh.volume, rel=1e-3)
    assert np.asarray(shown.vertices)[:, 2].max() == pytest.approx(1.16, abs=1e-5)
