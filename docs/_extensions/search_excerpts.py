"""Excerpts of pages in the results of the search, also where pages are opened as files.

The search of Sphinx would fetch each page that it has found, which browsers refuse for files. So the texts of all pages
stand in a script, which the page of the search alone loads; `_static/search_excerpts.js` shows what is around a word.
"""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

TEXTS = "search_texts.js"
_SKIPPED = {"nav", "script", "style", "aside", "button"}


class Sections(HTMLParser):
    """The text of a page, section by section: pairs of an anchor and what stands below it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[list[str]] = []
        self._inside = 0  # depth below the article, 0 outside
        self._skipped = 0  # depth below what is not read
        self.feed(page)
        self.found = [[anchor, " ".join(text.split())] for anchor, text in self.found if text.strip()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "article" or self._inside:
            self._inside += tag not in _VOID
            if tag == "article":
                self.found.append(["", ""])
            if self._skipped or tag in _SKIPPED or "headerlink" in (named.get("class") or ""):
                self._skipped += tag not in _VOID
            elif tag in ("section", "dt") and named.get("id"):
                self.found.append([str(named["id"]), ""])

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag not in _VOID:
            self._inside -= 1
            self._skipped = max(self._skipped - 1, 0)

    def handle_data(self, data: str) -> None:
        if self._inside and not self._skipped and self.found:
            self.found[-1][1] += data


_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def load_on_search(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load texts and script on the page of the search alone."""
    if pagename == "search":
        app.add_js_file(TEXTS)
        app.add_js_file("search_excerpts.js", loading_method="defer")


def write_texts(app: Sphinx, error: Exception | None) -> None:
    """Write the texts of all pages."""
    if error is not None or app.builder.name != "html":
        return
    pages = {name: Path(app.outdir) / f"{name}.html" for name in sorted(app.env.found_docs)}
    texts = {name: Sections(path.read_text(encoding="utf-8")).found for name, path in pages.items() if path.is_file()}
    lines = f"const PAGE_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / TEXTS).write_text(lines, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", load_on_search)
    app.connect("build-finished", write_texts)
    return {"parallel_read_safe": True}
