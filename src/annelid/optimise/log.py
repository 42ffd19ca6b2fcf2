"""All that a descent asked and was answered, in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError, InvalidValue

CHECKPOINT = "checkpoint.npz"
_KIND = Kind("annelid-descent", 1, "a checkpoint of a descent")
_PARTS = ("points", "losses", "rates")


class Log:
    """Points, losses and gradients in the order in which they were asked for.

    Args:
        identity: What makes a search another one, as plain values.
    """

    def __init__(self, identity: Mapping[str, Any]) -> None:
        self._identity = dict(identity)
        self._rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._old: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def replays(self) -> bool:
        """Whether the next question was answered before a break."""
        return len(self._rows) < len(self._old)

    def append(self, at: np.ndarray, losses: np.ndarray, rates: np.ndarray) -> None:
        """Note an answer."""
        self._rows.append((at.copy(), losses.copy(), rates.copy()))

    def replayed(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The answer that was given to the same question before a break; None where there was none."""
        if not self.replays:
            return None
        row = self._old[len(self._rows)]
        if not np.array_equal(row[0], at):
            raise FileFormatError(
                f"the checkpoint belongs to another search: evaluation {len(self._rows)} was at another point there; "
                "begin anew in another folder, or overwrite."
            )
        self._rows.append(row)
        return row[1], row[2]

    def prepare(self, path: Path, resume: bool, overwrite: bool) -> None:
        """Take over what a file has, if that is wanted."""
        if not path.exists():
            return
        if resume:
            self._load(path)
        elif not overwrite:
            raise InvalidValue(
                f"{path.parent} holds a search already: go on with it (resume), choose another folder, or overwrite it."
            )

    def moved(self) -> np.ndarray:
        """Whether any answer had a rate by each coordinate, shape [p]."""
        return np.asarray(np.any([(rates != 0.0).any(axis=0) for _, _, rates in self._rows], axis=0))

    def save(self, path: Path) -> None:
        """Write all of it, whole or not at all; not where the file knows as much or more."""
        if len(self._rows) <= len(self._old):
            return
        columns = zip(*self._rows, strict=True) if self._rows else ([], [], [])
        arrays = {name: np.array(column) for name, column in zip(_PARTS, columns, strict=True)}
        write_archive(path, _KIND, {"search": self._identity}, arrays)

    def _load(self, path: Path) -> None:
        header, arrays = read_archive(path, _KIND)
        saved = header.get("search", {})
        for name, ours in self._identity.items():
            if not isinstance(saved, dict) or saved.get(name) != ours:
                raise FileFormatError(
                    f"{path} belongs to another search: its {name} differ from {ours!r:.60}; use another folder, or "
                    "overwrite it."
                )
        points, losses, rates = (arrays.get(name, np.zeros(0)) for name in _PARTS)
        if len(points) and (points.shape != rates.shape or losses.shape != points.shape[:2]):
            raise FileFormatError(f"{path} is damaged: its arrays do not fit each other.")
        self._old = list(zip(points, losses, rates, strict=True))
