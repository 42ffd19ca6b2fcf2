"""Solids in motion whose factor is kept over steps: the same motion as with a factor of every matrix."""

from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.core.simulation import Simulation
from annelid.core.state import state_hash
from annelid.fem.contact.few_points import FewPoints
from annelid.fem.contact.sliding import sliding
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.shapes import Box, Capsule, Rigid, Sphere, Surface, TetMesh, ground, tet_beam

from .bodies import SOFT, block

TIGHT = fem.Settings(1e-9, 60)


def across_a_post(linear: Any = "kept", **options: Any) -> Simulation[fem.Solver]:
    """A beam that falls across a post and bends there."""
    beam = fem.Solid(tet_beam(0.2, 0.03, 0.02, cells=(10, 2, 1)), SOFT, surface=Surface(friction=0.5))
    post = Rigid(Capsule(0.03, 0.1, axis="y"), position=(0.11, 0.0, -0.0425))
    return fem.simulation(beam, obstacles=[post], dt=0.01, device="cpu", threads=1, linear=linear, **options)


def in_company(kind: str, linear: Any) -> Simulation[fem.Solver]:
    """A block over the ground, on which a loose ball or another block falls, or which falls on the corner of a box."""
    mesh, other = block(cells=(3, 3, 2)).mesh, block((0.05, 0.05, 0.04), at=(0.01, 0.02, 0.051)).mesh
    assert isinstance(mesh, TetMesh)
    assert isinstance(other, TetMesh)
    solid = fem.Solid(mesh + other if kind == "block" else mesh, SOFT, surface=Surface(friction=0.5))
    ball = Rigid(Sphere(0.02), motion="free", mass=0.02, velocity=(0.0, 0.0, -0.8), position=(0.035, 0.045, 0.075))
    box = Rigid(Box((0.04, 0.04, 0.04)), position=(0.03, 0.03, -0.032), rotation=(0.2, 0.1, 0.0, 0.97))
    added = {"ball": [ball], "box": [box], "block": []}[kind]
    simulation = fem.simulation(
        solid, obstacles=[ground(height=-0.012), *added], dt=0.01, device="cpu", threads=1, linear=linear,
        settings=TIGHT,
    )  # fmt: skip
    falling = np.zeros((solid.node_count, 3))
    falling[len(mesh.nodes) :, 2] = -0.4
    simulation.state.velocities.assign(falling)
    return simulation


def test_it_moves_as_with_a_factor_of_every_matrix() -> None:
    kept, direct = (across_a_post(linear, settings=TIGHT) for linear in ("kept", "direct"))
    for simulation in (kept, direct):
        simulation.step(12)
        assert int(simulation.state.unsettled.numpy()[0]) == 0
    assert np.abs(direct.state.touch.forces.numpy()).max() > 0.01
    np.testing.assert_allclose(kept.positions(), direct.positions(), atol=1e-8)
    assert isinstance(kept.solver.model.linear, KeptFactor)
    assert kept.solver.model.linear.factorings <= 12


def test_few_points_resist_as_sliding_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    slid, tangents = 0, FewPoints.tangents

    def compared(few: FewPoints) -> np.ndarray:
        nonlocal slid
        found, table = tangents(few), few._table
        slides = sliding(table.points, table.places, few._begun, few._now)
        expected = table.points.tangent.numpy()[:, 0, 0].copy()
        np.add.at(expected, slides.points, -slides.gains[:, :, None] * slides.normals[:, None, :])
        np.testing.assert_allclose(found, expected[: len(found)], atol=1e-9 * np.abs(expected).max())
        slid += len(slides)
        return found

    monkeypatch.setattr(FewPoints, "tangents", compared)
    across_a_post().step(12)
    assert slid > 0


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
@pytest.mark.parametrize("kind", ["ball", "box", "block"])
def test_bodies_corners_and_pairs_are_added_to_the_factor(kind: str) -> None:
    kept, direct = in_company(kind, "kept"), in_company(kind, "direct")
    for simulation in (kept, direct):
        simulation.step(2)
        assert int(simulation.state.unsettled.numpy()[0]) == 0
    assert np.abs(direct.positions() - direct.solver.model.solid.nodes).max() > 1e-3
    np.testing.assert_allclose(kept.positions(), direct.positions(), atol=1e-9)
    np.testing.assert_allclose(kept.state.touch.places.numpy(), direct.state.touch.places.numpy(), atol=1e-9)


