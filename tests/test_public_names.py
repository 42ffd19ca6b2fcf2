"""What a newcomer sees: packages found by name, tab completion without what they import, and objects in a line."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import annelid
from annelid import fem, robots, springs
from annelid.core.described import listed
from annelid.view.showing import Picture

PACKAGES = [
    found.name
    for found in pkgutil.iter_modules(annelid.__path__)
    if found.ispkg and hasattr(import_module(f"annelid.{found.name}"), "__all__")
]


def test_packages_are_found_without_being_imported() -> None:
    names = ", ".join(f"annelid.{name}.__all__" for name in ("springs", "fem", "envs", "voxels3d"))
    code = f"import annelid, sys; assert 'warp' not in sys.modules; {names}; assert 'warp' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_all_packages_with_public_names_are_public_names() -> None:
    assert set(PACKAGES) <= set(dir(annelid))
    with pytest.raises(AttributeError, match="module 'annelid' has no attribute 'sprigns'"):
        annelid.sprigns  # noqa: B018


@pytest.mark.parametrize("name", ["", *PACKAGES])
def test_completion_offers_public_names_alone(name: str) -> None:
    package = import_module(f"annelid.{name}".rstrip("."))
    assert dir(package) == sorted({*package.__all__, *([] if name else PACKAGES)})
    for each in dir(package):
        getattr(package, each)


MADE = ("crawler", "gear_tower", "gripper", "finger", "trunk", "tube_hand", "quadruped", "pneunet")


@pytest.mark.parametrize("name", MADE)
def test_robots_print_in_a_line(name: str) -> None:
    robot = getattr(robots, name)()
    assert len(str(robot)) <= 200
    assert "\n" not in str(robot)
    assert str(robot).startswith(type(robot).__name__)


def test_parts_print_in_a_line() -> None:
    body = springs.block((9, 2, 2), 0.1)
    for k in range(30):
        body.group(f"part-{k}", [k])
    cable = fem.Cable(name="left", through=list(range(500)))
    for each in (body, cable, Picture(np.zeros((20, 30, 3), np.uint8))):
        assert len(str(each)) <= 200
        assert "\n" not in str(each)
    assert "groups 30" in str(body)
    assert str(cable) == "Cable(name='left', through=500 of int)"
    assert listed("ab") == "a, b"


def test_a_picture_says_what_to_do_with_it() -> None:
    picture = Picture(np.zeros((20, 30, 3), np.uint8))
    assert str(picture) == "Picture(30 × 20 pixels; save('name.png') writes it, a notebook shows it)"
