"""The course of a training over several runs: one row an episode, in a CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from annelid.core.errors import FileFormatError
from annelid.core.files import read_text, write_text

_HEADER = "seconds,steps,return,length"
WINDOW = 100
"""Episodes that the curve is a mean of."""


class History:
    """Episodes of a training.

    Attributes:
        rows: Wall time [s], actions taken by then, return and length of each episode.
    """

    def __init__(self, rows: list[tuple[float, int, float, int]] | None = None) -> None:
        self.rows = rows or []

    @property
    def seconds(self) -> float:
        """Wall time of all runs so far [s]."""
        return self.rows[-1][0] if self.rows else 0.0

    def add(self, seconds: float, steps: int, total: float, length: int) -> None:
        """Note an episode."""
        self.rows.append((round(seconds, 3), steps, total, length))

    def last_mean(self) -> float:
        """Mean return of the last episodes; NaN while there are none."""
        last = [row[2] for row in self.rows[-WINDOW:]]
        return float(np.mean(last)) if last else float("nan")

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Wall time [min], and the mean return of the last episodes by then; one point for those that end together."""
        if not self.rows:
            return np.zeros(0), np.zeros(0)
        table = np.array(self.rows, float)
        sums = np.cumsum(np.concatenate([[0.0], table[:, 2]]))
        end = np.arange(1, len(table) + 1)
        begin = np.maximum(end - WINDOW, 0)
        means = (sums[end] - sums[begin]) / (end - begin)
        last = np.append(np.diff(table[:, 1]) > 0, True)
        return table[last, 0] / 60.0, means[last]

    def write(self, path: Path) -> None:
        """Write all rows."""
        lines = [f"{t:.3f},{steps},{total!r},{length}" for t, steps, total, length in self.rows]
        write_text(path, "\n".join([_HEADER, *lines]) + "\n")

    @staticmethod
    def read(path: Path) -> History:
        """Rows of earlier runs."""
        try:
            lines = read_text(path).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{path} cannot be read as the history of a training: {error}.") from None
        if not lines or lines[0] != _HEADER:
            raise FileFormatError(f"{path} is no history of a training: its first line must be {_HEADER!r}.")
        try:
            parts = [line.split(",") for line in lines[1:]]
            return History([(float(a), int(b), float(c), int(d)) for a, b, c, d in parts])
        except ValueError as error:
            raise FileFormatError(f"{path} is damaged: {error}.") from error
