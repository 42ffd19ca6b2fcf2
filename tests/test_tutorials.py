"""The tutorials are notebooks that run, assert what they answer, and show it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted(TUTORIALS.glob("*.md")) if page.stem != "index"]


def cells(page: Path) -> list[str]:
    return CELL.findall(page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """One process for all of them: each would take seconds to import what the others have."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def test_all_are_listed() -> None:
    index = (TUTORIALS / "index.md").read_text(encoding="utf-8")
    assert [page.stem for page in PAGES if f"]({page.stem}.md)" not in index or f"\n{page.stem}\n" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tutorials_ask_and_answer(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("---\nfile_format: mystnb\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n")
    assert "**Question" in text
    assert "**Answer" in text
    assert "## What to change" in text
    assert any(re.search("^assert ", cell, re.MULTILINE) for cell in cells(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tutorials_run(page: Path, tmp_path: Path, kernel: Any) -> None:
    begin = f"%reset -f\n%cd -q {tmp_path}\n%matplotlib inline"  # nothing is left of the tutorial before
    code = [nbformat.v4.new_code_cell(text) for text in (begin, *cells(page))]
    notebook = nbformat.v4.new_notebook(cells=code)
    nbclient.NotebookClient(notebook, km=kernel, timeout=300).execute()
    shown = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert "image/png" in shown
