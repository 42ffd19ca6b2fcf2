"""The directive `gallery`: cards of one kind of entry, with the pictures that `make gallery` has made."""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annelid.gallery.cards import STYLE, cards
from annelid.gallery.making import shown

GALLERY = Path(__file__).parents[2] / "out" / "gallery"
TARGET = "gallery_files"


class Gallery(SphinxDirective):
    """All cards of a kind: scene, environment, study or robot."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # pictures may have come since
        text = f"<style>{STYLE}</style>" + cards(
            shown(GALLERY), self.arguments[0], base=f"{TARGET}/", remedy="make gallery ENTRY={key} docs"
        )
        return [nodes.raw("", text, format="html")]


def copy_files(app: Sphinx, error: Exception | None) -> None:
    """Put the files of the gallery beside the pages."""
    if error is None and app.builder.name == "html" and GALLERY.is_dir():
        shutil.copytree(GALLERY, Path(app.outdir) / TARGET, dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("gallery", Gallery)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True}
