"""Energies as formulas: a law is written once, and its derivatives on the host and in kernels follow from it.

A plain function of NumPy is called with symbols instead of numbers. The formula that it returns is differentiated,
evaluated with arrays, or turned into C++ for a kernel, in which whatever stands in it twice is computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue

_KNOWN = "+, -, *, /, **, log, exp, sqrt, minimum, maximum and where"


class Formula(np.lib.mixins.NDArrayOperatorsMixin):
    """A number, a symbol, or an operation on formulas; equal ones are the same object."""

    def __init__(self, operation: str, parts: tuple[Any, ...]) -> None:
        self.operation, self.parts = operation, parts

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise InvalidValue("a formula is neither true nor false: write np.where(condition, one, other) for `if`.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Formula:
        known = _UFUNCS.get(ufunc)
        if known is None or method != "__call__" or options:
            raise InvalidValue(f"a formula knows {_KNOWN}, not np.{ufunc.__name__}.")
        return known(*(as_formula(each) for each in inputs))

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Formula:
        if function is not np.where or options or len(inputs) != 3:
            raise InvalidValue(f"a formula knows {_KNOWN}, not np.{function.__name__}.")
        return where(*(as_formula(each) for each in inputs))

    @property
    def number(self) -> float | None:
        """Its value, if it is a number."""
        return self.parts[0] if self.operation == "number" else None


@functools.cache
def _made(operation: str, *parts: Any) -> Formula:
    return Formula(operation, parts)


def number(value: float) -> Formula:
    """A number."""
    return _made("number", float(value))


def symbol(name: str) -> Formula:
    """A symbol, whose value is given later."""
    return _made("symbol", name)


def as_formula(value: Any) -> Formula:
    """A formula, or a number as one."""
    if isinstance(value, Formula):
        return value
    try:
        return number(float(value))
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"a formula is made of numbers and formulas, not {value!r:.60}.") from None


def added(a: Formula, b: Formula) -> Formula:
    """A + b."""
    if a.number is not None and b.number is not None:
        return number(a.number + b.number)
    if a.number == 0.0 or b.number == 0.0:
        return b if a.number == 0.0 else a
    return _made("+", a, b)


def multiplied(a: Formula, b: Formula) -> Formula:
    """A b."""
    if a.number is not None and b.number is not None:
        return number(a.number * b.number)
    if a.number == 0.0 or b.number == 0.0:
        return number(0.0)
    if a.number == 1.0 or b.number == 1.0:
        return b if a.number == 1.0 else a
    return _made("*", a, b)


def divided(a: Formula, b: Formula) -> Formula:
    """A / b."""
    if b.number is not None:
        return multiplied(a, number(1.0 / b.number))
    return number(0.0) if a.number == 0.0 else _made("/", a, b)


def power(a: Formula, n: Formula) -> Formula:
    """A to the power n."""
    if n.number == 0.0 or n.number == 1.0:
        return a if n.number else number(1.0)
    return multiplied(a, a) if n.number == 2.0 else _made("power", a, n)


def where(condition: Formula, a: Formula, b: Formula) -> Formula:
    """A where a condition holds, else b."""
    if condition.number is not None:
        return a if condition.number else b
    return a if a is b else _made("where", condition, a, b)


def held_above(a: Formula, least: float) -> Formula:
    """The larger of both, which derivatives take for a constant."""
    return _made("held", a, number(least))


def _minimum(a: Formula, b: Formula) -> Formula:
    return where(_made("<", a, b), a, b)


_UFUNCS: dict[Any, Callable[..., Formula]] = {
    np.add: added,
    np.subtract: lambda a, b: added(a, multiplied(number(-1.0), b)),
    np.multiply: multiplied,
    np.true_divide: divided,
    np.power: power,
    np.negative: lambda a: multiplied(number(-1.0), a),
    np.positive: lambda a: a,
    np.square: lambda a: multiplied(a, a),
    np.sqrt: lambda a: power(a, number(0.5)),
    np.log: lambda a: _made("log", a),
    np.exp: lambda a: _made("exp", a),
    np.minimum: _minimum,
    np.maximum: lambda a, b: where(_made("<", a, b), b, a),
    np.less: lambda a, b: _made("<", a, b),
    np.less_equal: lambda a, b: _made("<", a, b),
    np.greater: lambda a, b: _made("<", b, a),
    np.greater_equal: lambda a, b: _made("<", b, a),
}


@functools.cache
def derivative(f: Formula, by: Formula) -> Formula:
    """The derivative of a formula with respect to a symbol."""
    if f is by:
        return number(1.0)
    if f.operation in ("number", "symbol", "held"):
        return number(0.0)
    if f.operation == "where":
        condition, a, b = f.parts
        return where(condition, derivative(a, by), derivative(b, by))
    a, da = f.parts[0], derivative(f.parts[0], by)
    if f.operation == "log":
        return divided(da, a)
    if f.operation == "exp":
        return multiplied(f, da)
    b, db = f.parts[1], derivative(f.parts[1], by)
    if f.operation == "+":
        return added(da, db)
    if f.operation == "*":
        return added(multiplied(da, b), multiplied(a, db))
    if f.operation == "/":
        return divided(added(da, multiplied(number(-1.0), multiplied(f, db))), b)
    if b.number is not None:  # a power
        return multiplied(multiplied(b, power(a, number(b.number - 1.0))), da)
    by_base, by_exponent = divided(multiplied(b, da), a), multiplied(db, _made("log", a) if db.number != 0.0 else a)
    return multiplied(f, added(by_base, by_exponent))


def evaluate(formulas: Sequence[Formula], values: Mapping[str, Any]) -> list[np.ndarray]:
    """Values of formulas, given those of their symbols."""
    found: dict[Formula, Any] = {}
    with np.errstate(all="ignore"):  # of branches that are not taken
        for f in _ordered(formulas):
            parts = [found[part] for part in f.parts if isinstance(part, Formula)]
            found[f] = _VALUES[f.operation](*parts) if parts else values.get(f.parts[0], f.parts[0])
    return [np.asarray(found[f], float) for f in formulas]


_VALUES: dict[str, Callable[..., Any]] = {
    "+": np.add, "*": np.multiply, "/": np.true_divide, "power": np.power, "log": np.log, "exp": np.exp,
    "<": np.less, "where": np.where, "held": np.maximum,
}  # fmt: skip


def in_cpp(formulas: Sequence[Formula], names: Mapping[str, str], real: str) -> tuple[str, list[str]]:
    """C++ that computes formulas in a type of numbers, and what each of them is called there.

    Args:
        formulas: The formulas.
        names: What symbols are called.
        real: "float" or "double".
    """
    called: dict[Formula, str] = {}
    lines: list[str] = []
    for f in _ordered(formulas):
        if f.operation == "number":
            called[f] = f"{f.parts[0]!r}{'f' if real == 'float' else ''}"
        elif f.operation == "symbol":
            called[f] = names[f.parts[0]]
        else:
            parts = [called[part] for part in f.parts]
            called[f] = f"t{len(lines)}"
            kind = "bool" if f.operation == "<" else real
            lines.append(f"const {kind} {called[f]} = {_TEXTS[f.operation].format(*parts)};")
    return "\n".join(lines), [called[f] for f in formulas]


_TEXTS = {
    "+": "{0} + {1}", "*": "{0} * {1}", "/": "{0} / {1}", "power": "wp::pow({0}, {1})", "log": "wp::log({0})",
    "exp": "wp::exp({0})", "<": "{0} < {1}", "where": "{0} ? {1} : {2}", "held": "wp::max({0}, {1})",
}  # fmt: skip


def _ordered(formulas: Sequence[Formula]) -> list[Formula]:
    """All that formulas are made of, each after its parts and once."""
    found: dict[Formula, None] = {}

    def visit(f: Formula) -> None:
        if f not in found:
            for part in f.parts:
                if isinstance(part, Formula):
                    visit(part)
            found[f] = None

    for each in formulas:
        visit(each)
    return list(found)
