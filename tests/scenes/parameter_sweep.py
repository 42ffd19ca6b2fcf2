"""All scenes, each number at values that nobody should give: refused in one sentence within two seconds, or run.

As a program, `python tests/scenes/parameter_sweep.py [SCENE ...]` also builds, steps and measures whatever is not
refused, and prints a line for each; that takes minutes. The suite has the quick form, in `test_parameters.py`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from annelid.core.errors import AnnelidError, SimulationDiverged
from annelid.scenes.registry import scene_class, scene_names

VALUES = (math.nan, math.inf, -math.inf, -1.0, 0.0, 1e300, 1e-300, 1e9)
LIMIT = 2.0
"""Time in which a refusal must come [s]."""


@dataclass(frozen=True)
class Case:
    """One parameter of one scene at one value."""

    scene: str
    name: str
    value: float

    def make(self) -> Any:
        """The scene; raises where it is refused."""
        return scene_class(self.scene)(**{self.name: self.value})

    def __str__(self) -> str:
        return f"{self.scene} {self.name}={self.value:g}"


def numbers(scene: str) -> list[str]:
    """Names of the parameters of a scene that are numbers."""
    kind = scene_class(scene)
    hints = get_type_hints(kind)
    return [field.name for field in fields(kind) if hints[field.name] in (int, float)]


def cases(scene: str) -> Iterator[Case]:
    """All cases of a scene; whole numbers where the parameter wants them and the value is one."""
    hints = get_type_hints(scene_class(scene))
    for name in numbers(scene):
        for value in VALUES:
            whole = hints[name] is int and math.isfinite(value) and value == int(value)
            yield Case(scene, name, int(value) if whole else value)


def outcome(case: Case) -> tuple[str, float]:
    """What became of a case, in words, and the time that it took [s]."""
    begin = time.perf_counter()
    try:
        scene = case.make()
        simulation = scene.build(device="cpu")
        simulation.step(2)
        measured = scene.measure(simulation)
        told = f"runs, {len(measured)} measurements"
    except SimulationDiverged as error:
        told = f"diverges: {error}"
    except AnnelidError as error:
        told = f"refused: {error}"
        if time.perf_counter() - begin > LIMIT:
            told = f"LATE {told}"
        if "\n" in str(error):
            told = f"LINES {told}"
    except Exception as error:  # what the sweep looks for
        told = f"RAW {type(error).__name__}: {error}"
    return told, time.perf_counter() - begin


def main(scenes: list[str]) -> int:
    """Print every case; the number of those that are neither refused as promised nor run."""
    bad = 0
    for scene in scenes or scene_names():
        for case in cases(scene):
            told, seconds = outcome(case)
            bad += told.split()[0].isupper()
            print(f"{seconds:7.2f} s  {case}: {told}", flush=True)
    print(f"{bad} cases failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
