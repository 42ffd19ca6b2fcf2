"""Folders of voxcraft-sim: a base and many robots, which are run side by side."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import FileFormatError, PartlyUsed
from annelid.core.files import as_path
from annelid.core.options import Precision
from annelid.voxels3d.files.history import HistoryWriter
from annelid.voxels3d.files.parts import Parts
from annelid.voxels3d.files.robots import Setup, setup_of
from annelid.voxels3d.files.trials import MOST_STEPS, Result, Trial, run_trials, steps_within
from annelid.voxels3d.files.vxa import Vxa
from annelid.voxels3d.model import Model
from annelid.voxels3d.readout import Readout
from annelid.voxels3d.solver import Solver
from annelid.voxels3d.world import Links, World

BASE = "base.vxa"
"""The file in a folder that its .vxd files change."""


def is_folder(path: Path) -> bool:
    """Whether a folder has robots of voxcraft-sim in it."""
    return path.is_dir() and any(path.glob("*.vxa"))


def read_folder(path: str | os.PathLike[str], *, parts: Parts = "refuse") -> list[Setup]:
    """The robots of a folder by name: .vxd files on top of base.vxa, and .vxa files by themselves.

    A folder with base.vxa alone has that one robot. Robots that ask for the same that is not simulated are warned of
    once.

    Args:
        path: The folder.
        parts: What becomes of a body in several parts; see `setup_of`.
    """
    folder = as_path(path)
    names = sorted([*folder.glob("*.vxd"), *(file for file in folder.glob("*.vxa") if file.name != BASE)])
    if not names and (folder / BASE).is_file():
        names = [folder / BASE]
    if not names:
        raise FileFormatError(f"{folder} has no robots: put {BASE} and .vxd files, or .vxa files, into it.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PartlyUsed)
        setups = [setup_of(Vxa.read(file), parts=parts) for file in names]
    for text, count in _counted(caught).items():
        more = f" (And so {'does' if count == 2 else 'do'} {count - 1} more.)" if count > 1 else ""
        warnings.warn(PartlyUsed(text + more), stacklevel=2)
    return setups


def run_setups(
    setups: Sequence[Setup],
    *,
    links: Links = "compatible",
    precision: Precision = "float32",
    device: str | wp.Device = "auto",
    threads: int | None = None,
    seconds: float | None = None,
    histories: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Result]:
    """Run robots from files, those of equal surroundings and time steps side by side; none depends on the others.

    Args:
        setups: The robots.
        links: "compatible" as in the original, or "balanced".
        precision: "float32" or "float64".
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        seconds: Simulated time at which all end at the latest [s].
        histories: Folder for the histories that files ask for; None writes none.
        progress: Called with the share of all robots' steps that is done.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, setup in enumerate(setups):
        groups.setdefault(_surroundings(setup), []).append(number)
    results: dict[int, Result] = {}
    for members in groups.values():
        group = [setups[number] for number in members]
        before, share = len(results) / len(setups), len(group) / len(setups)
        told = None if progress is None else _part(progress, before, share)
        with ExitStack() as open_files:
            solver, trials = _prepared(group, links, precision, device, threads, seconds, histories, open_files)
            results |= dict(zip(members, run_trials(solver, trials, progress=told), strict=True))
    return [results[number] for number in range(len(setups))]


def history_of(setup: Setup, readout: Readout, world: int, file: TextIO) -> HistoryWriter:
    """What writes the history of a robot, with what its file asks for, to an open text file."""
    simulator = setup.vxa.simulator
    shown = [paint.colors for paint in setup.vxa.palette]
    colors = [(one.red, one.green, one.blue, one.alpha) for one in shown]
    numbers = np.array(setup.paints)[setup.robot.material_of] + 1
    return HistoryWriter(
        file, readout, world, numbers, colors, voxels=simulator.record_voxels, links=simulator.record_links
    )


def _prepared(
    group: list[Setup], links: Links, precision: Precision, device: str | wp.Device, threads: int | None,
    seconds: float | None, histories: Path | None, open_files: ExitStack,
) -> tuple[Solver, list[Trial]]:  # fmt: skip
    """A solver with a world for each robot of a group, and their trials."""
    options = group[0].options()
    positions = np.tile(options.pop("positions"), (len(group), 1))
    world = World(**options, links=links, precision=precision)
    model = Model([setup.robot for setup in group], world, choose_device(device), positions=positions)
    solver = Solver(model, threads=threads)
    most = MOST_STEPS if seconds is None else steps_within(seconds, group[0].dt)
    trials = []
    for number, setup in enumerate(group):
        writer = None
        if histories is not None and setup.vxa.simulator.record_step > 0:
            histories.mkdir(parents=True, exist_ok=True)
            file = open_files.enter_context((histories / f"{setup.vxa.name}.history").open("w", encoding="utf-8"))
            writer = history_of(setup, solver.readout, number, file)
        trials.append(Trial(setup, solver.readout, number, most, writer))
    return solver, trials


def _surroundings(setup: Setup) -> tuple[object, ...]:
    """What robots must share to be stepped together."""
    options = setup.options()
    fields = tuple(formula.tokens for formula in options["force_field"])
    floor = tuple(plane.point for plane in options["obstacles"])
    return options["dt"], options["gravity"], floor, options["positions"], options["collisions"], fields


def _counted(caught: Sequence[warnings.WarningMessage]) -> dict[str, int]:
    """Warnings with how often each was given, whatever the robot."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for one in caught:
        text = str(one.message)
        about = text.split(" ", 1)[-1]
        first.setdefault(about, text)
        counts[first[about]] = counts.get(first[about], 0) + 1
    return counts


def _part(progress: Callable[[float], None], before: float, share: float) -> Callable[[float], None]:
    return lambda done: progress(before + share * done)
