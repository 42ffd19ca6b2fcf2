"""A real browser for the tests in this folder: Debian's Chromium without a screen, driven by Playwright."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid.commands.soaking.visitor import ARGUMENTS, browser_path


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser; tests are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = browser_path()
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=path,
            headless=True,
            args=ARGUMENTS,
            viewport={"width": 900, "height": 600},
        )
        yield context
        context.close()


@contextmanager
def one_page(browser: Any) -> Iterator[Callable[[str], Any]]:
    """Opens addresses in a page; fails if the page has an error, or asks for anything outside this machine."""
    page = browser.new_page()
    page.set_default_timeout(90_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if not _local(request.url) else None)

    def visit(address: str) -> Any:
        page.goto(address)
        return page

    yield visit
    page.close()
    assert errors == []


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[[str], Any]]:
    """Opens an address in a page of the test's own."""
    with one_page(browser) as visit:
        yield visit


@pytest.fixture(scope="module")
def shared_page(browser: Any) -> Iterator[Callable[[str], Any]]:
    """Opens an address in a page for all tests of a file: a first view costs a browser without a GPU many seconds."""
    with one_page(browser) as visit:
        yield visit


def _local(address: str) -> bool:
    return address.startswith(("file:", "data:", "blob:", "http://127.0.0.1:", "ws://127.0.0.1:"))


@pytest.fixture
def keep_picture(request: pytest.FixtureRequest) -> Callable[[Any, str], None]:
    """Saves a screenshot to out/browser/, to be looked at."""
    folder = Path(request.config.rootpath) / "out" / "browser"

    def keep(page: Any, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png")

    return keep


def view_of(page: Any, *, width: int = 560) -> np.ndarray:
    """The left part of the page, which controls do not cover, shape [height, width, 3]."""
    import io

    from PIL import Image

    data = page.screenshot(clip={"x": 0, "y": 150, "width": width, "height": 400})
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.int16)


def wait_until(page: Any, condition: Callable[[], bool], what: str, *, seconds: float = 60.0) -> None:
    """Wait until something holds, looking again and again."""
    for _ in range(int(seconds / 0.5)):
        if condition():
            return
        page.wait_for_timeout(500)
    pytest.fail(f"waited {seconds} s in vain: {what}")


def differs(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two pictures differ visibly."""
    return bool((np.abs(a - b).max(axis=2) > 24).sum() > 40)


def not_blank(picture: np.ndarray) -> bool:
    """Whether something is to be seen: many colours, and none of them everywhere."""
    return len(np.unique(picture.reshape(-1, 3), axis=0)) > 50


def arrived(page: Any) -> None:
    """Wait until the scene is drawn; the first time takes a while without a GPU."""
    page.get_by_role("button", name="Play").wait_for()
    wait_until(page, lambda: not_blank(view_of(page)), "something to be seen", seconds=120)
    settled(page)


def settled(page: Any) -> None:
    """Wait until the picture stands still; a page that lags may show one picture twice, so it must three times.

    It is the only way to ask for that: how long a loaded machine takes to draw a last picture, nobody knows.
    """
    seen = [view_of(page)]

    def same() -> bool:
        page.wait_for_timeout(800)
        seen.append(view_of(page))
        return len(seen) > 2 and not any(differs(seen[-1], before) for before in seen[-3:-1])

    wait_until(page, same, "the picture to stand still", seconds=90)


def pause(page: Any) -> None:
    """Stop a scene that may be playing, and wait until its last picture is drawn."""
    stop = page.get_by_role("button", name="Pause")
    if stop.is_visible():
        stop.click()
    page.get_by_role("button", name="Play").wait_for()
    settled(page)


def set_number(page: Any, label: str, value: str) -> None:
    """Type a value into the box beside a slider."""
    box = page.get_by_text(label, exact=True).locator("xpath=following::input[@type='text' or @type='number'][1]")
    box.fill(value)
    box.press("Enter")


def choose(page: Any, label: str, option: str) -> None:
    """Choose from a drop-down list."""
    page.get_by_text(label, exact=True).locator("xpath=following::input[1]").click()
    page.get_by_role("option", name=option, exact=True).click()


def on_screen(viewer: Any, page: Any, point: np.ndarray) -> tuple[float, float]:
    """Where a point [m] is in the page [pixels]."""
    camera = next(iter(viewer.page.server.get_clients().values())).camera
    eye = np.array(camera.position)
    forward = np.array(camera.look_at) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    size = page.viewport_size
    ray = point - eye
    scale = 0.5 * size["height"] / np.tan(0.5 * camera.fov) / (ray @ forward)
    return 0.5 * size["width"] + scale * (ray @ right), 0.5 * size["height"] - scale * (ray @ up)
