"""What cannot be meant is refused in one sentence where it is given: truth values in words, things of another kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Choice, Look, Match, Rollout, Simulation, Travel, export, fem, grains, springs
from annelid.core.controls import Control
from annelid.core.errors import AnnelidError
from annelid.core.options import require_truth, require_words
from annelid.core.recording import Recording
from annelid.shapes import Plane

NO: Any = "no"
THREE: Any = 3
PAIR: Any = np.zeros(2)
UNEVEN: Any = [[1], [1, 2]]


def simulation() -> Simulation[Any]:
    return springs.simulation(springs.block((2, 2, 2)), device="cpu", threads=1)


def loses(rates: Any) -> Any:
    """A rollout with a loss that has these rates."""
    return Rollout(simulation(), 2).gradient(lambda track: (1.0, rates), {"stiffness": 1.0})


@pytest.mark.parametrize("given", [True, False, np.bool_(True)])
def test_truth_values_are_taken(given: Any) -> None:
    require_truth("an option", given)


@pytest.mark.parametrize("given", ["no", "", 0, 1, None, []])
def test_nothing_else_is_a_truth_value(given: Any) -> None:
    with pytest.raises(AnnelidError, match="an option must be True or False, not "):
        require_truth("an option", given)


def test_one_word_is_no_list_of_them() -> None:
    require_words("names", ("a", "b"))
    with pytest.raises(AnnelidError, match="names must be a list of names, not 'ab'"):
        require_words("names", "ab")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: simulation().run(0.0, progress=THREE), "progress must be a Progress, True or None, not int: 3"),
        (lambda: simulation().snapshot(THREE), "what a snapshot shows must be a Look, not int: 3"),
        (lambda: simulation().record("a.rec", every=1.0, look=NO), "the look of a recording must be a Look"),
        (lambda: simulation().record("a.rec", every=1.0, fields=THREE), "fields of a recording must be a list of name"),
        (lambda: simulation().pace(THREE, every=0.1), "what acts on a simulation must be a function, not int: 3"),
        (lambda: simulation().clear_breakpoint(THREE), "what is cleared must be a breakpoint"),
        (lambda: simulation().reset([[0, 0], [1]]), "one world, number 0, not"),  # type: ignore[list-item]
        (lambda: simulation().parameters.set(THREE), "parameters must be values by name"),
        (lambda: simulation().parameters[["friction"]], "no parameter named"),  # type: ignore[index]
        (lambda: simulation().sensors[["tip"]], "no sensor named"),  # type: ignore[index]
        (lambda: simulation().save("a.npz", scene=THREE), "the scene of a checkpoint must be a name, not int: 3"),
        (lambda: simulation().save("a.npz", file=THREE), "the file of a scene must be a text, not int: 3"),
        (lambda: simulation().controls[PAIR], "no control named"),
        (lambda: Match(NO), "targets must be given as numbers, not 'no'"),
        (lambda: Rollout(simulation(), 2).forward(PAIR), "parameters of a rollout must be values by name"),
        (lambda: Rollout(simulation(), 2, looks=UNEVEN), "looks must be None, 'all', a spacing or a list"),
        (lambda: loses({"positions": NO}), "rates of a loss must be given as numbers, not 'no'"),
        (lambda: Look(surface=NO), "surface of a look must be True or False, not 'no'"),
        (lambda: Look(fields=NO), "fields of a look must be a list of names, not 'no'"),
        (lambda: Control(THREE, 0.0, 1.0), "a control needs a name, a word, not 3"),
        (lambda: Control("leg", NO, 1.0), "needs finite numbers low ≤ rest ≤ high"),
        (lambda: Choice(THREE), "Choice needs a sequence of numbers, not 3"),
        (lambda: Travel(["x"]), "a direction must be given as numbers"),  # type: ignore[list-item]
        (lambda: Rollout(simulation(), 2).require(["stiffness"]), "no parameter of a rollout named"),  # type: ignore[arg-type]
        (lambda: fem.energy_of(kind=["kinetic"]), "no energy named"),  # type: ignore[arg-type]
        (lambda: springs.simulation(springs.block((2, 2, 2)), device=THREE), "a device is named by a word"),
        (lambda: springs.simulation(springs.block((2, 2, 2)), obstacles=[None]), "obstacle 0 is a NoneType"),  # type: ignore[list-item]
        (lambda: grains.simulation(THREE), "the bed must be a grains.Bed, not int: 3"),
        (lambda: Recording(THREE), "a file must be named by a text or a path, not by 3"),
        (lambda: export("a.rec", "a.ply", THREE), "options of an export must be ExportOptions or None, not int: 3"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
    assert not list(tmp_path.iterdir())


def test_an_obstacle_that_is_none_is_not_left_out() -> None:
    with pytest.raises(AnnelidError, match="obstacle 1 is a NoneType"):
        fem.World(obstacles=[Plane(), None])  # type: ignore[list-item]
