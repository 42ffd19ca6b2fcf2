"""The Python examples of the documentation run as they are printed."""

import itertools
import re
import runpy
from pathlib import Path

import pytest

from annelid.core.packages import installed
from annelid.materials import PRESETS, SILICONES, Silicone
from annelid.scenes.registry import scene_names
from annelid.studies.registry import study_names

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KINDS = ("howto", "explanation", "reference")  # tutorials are executed as notebooks
WRITTEN = sorted([*DOCS.glob("*.md"), *(page for kind in KINDS for page in (DOCS / kind).glob("*.md"))])
PAGES = [page for page in WRITTEN if EXAMPLE.search(page.read_text(encoding="utf-8"))]
EXTRA = re.compile(r"^import (torch|jax)$", re.MULTILINE)
ELSEWHERE = {"own": 1}  # how many of the first examples of a page tests/browser/test_newcomer.py runs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))[ELSEWHERE.get(page.stem, 0) :]
    examples = [example for example in examples if all(map(installed, EXTRA.findall(example)))]
    assert examples
    script = tmp_path / f"{page.stem}_example.py"  # a file, because Warp reads the source of what it compiles
    script.write_text("\n".join(examples), encoding="utf-8")
    runpy.run_path(str(script))


def table(page: str, head: str) -> list[list[str]]:
    """Cells of the rows of the first table of a page whose head begins so."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first:])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_table_of_scenes_is_complete() -> None:
    assert sorted(row[0].strip("`") for row in table("reference/scenes.md", "| scene |")) == scene_names()


def test_the_table_of_studies_is_complete() -> None:
    named = re.findall("`([a-z0-9-]+)`", " ".join(row[0] for row in table("reference/studies.md", "| study |")))
    assert sorted(named) == sorted(study_names())


def test_the_table_of_materials_has_the_figures_of_the_code() -> None:
    fields = ("density", "youngs_modulus", "poisson_ratio", "yield_strain", "damping")
    figures = [[f"`{m.name}`", *(f"{vars(m)[name]:.4g}" for name in fields)] for m in PRESETS]
    assert table("reference/materials.md", "| preset |") == figures


def test_the_table_of_silicones_has_the_constants_of_the_code() -> None:
    def row(silicone: Silicone) -> list[str]:
        laws = (silicone.neo_hooke[:1], silicone.yeoh[:3], silicone.ogden[:2], (silicone.corrected or ())[:2])
        constants = [", ".join(f"{value:.4g}" for value in law) for law in laws]
        density = "" if silicone.density is None else f"{silicone.density:g}"
        return [f"`{silicone.name}`", density, f"{silicone.breaks:g}", *constants]

    assert table("reference/materials.md", "| silicone | density") == [row(silicone) for silicone in SILICONES]


def test_pages_need_nothing_but_markdown_to_be_read() -> None:
    """Where they are read as plain Markdown, nobody fills in what a template leaves out."""
    pages = {page.name: page.read_text(encoding="utf-8") for page in WRITTEN}
    assert [name for name, text in pages.items() if re.search(r"\{\{.*?\}\}", text)] == []
