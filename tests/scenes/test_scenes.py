"""What holds for every scene: it builds, runs, measures, and its parameters explain themselves."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import UnknownName
from annelid.core.measurement import Measurement
from annelid.core.scene import Scene
from annelid.scenes.bounce import Bounce
from annelid.scenes.registry import scene_class, scene_names, scenes
from annelid.scenes.worm import Worm

SPRINGS = {"worm": Worm(segments=8), "bounce": Bounce(masses=4)}


def test_names() -> None:
    assert {"worm", "bounce"} <= set(scene_names())
    assert scenes()["worm"] is Worm
    assert all(kind.name == name for name, kind in scenes().items())


def test_an_unknown_scene_suggests_another() -> None:
    with pytest.raises(UnknownName, match="no scene named 'wrom'. Did you mean 'worm'"):
        scene_class("wrom")


@pytest.mark.parametrize("name", scene_names())
def test_parameters_explain_themselves(name: str) -> None:
    kind = scene_class(name)
    assert kind.__doc__
    assert kind.duration > 0.0
    for field in fields(kind):
        assert field.metadata["help"], field.name
        if field.metadata["range"]:
            low, high = field.metadata["range"]
            assert low <= field.default <= high, field.name


@pytest.mark.parametrize("name", SPRINGS)
def test_a_scene_builds_runs_and_measures(name: str, device: str) -> None:
    scene = SPRINGS[name]
    assert isinstance(scene, Scene)
    simulation = scene.build(device=device, threads=1)
    simulation.step(20)
    results = scene.measure(simulation)
    assert results
    assert all(isinstance(m, Measurement) and np.isfinite(m.value) for m in results)
    assert simulation.snapshot().parts


@pytest.mark.parametrize("name", SPRINGS)
def test_parameters_that_are_live_can_be_changed_one_after_the_other(name: str) -> None:
    """A viewer moves one slider after the other: each keeps what the one before it set."""
    scene: Any = SPRINGS[name]
    simulation = scene.build(device="cpu")
    live = [f for f in fields(type(scene)) if f.metadata["live"]]
    assert live
    values = {f.name: 0.5 * (f.default + f.metadata["range"][0]) for f in live}
    for field, value in values.items():
        scene.adjust(simulation, field, value)
    changed, expected = simulation.solver.model.world, replace(scene, **values).build(device="cpu").solver.model.world
    assert changed.gravity == expected.gravity
    assert list(changed.obstacles) == list(expected.obstacles)
    simulation.step(2)
