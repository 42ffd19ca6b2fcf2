"""The Python examples of the documentation run as they are printed."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted(DOCS.glob("*.md")) if EXAMPLE.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    assert examples
    script = tmp_path / f"{page.stem}_example.py"  # a file, because Warp reads the source of what it compiles
    script.write_text("\n".join(examples), encoding="utf-8")
    runpy.run_path(str(script))
