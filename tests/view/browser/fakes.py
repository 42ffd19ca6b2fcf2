"""A scene and a simulation without physics, for tests of the viewer."""

from __future__ import annotations

import time as wall
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Field, Lines, Look, Mesh, Number, Plane, Snapshot, Spheres

TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32)


class Hopper:
    """A tetrahedron that hops along x; a step takes a known time."""

    dt = 1e-3
    fields = ("height", "kind")
    limitation = ""
    controls, solver = SimpleNamespace(channels=()), SimpleNamespace()

    def __init__(self, scene: Hop) -> None:
        self.scene, self.step_count, self.target = scene, 0, (1.0, 0.0, 0.0)

    @property
    def time(self) -> float:
        return self.step_count * self.dt

    def step(self, count: int = 1) -> None:
        wall.sleep(count * self.scene.cost)
        if self.scene.fails and self.step_count + count > 50:
            raise InvalidValue("it broke.")
        self.step_count += count

    def run_for(self, seconds: float, *, most: int | None = None) -> None:
        count = max(1, round(seconds / max(self.scene.cost, 1e-5)))
        self.step(count if most is None else min(count, most))

    def snapshot(self, look: Look) -> Snapshot:
        corners = np.array([[0, 0, 0.1], [1, 0, 0.1], [0, 1, 0.1], [0.3, 0.3, 1.0]], np.float32)
        corners[:, 2] += abs(self.scene.height * np.sin(3 * self.time))
        corners[:, 0] += 0.5 * self.time
        known = {"height": Field(corners[:, 2], "m"), "kind": Field(np.array([0.0, 1, 1, 0]), labels=("a", "b"))}
        fields = {name: known[name] for name in look.fields}
        parts: list[Any] = [Plane("ground", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))]
        if look.surface:
            parts.append(Mesh("body", corners, TRIANGLES, fields))
        if look.spheres:
            parts.append(Spheres("masses", corners, 0.05, fields))
        if look.lines:
            parts.append(Lines("springs", corners, np.array([[0, 1], [1, 2]])))
        numbers = {"x": Number(0.5 * self.time, "m"), "top": Number(float(corners[3, 2]), "m")}
        return Snapshot(self.time, self.step_count, tuple(parts), numbers)


class Things:
    """A physics with a ball that can be led."""

    def __init__(self) -> None:
        self.place, self.led = np.array([1.0, 0.0, 0.0]), dict[str, Any]()

    def grips(self, state: Any) -> dict[str, np.ndarray]:
        return {"ball": self.place}

    def lead(self, name: str, place: Any) -> None:
        self.led[name] = place


@dataclass(frozen=True)
class Hop:
    """Something that hops."""

    height: float = field(default=0.5, metadata={"unit": "m", "range": (0.0, 2.0), "help": "How high", "live": True})
    legs: int = field(default=2, metadata={"range": (1, 6), "help": "How many"})
    style: Literal["soft", "hard"] = field(default="soft", metadata={"help": "How"})
    fails: bool = field(default=False, metadata={"help": "Whether it breaks"})
    cost: float = 2e-5

    def __post_init__(self) -> None:
        if self.legs == 5:
            raise InvalidValue("nothing has 5 legs.")

    def build(self) -> Hopper:
        return Hopper(self)

    def adjust(self, simulation: Hopper, name: str, value: Any) -> None:
        simulation.scene = self

    def targets(self, simulation: Hopper) -> dict[str, tuple[float, float, float]]:
        return {"goal": simulation.target}

    def move_target(self, simulation: Hopper, name: str, place: tuple[float, float, float]) -> None:
        simulation.target = place
