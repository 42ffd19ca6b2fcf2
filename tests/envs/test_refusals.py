"""Worlds and tasks refuse what cannot be meant in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from annelid import Simulation, springs
from annelid.core.errors import AnnelidError
from annelid.envs import Channel, Task, make_env, make_worlds


class Lift(Task):
    """A block whose springs are commanded."""

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[Any]:
        body = springs.block((2, 2, 2)).control("leg")
        simulation = springs.simulation(body, worlds=worlds, device=device, threads=threads)
        simulation.sensors.add("top", springs.position_of([7]))
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        return actions[:, 0]


@pytest.mark.parametrize("world", [2, -1, "first", None, 0.5])
def test_a_world_that_is_not_there_has_no_picture(world: Any) -> None:
    worlds = make_worlds(Lift, 2, device="cpu", threads=1)
    worlds.restart()
    with pytest.raises(AnnelidError, match=f"there are the worlds 0 to 1, not {world!r}"):
        worlds.snapshot(world)


def test_tasks_and_channels() -> None:
    wrong: Any = "no"
    with pytest.raises(AnnelidError, match="smooth of .* must be True or False, not 'no'"):
        Lift(smooth=wrong)
    with pytest.raises(AnnelidError, match="keep_results must be True or False, not 'no'"):
        make_worlds(Lift, 1, device="cpu", threads=1).restart(keep_results=wrong)
    with pytest.raises(AnnelidError, match="no environment named"):
        make_worlds(wrong)
    with pytest.raises(AnnelidError, match="the shape of channel 'felt' must be a tuple of sizes, not 'no'"):
        Channel("felt", wrong)
    with pytest.raises(AnnelidError, match="the parts of channel 'felt' must be pairs of a text and a number"):
        Channel("felt", (2,), parts=wrong)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda worlds: worlds.save(None), "a file must be named by a text or a path, not by None"),
        (lambda worlds: worlds.load(b"a.npz"), "a file must be named by a text or a path, not by b'a.npz'"),
        (lambda worlds: worlds.restart([[True], [True, False]]), "a mask of worlds must be 2 truth values, not"),
    ],
)
def test_files_and_masks(wrong: Callable[[Any], Any], sentence: str) -> None:
    worlds = make_worlds(Lift, 2, device="cpu", threads=1)
    worlds.restart()
    with pytest.raises(AnnelidError, match=sentence):
        wrong(worlds)


@pytest.mark.parametrize("options", [5, "mask", ["reset_mask"]])
def test_options_of_a_reset_go_by_name(options: Any) -> None:
    environment = make_env(Lift, device="cpu", threads=1)
    with pytest.raises(AnnelidError, match="options of a reset must be values by name"):
        environment.reset(options=options)
