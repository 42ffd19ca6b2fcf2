"""Time of gradients of solids: at rest beside that of the equilibrium, and of a step back beside that of a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid import Rollout, fem
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.timing import shortest_time
from annelid.materials import Material, Yeoh, material
from annelid.robots import finger
from annelid.shapes import tet_beam


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench fem-gradients`."""

    steps: int = 50
    """Steps of each motion."""
    cells: tuple[int, int, int] = (24, 4, 4)
    """Cells of the beam along each side."""
    repeats: int = 3
    """How often each time is measured; the shortest counts."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Times of a finger under pressure, and of beams that fall, with rates by everything."""
    if min(options.steps, options.repeats, *options.cells) < 1:
        raise InvalidValue(
            f"--steps {options.steps}, --repeats {options.repeats} and --cells {options.cells} must be at least 1."
        )
    yield from _at_rest(device, threads, options)
    silicone = Material.hyperelastic("silicone", Yeoh(5e4, 2e3, 20.0))
    creeping = Material.hyperelastic("creeping", Yeoh(5e4, 2e3, 20.0), prony=((0.2, 0.05), (0.1, 0.5)))
    rubber = material("ecoflex-00-30").with_(youngs_modulus=3e5, poisson_ratio=0.45)
    for name, chosen in (("corotational", rubber), ("hyperelastic", silicone), ("relaxing", creeping)):
        yield from _in_motion(name, chosen, device, threads, options)


def _at_rest(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    robot = finger(filling="pneumatic", device=device, threads=threads)
    forward, rest = fem.Forward(robot), robot.positions.numpy().copy()
    sensitivity, seed = fem.Sensitivity(robot), np.ones((robot.solid.node_count, 3))

    def settle() -> None:
        robot.positions.assign(rest)
        forward.settle({"bellows": 12e3})

    there = shortest_time(settle, options.repeats)
    back = shortest_time(lambda: sensitivity.rates(seed), options.repeats)
    yield from _pair(f"finger-{robot.solid.node_count}-nodes", there, back, "at rest, all parameters")


def _in_motion(
    name: str, chosen: Material, device: wp.Device, threads: int | None, options: Options
) -> Iterator[Measurement]:
    solid = fem.Solid(tet_beam(0.12, 0.02, 0.02, cells=options.cells), chosen).fix(lambda p: p[:, 0] < 1e-9)
    rollout = Rollout(fem.simulation(solid, velocity_damping=1.0, device=device, threads=threads), options.steps)
    given = {each: rollout.value(each) for each in rollout.names if chosen.law is None or each != "youngs_modulus"}
    seed = np.ones((1, 1, solid.node_count, 3))
    there = shortest_time(lambda: rollout.forward(given), options.repeats)
    back = shortest_time(lambda: rollout.backward(seed), options.repeats)
    steps = options.steps
    yield from _pair(f"{name}-{solid.node_count}-nodes", there / steps, back / steps, "a step, all parameters")


def _pair(name: str, there: float, back: float, source: str) -> Iterator[Measurement]:
    yield Measurement(f"{name}-forward", 1e3 * there, "ms", source=source)
    yield Measurement(f"{name}-backward", 1e3 * back, "ms", source=source)
    yield Measurement(f"{name}-ratio", back / there, "", 1.0, bound="at-most", source="forward = 1")
