"""Options of all studies: what no study could use is refused before anything is computed."""

import math
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from annelid.core.errors import InvalidValue
from annelid.studies.registry import study_class, study_names

MAY_BE_NEGATIVE = {("measured-arm", "turn"), ("sand-steps", "only"), ("sand-strength", "slippery")}
"""An angle, and options whose -1 means that they are not given."""


def numbers_of(study: str) -> list[tuple[str, str]]:
    """Options that are numbers, each with its type in words."""
    kind: Any = study_class(study)
    hints = {each.name: str(get_type_hints(kind)[each.name]) for each in fields(kind)}
    return [(name, hint) for name, hint in hints.items() if ("int" in hint or "float" in hint) and "Path" not in hint]


@pytest.mark.parametrize("study", study_names())
def test_numbers_that_cannot_be_used_are_refused(study: str) -> None:
    kind: Any = study_class(study)
    for name, hint in numbers_of(study):
        wrong = [math.nan, math.inf] if "float" in hint and name != "minutes" else []
        wrong += [] if (study, name) in MAY_BE_NEGATIVE else [-1]
        wrong += [0] if name in ("seconds", "minutes", "iterations") else []
        for value in wrong:
            with pytest.raises(InvalidValue):
                print(kind(**{name: (value,) if "tuple" in hint else value}))


@pytest.mark.parametrize(
    ("study", "options", "sentence"),
    [
        ("throw", {"iterations": 0}, r"iterations of throw must be a whole number of 1 or more, not 0\."),
        (
            "throw",
            {"targets": ()},
            r"targets of throw must be one or more numbers, .* above 0 m, not \(\)\.",
        ),
        (
            "voxel-cantilever",
            {"push_seconds": math.nan},
            r"push_seconds of voxel-cantilever must be .* above 0 s, not nan\.",
        ),
        ("lattices", {"seed": -1}, r"seed of lattices must be a whole number of 0 or more, not -1\."),
    ],
)
def test_the_sentence_has_the_option_and_the_value(study: str, options: dict[str, Any], sentence: str) -> None:
    kind: Any = study_class(study)
    with pytest.raises(InvalidValue, match=sentence):
        kind(**options)
