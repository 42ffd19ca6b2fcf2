"""Objects that accept no attributes but their own: a misspelt one would be kept and have no effect."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from typing import Any, ClassVar

import numpy as np

from annelid.core.arrays import as_numbers, as_truths
from annelid.core.errors import ReadOnly, UnknownAttribute
from annelid.core.words import with_article


class _Sealing(ABCMeta):
    """Seals an object when it is made: attributes are added to it while it is initialised, not later."""

    def __call__(cls, *given: Any, **options: Any) -> Any:
        made = super().__call__(*given, **options)
        object.__setattr__(made, "_sealed", True)
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """What an object is made of, as without this class; the call above takes anything."""
        made = inspect.signature(inspect.getattr_static(cls, "__init__"))
        return made.replace(parameters=list(made.parameters.values())[1:], return_annotation=made.empty)


class Sealed(metaclass=_Sealing):
    """Refuses attributes that it does not have with the nearest name; numbers given for an array are spread over it."""

    _sealed = False
    _settable: ClassVar[tuple[str, ...] | None] = None
    """Attributes that may be set; None for all that are not computed."""

    def __setattr__(self, name: str, value: Any) -> None:
        if self._sealed and not name.startswith("_"):
            self._require_settable(name)
            value = _like(f"{name} of {with_article(type(self).__name__)}", vars(self).get(name), value)
        super().__setattr__(name, value)

    def _instead(self, name: str) -> str | None:
        """What to do instead of setting an attribute, in a sentence."""
        return None

    def _require_settable(self, name: str) -> None:
        settable = self._settable
        if name in vars(self) and (settable is None or name in settable):
            return
        found = inspect.getattr_static(type(self), name, None)
        if isinstance(found, property) and found.fset is not None:
            return
        kind = type(self).__name__
        if name in vars(self) or found is not None:
            what = "a method" if inspect.isroutine(found) else "read-only"
            raise ReadOnly(" ".join(filter(None, (f"{name} of {with_article(kind)} is {what}.", self._instead(name)))))
        known = [each for each in vars(self) if not each.startswith("_")] if settable is None else settable
        raise UnknownAttribute(f"attribute of {with_article(kind)}", name, known, hint=self._instead(name))


def _like(what: str, present: object, given: Any) -> Any:
    """A value as an attribute holds it: where that is an array, one number stands for all of its elements."""
    if not isinstance(present, np.ndarray) or isinstance(given, np.ndarray):
        return given
    array = as_truths(what, given) if present.dtype == bool else as_numbers(what, given, present.dtype)
    return np.full(present.shape, array) if array.ndim == 0 else array
