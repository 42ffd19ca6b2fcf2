"""The Python examples of the documentation run as they are printed."""

import re
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
    exec(compile("\n".join(examples), str(page), "exec"), {"__name__": "example"})
