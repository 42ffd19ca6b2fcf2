"""Messages: names that do not exist, abilities that are missing, and the words that they are made of."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from annelid import Simulation, fem, grains, springs
from annelid.core.errors import InvalidValue, UnknownName, Unsupported
from annelid.core.snapshot import Look, Snapshot
from annelid.core.words import with_article
from annelid.materials import Material
from annelid.shapes import Rigid, Surface
from annelid.view.camera.stage import Stage


def test_unknown_names() -> None:
    assert str(UnknownName("scene", "wrom", ["worm", "drum"])) == (
        "there is no scene named 'wrom'. Did you mean 'worm'? Known: drum, worm."
    )
    assert str(UnknownName("group", "feet", [])) == "there is no group named 'feet'. There are none yet."


def test_an_option_of_something_else() -> None:
    with pytest.raises(UnknownName, match=r"named 'gravity'\. It is an option of fem\.Robot\. Known: corrections, dt"):
        fem.inverse_simulation(None, gravity=(0.0, 0.0, 0.0))  # type: ignore[arg-type, call-arg]


def test_a_field_that_a_snapshot_was_taken_without() -> None:
    simulation = springs.simulation(springs.block((2, 2, 2)), device="cpu", threads=1)
    with pytest.raises(UnknownName, match=r"take one with simulation\.snapshot\(Look\(fields=\('speed',\)"):
        Stage(simulation.snapshot(), field="speed", device="cpu")
    assert isinstance(simulation.snapshot(Look(fields=("speed",))), Snapshot)


def test_missing_abilities_come_with_a_remedy(growth: Callable[..., Any]) -> None:
    simulation = Simulation(growth())
    with pytest.raises(Unsupported, match=r"springs or coupling can\. Stop at a time with breakpoint\(at=\.\.\.\)"):
        simulation.breakpoint(when=1)
    with pytest.raises(Unsupported, match=r"Build it anew"), simulation.edit():
        pass
    with pytest.raises(InvalidValue, match=r"this simulation has the worlds 0 to 2, not \[7\]"):
        simulation.reset([7])


def test_articles() -> None:
    for noun, spoken in (("int", "an int"), ("ImplicitSurface", "an ImplicitSurface"), ("str", "a str")):
        assert with_article(noun) == spoken


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        (Surface, "fricton", "no parameter of a Surface named 'fricton'. Did you mean 'friction'?"),
        (Rigid, "positon", "no parameter of a Rigid named 'positon'. Did you mean 'position'?"),
        (grains.Grain, "densty", "no parameter of a Grain named 'densty'. Did you mean 'density'?"),
        (springs.World, "gravty", "no parameter of a World named 'gravty'. Did you mean 'gravity'?"),
        (Material, "modulus", "no parameter of a Material named 'modulus'."),
    ],
)
def test_a_misspelt_field_is_refused_with_the_nearest_name(kind: type, given: str, sentence: str) -> None:
    with pytest.raises(UnknownName) as caught:
        kind(**{given: 1.0})
    assert sentence in str(caught.value)


@pytest.mark.parametrize("kind", [Surface, springs.World])
def test_what_refuses_names_can_still_be_copied_and_sent(kind: type) -> None:
    made = kind()
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made == replace(made)
