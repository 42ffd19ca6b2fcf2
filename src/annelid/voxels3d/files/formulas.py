"""Math trees of voxcraft-sim: formulas of place and time for stops, fitnesses and fields of force."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.numbers import is_number

VARIABLES = ("x", "y", "z", "hit", "t", "angle", "targetCloseness", "numClosePairs", "num_voxel")
"""What a formula may depend on, in the order of voxcraft-sim."""

MOST_TOKENS = 1024
"""Tokens of a formula; voxcraft-sim has no room for more."""

_CONSTANTS = {"mtE": math.e, "mtPI": math.pi}
_ONE: dict[str, Callable[[Any], Any]] = {
    "mtSQRT": np.sqrt, "mtSIN": np.sin, "mtCOS": np.cos, "mtTAN": np.tan, "mtATAN": np.arctan, "mtLOG": np.log,
    "mtINT": lambda a: np.trunc(a + np.copysign(0.5, a)), "mtABS": np.abs, "mtNOT": lambda a: (a == 0.0) * 1.0,
    "mtNORMALCDF": special.ndtr,
}  # fmt: skip
_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "mtADD": np.add, "mtSUB": np.subtract, "mtMUL": np.multiply, "mtDIV": np.divide, "mtPOW": np.power,
    "mtAND": lambda a, b: ((a != 0.0) & (b != 0.0)) * 1.0, "mtOR": lambda a, b: ((a != 0.0) | (b != 0.0)) * 1.0,
    "mtGREATERTHAN": lambda a, b: (a > b) * 1.0, "mtLESSTHAN": lambda a, b: (a < b) * 1.0,
}  # fmt: skip

OPERATORS = (*_ONE, *_TWO)
"""All operators; their places in this list are their codes in kernels."""


@dataclass(frozen=True)
class Formula:
    """A formula, as its tokens from the outermost operator inwards, the first operand before the second.

    Attributes:
        tokens: Names of operators ("mtADD"), constants and names of variables ("x").
    """

    tokens: tuple[str | float, ...]

    def __post_init__(self) -> None:
        if isinstance(self.tokens, str) or not isinstance(self.tokens, Iterable):
            raise InvalidValue(
                f"tokens of a formula must be a sequence such as ('mtABS', 'x'), not {self.tokens!r:.40}."
            )
        object.__setattr__(self, "tokens", tuple(map(_known, self.tokens)))
        if not 0 < len(self.tokens) <= MOST_TOKENS:
            raise InvalidValue(f"a formula has from 1 to {MOST_TOKENS} tokens, not {len(self.tokens)}.")
        waiting = 0
        for token in reversed(self.tokens):
            waiting += 1 - _operands(token)
            if waiting < 1:
                raise InvalidValue(f"{token} in a formula has too few operands: it takes {_operands(token)}.")
        if waiting != 1:
            raise InvalidValue(f"a formula has {waiting} values side by side: join them by operators such as mtADD.")

    @classmethod
    def after(cls, seconds: float) -> Formula:
        """T - seconds, which is above 0 after that time."""
        return cls(("mtSUB", "t", float(seconds)))

    @property
    def waiting(self) -> int:
        """Most numbers that wait for their operator at a time while it is computed."""
        return int(np.cumsum([1 - _operands(token) for token in reversed(self.tokens)]).max())

    @property
    def variables(self) -> frozenset[str]:
        """What it depends on."""
        return frozenset(token for token in self.tokens if token in VARIABLES and isinstance(token, str))

    def __call__(self, **values: Any) -> Any:
        """Its value for numbers or arrays of its variables; those that are left out are 0."""
        stack: list[Any] = []
        with np.errstate(all="ignore"):
            for token in reversed(self.tokens):
                stack.append(_value(token, stack, values))
        return stack[0]

    def postfix(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes and constants for kernels: operators from 0 on, -1 a constant, -2 - k variable k."""
        codes = [
            OPERATORS.index(token) if token in OPERATORS else -2 - VARIABLES.index(token) if token in VARIABLES else -1
            for token in reversed(self.tokens)
        ]  # fmt: skip
        values = [_number(token) for token in reversed(self.tokens)]
        return np.array(codes, np.int32), np.array(values, float)


def parse_formula(parent: ElementTree.Element, where: str) -> Formula | None:
    """The formula that is the child of an element; None where there is no child."""
    children = list(parent)
    if not children:
        return None
    if len(children) > 1:
        raise FileFormatError(f"{where} has {len(children)} formulas, where there is room for one.")
    tokens: list[str | float] = []
    left = [children[0]]
    while left:
        one = left.pop()
        tokens.append(_token(one, where))
        if len(tokens) > MOST_TOKENS:
            raise FileFormatError(f"the formula {where} has more than {MOST_TOKENS} tokens.")
        needs, has = _operands(tokens[-1]), len(one)
        if needs != has:
            raise FileFormatError(f"{one.tag[:40]} in {where} has {has} operands, but it takes {needs}.")
        left.extend(reversed(one))
    try:
        return Formula(tuple(tokens))
    except InvalidValue as error:
        raise FileFormatError(f"{where}: {error}") from None


def formula_element(formula: Formula) -> ElementTree.Element:
    """The formula as a tree of elements."""
    stack: list[ElementTree.Element] = []
    for token in reversed(formula.tokens):
        if isinstance(token, float) or token in VARIABLES:
            one = ElementTree.Element("mtVAR" if isinstance(token, str) else "mtCONST")
            one.text = token if isinstance(token, str) else repr(token)
        else:
            one = ElementTree.Element(token)
            one.extend(stack.pop() for _ in range(_operands(token)))
        stack.append(one)
    return stack[0]


def _token(one: ElementTree.Element, where: str) -> str | float:
    text = (one.text or "").strip()
    if one.tag == "mtCONST":
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise FileFormatError(f"mtCONST in {where} must be a finite number, not {text[:40]!r}.")
        return value
    if one.tag == "mtVAR":
        if text not in VARIABLES:
            raise FileFormatError(f"mtVAR in {where} must be one of {', '.join(VARIABLES)}, not {text[:40]!r}.")
        return text
    if one.tag in _CONSTANTS or one.tag in OPERATORS:
        return one.tag
    known = ", ".join(("mtCONST", "mtVAR", *_CONSTANTS, *OPERATORS))
    raise FileFormatError(f"{one.tag[:40]!r} in {where} is no operator of a formula: use one of {known}.")


def _known(token: Any) -> str | float:
    """A token of a formula; numbers as floats, which is how they are told from names."""
    if isinstance(token, str) and (token in _CONSTANTS or token in OPERATORS or token in VARIABLES):
        return token
    if is_number(token):
        return float(token)
    names = ", ".join((*VARIABLES, *_CONSTANTS, *OPERATORS))
    raise InvalidValue(f"{token!r:.40} in a formula is neither a finite number nor one of {names}.")


def _operands(token: str | float) -> int:
    return 1 if token in _ONE else 2 if token in _TWO else 0


def _value(token: str | float, stack: list[Any], values: Mapping[str, Any]) -> Any:
    if isinstance(token, str) and token in _ONE:
        return _ONE[token](stack.pop())
    if isinstance(token, str) and token in _TWO:
        first = stack.pop()
        return _TWO[token](first, stack.pop())
    return np.asarray(values.get(token, 0.0), float) if token in VARIABLES else np.asarray(_number(token))


def _number(token: str | float) -> float:
    return token if isinstance(token, float) else _CONSTANTS.get(token, 0.0)
