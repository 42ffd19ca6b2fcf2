"""Free parameters and their coordinates: scales, bounds, rates, and what is refused."""

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.optimise import Free, Space


def test_coordinates_go_there_and_back() -> None:
    space = Space({"k": Free(100.0, 1.0, 1e4), "offset": Free([0.0, 1.0], -2.0, 3.0)})
    assert space.names == ["k", "offset[0]", "offset[1]"]
    assert space.logarithmic.tolist() == [True, False, False]
    at = np.array([[0.3, 0.1, -0.2], [-1.0, 0.0, 0.5]])
    values = space.values(at)
    assert values["k"].shape == (2,)
    assert values["offset"].shape == (2, 2)
    np.testing.assert_allclose(space.coordinates(values), at, atol=1e-14)
    np.testing.assert_allclose(values["k"], 100.0 * np.exp(at[:, 0]))


def test_rates_follow_the_scale() -> None:
    space, at, tiny = Space({"k": Free(2.0, 0.1, 10.0), "x": Free(0.5, -1.0, 1.0)}), np.array([0.4, -0.3]), 1e-6

    def loss(at: np.ndarray) -> float:
        values = space.values(at)
        return float(values["k"] ** 2 * np.sin(values["x"]))

    values = space.values(at)
    rates = {"k": 2.0 * values["k"] * np.sin(values["x"]), "x": values["k"] ** 2 * np.cos(values["x"])}
    differences = [(loss(at + step) - loss(at - step)) / (2.0 * tiny) for step in tiny * np.eye(2)]
    np.testing.assert_allclose(space.rates(at, rates), differences, rtol=1e-8)


def test_bounds_hold_in_coordinates() -> None:
    space = Space({"k": Free(1.0, 0.5, 4.0), "x": Free(0.0, -1.0, 1.0)})
    edge = space.values(space.clipped(np.array([100.0, -100.0])))
    np.testing.assert_allclose([edge["k"], edge["x"]], [4.0, -1.0])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"start": 1.0, "low": 2.0}, "start = 1 must be finite and between 2 and inf"),
        ({"start": 1.0, "low": 2.0, "high": 1.0}, "bounds of a free parameter must rise"),
        ({"start": -1.0, "scale": "log"}, "start = -1 must be finite and between 0"),
        ({"start": 1.0, "scale": "cubic"}, "scale of a free parameter must be"),
        ({"start": "much"}, "must be numbers"),
        ({"start": 1.0, "low": [0.1, 0.2]}, "low of a free parameter must be one number"),
        ({"start": 1.0, "size": "wide"}, "size of a free parameter must be one number"),
        ({"start": 1.0, "size": 0.0}, "size of a free parameter must be above 0"),
    ],
)
def test_refusals(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        Free(**given)


def test_nothing_free_is_refused() -> None:
    with pytest.raises(InvalidValue, match="nothing to search for"):
        Space({})