def test_a_saved_state_goes_on_to_the_bit(tmp_path: Any) -> None:
    first, second = across_a_post(), across_a_post()
    first.step(5)
    first.save(tmp_path / "state")
    first.step(3)
    second.load(tmp_path / "state")
    for _ in range(3):
        second.step()
    assert state_hash(first.state) == state_hash(second.state)


def test_worlds_whose_holds_slide_move_as_each_alone() -> None:
    commands = [0.02, -0.02, 0.01]

    def sliding_block(worlds: int | None = None) -> Simulation[fem.Solver]:
        solid = fem.Solid(tet_beam(0.06, 0.015, 0.015, cells=(4, 1, 1)), SOFT).fix(lambda p: p[:, 0] < 1e-9)
        slide = fem.Slide(
            name="slide", where=lambda p: p[:, 0] < 1e-9, direction=(0, 1, 0), travel=(-0.1, 0.1), travel_rate=0.3
        )
        return fem.simulation(
            solid, obstacles=[ground(height=-0.009)], actuators=[slide], dt=5e-3, device="cpu", threads=1,
            linear="kept", worlds=worlds,
        )  # fmt: skip

    together = sliding_block(worlds=3)
    together.controls["slide"] = commands
    together.step(8)
    for world, command in enumerate(commands):
        alone = sliding_block()
        alone.controls["slide"] = command
        alone.step(8)
        own = together.solver.world(together.state, world)
        np.testing.assert_array_equal(own.positions.numpy(), alone.positions())


def test_it_is_refused_where_it_is_of_no_use() -> None:
    with pytest.raises(InvalidValue, match="touches nothing"):
        fem.simulation(block(), linear="kept", device="cpu")
    with pytest.raises(InvalidValue, match="in motion"):
        fem.simulation(block(), obstacles=[ground(height=-1.0)], dynamic=False, linear="kept", device="cpu")


def test_contact_that_changes_costs_few_iterations() -> None:
    simulation, taken = across_a_post(settings=TIGHT), 0
    factor = simulation.solver.model.linear
    assert isinstance(factor, KeptFactor)
    for _ in range(12):
        simulation.step()
        taken += factor.iterations
    assert np.abs(simulation.state.touch.forces.numpy()).max() > 0.01
    assert taken <= 100


@pytest.mark.parametrize("definite", [True, False])
def test_what_is_carried_from_the_first_step_on_arrives(definite: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def lifted(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.outer(times, (0.0, 0.0, 0.1)), np.tile((0.0, 0.0, 0.0, 1.0), (len(times), 1))

    solid = block(cells=(3, 3, 2))
    top = solid.nodes[:, 2] > solid.nodes[:, 2].max() - 1e-9
    solid.fix(top, motion=lifted)
    simulation = fem.simulation(
        solid, obstacles=[ground(height=-0.012)], dt=0.01, device="cpu", threads=1, linear="kept"
    )
    if not definite:
        factor = KeptFactor.factor

        def refused(self: KeptFactor, values: Any, *, shift: float = 0.0) -> None:
            """Matrices of solids that are squeezed hard are not positive definite until they are shifted."""
            if not shift:
                self.age = -1
                raise NotPositiveDefinite
            factor(self, values, shift=shift)

        monkeypatch.setattr(KeptFactor, "factor", refused)
    simulation.step()
    moved = simulation.positions()[top] - solid.nodes[top]
    np.testing.assert_allclose(moved, np.broadcast_to((0.0, 0.0, 0.001), moved.shape), atol=1e-12)
