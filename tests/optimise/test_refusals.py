"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Travel
from annelid.core.errors import AnnelidError
from annelid.core.rollout import as_loss
from annelid.optimise import (
    LBFGS,
    Adam,
    Free,
    GaussNewton,
    RolloutLoss,
    Sampled,
    gauss_newton,
    minimise,
    sensitivity,
    uncertainty,
)

NO: Any = "no"
THREE: Any = 3
ONE: Any = np.ones(1)


def found(**options: Any) -> Any:
    return minimise(lambda values: (values["x"] ** 2, {"x": 2.0 * values["x"]}), {"x": 1.0}, **options)


def fitted(**options: Any) -> Any:
    return gauss_newton(**{"residuals": lambda at: at, "start": ONE, "low": -ONE, "high": ONE, **options})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: found(resume="no"), "resume must be True or False, not 'no'"),
        (lambda: found(overwrite="no"), "overwrite must be True or False, not 'no'"),
        (lambda: found(watch=3), "watch must be a function, not int: 3"),
        (lambda: found(folder=3), "a file must be named by a text or a path, not by 3"),
        (lambda: found(spread="wide"), "spread and seed must be 0 or more, not 'wide' and 0"),
        (lambda: found(seed="any"), "spread and seed must be 0 or more, not 0.5 and 'any'"),
        (lambda: found(starts=True), "starts must be a whole number of 1 or more, or None, not True"),
        (lambda: minimise(lambda x, y: THREE, {"x": 1.0}), r"to make least must take \(parameters\), not \(x, y\)"),
        (lambda: minimise(lambda: THREE, {"x": 1.0}), r"a loss to make least must take \(parameters\), not \(\)"),
        (lambda: minimise(lambda *, x: THREE, {"x": 1.0}), r"must take \(parameters\), not \(x\)"),
        (lambda: found(watch=lambda least: None), r"watch must take \(number, losses\), not \(least\)"),
        (lambda: Sampled(lambda a, b: 0.0, {"x": 1.0}), r"a sampled loss must take \(parameters\), not \(a, b\)"),
        (lambda: fitted(residuals=lambda: ONE), r"what is fitted must take \(coordinates\), not \(\)"),
        (lambda: as_loss(lambda track, more: THREE), r"the loss of a rollout must take \(track\), not \(track, more\)"),
        (lambda: Adam(rate=NO), "rate of Adam must be a finite number above 0, not 'no'"),
        (lambda: Adam(memory=THREE), "memory of Adam must be two numbers, each between 0 and 0.9999, not 3"),
        (lambda: LBFGS(first=NO), "first of L-BFGS must be a finite number above 0, not 'no'"),
        (lambda: LBFGS(tolerance=NO), "tolerance of L-BFGS must be a finite number of 0 or more, not 'no'"),
        (lambda: GaussNewton(iterations=NO), "iterations of GaussNewton must be a whole number of 0 or more, not 'no'"),
        (lambda: GaussNewton(radius=-1.0), "radius of GaussNewton must be a finite number above 0, not -1.0"),
        (lambda: fitted(residuals=3), "what is fitted must be a function, not int: 3"),
        (lambda: fitted(how=3), "how to fit must be a GaussNewton or None, not int: 3"),
        (lambda: fitted(start="here"), "the start of a fit must be given as numbers, not 'here'"),
        (lambda: fitted(low=[0.0, 0.0]), r"a fit needs a start of shape \[p\] and bounds of the same shape"),
        (lambda: fitted(residuals=lambda at: 1.0), r"residuals of shape \[1, r\] for 1 copies, not \[\]"),
        (lambda: fitted(residuals=lambda at: NO), "residuals of a fit must be given as numbers, not 'no'"),
        (lambda: Free(1.0, low=NO), "low of a free parameter must be one number for all of it"),
        (lambda: Free(1.0, scale=ONE), "scale of a free parameter must be 'auto', 'log' or 'linear'"),
        (lambda: minimise(lambda values: (NO, {"x": ONE}), {"x": 1.0}), "the value of a loss must be given as number"),
        (lambda: Sampled(lambda values: 0.0, {"x": 1.0}, together=NO), "together must be True or False, not 'no'"),
        (lambda: RolloutLoss(THREE, Travel("x")), "what a loss is of must be a Rollout, not int: 3"),
        (lambda: sensitivity(THREE), "what is looked at must be a Rollout, not int: 3"),
        (lambda: uncertainty(ONE, ONE), r"residuals of shape \[r\] need rates of shape \[r, p\], not"),
        (lambda: uncertainty(ONE, np.ones((1, 1)), NO), "nuisances must be a whole number of 0 or more, not 'no'"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
