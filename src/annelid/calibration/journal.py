"""All that a search for constants simulated, in memory and on disk, so that it can go on after a break."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError

CHECKPOINT = "checkpoint.npz"
_KIND = Kind("annelid-identification", 1, "a checkpoint of an identification")
_SAVED_EVERY = 10.0  # [s]
_SAME = 1e-3  # of what is left: other devices and threads may differ by less


class Journal:
    """Questions and answers of a search in their order; a search asks the same again and is answered from here.

    Args:
        folder: Where it is kept, in a file that `resume` reads; None keeps it nowhere.
        identity: What makes a search another one, in words.
    """

    def __init__(self, folder: Path | None, identity: str) -> None:
        self._path, self._identity = None if folder is None else folder / CHECKPOINT, identity
        self._rows: list[tuple[float, np.ndarray, np.ndarray]] = []
        self._old: list[tuple[float, np.ndarray, np.ndarray]] = []
        self._saved = time.perf_counter()

    def resume(self) -> int:
        """Take over what the folder has, if there is something; the number of questions that are answered."""
        if self._path is None or not self._path.exists():
            return 0
        header, arrays = read_archive(self._path, _KIND)
        if header.get("search") != self._identity:
            raise FileFormatError(
                f"{self._path} belongs to another search: its constants, bounds, runs or options differ; use another "
                "folder, or begin anew."
            )
        windows = arrays.get("windows", np.zeros(0))
        try:
            self._old = [(float(w), arrays[f"at-{n}"], arrays[f"left-{n}"]) for n, w in enumerate(windows)]
        except (KeyError, TypeError):
            raise FileFormatError(f"{self._path} is damaged: its arrays do not fit each other.") from None
        if any(at.ndim != 2 or left.ndim != 2 or len(at) != len(left) for _, at, left in self._old):
            raise FileFormatError(f"{self._path} is damaged: its arrays do not fit each other.")
        return len(self._old)

    def answered(
        self, at: np.ndarray, window: float, ask: Callable[[np.ndarray, float], np.ndarray]
    ) -> np.ndarray:  # fmt: skip
        """What is left at coordinates, from before a break or by asking."""
        number = len(self._rows)
        if number >= len(self._old):
            self._rows.append((window, at.copy(), ask(at, window)))
            if self._path is not None and time.perf_counter() - self._saved > _SAVED_EVERY:
                self.save()
            return self._rows[-1][2].copy()
        row = self._old[number]
        if row[0] != window or not np.array_equal(row[1], at):
            raise FileFormatError(
                f"{self._path} belongs to another search: question {number} was another one there; use another folder, "
                "or begin anew."
            )
        if number == 0:
            self._require_same(row, ask)
        self._rows.append(row)
        return row[2].copy()

    def save(self) -> None:
        """Write all of it, whole or not at all; not where the file knows as much or more."""
        if self._path is None or len(self._rows) <= len(self._old):
            return
        arrays = {"windows": np.array([window for window, _, _ in self._rows])}
        for number, (_, at, left) in enumerate(self._rows):
            arrays |= {f"at-{number}": at, f"left-{number}": left}
        write_archive(self._path, _KIND, {"search": self._identity}, arrays)
        self._saved = time.perf_counter()

    def _require_same(
        self, row: tuple[float, np.ndarray, np.ndarray], ask: Callable[[np.ndarray, float], np.ndarray]
    ) -> None:
        """Refuse answers of another body: one set of constants is simulated again."""
        window, at, left = row
        good = np.flatnonzero(np.isfinite(left).all(axis=1))
        if not len(good):
            return
        one = good[:1]
        again = ask(at[one], window)
        if again.shape != left[one].shape or not np.allclose(again, left[one], rtol=0.0, atol=_SAME * _size(left[one])):
            raise FileFormatError(
                f"{self._path} belongs to another search: the body, its loads or the simulation have changed since; "
                "use another folder, or begin anew."
            )


def _size(left: np.ndarray) -> float:
    return float(np.abs(left).max(initial=1e-9))
