"""What a newcomer sees: packages found by name, tab completion without what they import, and objects in a line."""

from __future__ import annotations

import pkgutil
import re
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import annelid
from annelid import fem, robots, springs
from annelid.core.described import listed
from annelid.view.showing import Picture

ROOT = Path(__file__).parents[1]
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


def test_public_names_change_where_it_is_seen() -> None:
    found = runpy.run_path(str(ROOT / "docs" / "_extensions" / "public_surface.py"))
    now, before = found["listed"]().split(), found["NAMES"].read_text(encoding="utf-8").split()
    new, gone = sorted({*now} - {*before}), sorted({*before} - {*now})
    assert now == before, (
        f"Public names have changed (new: {', '.join(new) or 'none'}; gone: {', '.join(gone) or 'none'}): if that is "
        "meant, run python docs/_extensions/public_surface.py, which writes the list, and tell it in CHANGELOG.md."
    )
    undescribed = [each for each in now if not re.match("[^ ]+ [^ ]+", found["first_line"](*each.rsplit(".", 1)))]
    assert undescribed == ["annelid.__version__"]


def test_a_public_name_has_one_home() -> None:
    """The first package offers again what most need; all else is found in one place."""
    homes: dict[int, list[str]] = {}
    for name in (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split():
        package, _, of_it = name.rpartition(".")
        if package != "annelid":
            homes.setdefault(id(getattr(import_module(package), of_it)), []).append(name)
    assert [names for names in homes.values() if len(names) > 1] == []


IMPORTED = re.compile(r"^ *from (annelid[.\w]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
INTERNAL = {"annelid.core.device.device"}  # of those who add a physics: a function that is called as its module


def test_pages_use_public_names() -> None:
    """Scenes are examples, and whoever reads a page of one may import it."""
    public = {f"{line}" for line in (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split()}
    packages = {f"annelid.{name}" for name in dir(annelid)} | {line.rpartition(".")[0] for line in public}
    used = [
        (page.name, f"{module}.{name}")
        for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
        for module, several, one in IMPORTED.findall(page.read_text(encoding="utf-8"))
        for name in re.findall(r"(\w+)(?: as \w+)?", several or one.partition("#")[0])
        if not module.startswith("annelid.scenes")
    ]
    assert [each for each in used if each[1] not in public | packages | INTERNAL] == []
    assert len(used) > 100


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
