"""Search by gradients: parameters with bounds and scales, descents from many starts, fits, and what fits know."""

from __future__ import annotations

from annelid.core.lazy import public
from annelid.optimise.descents import LBFGS, Adam, Descent
from annelid.optimise.free import Free, Space
from annelid.optimise.gauss_newton import Fitted, GaussNewton, gauss_newton
from annelid.optimise.minimise import DependsOnNothing, Minimum, minimise
from annelid.optimise.rollout_loss import RolloutLoss
from annelid.optimise.sampled import Sampled
from annelid.optimise.sensitivity import Sensitivity, SensitivityGrows, sensitivity
from annelid.optimise.uncertainty import Uncertainty, uncertainty

__all__ = [
    "LBFGS",
    "Adam",
    "DependsOnNothing",
    "Descent",
    "Fitted",
    "Free",
    "GaussNewton",
    "Minimum",
    "RolloutLoss",
    "Sampled",
    "Sensitivity",
    "SensitivityGrows",
    "Space",
    "Uncertainty",
    "gauss_newton",
    "minimise",
    "sensitivity",
    "uncertainty",
]

__dir__ = public(__name__)
