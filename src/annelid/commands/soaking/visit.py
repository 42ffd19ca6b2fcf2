"""A visit to the page of a simulation by a browser in another process, and what it is told there."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time as wall
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from annelid.commands.soaking.visitor import browser_path
from annelid.commands.soaking.wanted import NotAsWanted, want
from annelid.core.errors import AnnelidError
from annelid.core.packages import optional

PATIENCE = 180.0
"""Longest wait for something on the page [s], on a machine that has other things to do."""


def require_browser() -> str:
    """The path of a browser; where there is none, a sentence says what to do."""
    path = browser_path()
    if path is None:
        raise AnnelidError(
            "no Chromium or Chrome is on PATH to open the page in: install one (apt-get install chromium), or leave "
            "the page out (--no-browser)."
        )
    optional("playwright.sync_api", purpose="a page in a real browser", extra="dev")
    return path


class Visit:
    """A browser on a page.

    Args:
        path: The browser.
        address: Of the page.
    """

    def __init__(self, path: str, address: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "annelid.commands.soaking.visitor", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is ours: the page is closed after the simulation
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="soak-visit", daemon=True)
        self._reader.start()
        try:
            self._do(act="open", address=address)
        except BaseException:
            self.close()
            raise

    def click(self, button: str) -> None:
        """Click a button."""
        self._do(act="click", button=button)

    def set(self, label: str, value: str) -> None:
        """Type a value into the box beside a slider."""
        self._do(act="set", label=label, value=value)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list."""
        self._do(act="choose", label=label, option=option)

    def look(self) -> tuple[int, int]:
        """How many colours are to be seen, and the memory of the page [B]."""
        answer = self._do(act="look")
        return int(answer["colors"]), int(answer["heap"])

    def close(self) -> None:
        """Leave the page, and end the browser."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended before us
            self._process.stdin.close()
        try:
            self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._answers.put(line)
        self._answers.put("")

    def _do(self, **order: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=PATIENCE)
        except (BrokenPipeError, queue.Empty) as error:
            raise NotAsWanted(f"the browser does not answer to {order}.") from error
        want(line != "", f"the browser ended by itself at {order}.")
        answer: dict[str, Any] = json.loads(line)
        want("failed" not in answer, f"the page does not do {order}: {answer.get('failed')}")
        want(not answer["errors"], f"the page has an error: {answer['errors']}")
        return answer


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until something is true."""
    end = wall.perf_counter() + PATIENCE
    while not true():
        want(wall.perf_counter() < end, f"waited {PATIENCE:.0f} s in vain: {what}.")
        wall.sleep(0.02)
