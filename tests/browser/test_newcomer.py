"""A newcomer's hour: the script of the documentation in Python, in a notebook and in a real browser."""

import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from .conftest import wait_until

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "own.md"
CELLS = """
simulation.show(field="strain", pixels=(240, 160), samples=1)
---
simulation.video("short.gif", 0.02, fps=100, pixels=(120, 80), samples=1)
---
viewer = simulation.view(port=18200)
viewer
---
viewer.close()
---
body
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 25
    path = tmp_path_factory.mktemp("newcomer") / "newcomer.py"
    path.write_text(text.replace("page.close()\n", ""), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(script: Path) -> Iterator[dict[str, Any]]:
    """What the script has made, its page still open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(script.parent)
        found = runpy.run_path(str(script))
    yield found
    found["page"].close()


def test_the_script_writes_pictures_and_recordings(script: Path, made: dict[str, Any]) -> None:
    for name in ("crawl.png", "crawl.mp4", "crawl.html", "crawl.rec"):
        assert (script.parent / name).stat().st_size > 1000
    assert Image.open(script.parent / "crawl.png").size == (960, 640)


def test_the_script_leads_to_a_page_that_plays(
    script: Path, made: dict[str, Any], open_page: Callable[[str], Any]
) -> None:
    simulation = made["simulation"]
    page = open_page(made["page"].url)
    page.get_by_role("button", name="Play").click(timeout=90_000)
    stood = simulation.step_count
    wait_until(page, lambda: simulation.step_count > stood, "the robot of the script moves on the page")
    page.get_by_role("button", name="Pause").click()
    offline = open_page((script.parent / "crawl.html").as_uri())
    offline.get_by_role("button", name="Play").wait_for()


def test_the_script_in_a_notebook(script: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    first = script.read_text(encoding="utf-8").split("recorder =")[0]
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in (first, *CELLS.split("---\n"))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(script.parent)}}).execute()
    shown = [{kind for output in cell.outputs for kind in output.get("data", {})} for cell in notebook.cells]
    pages = [str(output) for cell in notebook.cells for output in cell.outputs]
    assert "image/png" in shown[1]
    assert any("image/gif;base64" in text for text in pages)
    assert any("<iframe" in text for text in pages)
    assert any("<table>" in text for text in pages)
