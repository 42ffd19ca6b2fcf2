"""The Python examples of the documentation run as they are printed."""

import itertools
import re
import runpy
from pathlib import Path

import pytest

import annelid
from annelid.core.packages import installed
from annelid.materials.presets import PRESETS
from annelid.materials.silicones import SILICONES, Silicone
from annelid.scenes.registry import scene_names
from annelid.studies.registry import study_names

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KINDS = ("howto", "explanation", "reference")  # tutorials are executed as notebooks
MADE = {DOCS / "atlas.md"}
"""Pages that are written when the documentation is built."""
WRITTEN = sorted({*DOCS.glob("*.md"), *(page for kind in KINDS for page in (DOCS / kind).glob("*.md"))} - MADE)
PAGES = [page for page in WRITTEN if EXAMPLE.search(page.read_text(encoding="utf-8"))]
EXTRA = re.compile(r"^import (torch|jax)$", re.MULTILINE)
BRIDGE = re.compile(r"annelid\.(Torch|Jax)[A-Z]")
ELSEWHERE = {"own": 1}  # how many of the first examples of a page tests/browser/test_newcomer.py runs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_example_imports_the_library_that_it_is_a_bridge_to(page: Path) -> None:
    """Else it would be run, and fail, where that library is not installed."""
    for example in EXAMPLE.findall(page.read_text(encoding="utf-8")):
        assert {name.lower() for name in BRIDGE.findall(example)} <= set(EXTRA.findall(example)), example


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


ROOT = DOCS.parent
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(```+).*?^\1$", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Places of a page that links can name: its headings, as Sphinx and GitHub write them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere, whoever reads it: Sphinx, or a person in the repository."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    missing = []
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" in link or link.startswith("mailto:"):
            continue
        if target.resolve() in MADE:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    return missing


READ = [*DOCS.glob("*.md"), *DOCS.glob("[!_]*/*.md"), *ROOT.glob("*.md")]


def test_links_lead_somewhere() -> None:
    assert {page.name: found for page in READ if (found := broken(page))} == {}


def test_links_are_links_wherever_pages_are_read() -> None:
    """Roles of Sphinx that link, such as {doc} and {ref}, are plain text in an editor and on a server of code."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in READ}
    assert [name for name, text in texts.items() if re.search(r"\{(?:doc|ref|any|numref|download)\}`", text)] == []


def test_every_page_has_a_picture() -> None:
    assert [
        page.name for page in WRITTEN if "](images/" not in (text := page.read_text()) and "/images/" not in text
    ] == []


def test_what_pages_import_is_in_the_api_reference() -> None:
    listed = set(re.findall(r"^   (annelid[\w.]*)$", (DOCS / "api" / "index.rst").read_text(), re.MULTILINE))
    texts = [page.read_text() for page in (ROOT / "README.md", *WRITTEN, *(DOCS / "tutorials").glob("*.md"))]
    used = set(re.findall(r"^(?:from|import) (annelid[\w.]*)", "\n".join(texts), re.MULTILINE))
    packages = {"annelid.view"}  # offer modules, which are listed
    assert {name for name in used - listed - packages if not name.startswith("annelid.scenes.")} == set()


def test_every_page_is_in_an_index() -> None:
    for kind in KINDS:
        listed = set(re.findall(r"^[\w./-]+$", (DOCS / kind / "index.md").read_text(encoding="utf-8"), re.MULTILINE))
        assert {page.stem for page in (DOCS / kind).glob("*.md")} - {"index"} <= listed


def test_the_drawing_of_floors_is_that_of_the_table() -> None:
    drawings = runpy.run_path(str(DOCS / "_extensions" / "drawings.py"))
    design = (DOCS / "design.md").read_text(encoding="utf-8")
    remedy = "python docs/_extensions/drawings.py draws it"
    assert (DOCS / "images" / "floors.svg").read_text(encoding="utf-8") == drawings["floors"](design), remedy
    assert (DOCS / "images" / "data-way.svg").read_text(encoding="utf-8") == drawings["data_way"](), remedy


def test_the_changelog_begins_with_the_version_and_says_whether_it_is_released() -> None:
    heading = re.search(r"^## (\S+), (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heading is not None
    version, _, development = annelid.__version__.partition(".dev")
    assert heading[1] == version
    assert (heading[2] == "unreleased") == bool(development), "write the date of the release in its place"


def test_the_citation_has_the_version_and_five_papers() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {annelid.__version__}\n" in text
    assert len(re.findall(r"^  - type:", text, re.MULTILINE)) == 5
