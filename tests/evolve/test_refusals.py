"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annelid.core.errors import AnnelidError
from annelid.evolve import EA, evolve, make_executor, named_experiment, read_experiment
from annelid.evolve.adapters.cma_es import CmaEs
from annelid.evolve.informed import Informed
from annelid.evolve.problems.voxel_controller import VoxelController

NO: Any = "no"
THREE: Any = 3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: evolve(THREE), "what is evolved must be an evolve.Experiment, not int: 3"),
        (lambda: evolve(named_experiment("phases-worm"), resume=NO), "resume must be True or False, not 'no'"),
        (lambda: evolve(named_experiment("phases-worm"), overwrite=NO), "overwrite must be True or False, not 'no'"),
        (lambda: evolve(named_experiment("phases-worm"), watch=THREE), "watch must be a function, not int: 3"),
        (lambda: evolve(named_experiment("phases-worm"), folder=THREE), "a file must be named by a text or a path"),
        (lambda: replace(named_experiment("phases-worm"), name=THREE), "name of an experiment must be a str, not 3"),
        (
            lambda: replace(named_experiment("phases-worm"), generations=NO),
            "generations of an experiment must be .* 0 or more, not 'no'",
        ),
        (
            lambda: replace(named_experiment("phases-worm"), repetitions=1.5),
            "repetitions of an experiment must be .* 1 or more, not 1.5",
        ),
        (
            lambda: replace(named_experiment("phases-worm"), seed=NO),
            "seed of an experiment must be .* 0 or more, not 'no'",
        ),
        (lambda: named_experiment(["phases-worm"]), "no experiment named"),  # type: ignore[arg-type]
        (lambda: EA(population=NO), "population of ea must be a whole number of 1 or more, not 'no'"),
        (lambda: EA(crossover=THREE), "crossover of ea must be between 0 and 1, not 3"),
        (lambda: Informed(sigma=NO), "sigma of informed must be two numbers, each a finite number above 0, not 'no'"),
        (lambda: CmaEs(population=2.5), "population of cma must be a whole number of 3 or more or None, not 2.5"),
        (lambda: VoxelController(width=NO), "width of voxel-controller must be a whole number of 1 or more, not 'no'"),
        (lambda: VoxelController(body=["worm"]), "body of voxel-controller must be one of box, worm"),
        (lambda: read_experiment(THREE), "a file must be named by a text or a path, not by 3"),
        (
            lambda: make_executor("local", named_experiment("phases-worm").problem, workers=NO),
            "workers must be 1 or mo",
        ),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
    assert not list(tmp_path.iterdir())
