"""The course of a search, generation by generation and repetition by repetition, and its file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError
from annelid.core.files import read_text, replaced


class History:
    """Named numbers of every generation and repetition.

    The first generation, number 0, is the random one. Nothing in it depends on clocks or on who evaluated.

    Args:
        seeds: Seed of each repetition.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = tuple(seeds)
        self._rows: dict[str, list[np.ndarray]] = {}

    def __len__(self) -> int:
        """Generations so far, the first one included."""
        return len(self._rows["best"]) if self._rows else 0

    def __getitem__(self, name: str) -> np.ndarray:
        """A number over time, shape [generations, repetitions]."""
        return np.array(self._rows[name])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        return tuple(self._rows)

    def last(self, name: str) -> np.ndarray:
        """A number of the last generation, shape [repetitions]."""
        return self._rows[name][-1]

    def append(self, repetitions: Sequence[Mapping[str, float]]) -> None:
        """Add a generation: the numbers of each repetition."""
        for name in repetitions[0]:
            self._rows.setdefault(name, []).append(np.array([numbers[name] for numbers in repetitions], float))

    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers, shape [generations, repetitions] each."""
        return {name: self[name] for name in self._rows}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on after the generations of a checkpoint."""
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) != 1 or next(iter(shapes))[1:] != (len(self.seeds),):
            raise FileFormatError("the history of the checkpoint is damaged: its columns differ in length.")
        self._rows = {name: list(array) for name, array in arrays.items()}

    def write(self, path: Path) -> None:
        """Write it as CSV: a row for each generation and repetition, numbers with all their digits."""
        columns = {name: self[name] for name in self._rows}
        with replaced(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["generation", "repetition", "seed", *columns])
            for generation in range(len(self)):
                for repetition, seed in enumerate(self.seeds):
                    values = [_text(column[generation, repetition]) for column in columns.values()]
                    writer.writerow([generation, repetition, seed, *values])


def read_history(path: str | Path) -> dict[str, np.ndarray]:
    """The columns of a history file by name, shape [generations, repetitions] each."""
    try:
        names, *rows = list(csv.reader(read_text(Path(path)).splitlines()))
        values = np.array(rows, float)
        repetitions = int(values[:, names.index("repetition")].max()) + 1
        return {name: values[:, i].reshape(-1, repetitions) for i, name in enumerate(names)}
    except (OSError, ValueError, IndexError, OverflowError, csv.Error) as error:
        raise FileFormatError(f"{path} is not the history of a search: {error}.") from None


def _text(value: Any) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
