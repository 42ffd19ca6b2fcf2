"""The search of the documentation site: what people ask for is on a page, and results show it in an excerpt."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
STUB = """
const paragraph = () => ({ parts: [], append(...all) { this.parts.push(...all); } });
const document = {
  getElementById: () => results,
  createElement: paragraph,
};
const item = (href) => ({ dataset: {}, found: null, querySelector: () => ({ getAttribute: () => href }),
                          append(what) { this.found = what; } });
const items = HREFS.map(item);
const results = { querySelectorAll: () => items.filter((each) => !("explained" in each.dataset)) };
const window = { location: { search: QUERY } };
class MutationObserver { observe() {} }
"""
TELL = """
const told = (part) => typeof part === "string" ? part : `<${part.textContent}>`;
console.log(JSON.stringify(items.map((each) => each.found && each.found.parts.map(told).join(""))));
"""


@pytest.mark.parametrize("word", ["valve", "McKibben", "Abaqus", "latency"])
def test_words_that_people_look_for_are_on_a_page(word: str) -> None:
    pages = [
        page.name for page in DOCS.rglob("*.md") if re.search(rf"\b{word}", page.read_text(encoding="utf-8"), re.I)
    ]
    assert pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site in the theme of ours."""
    pytest.importorskip("pydata_sphinx_theme")
    folder = tmp_path_factory.mktemp("site")
    (folder / "_static").mkdir()
    shutil.copy(DOCS / "_static" / "search_excerpts.js", folder / "_static")
    extensions = str(DOCS / "_extensions")
    (folder / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {extensions!r})\nextensions = ['search_excerpts']\n"
        "html_theme = 'pydata_sphinx_theme'\nhtml_static_path = ['_static']\nhtml_show_search_summary = False\n"
    )
    before = "Words before. " * 30
    (folder / "index.rst").write_text(
        f"Pumps\n=====\n\n{before}\n\nOf shut valves\n--------------\n\nA valve & <its> use.\n"
    )
    (folder / "other.rst").write_text(":orphan:\n\nLatency\n=======\n\nIt is late.\n")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "built")],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "built"


def excerpts(site: Path, query: str, hrefs: list[str]) -> list[str | None]:
    """What the script puts below results that lead to these addresses, the word between < and >."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the script with")
    names = ("search_texts.js", "search_excerpts.js")
    texts, script = ((site / "_static" / name).read_text(encoding="utf-8") for name in names)
    begin = f"const HREFS = {json.dumps(hrefs)}, QUERY = {json.dumps('?q=' + query)};\n"
    program = f"{begin}{STUB}{texts}{{\n{script}\n}}{TELL}"
    done = subprocess.run([node, "-e", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: list[str | None] = json.loads(done.stdout)
    return found


def test_texts_of_pages_stand_by_section_without_what_is_around_them(site: Path) -> None:
    text = (site / "_static" / "search_texts.js").read_text(encoding="utf-8")
    pages = json.loads(text.removeprefix("const PAGE_TEXTS = ").rstrip(";\n"))
    assert pages["other"] == [["latency", "Latency It is late."]]
    assert pages["index"][-1] == ["of-shut-valves", "Of shut valves A valve & <its> use."]


def test_the_page_of_the_search_alone_loads_them(site: Path) -> None:
    loading = {page.name for page in site.glob("*.html") if "search_texts.js" in page.read_text(encoding="utf-8")}
    assert loading == {"search.html"}


def test_results_show_the_words_around_what_was_found(site: Path) -> None:
    found = excerpts(site, "Valves", ["index.html", "index.html#of-shut-valves", "other.html", "gone.html"])
    assert found[0] is not None
    assert found[0].startswith("Of shut <valves> A valve & <its> use.")
    assert found[1] == "Of shut <valves> A valve & <its> use."
    assert found[2:] == [None, None]
    (late,) = excerpts(site, "LATENCY+unknown", ["other.html"])
    assert late == "<Latency> It is late."
    (long,) = excerpts(site, "before", ["index.html"])
    assert long is not None
    assert len(long) < 260
    assert long.endswith(" …")
