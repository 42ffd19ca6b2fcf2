"""`annelid view FILE.rec`: a recording in the browser, with a time slider."""

from __future__ import annotations

import os
import time as wall
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.recording import Recording
from annelid.core.snapshot import Lines, Mesh, Plane, Snapshot, Spheres
from annelid.view.browser.page import Page, Viewer

_SPEEDS = {"0.05 ×": 0.05, "0.1 ×": 0.1, "0.25 ×": 0.25, "0.5 ×": 0.5, "1 ×": 1.0, "2 ×": 2.0, "5 ×": 5.0}
_RATE = 30.0


class ReplayViewer(Viewer):
    """A page that plays a recording; paused at its beginning until someone plays.

    Args:
        path: The recording.
        host: Address to listen on.
        port: Port to listen on; the next free one if it is taken.
        allow_hosts: Other names under which the page is published: `NAME` or `NAME:PORT`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        allow_hosts: Sequence[str] = (),
    ) -> None:
        self.recording = Recording(path)
        self.recording.warn_if_open()
        if not len(self.recording):
            self.recording.close()
            raise InvalidValue(f"the recording {self.recording.path} has no frames; there is nothing to see.")
        reel = self.recording.reel
        self._begin, self._end = float(reel[0]), float(reel[-1])
        self.time, self.playing = self._begin, False
        self._shown: Any = None
        self._ticked = wall.perf_counter()
        self.page = Page(
            f"Annelid: {self.recording.header.scene or self.recording.path.name}",
            host=host,
            port=port,
            allow_hosts=allow_hosts,
        )
        self._make_panel()
        first = [self.recording.frame(0)]
        self.page.drawing.arrange(first)
        self.page.aim(first)
        self._show()
        self.page.start(self._refresh, "annelid-replay")

    def close(self) -> None:
        """Stop serving."""
        super().close()
        self.recording.close()

    def seek(self, time: float) -> None:
        """Go to a time of the reel [s]: that of the simulation, unless it has jumped."""
        self.time = min(max(time, self._begin), self._end)
        self._show()

    def _make_panel(self) -> None:
        gui, page, length = self.page.server.gui, self.page, self._end - self._begin
        tabs = gui.add_tab_group()
        with tabs.add_tab("Play"):
            self._play = gui.add_button("Play")
            high = self._end if length > 0.0 else self._begin + 1e-6
            self._slider = gui.add_slider("Time [s]", self._begin, high, max(length / 2000.0, 1e-6), self._begin)
            self._speed = gui.add_dropdown("Speed", tuple(_SPEEDS), initial_value="1 ×")
            with gui.add_folder("Show"):
                page.add_show_controls((), parts=True)
                page.set_fields(self._fields(), anew=True, first=True)
            for control, kind in ((page.surface, Mesh), (page.springs, Lines), (page.masses, Spheres)):
                control.value = True
                control.visible = any(isinstance(part, kind) for part in self.recording.frame(0).parts)
            if self.recording.events:
                with gui.add_folder("Events"):
                    rows = [f"{e.time:.3f} s: {e.name} {e.text}" for e in self.recording.events[:200]]
                    gui.add_markdown("\n\n".join(rows))
        page.add_plots(tabs.add_tab("Numbers")).fill(
            self.recording.reel, self.recording.numbers(), self.recording.units
        )
        self._play.on_click(lambda _: page.later(self._toggle))
        self._slider.on_update(self._slid)
        for handle in (page.color, page.surface, page.springs, page.masses, page.follow):
            handle.on_update(lambda _: page.later(self._redraw))

    def _fields(self) -> tuple[str, ...]:
        ends = (self.recording.frame(0), self.recording.frame(-1))
        parts = [part for s in ends for part in s.parts if not isinstance(part, Plane)]
        parts.sort(key=lambda part: -len(part.fields))  # the part that has most of them has them in their order
        return tuple(dict.fromkeys(name for part in parts for name in part.fields))

    def _slid(self, event: Any) -> None:
        if event.client is not None:  # not when playing moves it
            self.page.later(lambda: self._pause_at(float(self._slider.value)))

    def _pause_at(self, time: float) -> None:
        self.playing = False
        self.seek(time)

    def _toggle(self) -> None:
        self.playing = not self.playing
        if self.playing and self.time >= self._end:
            self.time = self._begin
        self._ticked = wall.perf_counter()

    def _redraw(self) -> None:
        self._shown = None
        self._show()

    def _refresh(self) -> float:
        now = wall.perf_counter()
        elapsed, self._ticked = now - self._ticked, now
        label = "Pause" if self.playing else "Play"
        if self._play.label != label:
            self._play.label = label
        if self.playing:
            self.time = min(self._end, self.time + elapsed * _SPEEDS[self._speed.value])
            self.playing = self.time < self._end
            self._slider.value = self.time
            if self.page.watched:
                self._show()
        return 1.0 / _RATE

    def _show(self) -> None:
        index = self.recording.index_on_reel(self.time)
        if index != self._shown:
            self._shown = index
            self.page.draw([self._chosen(self.recording.frame(index))])

    def _chosen(self, snapshot: Snapshot) -> Snapshot:
        """The parts that the controls ask for."""
        page = self.page
        wanted = {Mesh: page.surface.value, Spheres: page.masses.value, Lines: page.springs.value, Plane: True}
        return replace(snapshot, parts=tuple(part for part in snapshot.parts if wanted[type(part)]))
