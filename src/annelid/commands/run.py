"""`annelid run NAME`: simulate a scene, or the voxel robots of a folder, and write its results."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from annelid.commands.support.command_options import Run
from annelid.commands.support.options import Machine
from annelid.commands.support.recordings import RECORDING
from annelid.commands.support.scene_options import scene_command, scene_kind
from annelid.commands.support.varied import varied
from annelid.core.device import device as choose_device
from annelid.core.device import device_title, thread_count
from annelid.core.errors import InvalidValue, MissingPackage, SimulationDiverged
from annelid.core.files import replaced
from annelid.core.identity import identity
from annelid.core.measurement import Report
from annelid.core.ownership import owned
from annelid.core.parameters import require_parameters
from annelid.core.progress import Progress
from annelid.core.recording import Recorder
from annelid.core.scene import Own, Scene, WithOutputs
from annelid.core.simulation import Simulation
from annelid.core.sweep import FAILED, Row, sweep
from annelid.scenes.registry import scene_names


def command(arguments: list[str]) -> int:
    """Run a scene, or a folder of voxel robots."""
    if arguments and arguments[0] not in ("", *scene_names()) and Path(arguments[0]).is_dir():
        from annelid.commands.support.robot_folders import run_folder  # here: scenes start without voxels
        from annelid.voxels3d.files.folders import is_folder

        if is_folder(Path(arguments[0])):
            return run_folder(Path(arguments[0]), arguments[1:])
    parsed = scene_command(arguments, "run", Run)
    if parsed is None:
        return 0
    scene, options, machine = parsed
    if options.vary:
        return run_varied(arguments[0], scene, options, machine)
    if options.workers != 1 or options.resume:
        raise InvalidValue("--workers and --resume are for the runs of --vary: give --vary PARAMETER=VALUE,VALUE too.")
    report = run_scene(scene, options, machine)
    if machine.json:
        print(report.to_json())
    else:
        report.print()
        print(f"Results are in {_folder(scene, options)}.")
    return 0


@dataclass(frozen=True)
class _Varied:
    """Runs a scene with other parameters, in any process, each in a folder of its own; its numbers by name."""

    name: str
    fixed: Mapping[str, Any]
    seconds: float | None
    code: str
    options: Run = field(compare=False)
    machine: Machine = field(compare=False)

    def __call__(self, **given: Any) -> dict[str, float]:
        scene = scene_kind(self.name)(**{**self.fixed, **given})
        require_parameters(scene)
        folder = "-".join(f"{name}-{value}" for name, value in given.items()).replace(os.sep, "-")
        options = replace(self.options, out=_folder(scene, self.options) / folder)
        return {m.name: m.value for m in run_scene(scene, options, self.machine).measurements}


def run_varied(name: str, scene: Scene, options: Run, machine: Machine) -> int:
    """Run a scene with all combinations of some parameters, into one table; 1 if a run failed."""
    vary, folder = varied(scene, options.vary), _folder(scene, options)
    fixed = {each: value for each, value in asdict(scene).items() if each not in vary}
    share = max(1, thread_count(machine.threads) // max(1, options.workers))
    quiet = replace(machine, json=True, threads=share)
    runs = _Varied(name, fixed, options.seconds, identity(type(scene)), options, quiet)

    def told(row: Row, done: int, count: int) -> None:
        values = ", ".join(f"{each} = {row[each]}" for each in vary)
        print(f"annelid: {done} of {count}: {values}{' failed: ' if row[FAILED] else ''}{row[FAILED]}", file=sys.stderr)

    with owned(folder):
        table = folder / "table.csv"
        rows = sweep(runs, vary, table=table, workers=options.workers, resume=options.resume, told=told)
    print(json.dumps({"table": str(table), "rows": rows}) if machine.json else f"{len(rows)} runs are in {table}.")
    return int(any(row[FAILED] for row in rows))


def run_scene(scene: Scene, options: Run, machine: Machine) -> Report:
    """Simulate a scene; write its measurements, its numbers over time and its last state."""
    seconds = type(scene).duration if options.seconds is None else options.seconds
    if not 0.0 < seconds < float("inf"):
        raise InvalidValue(f"--seconds must be a positive time, not {seconds}.")
    if not 0.0 < options.record_every < float("inf"):
        raise InvalidValue(f"--record-every must be a positive time, not {options.record_every}.")
    if options.fields is not None and not options.record:
        raise InvalidValue("--fields chooses what is recorded: give --record too.")
    folder = _folder(scene, options)
    with owned(folder):
        return _run_inside(folder, scene, seconds, options, machine)


def _folder(scene: Scene, options: Run) -> Path:
    return options.out or Path("out") / scene.name


def _run_inside(folder: Path, scene: Scene, seconds: float, options: Run, machine: Machine) -> Report:
    chosen = choose_device(machine.device)
    begin = time.perf_counter()
    simulation = scene.build(device=chosen, threads=machine.threads)
    rows: list[dict[str, float]] = [_numbers(simulation)]
    simulation.observe(lambda s: rows.append(_numbers(s)), every=max(seconds / 200, simulation.dt))
    recorder = _recorder(scene, simulation, folder, options) if options.record else None
    try:
        with Progress(scene.name, seconds, quiet=machine.json) as progress:
            simulation.run(seconds, progress=progress)
    except SimulationDiverged:
        simulation.save(folder / "last-good.npz", scene=scene.name, file=_file(scene))
        print(f"annelid: the last good state is in {folder / 'last-good.npz'}", file=sys.stderr)
        raise
    finally:
        if recorder is not None:
            recorder.close()
    wall = time.perf_counter() - begin
    report = Report(scene.name, device_title(chosen), wall, scene.measure(simulation))
    simulation.save(folder / "final.npz", scene=scene.name, file=_file(scene))
    _write(folder, rows, report)
    if isinstance(scene, WithOutputs):
        with suppress(MissingPackage):  # which was told at the start
            scene.outputs(simulation, folder)
    return report


def _recorder(scene: Scene, simulation: Simulation[Any], folder: Path, options: Run) -> Recorder:
    """Record the surface, with the fields asked for or with all that there are."""
    return simulation.record(
        folder / RECORDING,
        every=max(options.record_every, simulation.dt),
        fields=options.fields,
        scene=scene.name,
        parameters=asdict(scene),
    )


def _numbers(simulation: Simulation[Any]) -> dict[str, float]:
    numbers = simulation.snapshot_numbers()
    return {"time": simulation.time, **{name: number.value for name, number in numbers.items()}}


def _file(scene: Scene) -> str:
    """The user's own file that the scene is from, if it is."""
    return scene.own_file if isinstance(scene, Own) else ""


def _write(folder: Path, rows: list[dict[str, float]], report: Report) -> None:
    with replaced(folder / "numbers.csv") as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    report.write(folder / "results.json")
