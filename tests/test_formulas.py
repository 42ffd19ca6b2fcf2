"""Formulas: derivatives against differences, the same numbers in C++ text, and what cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.materials.formulas import Formula, as_formula, derivative, evaluate, in_cpp, symbol

X, Y = symbol("x"), symbol("y")
AT = {"x": 1.3, "y": 0.7}

ENERGIES: dict[str, Callable[[Any, Any], Any]] = {
    "polynomial": lambda x, y: 3.0 * x * x - x * y / 4.0 + (y - 1.0) ** 3 - x,
    "quotient": lambda x, y: (x + y) / (x * y - 2.0),
    "powers": lambda x, y: x**2.7 + x**y + 2.0 ** (-0.5 * x) * np.sqrt(y) + y**-1,
    "functions": lambda x, y: np.log(x) * np.exp(-0.1 * y) + np.square(y),
    "one side": lambda x, y: np.where(x < y, x * x, x * y) + np.minimum(x, 2.0 * y),
    "the other": lambda x, y: np.where(x > y, x * x, x * y) - np.maximum(x, y),
}


def at(formula: Formula, **moved: float) -> float:
    return float(evaluate([formula], {name: value + moved.get(name, 0.0) for name, value in AT.items()})[0])


@pytest.mark.parametrize("name", ENERGIES)
def test_values_and_derivatives(name: str) -> None:
    energy = ENERGIES[name]
    formula = as_formula(energy(X, Y))
    assert at(formula) == pytest.approx(float(energy(AT["x"], AT["y"])), rel=1e-14)
    for by, letter in ((X, "x"), (Y, "y")):
        first = derivative(formula, by)
        difference = (at(formula, **{letter: 1e-6}) - at(formula, **{letter: -1e-6})) / 2e-6
        assert at(first) == pytest.approx(difference, rel=1e-7, abs=1e-8)
        second = (at(first, **{letter: 1e-6}) - at(first, **{letter: -1e-6})) / 2e-6
        assert at(derivative(first, by)) == pytest.approx(second, rel=1e-7, abs=1e-8)


def test_what_stands_twice_is_computed_once() -> None:
    formula = as_formula(np.log(X * Y) + Y / np.log(X * Y))
    lines, _ = in_cpp([formula, derivative(formula, X)], {"x": "a", "y": "b"}, "double")
    assert lines.count("wp::log") == 1


@pytest.mark.parametrize(
    ("energy", "words"),
    [
        (lambda x: x if x > 1.0 else 2.0 * x, "np.where"),
        (lambda x: np.sin(x), "not np.sin"),
        (lambda x: np.clip(x, 0.0, 1.0), "not np.clip"),
        (lambda x: [x, x], "made of numbers and formulas"),
    ],
)
def test_what_is_no_formula_is_refused(energy: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        as_formula(energy(X))
