"""The list of named experiments. The problems behind them are imported only when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annelid.core.listing import listed

if TYPE_CHECKING:
    from annelid.evolve.experiment import Experiment

_CATALOGUE = "annelid.evolve.problems.catalogue"
_EXPERIMENTS: dict[str, tuple[str, str]] = {
    "body-5x5": (_CATALOGUE, "body_5x5"),
    "body-10x10": (_CATALOGUE, "body_10x10"),
    "evolution": (_CATALOGUE, "evolution"),
    "development": (_CATALOGUE, "development"),
    "phases-worm": (_CATALOGUE, "phases_worm"),
    "phases-biped": (_CATALOGUE, "phases_biped"),
    "phases-tripod": (_CATALOGUE, "phases_tripod"),
    "sensing-worm": (_CATALOGUE, "sensing_worm"),
    "sensing-biped": (_CATALOGUE, "sensing_biped"),
    "sensing-tripod": (_CATALOGUE, "sensing_tripod"),
    "brain-5x5": (_CATALOGUE, "brain_5x5"),
    "body-and-brain": (_CATALOGUE, "body_and_brain"),
    "body-3d": (_CATALOGUE, "body_3d"),
    "body-3d-direct": (_CATALOGUE, "body_3d_direct"),
    "spring-worm": (_CATALOGUE, "spring_worm"),
}
"""Functions without arguments that return an experiment; their docstring says what it is about."""


def experiment_names() -> list[str]:
    """Names of all experiments."""
    return sorted(_EXPERIMENTS)


def named_experiment(name: str) -> Experiment:
    """An experiment by its name."""
    made: Experiment = listed("experiment", name, _EXPERIMENTS)()
    return made


def experiment_summary(name: str) -> str:
    """What a named experiment is about, in one line."""
    return (listed("experiment", name, _EXPERIMENTS).__doc__ or "").strip().splitlines()[0]
