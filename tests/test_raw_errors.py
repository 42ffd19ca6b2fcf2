"""Nonsense of any kind is refused in a sentence where a user gives it: no error of NumPy or Python comes through."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem, grains, shapes, springs, voxels, voxels3d
from annelid.core.errors import AnnelidError, InvalidValue

pytestmark = pytest.mark.filterwarnings("ignore")
RAGGED = [[1, 2], [3]]
NONSENSE: list[Any] = [
    RAGGED, [RAGGED], "no", None, {}, object(), np.nan, 1e300, -1e300, 1e-300, [np.nan], [1e300] * 3, float("inf"),
    np.int8(5), np.int8(-5), np.uint8(200), np.float16(5), np.float32(1e-3), True, 3 + 4j, b"x", 10**400, [10**400],
    [None, 1], [1, 2, "x"], [True, "a"], np.array("a"), np.array([], object), np.zeros((0, 3)), slice(3), range(2), {1},
    np.datetime64("2020-01-01"), lambda *given: RAGGED, lambda *given: None,
]  # fmt: skip
SEEN_OF_EACH = 9


def body() -> springs.Body:
    return springs.block((3, 3, 3), 0.02, mass=1e-3, stiffness=50.0)


def solid() -> fem.Solid:
    return fem.Solid(shapes.tet_beam(0.06, 0.02, 0.02, cells=(3, 1, 1)), "ecoflex-00-30")


def held() -> fem.Solid:
    return solid().fix(lambda p: p[:, 0] < 1e-9)


def cube() -> voxels3d.Robot:
    return voxels3d.Robot.from_array(np.ones((2, 2, 2), int))


def acted(actuator: fem.PointForce | fem.Cable) -> Any:
    return fem.simulation(held(), actuators=[actuator], device="cpu")


GIVEN: dict[str, Callable[[Any], Any]] = {
    "Solid.fix": lambda v: solid().fix(v),
    "Solid.fix axes": lambda v: solid().fix([0], axes=v),
    "Solid.displace": lambda v: solid().displace([0], v),
    "Solid.push": lambda v: solid().push([0], v),
    "Solid.push where": lambda v: solid().push(v, (0.0, 0.0, 1.0)),
    "Solid.hang": lambda v: solid().hang(v, 1.0),
    "Solid.pull": lambda v: solid().pull(v, (0.0, 0.0, 1.0)),
    "Solid.group": lambda v: solid().group("a", v),
    "Solid.strains": lambda v: solid().strains(v),
    "Body.fix": lambda v: body().fix(v),
    "Body.guide axis": lambda v: body().guide(None, "line", v),
    "Body.guide kind": lambda v: body().guide(None, v, "x"),
    "Body.push": lambda v: body().push(None, v),
    "Body.substep": lambda v: body().substep(None, v),
    "Body.scaled": lambda v: body().scaled(v),
    "Body.rotated": lambda v: body().rotated(v, 1.0),
    "Body.moved": lambda v: body().moved(v),
    "Body.linked": lambda v: body().linked(v, stiffness=1.0),
    "Body.distance_along": lambda v: body().distance_along(v),
    "block": lambda v: springs.block(v, 0.02),
    "pitch of a block": lambda v: springs.block((2, 2, 2), v),
    "Bed": lambda v: grains.Bed(v, 0.01),
    "radii of a Bed": lambda v: grains.Bed([[0.0, 0.0, 1.0]], v),
    "3-D robot": voxels3d.Robot.from_array,
    "3-D robot, fix": lambda v: cube().fix(v),
    "3-D robot, amplitude": lambda v: voxels3d.Robot(np.zeros((2, 2, 2), int), amplitude=v),
    "3-D robot, positions": lambda v: voxels3d.simulation([cube()], positions=v, device="cpu"),
    "voxel robot, push": lambda v: voxels.Robot.from_text("oo").push(v),
    "voxels, dt": lambda v: voxels.simulation([voxels.Robot.from_text("oo")], dt=v, device="cpu"),
    "springs, dt": lambda v: springs.simulation(body(), dt=v, device="cpu"),
    "mesh": lambda v: shapes.TriangleMesh(v, np.array([[0, 1, 2]], np.int32)),
    "tetrahedra": lambda v: shapes.TetMesh(v, np.array([[0, 1, 2, 3]], np.int32)),
    "cells of a beam": lambda v: shapes.tet_beam(0.1, 0.1, 0.1, cells=v),
    "cable": lambda v: fem.Cable(name="c", through=v),
    "tension of a cable": lambda v: fem.Cable(name="c", through=[15, 3], tension=v),
    "place of a force": lambda v: acted(fem.PointForce(name="c", at=v, direction=(0.0, 0.0, 1.0))),
    "direction of a force": lambda v: acted(fem.PointForce(name="c", at=12, direction=v)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_nonsense_is_taken_or_refused_in_a_sentence(name: str) -> None:
    for value in random.Random(zlib.crc32(name.encode())).sample(NONSENSE, SEEN_OF_EACH):
        assert sentence_of(GIVEN[name], value).endswith("."), value


def sentence_of(use: Callable[[Any], Any], value: Any) -> str:
    """Why a value is refused; a full stop where it is not."""
    try:
        use(value)
    except AnnelidError as error:
        return str(error).rstrip()
    return "."


@pytest.mark.parametrize(
    ("use", "value"),
    [
        (GIVEN["Solid.fix"], RAGGED), (GIVEN["Solid.fix"], lambda p: RAGGED), (GIVEN["Body.scaled"], 1e300),
        (GIVEN["Body.scaled"], 1e-200), (GIVEN["block"], [1e300] * 3), (GIVEN["pitch of a block"], 1e300),
        (GIVEN["voxels, dt"], 1e-300), (GIVEN["voxels, dt"], 1e300), (GIVEN["place of a force"], [1e300] * 3),
        (GIVEN["direction of a force"], [10**400] * 3), (GIVEN["tension of a cable"], 10**400),
        (GIVEN["Solid.displace"], [10**400] * 3), (GIVEN["mesh"], [[10**400] * 3]),
    ],
)  # fmt: skip
def test_refused(use: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(AnnelidError, match=r"\.$"):
        use(value)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.float16, np.float32])
def test_numbers_of_few_bits_are_as_good_as_others(kind: Any) -> None:
    simulation = springs.simulation(body(), dt=1e-4, obstacles=[shapes.ground()], device="cpu")
    simulation.run(0.05)  # which lets it take many steps a turn
    simulation.run_for(kind(1), most=3)
    done = simulation.step_count
    simulation.observe(lambda s: None, every=kind(1))
    simulation.breakpoint(at=kind(8))
    simulation.step(kind(2))
    assert simulation.step_count == done + 2
    assert [b.step for b in simulation._march.breakpoints] == [80_000]
    assert simulation._march.watches[-1].rhythm.interval == 10_000


def test_no_conversion_forgets_numbers_that_are_too_large() -> None:
    folder = Path(grains.__file__).parents[1]
    found = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(r"except \(TypeError, ValueError\):", path.read_text(encoding="utf-8"))
    ]
    assert found == ["core/options.py"]  # where a signature is asked for


@pytest.mark.parametrize("gap", [2.1, 1.9, 1.65])
def test_grains_are_pushed_as_far_as_they_may_start(gap: float) -> None:
    """Between two walls, where there is not room for all of a grain: what is not refused is not pushed away."""
    radius = 0.01
    walls: list[shapes.Obstacle] = [
        shapes.ground(),
        shapes.Plane(point=(0.0, 0.0, gap * radius), normal=(0.0, 0.0, -1.0)),
    ]
    middle = [[0.0, 0.0, 0.5 * gap * radius]]
    for rows, how in ((middle, "refuse"), (middle, "push"), ([[0.0, 0.0, (gap - 0.7) * radius]], "push")):
        made = grains.simulation(grains.Bed(rows, radius), obstacles=walls, overlapping=how, device="cpu")
        left = 1.0 - min(made.positions()[0, 2] / radius, gap - made.positions()[0, 2] / radius)
        assert left <= 0.2
    with pytest.raises(InvalidValue, match="cannot be pushed apart"):
        grains.simulation(
            grains.Bed(middle, radius),
            obstacles=[walls[0], shapes.Plane(point=(0.0, 0.0, 1.5 * radius), normal=(0.0, 0.0, -1.0))],
            overlapping="push",
            device="cpu",
        )
