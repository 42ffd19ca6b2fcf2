"""Numbers on the command line: what is none is told by its own text, not by the names of Python's types."""

from __future__ import annotations

from typing import Any, get_args

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

_KINDS: dict[type, str] = {int: "a whole number", float: "a number"}


def told_numbers() -> ConstructorRegistry:
    """Rules by which `tyro` reads numbers, and numbers that may be left out."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_rule)
    return registry


def _rule(told: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    for kind in _KINDS:
        if told.type == kind or told.type == (kind | None):
            return _spec(kind, may_be_none=told.type != kind)
    kinds = get_args(told.type) if told.type_origin is tuple else ()
    if kinds and kinds[0] in _KINDS and set(kinds) == {kinds[0]}:
        return _several(kinds[0], len(kinds))
    return None


def _spec(kind: type, *, may_be_none: bool) -> PrimitiveConstructorSpec[Any]:
    def read(texts: list[str]) -> Any:
        if may_be_none and texts[0] == "None":
            return None
        try:
            return kind(texts[0])
        except ValueError:
            raise ValueError(f"it takes {_KINDS[kind]}, not {texts[0]!r}.") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=read,
        is_instance=lambda value: _fits(value, kind) or (may_be_none and value is None),
        str_from_instance=lambda value: [str(value)],
    )


def _several(kind: type, count: int) -> PrimitiveConstructorSpec[Any]:
    def read(texts: list[str]) -> Any:
        try:
            return tuple(map(kind, texts))
        except ValueError:
            raise ValueError(f"it takes {count} {_KINDS[kind][2:]}s, not '{' '.join(texts)}'.") from None

    return PrimitiveConstructorSpec(
        nargs=count,
        metavar=" ".join([kind.__name__.upper()] * count),
        instance_from_str=read,
        is_instance=lambda value: (
            isinstance(value, tuple) and len(value) == count and all(_fits(each, kind) for each in value)
        ),
        str_from_instance=lambda values: [str(value) for value in values],
    )


def _fits(value: object, kind: type) -> bool:
    """Whether a default is such a number; whole ones are numbers too, truth values are not."""
    return not isinstance(value, bool) and isinstance(value, (int, float) if kind is float else int)
