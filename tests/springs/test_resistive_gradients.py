"""Gradients through ground that resists: by its numbers, and by all that moves a body in it."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import Rollout
from annelid.core.errors import InvalidValue
from annelid.shapes import Plane, ResistiveGround
from annelid.shapes.resistive.ground import Law

from .crawlers import crawler, crawling, mixed

STEPS = 60
OF_LAW = {"3d": ["ground_resistance", "ground_friction", "ground_parts"], "2d": ["ground_coefficients"]}


def sand(law: Law = "3d", repose: float | None = None) -> ResistiveGround:
    """Ground in which a part of the crawler lies."""
    height = float(crawler().positions[:, 2].min()) + 0.06
    return ResistiveGround("poppy-loose", law=law, friction=0.3, inertia=0.5, height=height, buried=True, repose=repose)


@pytest.mark.parametrize("law", ["3d", "2d"])
def test_rates_agree_with_central_differences(law: Law) -> None:
    rollout = Rollout(crawling(obstacles=[sand(law)], device="cpu", threads=1), STEPS, looks=20)
    names = [
        *OF_LAW[law],
        "ground_height",
        "ground_inertia",
        "positions",
        "velocities",
        "masses",
        "gravity",
        "amplitude",
    ]
    given = {name: rollout.value(name)[0] for name in names}
    given["controls"] = 1.0 + 0.1 * np.sin(np.arange(20.0))[:, None]
    _, rates = rollout.gradient(mixed, given)
    rng, errors = np.random.default_rng(1), {}
    for name, value in given.items():
        along = rng.standard_normal(np.shape(value)) * (0.1 if name == "positions" else np.maximum(np.abs(value), 0.01))
        exact, found = float((rates[name] * along).sum()), []
        for step in (1e-5, 1e-6):  # where a step crosses a kink of the law, the other one does not
            ends = [mixed(rollout.forward({**given, name: value + s * step * along}))[0][0] for s in (1, -1)]
            found.append(abs((ends[0] - ends[1]) / (2.0 * step) - exact) / abs(exact))
        errors[name] = min(found)
    assert {name: error for name, error in errors.items() if not error < 1e-6} == {}


def test_what_has_no_gradients_is_refused() -> None:
    with pytest.raises(InvalidValue, match="repose=None"):
        Rollout(crawling(obstacles=[sand(repose=30.0)], device="cpu"), STEPS)
    with pytest.raises(InvalidValue, match="beside other obstacles"):
        Rollout(crawling(obstacles=[sand(), Plane()], device="cpu"), STEPS)
    rollout = Rollout(crawling(obstacles=[sand()], device="cpu", threads=1, worlds=2), STEPS)
    with pytest.raises(InvalidValue, match="share one ground"):
        rollout.forward({"ground_resistance": np.array([1e5, 2e5])})
    with pytest.raises(InvalidValue, match="another law"):
        rollout.forward({"ground_coefficients": np.ones(9)})
