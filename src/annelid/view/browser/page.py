"""The viser page that live simulations and recordings share: server, colours, legend, plots, camera."""

from __future__ import annotations

import html
import io
import queue
import threading
import time as wall
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import redirect_stdout, suppress
from typing import Any, Self

import numpy as np

from annelid.core.errors import AnnelidError, ViewerFailed
from annelid.core.snapshot import Look, Snapshot
from annelid.view.browser.door import ANY_ADDRESS, Door
from annelid.view.browser.drawing import Drawing
from annelid.view.browser.framing import framed
from annelid.view.browser.inbox import Inbox
from annelid.view.browser.server import start_server
from annelid.view.browser.time_plots import Plots
from annelid.view.colors import Scale

NO_FIELD = "none"
_TELLING = ("actuation", "control", "speed", "displacement")
"""Scalars that show what moves a body, or else how it moves, the most telling first."""
_ASPECT = 1.5  # of a window before anyone has opened one
_SECONDS_BETWEEN_ERRORS = 5.0
_SECONDS_BETWEEN_REFUSALS = 1.0


class Viewer:
    """What shows something on a page of its own.

    Attributes:
        page: The page.
    """

    page: Page

    @property
    def url(self) -> str:
        """Address of the page."""
        return self.page.url

    def wait(self) -> None:
        """Serve until interrupted or closed; raises `ViewerFailed` if that is no longer possible."""
        self.page.wait()

    def close(self) -> None:
        """Stop serving."""
        self.page.stopping.set()
        self.page.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Page:
    """A page in the browser, with what every page has.

    Everything that comes from the browser is put in a queue (`later`) and done by the one thread that `start` makes.

    Args:
        title: Title of the page.
        host: Address to listen on.
        port: Port to listen on; the next free one if it is taken.
        allow_hosts: Other names under which the page is published (see `Door`).
    """

    def __init__(self, title: str, *, host: str, port: int, allow_hosts: Sequence[str] = ()) -> None:
        self._door = Door(host, allow_hosts)
        self._inbox = Inbox(self._refuse)
        self.server = start_server(host, port, title, self._door, self._inbox)
        self.drawing = Drawing(self.server)
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._told = ("", 0.0)
        self._refused_at = 0.0
        self._legend_of: Scale | None = None
        self.server.on_client_connect(lambda client: self.later(lambda: None))

    @property
    def url(self) -> str:
        """Address of the page, with the token if it needs one."""
        host = self.server.get_host()
        shown = "localhost" if host in ANY_ADDRESS else f"[{host}]" if ":" in host else host
        token = f"/{self._door.token}/" if self._door.token else ""
        return f"http://{shown}:{self.server.get_port()}{token}"

    @property
    def watched(self) -> bool:
        """Whether any browser shows the page."""
        return bool(self.server.get_clients())

    def later(self, task: Callable[[], None]) -> None:
        """Have something done by the page's thread."""
        self._tasks.put(task)

    def start(self, refresh: Callable[[], float], name: str) -> None:
        """Have a thread of some name `work`."""
        self._thread = threading.Thread(target=self._work_until_it_fails, args=(refresh,), name=name, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the page is closed; raises `ViewerFailed` if it can no longer be served."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(timeout=0.5)
        if self._failure is not None:
            raise ViewerFailed(f"the viewer failed: {_described(self._failure)}") from self._failure

    def work(self, refresh: Callable[[], float]) -> None:
        """Do tasks as they come, and `refresh` again after as many seconds as it says, until `close`."""
        due = wall.perf_counter()
        waits: list[float] = []
        while not self.stopping.is_set():
            try:
                task = self._tasks.get(timeout=max(0.0, min(due - wall.perf_counter(), 0.5)))
                self.attempt(task)
            except queue.Empty:
                pass
            if wall.perf_counter() >= due and not self.stopping.is_set():
                self._look_after_server()
                self.attempt(lambda: waits.append(refresh()))
                due = wall.perf_counter() + (waits.pop() if waits else 0.2)

    def attempt(self, task: Callable[[], None]) -> None:
        """Do something; an error, expected or not, is shown on the page, which lives on."""
        try:
            task()
        except ViewerFailed:
            raise
        except (Exception, CancelledError) as error:
            if self.stopping.is_set() and isinstance(error, RuntimeError | CancelledError):
                return  # a task that comes too late finds its simulation gone
            self._report(error)

    def _work_until_it_fails(self, refresh: Callable[[], float]) -> None:
        try:
            self.work(refresh)
        except BaseException as error:  # whoever waits for this thread raises it
            self._failure = error

    def _look_after_server(self) -> None:
        thread = self.server._websock_server._server_thread
        if not thread.is_alive() and not self.stopping.is_set():
            raise ViewerFailed("its server stopped; start it again.")

    def _report(self, error: BaseException) -> None:
        """Show an error, but not the same one again and again; the terminal gets all of one that was not foreseen."""
        sentence = _described(error)
        last, told_at = self._told
        if sentence == last and wall.perf_counter() - told_at < _SECONDS_BETWEEN_ERRORS:
            return
        self._told = (sentence, wall.perf_counter())
        if not isinstance(error, AnnelidError):
            with suppress(OSError):  # a terminal that is gone must not end the page
                traceback.print_exception(error)
        self.tell(sentence)

    def _refuse(self, sentence: str) -> None:
        """Show why a value was refused, but not at every digit of a number that someone types."""
        if wall.perf_counter() - self._refused_at > _SECONDS_BETWEEN_REFUSALS:
            self._refused_at = wall.perf_counter()
            self.tell(sentence)

    def tell(self, sentence: str) -> None:
        """Show a sentence in all browsers."""
        for client in self.server.get_clients().values():
            client.add_notification("Annelid", sentence, color="red", auto_close_seconds=15.0)

    def close(self) -> None:
        """Stop serving."""
        self.stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    # -------------------------------------------------------------------------------------------- what is shown

    def add_show_controls(self, fields: Sequence[str], *, parts: bool) -> None:
        """Controls for colour and parts, in the current folder."""
        gui = self.server.gui
        self.color = gui.add_dropdown("Colour", (NO_FIELD, *fields), initial_value=NO_FIELD)
        self.legend = gui.add_html("")
        self.surface = gui.add_checkbox("Surface", True, visible=parts)
        self.springs = gui.add_checkbox("Springs", False, visible=parts)
        self.masses = gui.add_checkbox("Masses", False, visible=parts)
        self.follow = gui.add_checkbox("Follow", True, hint="Keep the middle of the scene in place")

    def look(self, *, numbers: bool = True) -> Look:
        """What the controls ask to see, with or without the named numbers."""
        fields = () if self.field is None else (self.field,)
        return Look(self.surface.value, self.masses.value, self.springs.value, fields, numbers=numbers)

    @property
    def field(self) -> str | None:
        """The scalar to colour by."""
        return None if self.color.value == NO_FIELD else str(self.color.value)

    def set_fields(self, fields: Sequence[str], *, anew: bool = False, first: bool = False) -> None:
        """Offer these scalars to colour by; the chosen one stays if it is among them and nothing begins anew.

        Args:
            fields: Names of the scalars.
            anew: Choose one again.
            first: Choose the first of them instead of the most telling one.
        """
        telling = next((name for name in (fields if first else _TELLING) if name in fields), NO_FIELD)
        kept = not anew and self.color.value in (NO_FIELD, *fields)
        chosen = self.color.value if kept else telling
        self.color.options = (NO_FIELD, *fields)
        self.color.value = chosen

    def draw(self, snapshots: Sequence[Snapshot]) -> None:
        """Draw snapshots and the legend."""
        self.drawing.follow = bool(self.follow.value)
        self.drawing.draw(snapshots, self.field)
        if self.drawing.scale != self._legend_of:
            self._legend_of = self.drawing.scale
            self.legend.content = legend_html(self.drawing.scale)

    def aim(self, snapshots: Sequence[Snapshot]) -> None:
        """Point all cameras at the scene, so that it fills what the panel leaves free."""
        self.aim_at(*self.drawing.extent(snapshots))

    def aim_at(self, low: np.ndarray, high: np.ndarray) -> None:
        """Point all cameras at what lies between two corners [m]."""
        camera, seen = self.server.initial_camera, framed(low, high, _ASPECT)
        camera.position, camera.look_at, camera.fov = seen.position, seen.target, seen.fov
        for client in self.server.get_clients().values():
            seen = framed(low, high, client.camera.image_width / max(client.camera.image_height, 1))
            client.camera.position, client.camera.look_at, client.camera.fov = seen.position, seen.target, seen.fov

    def add_plots(self, container: Any) -> Plots:
        """Plots of the named numbers in a tab or folder."""
        return Plots(self.server, container)


def _described(error: BaseException) -> str:
    """An error in a sentence."""
    if isinstance(error, AnnelidError):
        return str(error)
    told = str(error).strip().partition("\n")[0][:300]
    return f"this failed unexpectedly ({type(error).__name__}{': ' if told else ''}{told})."


def legend_html(scale: Scale | None) -> str:
    """What the colours mean."""
    if scale is None:
        return ""
    colors = ["#" + "".join(f"{round(255 * float(c)):02x}" for c in row) for row in scale.table()]
    if scale.labels:
        box = "display:inline-block;width:.9em;height:.9em;border-radius:3px;margin-right:.5em"
        chip = f'<i style="{box};background:{{}}"></i>'
        rows = [f"<div>{chip.format(c)}{html.escape(name)}</div>" for c, name in zip(colors, scale.labels, strict=True)]
        return f'<div style="padding:0 .8em .4em;font-size:.85em">{"".join(rows)}</div>'
    low, high = (f"{v:.3g}" for v in scale.limits)
    stops = ",".join(colors[:: max(1, len(colors) // 16)])
    bar = f'<div style="height:.8em;border-radius:3px;background:linear-gradient(to right,{stops})"></div>'
    ends = f"<span>{low}</span><span>{html.escape(scale.unit)}</span><span>{high}</span>"
    ends = f'<div style="display:flex;justify-content:space-between">{ends}</div>'
    return f'<div style="padding:0 .8em .4em;font-size:.85em">{bar}{ends}</div>'
