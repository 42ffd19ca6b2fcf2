"""The page about environments says what is observed, in which order, and what `info` tells, as the code does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from annelid.envs import make_worlds
from annelid.envs.registration import TASKS, short
from annelid.envs.training.recipes import recipe

PATH = Path(__file__).parents[2] / "docs" / "howto" / "envs.md"
PAGE = PATH.read_text(encoding="utf-8")
SECTION = PAGE.partition("## Observations and info\n")[2].partition("\n## ")[0]


def rows(name: str) -> list[list[str]]:
    """Cells of the rows of the tables whose first cell is an environment, in order."""
    lines = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("|")]
    return [cells for cells in lines if cells[0] == name]


def test_the_first_table_has_all_environments() -> None:
    assert [name for name in TASKS if f"| `{name}` |" not in PAGE] == []


def test_the_table_of_recipes_is_that_of_the_code() -> None:
    reference = (PATH.parents[1] / "reference" / "environments.md").read_text(encoding="utf-8")
    said = [line for line in reference.partition("## Recipes\n")[2].splitlines() if line.startswith("| ")][2:]
    named = {f"`{short(name)}`": recipe(name) for name in TASKS} | {"a task of your own": recipe("mine.py:Mine")}
    assert said == [
        f"| {name} | {one.worlds:,} | {one.steps:,} | {one.repeat} | {one.rate:g} | {one.discount:g} | "
        f"{one.choices:,} | {'yes' if one.scaled else 'no'} |"
        for name, one in named.items()
    ]


def test_observations_and_info(task: tuple[str, dict[str, Any]]) -> None:
    name, options = task
    worlds = make_worlds(name, 1, device="cpu", **options)
    said = rows(short(name))
    observed = [[short(name), f"`{c.name}`", "; ".join(text for text, _ in c.parts)] for c in worlds.channels]
    told = [[short(name), f"`{key}`", text] for key, text in worlds.told.items()]
    assert said == observed + told
    worlds.restart(seeds=[1])
    assert list(worlds.info()) == list(worlds.told)


def test_the_walker_observes_in_the_order_that_is_told() -> None:
    """At rest and before the first action: no velocity, upright, no pressure; and limbs where the robot has them."""
    worlds = make_worlds("annelid/SpringWalker-v0", 1, device="cpu", substeps=30, seconds=0.1, noise=0.0)
    worlds.restart(seeds=[1])
    counts = np.cumsum([count for _, count in worlds.channels[0].parts])[:-1]
    limbs, speeds, motion, upward, height, pressures = np.split(worlds.observations["observation"].numpy()[0], counts)
    spine, left, right, *_ = limbs.reshape(-1, 3)
    assert abs(spine[0]) < 0.05
    assert left[1] > 0.1 > -0.1 > right[1]
    np.testing.assert_allclose(np.concatenate([speeds, motion]), 0.0, atol=1e-6)
    np.testing.assert_allclose(upward, [0.0, 0.0, 1.0], atol=1e-3)
    assert height > 0.0
    assert len(pressures) == 5
