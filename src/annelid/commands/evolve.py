"""`annelid evolve FILE|NAME`: search for robots, and write the course of it and the best that were found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from annelid.commands.support.environment_options import chosen, options_of
from annelid.commands.support.experiments import experiment_of, split_entries
from annelid.commands.support.options import Machine, combined, helped, parse, part, split_name
from annelid.commands.support.results import filmed, plotted
from annelid.commands.support.telling import tell
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement, Report
from annelid.core.own_files import is_own
from annelid.core.ownership import owned
from annelid.evolve import Experiment, Outcome, evolve, make_executor
from annelid.evolve.display import SearchDisplay
from annelid.evolve.experiments import experiment_names, experiment_summary
from annelid.evolve.problems.task_controller import TaskController
from annelid.evolve.problems.task_files import located, task_of
from annelid.view.figures import band_plot
from annelid.view.video import require_mp4


@dataclass(frozen=True)
class Evolve:
    """How long to search, who evaluates and where results go."""

    generations: int | None = None
    """Generations after the first, random one; the experiment says how many by default."""
    repetitions: int | None = None
    """Independent searches with seeds of their own, side by side; the experiment says how many by default."""
    seed: int | None = None
    """Seed of the first repetition; each further one has the next."""
    out: Path | None = None
    """Folder for checkpoint and results; out/NAME by default."""
    resume: bool = False
    """Go on from the checkpoint in that folder, if there is one."""
    overwrite: bool = False
    """Begin anew even if that folder holds a search."""
    executor: Literal["local", "processes", "ray"] = "local"
    """One batched simulation, several processes, or the actors of a Ray cluster."""
    workers: int | None = None
    """Processes or actors at most; one for each core or GPU by default."""
    ray_address: str | None = None
    """Ray cluster: host:port, ray://host:port or auto; without it Ray is started on this machine."""
    no_plot: bool = False
    """Do not draw the fitness over generations."""
    video: bool = False
    """Make a video of the best robot."""


def command(arguments: list[str]) -> int:
    """Run an experiment."""
    entries, others = split_entries(arguments)
    bare = bool(entries) and (not others or others[0].startswith("-"))
    name, rest = (None, others) if bare else split_name(others, "file or an experiment", experiment_names())
    if name is None and not bare:
        print("usage: annelid evolve FILE|NAME [ENTRIES] [OPTIONS]; annelid evolve NAME --help tells the options.")
        print("FILE is a TOML file, FILE.py:NAME of a task of your own, or base.vxa of voxel robots. ENTRIES change an")
        print("experiment in the words of its file: searcher=cma searcher.population=20 problem.seconds=10;")
        print("problem=FILE.py:NAME needs none. The options of a task are flags: --friction 0.5.\n")
        for known in experiment_names():
            print(f"  {known:24s} {experiment_summary(known)}")
        return 0
    experiment = experiment_of(name, entries)
    problem, parts = experiment.problem, [Evolve, Machine]
    if isinstance(problem, TaskController):
        task_of(problem.task, problem.options)  # refuses what cannot be searched
        task = located(problem.task) if is_own(problem.task) else problem.task
        environment = options_of(task, "evolve", Evolve, Machine, given=problem.options)
        parts.insert(0, helped(environment))
    kind = combined("Options", *parts, doc=f"Search for robots: {name or entries[0]}.")
    options = parse(kind, rest, f"annelid evolve {name or entries[0]}")
    if isinstance(problem, TaskController):
        told = {**problem.options, **chosen(part(options, environment))}
        experiment = replace(experiment, problem=replace(problem, options=told))
    experiment = experiment.changed(
        generations=options.evolve.generations, repetitions=options.evolve.repetitions, seed=options.evolve.seed
    )
    report, written = run_experiment(experiment, options.evolve, options.machine)
    tell(report, written, options.machine)
    return 0


def run_experiment(experiment: Experiment, options: Evolve, machine: Machine) -> tuple[Report, list[Path]]:
    """Search, and write what was found; the report and the files."""
    folder = options.out or Path("out") / experiment.name
    with owned(folder):
        return _run_inside(folder, experiment, options, machine)


def _run_inside(folder: Path, experiment: Experiment, options: Evolve, machine: Machine) -> tuple[Report, list[Path]]:
    if options.video:
        require_mp4()
        experiment.problem.build(device=machine.device, threads=machine.threads).require_film()
    kind = "ray" if options.ray_address is not None and options.executor == "local" else options.executor
    executor = make_executor(
        kind,
        experiment.problem,
        device=machine.device,
        threads=machine.threads,
        workers=options.workers,
        address=options.ray_address,
    )
    with executor, SearchDisplay(f"{experiment.name} ({executor.describe()})", quiet=machine.json) as display:
        found = evolve(
            experiment,
            executor=executor,
            device=machine.device,
            threads=machine.threads,
            folder=folder,
            resume=options.resume,
            overwrite=options.overwrite,
            watch=display,
        )
        where = executor.describe() if kind != "local" else device_title(choose_device(machine.device))
    report = Report(experiment.name, where, found.seconds, _measurements(found))
    report.write(folder / "results.json")
    return report, _files(found, folder, options, machine)


def _measurements(found: Outcome) -> list[Measurement]:
    return [
        Measurement("best-fitness", float(found.fitness.max())),
        Measurement("median-best-fitness", float(np.median(found.fitness))),
        Measurement("random-best-fitness", float(np.median(found.history["best"][0]))),
        Measurement("evaluations", float(found.evaluations)),
        Measurement("evaluations-per-second", found.evaluations / max(found.seconds, 1e-9), "1/s"),
        Measurement("failed-trials", float(found.history["invalid"].sum())),
    ]


def _files(found: Outcome, folder: Path, options: Evolve, machine: Machine) -> list[Path]:
    names = ("history.csv", "best.json", "experiment.json", "results.json", "checkpoint.npz")
    files = [folder / name for name in names] + sorted(folder.glob("best.vxa"))
    if not options.no_plot:
        files += plotted(lambda: _curves(found, folder / "history.png"))
    if options.video:
        files.append(_film(found, folder / "best.mp4", machine))
    return files


def _curves(found: Outcome, path: Path) -> Path:
    """A plot of the best fitness against generations."""
    best = found.history["best"]
    label = f"best fitness, {best.shape[1]} repetition{'s' if best.shape[1] > 1 else ''}"
    curves = {found.experiment.name: best}
    return band_plot(path, np.arange(len(best)), curves, x_label="generation", y_label=label)


def _film(found: Outcome, path: Path, machine: Machine) -> Path:
    """A video of the best robot of all repetitions."""
    best = int(np.argmax(found.fitness))
    if not np.isfinite(found.fitness[best]):
        raise InvalidValue("there is no robot to make a video of: every trial failed.")
    problem = found.experiment.problem.build(device=machine.device, threads=machine.threads)
    film = problem.shown(found.champions[best])
    caption = f"{found.experiment.name}, fitness {found.fitness[best]:.4g}"
    return filmed(([moment] for moment in film.moments), path, name=caption, fps=film.fps, machine=machine, **film.look)
