"""Messages: names that do not exist, abilities that are missing, and the words that they are made of."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, fem, grains, springs
from annelid.core.arrays import as_numbers
from annelid.core.errors import (
    AnnelidError,
    InvalidValue,
    SimulationDiverged,
    UnknownName,
    Unsupported,
    copied_error,
)
from annelid.core.snapshot import Look, Snapshot
from annelid.core.words import with_article
from annelid.materials import Material
from annelid.shapes import Rigid, Surface
from annelid.shapes.values import as_vector
from annelid.view.camera.stage import Stage


def test_unknown_names() -> None:
    assert str(UnknownName("scene", "wrom", ["worm", "drum"])) == (
        "there is no scene named 'wrom'. Did you mean 'worm'? Known: drum, worm."
    )
    assert str(UnknownName("group", "feet", [])) == "there is no group named 'feet'. There are none yet."


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("wrom", "'worm'"), ("rnu", "'run'"), ("WORM2", "'worm'"), ("heappush", "'HeapPush'"), ("walk", "'walker'"),
        ("sand", "'sand-walker' or 'sandworm'"), ("fingr", "'finger'"), ("snake", ""), ("car", ""), ("soft", ""),
        ("nothing-like-it", ""), ("", ""), ("so", ""),
    ],
)  # fmt: skip
def test_only_what_is_near_is_suggested(name: str, suggested: str) -> None:
    """A name is near by a slip or by its beginning; four and more that begin so are no help."""
    soft = ["soft-crawler", "soft-drop", "soft-gripper", "soft-hand"]
    known = ["worm", "run", "HeapPush", "sandworm", "sand-walker", "walker", "finger", "swarm", "sensing-biped", *soft]
    told = str(UnknownName("scene", name, known))
    assert (f"Did you mean {suggested}?" in told) if suggested else "Did you mean" not in told


def test_names_that_are_too_many_are_listed_elsewhere() -> None:
    told = str(UnknownName("entry", "scene/wrm", ["scene/worm", "scene/drum"], lister="`annelid gallery --list`"))
    assert told == (
        "there is no entry named 'scene/wrm'. Did you mean 'scene/worm'? `annelid gallery --list` names all 2."
    )


@pytest.mark.parametrize(
    "refused",
    [
        lambda: as_vector("gravity", np.zeros((2, 3))),
        lambda: as_numbers("commands", np.array([["a"], ["b"]])),
        lambda: InvalidValue("a mesh cannot be read: line 1:\n  no vertices\n"),
        lambda: UnknownName("body", np.eye(2), ["worm"]),
        lambda: SimulationDiverged("it diverged:\nspeed\n", time=0.0, step=0),
    ],
)
def test_a_sentence_is_one_line_also_with_an_array_in_it(refused: Callable[[], Any]) -> None:
    with pytest.raises(AnnelidError) as told:
        raise refused()
    assert str(told.value).splitlines() == [str(told.value)]
    assert "  " not in str(told.value)


def test_an_array_is_shown_in_one_line() -> None:
    with pytest.raises(InvalidValue, match=r"array\(\[\[0\., 0\., 0\.\], \[0\., 0\., 0\.\]\]\) cannot be used"):
        as_vector("gravity", np.zeros((2, 3)))


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
        (springs.World, "gravty", "no parameter of a simulation of springs named 'gravty'. Did you mean 'gravity'?"),
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


class _Own(Exception):
    def __init__(self, *, count: int) -> None:
        super().__init__(f"{count} of them")
        self.count = count


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("scene", "wrom", ["worm"]), SimulationDiverged("it diverged.", time=1.0, step=2), _Own(count=3),
        OSError(2, "no such file", "place"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), KeyError("key"),
    ],
)  # fmt: skip
def test_an_error_that_is_copied_error_says_and_knows_the_same(error: Exception) -> None:
    error.__cause__ = ValueError("why")
    again = copied_error(error)
    assert again is not error
    assert (type(again), str(again), vars(again), again.args) == (type(error), str(error), vars(error), error.args)
    assert again.__cause__ is error.__cause__
