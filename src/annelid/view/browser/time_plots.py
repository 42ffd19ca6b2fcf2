"""Plots over time of a scene's named numbers, one a number, with a line for each simulation."""

from __future__ import annotations

import time as wall
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from annelid.core.snapshot import Snapshot
from annelid.view.colors import category_colors

_MAX_POINTS = 600
_MAX_LINES = 10
_SECONDS_BETWEEN = 0.3


class History:
    """Named numbers over time: all of it, more and more coarsely.

    Attributes:
        times: Times [s].
        rows: For each time, the numbers of each simulation by name.
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.rows: list[list[dict[str, float]]] = []
        self._skip = 1
        self._seen = 0

    def add(self, snapshots: Sequence[Snapshot]) -> None:
        """Remember this moment; a time before the last one starts anew."""
        if self.times and snapshots[0].time < self.times[-1]:
            self.clear()
        if self.times and snapshots[0].time == self.times[-1]:
            return
        self._seen += 1
        if (self._seen - 1) % self._skip:
            return
        self.times.append(snapshots[0].time)
        self.rows.append([{name: n.value for name, n in s.numbers.items()} for s in snapshots])
        if len(self.times) > _MAX_POINTS:
            self.times, self.rows, self._skip = self.times[::2], self.rows[::2], 2 * self._skip

    def clear(self) -> None:
        """Forget everything."""
        self.times, self.rows, self._skip, self._seen = [], [], 1, 0

    def series(self, name: str, count: int) -> tuple[np.ndarray, ...]:
        """Times, and the number of each of the first `count` simulations, NaN where there is none."""
        columns = [
            np.array([row[i].get(name, np.nan) if i < len(row) else np.nan for row in self.rows]) for i in range(count)
        ]
        return np.array(self.times, float), *columns


class Plots:
    """The plots in the panel.

    Args:
        server: The viser server.
        container: Folder or tab that holds them.
    """

    def __init__(self, server: Any, container: Any) -> None:
        self._server, self._container = server, container
        self._history = History()
        self._handles: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        self._lines = 0
        self._drawn_at = 0.0

    def clear(self) -> None:
        """Remove all plots."""
        for handle in [*self._handles.values(), *self._values.values()]:
            handle.remove()
        self._handles, self._values, self._lines = {}, {}, 0
        self._history.clear()

    @property
    def due(self) -> bool:
        """Whether it is time to draw numbers; until then they need not be computed."""
        return wall.perf_counter() - self._drawn_at > _SECONDS_BETWEEN

    def add(self, snapshots: Sequence[Snapshot], names: Sequence[str] = ()) -> None:
        """Remember the numbers, and draw them if it is time; snapshots without numbers are ignored."""
        if not any(s.numbers for s in snapshots):
            return
        self._history.add(snapshots)
        if not self._handles:
            self._make(snapshots, names)
        if self.due:
            self.draw(snapshots)

    def fill(self, times: np.ndarray, numbers: Mapping[str, np.ndarray], units: Mapping[str, str]) -> None:
        """Show numbers that are known already, from beginning to end."""
        keep = slice(None, None, max(1, -(-len(times) // (4 * _MAX_POINTS))))
        self._lines = 1
        self._add(tuple(numbers), ())
        for name, values in numbers.items():
            self._handles[name].data = drawable((times[keep], values[keep]))
            self._values[name].content = f"**{name}**" + (f" [{units[name]}]" if units.get(name) else "")

    def draw(self, snapshots: Sequence[Snapshot]) -> None:
        """Show what is remembered."""
        self._drawn_at = wall.perf_counter()
        for name, handle in self._handles.items():
            handle.data = drawable(self._history.series(name, self._lines))
            number = snapshots[0].numbers.get(name)
            if number is not None:
                self._values[name].content = f"**{name}**: {number.value:.5g} {number.unit}"

    def _make(self, snapshots: Sequence[Snapshot], names: Sequence[str]) -> None:
        self._lines = min(len(snapshots), _MAX_LINES)
        self._add(tuple(snapshots[0].numbers), names)

    def _add(self, numbers: Sequence[str], names: Sequence[str]) -> None:
        colors = category_colors(self._lines)
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        for i in range(self._lines):
            stroke = "rgb(" + ", ".join(str(round(255 * float(c))) for c in colors[i]) + ")"
            label = names[i] if len(names) > i else ""
            series.append({"label": label, "stroke": stroke, "width": 2, "points": {"show": False}})
        empty = drawable(self._history.series("", self._lines))
        with self._container:
            for name in numbers:
                self._values[name] = self._server.gui.add_markdown(f"**{name}**")
                self._handles[name] = self._server.gui.add_uplot(
                    empty,
                    tuple(series),
                    scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
                    legend={"show": False},
                    height=110,
                )


def drawable(data: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """At least two points, without which the browser draws no axes, and no range that is tiny beside its numbers.

    Between 22.99999985 and 22.99999994 the browser's axis looks for ticks without end, and breaks the page.
    """
    if len(data[0]) >= 2:
        values = np.stack(data[1:])
        known = values[np.isfinite(values)]
        if len(known) and np.ptp(known) <= 1e-6 * np.abs(known).max():
            values = np.where(np.isfinite(values), known[0], values)
        return data[0], *values
    first = data[0][0] if len(data[0]) else 0.0
    return np.array([first, first + 1e-3]), *(np.resize(c, 2) if len(c) else np.zeros(2) for c in data[1:])
