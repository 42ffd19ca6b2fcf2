"""Options that all commands share, and how a command's arguments become its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from annelid.commands.support.numbers import told_numbers
from annelid.core.errors import AnnelidError


@dataclass(frozen=True)
class Machine:
    """Where to compute and how to report."""

    device: str = "auto"
    """auto, cpu, cuda or cuda:N."""
    threads: int | None = None
    """CPU threads; all cores by default."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def split_name(arguments: Sequence[str], kind: str, known: Sequence[str]) -> tuple[str | None, list[str]]:
    """The leading NAME of a command's arguments and the rest; None where help is asked for instead."""
    if arguments and arguments[0] in ("-h", "--help", "--list"):
        return None, list(arguments)
    if not arguments or not arguments[0] or arguments[0].startswith("-"):
        article = "an" if kind[0] in "aeiou" else "a"
        raise AnnelidError(f"name {article} {kind}: {', '.join(known)}.")
    return arguments[0], list(arguments[1:])


def parse(kind: type[Any], arguments: Sequence[str], program: str, description: str | None = None) -> Any:
    """Options of a dataclass from the command line; `tyro` prints help and refuses what does not fit."""
    return tyro.cli(
        kind,
        args=list(arguments),
        prog=program,
        description=description,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
        registry=told_numbers(),
    )


def combined(name: str, *parts: type[Any], doc: str) -> type[Any]:
    """A dataclass with one member for each of the given dataclasses, all of whose options stand side by side."""
    members = [(part.__name__.lower(), part, field(default_factory=part)) for part in parts]
    made = make_dataclass(name, members)
    made.__doc__ = doc
    return made


def part(options: Any, kind: type[Any]) -> Any:
    """The options of one of the dataclasses that `combined` has put together."""
    return vars(options)[kind.__name__.lower()]


def helped(scene: type[Any]) -> type[Any]:
    """A copy of a dataclass whose command-line help comes from its fields' metadata."""
    hints, members = get_type_hints(scene, include_extras=True), []
    for f in fields(scene):
        text = f.metadata.get("help", "")
        # The flag of what is on by default is --no-NAME.
        note = tyro.conf.arg(help=f"Switch off: {text}" if f.default is True and text else text)
        default = field(default=f.default) if f.default_factory is MISSING else field(default_factory=f.default_factory)
        members.append((f.name, Annotated[hints[f.name], note], default))
    return make_dataclass(scene.__name__, members)


def writable(hint: Any) -> Any:
    """A type without what cannot be written on the command line, such as `Robot` in `str | Robot`; None for nothing."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        kinds = [kind for each in get_args(hint) if (kind := writable(each)) is not None]
        return Union[tuple(kinds)] if set(kinds) - {NoneType} else None  # noqa: UP007 (made here)
    if origin in (tuple, list):
        return hint if all(each is Ellipsis or writable(each) is not None for each in get_args(hint)) else None
    return hint if origin is Literal or hint in (str, int, float, bool, NoneType) else None
