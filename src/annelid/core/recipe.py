"""What simulations were made of, so that they can be made again: cloned, or handed to other processes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Maker(functools.partial[Any]):
    """Makes a thing again as it was when it was asked for its maker; it can be pickled."""


class Stateful:
    """What simulations change that are made of it, such as a robot: each needs one of its own."""

    def maker(self) -> Maker:
        """What makes another one like it is now."""
        raise NotImplementedError


@dataclass(frozen=True)
class Recipe:
    """A function and its arguments; those that are changed afterwards are replaced by their makers."""

    build: Callable[..., Any]
    given: tuple[Any, ...]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, build: Callable[..., Any], given: tuple[Any, ...], options: Mapping[str, Any]) -> Recipe:
        """The recipe of a call that is about to be made."""
        return cls(build, tuple(map(_kept, given)), {name: _kept(value) for name, value in options.items()})

    def again(self) -> Any:
        """What the call returns, without the warnings that were given the first time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given, options = map(_made, self.given), {name: _made(value) for name, value in self.options.items()}
            return self.build(*given, **options)


class Remade:
    """What remembers how it was made."""

    _recipe: Recipe | None = None


def remembering(made: T, recipe: Recipe) -> T:
    """What a call has returned, which knows from now on how it was made."""
    if isinstance(made, Remade):
        made._recipe = recipe
    return made


def _kept(value: Any) -> Any:
    if isinstance(value, list | tuple) and any(isinstance(one, Stateful) for one in value):
        return [_kept(one) for one in value]
    return value.maker() if isinstance(value, Stateful) else value


def _made(value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(one, Maker) for one in value):
        return [_made(one) for one in value]
    return value() if isinstance(value, Maker) else value
