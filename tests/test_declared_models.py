"""Every option and setting that is declared, changed once: the model has another fingerprint, and takes no checkpoint.

Values come from what the fields declare, so that a new option is looked at without a word here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from annelid import Simulation, fem, grains, shapes, springs, voxels, voxels3d
from annelid.core.errors import AnnelidError
from annelid.shapes import Surface

from .test_other_models import (
    GROUND,
    ball,
    cable,
    coupled_model,
    grain_model,
    solid_model,
    spring_model,
    voxel3d_model,
    voxel_model,
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore")
SEEN_OF_EACH = 8
"""Changes that the suite tries of each class; all of them are 400 and more."""
HARMLESS = {"device", "threads", "overlapping", "skin of Options", "together of Options"}
"""How it is computed, drawn or begun, which says nothing of what a state becomes."""
EQUAL: dict[str, list[dict[str, Any]]] = {
    "solids": [{"dt": 0.01}],
    "grains beside springs": [{"converge": True}],  # which "auto" takes there
}
"""Values that the models have anyway."""
DECLARED: dict[str, tuple[type, Callable[..., Simulation[Any]]]] = {
    "springs": (springs.Options, spring_model),
    "solids": (fem.Options, solid_model),
    "grains": (grains.Options, grain_model),
    "voxels": (voxels.Options, voxel_model),
    "voxels3d": (voxels3d.Options, voxel3d_model),
    "springs among grains": (springs.World, lambda **of: coupled_model(springs=of)),
    "grains beside springs": (grains.World, lambda **of: coupled_model(grains=of)),
    "voxel": (voxels.Voxel, lambda **of: voxel_model(material=of)),
    "3-D voxel": (voxels3d.Voxel, lambda **of: voxel3d_model(material=of)),
    "3-D robot": (voxels3d.Robot, voxel3d_model),
    "grain": (grains.Grain, lambda **of: grain_model(material=grains.Grain(**of))),
    "surface under springs": (Surface, lambda **of: spring_model(obstacles=[shapes.ground(), above(Surface(**of))])),
    "surface among grains": (Surface, lambda **of: grain_model(obstacles=[GROUND, ball(surface=Surface(**of))])),
    "body among grains": (shapes.Rigid, lambda **of: grain_model(obstacles=[GROUND, ball(**of)])),
    "obstacle of voxels": (shapes.Rigid, lambda **of: voxel3d_model(obstacles=[above(**of)])),
    "contact of a solid": (fem.Contact, lambda **of: solid_model(obstacles=[above()], contact=fem.Contact(**of))),
    "Newton's method": (fem.Settings, lambda **of: solid_model(settings=fem.Settings(**of))),
    "cable": (fem.Cable, lambda **of: solid_model(actuators=[cable(**of)])),
    "collisions": (springs.Collide, lambda **of: spring_model(collisions=[springs.Collide("top", "top", **of)])),
}


def above(surface: Surface | None = None, **of: Any) -> shapes.Rigid:
    return shapes.Rigid(shapes.Sphere(0.04), surface or Surface(), **{"position": (0.3, 0.3, 0.3), **of})


def unlike(kind: Any, now: Any) -> list[Any]:
    """Values that a field of a type may have, other than its own."""
    if get_origin(kind) is Literal:
        return [word for word in get_args(kind) if word != now]
    if kind is bool:
        return [True, False] if now not in (True, False) else [not now]
    if kind is int:
        return [value for value in (2, 3, 8) if value != now]
    if kind is float:
        known = isinstance(now, float | int) and now and np.isfinite(now)
        return [1.37 * now, 0.73 * now] if known else [value for value in (0.3, 1e-2, 1e-4, 2.0) if value != now]
    if get_origin(kind) is tuple and set(get_args(kind)) == {float}:
        values = np.resize(np.array(now if isinstance(now, tuple) else 0.0), len(get_args(kind)))
        changed = [tuple((values + 0.37 * row).tolist()) for row in np.eye(len(values))]
        return [value for value in changed if value != now]
    return [value for part in get_args(kind) for value in unlike(part, now)] if get_origin(kind) is not tuple else []


def changes(kind: Any) -> Iterator[dict[str, Any]]:
    """Each value of each field that can be made from its declaration."""
    hints = get_type_hints(kind)
    for one in fields(kind):
        if one.init and not {one.name, f"{one.name} of {kind.__name__}"} & HARMLESS:
            yield from ({one.name: value} for value in unlike(hints[one.name], one.default))


@pytest.mark.parametrize("called", DECLARED)
def test_what_differs_in_one_declared_value_is_another_model(called: str) -> None:
    kind, build = DECLARED[called]
    every, as_it_is = list(changes(kind)), build()
    built = 0
    for number in np.random.default_rng(zlib.crc32(called.encode())).permutation(len(every)):
        with suppress(AnnelidError):  # values that do not go together
            other = build(**every[number])
            built += 1
            alike = other.solver.fingerprint() == as_it_is.solver.fingerprint() and other.dt == as_it_is.dt
            assert not alike or every[number] in EQUAL.get(called, []), every[number]
        if built == SEEN_OF_EACH:
            break
    assert built > min(4, SEEN_OF_EACH)
