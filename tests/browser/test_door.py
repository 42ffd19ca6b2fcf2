"""The door in a real browser: the page itself gets in, with its token; a page from elsewhere does not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from annelid.scenes.registry import scene_class, scenes
from annelid.view.browser.live import LiveViewer

from .conftest import wait_until

viser = pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

_CONNECT = """([address, protocol]) => new Promise(resolve => {
  const line = new WebSocket(address, [protocol]);
  line.onopen = () => { line.close(); resolve("open"); };
  line.onerror = () => resolve("refused");
})"""
_READ = "address => fetch(address).then(answer => answer.text(), () => 'refused')"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, format: str, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Address of a page on another port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join(timeout=5.0)


def test_only_the_own_page_gets_in(elsewhere: str, open_page: Callable[[str], Any]) -> None:
    scene = scene_class("bounce")(masses=4)
    with LiveViewer(scenes(), scene, build=lambda s: s.build(device="cpu"), host="0.0.0.0", port=18120) as viewer:
        address = viewer.url.replace("localhost", "127.0.0.1")
        line = [address.replace("http", "ws"), f"viser-v{viser.__version__}"]
        page = open_page(elsewhere)
        assert page.evaluate(_CONNECT, line) == "refused"
        assert page.evaluate(_READ, address) == "refused"
        assert not viewer.page.watched
        page.goto(address)
        page.get_by_role("button", name="Play").wait_for()
        wait_until(page, lambda: viewer.page.watched, "the page connects")
        assert page.evaluate(_CONNECT, line) == "open"
        page.get_by_role("button", name="Play").click()
        wait_until(page, lambda: viewer.runner.playing, "the page is obeyed")
        page.reload()  # the client may have written its server into the address
        page.get_by_role("button", name="Pause").wait_for()
