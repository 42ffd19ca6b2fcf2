"""Walk a built site in a browser: python walk.py FOLDER. Tells every broken link, missing picture and error of a page.

Links to other sites are not followed. A page that asks another machine for anything is at fault: it is read offline.
"""

import functools
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from annelid.commands.soaking.visitor import ARGUMENTS, browser_path

PICTURES = """async () => {
  const images = [...document.images];
  await Promise.all(images.map(async (image) => { image.loading = "eager"; try { await image.decode(); } catch {} }));
  return images.filter((image) => !image.naturalWidth).map((image) => image.src);
}"""
_PATIENCE = 60_000  # [ms]
_SEARCHING = 10_000


class Page(HTMLParser):
    """Links and anchors of a page, from its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := named.get(key)))
        if tag == "a" and (link := named.get("href")) is not None:
            self.links.append(link)


class Walk:
    """Visits every page that can be reached from the first.

    Args:
        folder: The built site.
        address: Where it is served.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address
        self.known: dict[str, Page] = {}
        self.faults: list[str] = []

    def path(self, address: str) -> Path:
        """The file behind an address."""
        return self.folder / unquote(address.removeprefix(self.address))

    def page(self, address: str) -> Page | None:
        """A page by its address; None for other files and for what is not there."""
        path = self.path(address)
        if address not in self.known and path.is_file() and path.suffix == ".html":
            self.known[address] = Page(path.read_text(encoding="utf-8"))
        return self.known.get(address)

    def follow(self, address: str) -> list[str]:
        """Pages that a page links to; links that lead nowhere are faults."""
        found, page = [], self.page(address)
        for link in page.links if page else ():
            target, anchor = urldefrag(urljoin(address, link))
            if not target.startswith(self.address):
                continue
            if not self.path(target).is_file():
                self.faults.append(f"{address}: {link} leads nowhere")
            elif (reached := self.page(target)) is not None:
                found.append(target)
                if unquote(anchor) not in reached.anchors and "gallery_files" not in target:
                    self.faults.append(f"{address}: {link} has no such place")
        return found

    def visit(self, tab: Any, address: str) -> None:
        """Look at a page in the browser."""
        tab.goto(address, wait_until="load", timeout=_PATIENCE)
        self.faults += [f"{address}: the picture {source} is missing" for source in tab.evaluate(PICTURES)]

    def search(self, tab: Any, word: str) -> None:
        """Look for a word, and for an excerpt that has it."""
        tab.goto(f"{self.address}search.html?q={word}", wait_until="load", timeout=_PATIENCE)
        tab.wait_for_timeout(_SEARCHING)
        for what, selector in (("is not found", "a"), ("has no excerpt", "p.context mark")):
            if tab.query_selector(f"#search-results ul li {selector}") is None:
                self.faults.append(f"{self.address}search.html: {word} {what}")

    def all(self, tab: Any) -> int:
        """Visit all pages; their number."""
        now = [self.address]

        def complain(text: str, source: str = "") -> None:
            if not source or source.startswith(self.address):
                self.faults.append(f"{now[0]}: {text}")

        def refuse(route: Any) -> None:
            complain(f"asks another machine for {route.request.url}")
            route.abort()

        tab.on("pageerror", lambda error: complain(str(error)))
        tab.on("console", lambda m: complain(m.text, m.location["url"]) if m.type == "error" else None)
        tab.route(lambda url: not url.startswith((self.address, "data:", "blob:")), refuse)
        first = self.address + "index.html"
        waiting, seen = deque([first]), {first}
        while waiting:
            now[0] = waiting.popleft()
            self.visit(tab, now[0])
            for target in self.follow(now[0]):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        now[0] = self.address + "search.html"
        for word in ("worm", "valve", "McKibben", "Abaqus", "latency"):
            self.search(tab, word)
        return len(seen)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder that is served on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def main(folder: Path) -> int:
    from playwright.sync_api import sync_playwright

    path = browser_path()
    if path is None:
        print("docs-check needs Chromium: apt-get install chromium", file=sys.stderr)
        return 2
    with served(folder) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        walk = Walk(folder, address)
        count = walk.all(browser.new_page())
        browser.close()
    for fault in walk.faults:
        print(fault.replace(address, ""))
    print(f"{count} pages, {len(walk.faults)} faults.")
    return 1 if walk.faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
