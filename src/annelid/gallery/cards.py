"""The gallery as HTML: a card for each entry, on a page of its own or inside of another page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

from annelid.core.files import write_text
from annelid.gallery.entries import KINDS, Kind
from annelid.gallery.making import SOURCE, Made, shown
from annelid.gallery.pictures import PAGE, PICTURE, PREVIEW

INDEX = "index.html"
TITLES: dict[Kind, str] = {
    "scene": "Scenes",
    "environment": "Environments",
    "study": "Studies",
    "robot": "Robots",
}


def write_index(gallery: Path) -> Path:
    """Write a page with all cards; its path."""
    made = shown(gallery)
    sections = "".join(f"<h2>{TITLES[kind]}</h2>{cards(made, kind)}" for kind in KINDS)
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Annelid: gallery</title><style>{STYLE}{_PAGE_STYLE}</style><h1>Gallery</h1>{sections}</html>\n"
    )
    write_text(gallery / INDEX, page)
    return gallery / INDEX


def cards(made: Sequence[Made], kind: Kind, *, base: str = "", remedy: str = "annelid gallery {key}") -> str:
    """The cards of one kind.

    Args:
        made: Entries with what there is of them.
        kind: Which of them.
        base: Address of the folder of the gallery, seen from the page, with a slash at its end.
        remedy: The line that makes the pictures of an entry, with its key, and puts them on the page.
    """
    chosen = (one for one in made if one.entry.kind == kind)
    return f'<div class="gallery">{"".join(_card(one, base, remedy) for one in chosen)}</div>'


def _card(made: Made, base: str, remedy: str) -> str:
    entry = made.entry
    name, command = html.escape(entry.key.partition("/")[2]), html.escape(entry.command)
    told = re.sub(r"`+([^`]+)`+", r"<code>\1</code>", html.escape(entry.summary()))
    text = f"<p>{told}</p><p><code>{command}</code></p>"
    if made.folder is None:
        line = f"<code>{html.escape(remedy.format(key=entry.key))}</code>"
        why = f"{html.escape(made.failure)} Again: {line}" if made.failure else f"No picture yet. This makes it: {line}"
        return f'<article id="{entry.key}"><h3>{name}</h3><p class="missing">{why}</p>{text}</article>'
    at = base + made.folder
    links = f'<a href="{at}/{PAGE}">open</a> · <a href="{at}/{PICTURE}">picture</a>'
    if not entry.shown_by:
        links += f' · <a href="{at}/{SOURCE}">source</a>'
    return (
        f'<article id="{entry.key}"><a href="{at}/{PAGE}"><img loading="lazy" alt="{name}" src="{at}/{PREVIEW}"></a>'
        f"<h3>{name}</h3>{text}<p>{links}</p></article>"
    )


STYLE = (
    ".gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1.2rem;margin:1rem 0}"
    ".gallery article{border:1px solid #8885;border-radius:.4rem;padding:.6rem;overflow-wrap:anywhere}"
    ".gallery img{width:100%;aspect-ratio:3/2;object-fit:contain;background:#fff;border-radius:.3rem}"
    ".gallery h3{margin:.3rem 0;font-size:1.05rem}.gallery p{margin:.2rem 0;font-size:.9rem}"
    ".gallery .missing{font-style:italic}"
)
_PAGE_STYLE = "body{font:16px/1.45 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem}"
