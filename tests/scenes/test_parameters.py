"""Limits of the parameters of scenes: all have them, and all that lies beyond is refused in one sentence.

`parameter_sweep.py` beside this file also runs whatever is not refused, and looks at the clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import pytest

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.parameters import Checked, parameter, require_parameters
from annelid.scenes.bounce import Bounce
from annelid.scenes.registry import scene_class, scene_names
from annelid.scenes.worm import Worm

from .parameter_sweep import Case, cases, numbers

CHEAP = ("bounce", "heater", "runner", "voxel-listing", "voxel-worm", "walker", "workshop", "worm")
"""Scenes that are built in a moment."""


def refusal(case: Case, *, build: bool) -> str:
    """The sentence with which a case is refused, nothing where it is not."""
    try:
        made = case.make()
        if build:
            made.build(device="cpu")
    except InvalidValue as error:
        return str(error)
    return ""


@pytest.mark.parametrize("scene", scene_names())
def test_every_number_has_limits_around_its_slider(scene: str) -> None:
    kind = scene_class(scene)
    assert issubclass(kind, Checked)
    known = {field.name: field for field in fields(kind)}
    for name in numbers(scene):
        low, high = known[name].metadata["limits"]
        left, right = known[name].metadata["range"] or (known[name].default,) * 2
        assert -math.inf < low <= left <= known[name].default <= right <= high < math.inf, name


@pytest.mark.parametrize("scene", scene_names())
def test_values_that_nobody_should_give_are_refused_in_a_sentence(scene: str) -> None:
    refused = {case: told for case in cases(scene) if (told := refusal(case, build=scene in CHEAP))}
    for case, told in refused.items():
        assert told.startswith(f"{case.name} of {scene} must be"), told
        assert "\n" not in told
        assert len(told) < 160
    assert len(refused) >= 4 * len(numbers(scene))  # NaN, both infinities and 1e300, at least


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"segments": 16.0}, "segments of worm must be a whole number between 2 and 100000, not 16.0."),
        ({"segments": True}, "not True."),
        ({"segments": 10**400}, "not a number of 300 digits or more."),
        ({"friction": "high"}, "friction of worm must be between 0 and 100, not 'high'."),
        ({"friction": None}, "not None."),
        ({"direction": "sideways"}, "direction of worm must be one of forward, backward, not 'sideways'."),
    ],
)
def test_what_is_of_another_kind_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        Worm(**given)
    assert sentence in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert Worm(segments=np.int64(8), friction=np.float32(0.5), gravity=np.int32(3)).segments == 8


def test_a_changed_scene_is_looked_at_too() -> None:
    with pytest.raises(InvalidValue, match="height of bounce must be between 0.001 and 1000 m, not -1"):
        replace(Bounce(), height=-1.0)


def test_a_misspelt_parameter_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match=r"no parameter of a Worm named 'fricton'\. Did you mean 'friction'\?"):
        Worm(fricton=0.5)


def test_a_scene_of_ones_own_without_limits() -> None:
    @dataclass(frozen=True)
    class Own:
        size: float = parameter(1.0, "Size")
        count: int = 3
        kind: Literal["a", "b"] = "a"
        shape: tuple[int, int] = (1, 2)

    require_parameters(Own(size=-1e300, count=-5))
    with pytest.raises(InvalidValue, match=r"size of Own must be a finite number, not nan\."):
        require_parameters(Own(size=math.nan))


@dataclass(frozen=True)
class Lists(Checked):
    """Vectors and lists of numbers."""

    span: tuple[float, float] = parameter((0.1, 1.0), "From, and to.", above=0.0)
    layers: tuple[int, ...] = parameter((), "Sizes of layers.", limits=(1, 100))
    sizes: tuple[float, ...] = parameter((1.0,), "Sizes.")
    words: tuple[str, ...] = parameter((), "Names.")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"span": (0.0, 1.0)}, r"span of Lists must be two numbers, each a finite number above 0, not \(0.0, 1.0\)"),
        ({"span": (1.0, 2.0, 3.0)}, "two numbers"),
        ({"span": (1.0, math.nan)}, "two numbers"),
        ({"span": 3}, "two numbers, each a finite number above 0, not 3"),
        ({"span": {"from": 1.0, "to": 2.0}}, "two numbers"),
        ({"layers": (3, 2.0)}, r"numbers, each a whole number between 1 and 100, not \(3, 2.0\)"),
        ({"layers": (3, 0)}, "numbers, each a whole number between 1 and 100"),
        ({"layers": "12"}, "numbers, each a whole number between 1 and 100, not '12'"),
        ({"sizes": ()}, r"sizes of Lists must be one or more finite numbers, not \(\)"),
        ({"words": "one"}, "a list of str"),
        ({"words": (1, 2)}, "a list of str"),
    ],
)
def test_lists_of_numbers_are_looked_at_one_by_one(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        Lists(**given)


def test_lists_of_numbers_are_kept_as_tuples_of_plain_numbers() -> None:
    made = Lists(span=np.array([1, 2]), layers=[np.int64(3), 4])  # type: ignore[arg-type]
    assert (made.span, made.layers, made.sizes) == ((1.0, 2.0), (3, 4), (1.0,))
    assert [type(each) for each in (*made.span, *made.layers)] == [float, float, int, int]
