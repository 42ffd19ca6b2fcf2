"""What does not fit into the machine is refused before it is tried."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains, springs
from annelid.core import memory
from annelid.core.errors import InvalidValue, TooLarge
from annelid.core.memory import machine_memory, require_memory
from annelid.grains.filling import fill, jittered_lattice
from annelid.scenes.tyre import Tyre
from annelid.scenes.workshop import Workshop
from annelid.shapes import Box

SMALL = 24 * 10**9


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: SMALL)


def test_the_sentence() -> None:
    require_memory("nothing", SMALL, "")
    with pytest.raises(TooLarge) as caught:
        require_memory("a block of 8e12 masses", 640e9, "use fewer")
    told = "a block of 8e12 masses needs about 640 GB of memory, this machine has 24 GB: use fewer."
    assert str(caught.value) == told
    assert isinstance(caught.value, InvalidValue)


def test_a_machine_that_does_not_tell_is_not_held_against_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    require_memory("everything", 1e30, "")


def test_this_machine() -> None:
    found = machine_memory()
    assert found is None or found > 10**8


@pytest.mark.parametrize(
    "make",
    [
        lambda: springs.block((20000, 20000, 20000)),
        lambda: springs.block((10**200, 3, 3)),
        lambda: springs.lattice(Box((1.0, 1.0, 1.0)), 1e-3, "pdms"),
        lambda: springs.block((3, 3, 3)).replicated(np.zeros((10**6, 3))),
        lambda: jittered_lattice((10**4, 10**4, 10**3), 0.1),
        lambda: Tyre(inner=9.0, outer=20.0, width=20.0).body(),
        lambda: Workshop(pitch=2e-4).build(device="cpu"),
    ],
)
def test_builders_look_before_they_allocate(make: object) -> None:
    assert callable(make)
    with pytest.raises(TooLarge, match=r"needs about .* GB of memory, this machine has 24 GB: \w.*\.$"):
        make()


@pytest.mark.parametrize("radius", [1e-3, 1e-6, 1e-300])
def test_beds_too(radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**9)
    with pytest.raises(InvalidValue, match="grains"):
        grains.Bed(*fill(Box((0.3, 0.3, 0.3)), radius, 0.5))


def test_extents_beyond_all_numbers() -> None:
    with pytest.raises(InvalidValue, match="use a larger pitch"):
        springs.lattice(Box((1e300, 1.0, 1.0)), 1e-300, "pdms")
