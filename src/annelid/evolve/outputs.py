"""Files of a search: its history, its best robots, and what experiment it was."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.files import write_json, write_text
from annelid.evolve.run import Run


def write_results(run: Run, folder: Path) -> list[Path]:
    """Write history.csv, best.json and experiment.json, and what files a problem has of the best; the files."""
    run.history.write(folder / "history.csv")
    write_json(folder / "best.json", best_robots(run))
    write_json(folder / "experiment.json", run.experiment.to_table())
    names = ["history.csv", "best.json", "experiment.json"]
    for end, text in _best_files(run).items():
        names.append(f"best{end}")
        write_text(folder / names[-1], text)
    return [folder / name for name in names]


def best_robots(run: Run) -> dict[str, Any]:
    """The best robot of each repetition, the best of all first, and the elites of searchers that keep them."""
    order = np.argsort(-run.champion_fitness, kind="stable")
    robots = [_champion(run, int(i)) for i in order if np.isfinite(run.champion_fitness[i])]
    elites = [{"seed": seed, "rows": rows} for seed, rows in zip(run.experiment.seeds, _elites(run), strict=True)]
    found: dict[str, Any] = {"experiment": run.experiment.name, "generation": run.generation, "robots": robots}
    return {**found, "elites": elites} if any(elite["rows"] for elite in elites) else found


def _best_files(run: Run) -> dict[str, str]:
    """Files of the best robot of all repetitions."""
    found = np.flatnonzero(np.isfinite(run.champion_fitness))
    if not len(found):
        return {}
    return run.problem.files_of(run.champions[found[np.argmax(run.champion_fitness[found])]])


def _champion(run: Run, i: int) -> dict[str, Any]:
    measures = dict(zip(run.problem.measure_names, run.champion_measures[i].tolist(), strict=True))
    return {
        "repetition": i,
        "seed": run.experiment.seeds[i],
        "fitness": float(run.champion_fitness[i]),
        "measures": {name: value if math.isfinite(value) else None for name, value in measures.items()},
        "parameters": run.champions[i].tolist(),
        "robot": run.problem.describe(run.champions[i]),
    }


def _elites(run: Run) -> list[list[list[float]]]:
    rows = [searcher.elites() for searcher in run.searchers]
    return [[] if found is None else found.tolist() for found in rows]
