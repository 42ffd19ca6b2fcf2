"""Lists of worlds side by side: each is made when it must, and the others are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid.grains import model
from annelid.grains.kernels.layout import FLAGS, REACHES, SKIN, STALE, WORLD_REACHES
from annelid.grains.model import PATIENCE
from annelid.shapes import box_walls
from annelid.shapes.kernels.gaps import PLANE as WALL

from .blade import BLADE, CONTROLS, EDGE, drive, simulated

WORLDS = 4


@pytest.fixture
def moving(device: str) -> Any:
    """Worlds whose blades move at different speeds, so that their lists do not age together."""
    simulation = simulated(device, WORLDS)
    drive(simulation)
    return simulation


def let_grow_stale(simulation: Any, worlds: list[int]) -> None:
    """Let the lists of these worlds, and of no others, be made in the next step."""
    flags = simulation.state.flags.numpy().copy()
    flags[STALE], flags[FLAGS:] = bool(worlds), 0
    flags[[FLAGS + world for world in worlds]] = 1
    simulation.state.flags.assign(flags)


def places_by_looking(simulation: Any) -> list[list[int]]:
    """Places of the lists of grains that name each body, walls apart."""
    state, solver = simulation.state, simulation.solver
    counts, kinds = state.counts.numpy()[:, 1], solver.bodies.forms.numpy()["geometry"]["kind"]
    lists = state.bodies.numpy().reshape(len(counts), -1)
    listed = np.arange(lists.shape[1]) < counts[:, None]
    return [
        [] if kind == WALL else np.flatnonzero((listed & (lists == number)).ravel()).tolist()
        for number, kind in enumerate(kinds)
    ]


def places_noted(simulation: Any) -> list[list[int]]:
    """The same, as the state has noted them down."""
    first, touched = simulation.state.touched_first.numpy(), simulation.state.touched.numpy()
    return [touched[low:high].tolist() for low, high in zip(first[:-1], first[1:], strict=True)]


def test_only_stale_worlds_are_sorted(moving: Any) -> None:
    lists, each = moving.solver.lists, moving.solver.model.count // WORLDS
    built = moving.state.built.numpy().copy()
    lists.order.fill_(-1)
    let_grow_stale(moving, [2])
    moving.step(1)
    order = lists.order.numpy().reshape(WORLDS, each)
    assert np.flatnonzero((order >= 0).all(axis=1)).tolist() == [2]
    assert np.flatnonzero((order < 0).all(axis=1)).tolist() == [0, 1, 3]
    assert sorted(order[2]) == list(range(2 * each, 3 * each))
    changed = (moving.state.built.numpy() != built).any(axis=1).reshape(WORLDS, each).any(axis=1)
    assert changed.tolist() == [False, False, True, False]


def test_what_touches_bodies_is_kept_where_lists_of_other_worlds_are_made(moving: Any) -> None:
    lengths = set()
    for stale in ([0], [1, 3], [2], [0, 1, 2, 3], [3]):
        let_grow_stale(moving, stale)
        moving.step(PATIENCE)  # on CUDA they are looked at in every so many steps
        assert places_noted(moving) == places_by_looking(moving)
        lengths.add(int(moving.state.touched_first.numpy()[-1]))
    assert len(lengths) > 1, "what touches the bodies never changed, so that nothing had to be moved along"


def test_longer_lists_are_looked_through_in_every_world(moving: Any) -> None:
    """Places are counted in lists of a certain length: none of those noted before holds in longer ones."""
    let_grow_stale(moving, [1])
    room = len(moving.state.bodies) // moving.solver.model.count
    moving.solver.reserve(moving.state, 32, room + 3)
    moving.step(1)
    assert len(moving.state.bodies) == (room + 3) * moving.solver.model.count
    assert places_noted(moving) == places_by_looking(moving)


def test_lists_of_a_device_that_wants_shorter_ones_are_made_anew(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint fits where lists are to reach further; what they lack must not be taken for granted."""
    short = simulated(device, WORLDS)
    short.step(3)
    short.save(tmp_path / "short")
    monkeypatch.setattr(model, "_SKIN", 2.0 * model._SKIN)
    monkeypatch.setattr(model, "_CUDA_SKIN", 2.0 * model._CUDA_SKIN)
    far = simulated(device, WORLDS)
    far.load(tmp_path / "short")
    assert (_skins(far) == _skins(short)).all()
    far.step()
    np.testing.assert_allclose(_skins(far), 2.0 * _skins(short))


def test_a_world_that_begins_later_does_not_change_when_others_are_looked_at(moving: Any, tmp_path: Path) -> None:
    """Steps that were captured while worlds began together are not those of worlds that take turns."""
    for _ in range(PATIENCE + 3):
        moving.step(1)
    moving.reset(worlds=[1])
    moving.save(tmp_path / "turns")
    for _ in range(5 * PATIENCE):
        moving.step(1)
    fresh = simulated(str(moving.solver.device), WORLDS)
    fresh.load(tmp_path / "turns")
    fresh.step(5 * PATIENCE)
    assert fresh.state_hash() == moving.state_hash()


def _skins(simulation: Any) -> np.ndarray:
    return np.asarray(simulation.state.reach.numpy()[REACHES + SKIN :: WORLD_REACHES])


def test_lists_of_a_cpu_reach_further_in_worlds_where_something_is_fast() -> None:
    driven = simulated(
        "cpu", WORLDS, obstacles=[*box_walls((0.0, 0.0, 0.0), (EDGE, EDGE, 1.0)), BLADE], controls=CONTROLS[:2]
    )
    driven.step(30)
    driven.controls["ahead"] = [0.0, 0.1, 0.2, 0.4]
    driven.step(90)
    let_grow_stale(driven, list(range(WORLDS)))
    driven.step(1)
    parameters = driven.solver.model.parameters
    assert (_skins(driven) >= parameters.skin).all()
    assert (_skins(driven) <= parameters.widest_skin).all()
    assert _skins(driven)[WORLDS - 1] > 1.5 * parameters.skin


def test_beside_free_bodies_a_cpu_lets_grains_move_further_that_are_fast() -> None:
    moving = simulated("cpu", WORLDS)
    drive(moving)
    let_grow_stale(moving, list(range(WORLDS)))
    moving.step(1)
    parameters = moving.solver.model.parameters
    allowed = -moving.state.built.numpy()[:, 3].reshape(WORLDS, -1)
    speeds = np.linalg.norm(moving.velocities().reshape(WORLDS, -1, 3), axis=2)
    assert (allowed >= parameters.calm_skin).all()
    assert (allowed <= parameters.fast_skin).all()
    assert (_skins(moving) == parameters.skin).all()
    assert allowed.max() > 1.5 * allowed.min()
    assert np.argmax(allowed.mean(axis=1)) == np.argmax(speeds.mean(axis=1))


def test_lists_reach_as_far_as_one_says() -> None:
    parameters = simulated("cpu", skin=0.3).solver.model.parameters
    assert parameters.skin == parameters.widest_skin
