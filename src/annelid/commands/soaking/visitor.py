"""A visitor of the page: a real browser, driven by Playwright in a process of its own.

Run as a module with an address and the path of a browser, it opens the page and does what it is told on standard
input, one JSON object a line; it answers each with a line. A process of its own keeps the memory and the threads of
Playwright out of what a soak measures.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

ARGUMENTS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Of a browser without a screen and without a GPU, which asks nobody for anything."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Programs that Playwright can drive as they come."""

_PATIENCE = 90_000.0  # ms


def browser_path() -> str | None:
    """The first browser on PATH that can be driven."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Visitor:
    """What can be done on a page.

    Args:
        page: A page of Playwright.
    """

    def __init__(self, page: Any) -> None:
        self._page = page
        self._errors: list[str] = []
        page.set_default_timeout(_PATIENCE)
        page.on("pageerror", lambda error: self._errors.append(str(error)))

    def do(self, order: dict[str, str]) -> dict[str, Any]:
        """Do something and say what came of it."""
        acts: dict[str, Callable[..., dict[str, Any]]] = {
            "open": self._open,
            "click": self._click,
            "set": self._set,
            "choose": self._choose,
            "look": self._look,
        }
        told = {name: value for name, value in order.items() if name != "act"}
        return {**acts[order["act"]](**told), "errors": self._errors[-3:]}

    def _open(self, address: str) -> dict[str, Any]:
        self._page.goto(address)
        self._page.get_by_role("button", name="Play").wait_for()
        return {}

    def _click(self, button: str, patience: str = "") -> dict[str, Any]:
        self._page.get_by_role("button", name=button).click(timeout=float(patience or _PATIENCE))
        return {}

    def _set(self, label: str, value: str) -> dict[str, Any]:
        name = self._page.get_by_text(label, exact=True)
        box = name.locator("xpath=following::input[@type='text' or @type='number'][1]")
        box.fill(value)
        box.press("Enter")
        return {}

    def _choose(self, label: str, option: str) -> dict[str, Any]:
        self._page.get_by_text(label, exact=True).locator("xpath=following::input[1]").click()
        self._page.get_by_role("option", name=option, exact=True).click()
        return {}

    def _look(self) -> dict[str, Any]:
        """How many colours are to be seen, and how much memory the page takes [B]."""
        import io

        from PIL import Image

        size = self._page.viewport_size
        picture = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        left = picture.crop((0, size["height"] // 4, size["width"] // 2, size["height"]))
        colors = left.getcolors(maxcolors=left.width * left.height) or []
        heap = self._page.evaluate("performance.memory ? performance.memory.usedJSHeapSize : 0")
        return {"colors": len(colors), "heap": heap}


def main(path: str) -> None:
    """Do what standard input says, until it ends."""
    from playwright.sync_api import Error, sync_playwright

    profiles = tempfile.TemporaryDirectory(prefix="annelid-visitor-", ignore_cleanup_errors=True)
    with profiles as profile, sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile,
            executable_path=path,
            headless=True,
            args=ARGUMENTS,
            viewport={"width": 800, "height": 600},
        )
        visitor = Visitor(context.pages[0])
        for line in sys.stdin:
            try:
                answer = visitor.do(json.loads(line))
            except Error as error:
                answer = {"failed": str(error).partition("\n")[0]}
            print(json.dumps(answer), flush=True)
        context.close()


if __name__ == "__main__":
    main(sys.argv[1])
