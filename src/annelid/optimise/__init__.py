"""Search by gradients: parameters with bounds and scales, descents, and fits."""

from __future__ import annotations

from annelid.optimise.free import Free, Space
from annelid.optimise.gauss_newton import Fitted, GaussNewton, gauss_newton
from annelid.optimise.uncertainty import Uncertainty, uncertainty

__all__ = ["Fitted", "Free", "GaussNewton", "Space", "Uncertainty", "gauss_newton", "uncertainty"]
