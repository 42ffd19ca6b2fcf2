"""`annelid doctor`: what this machine has, and whether it computes the right answer."""

from __future__ import annotations

import json
import math
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import warp as wp
from rich.console import Console
from rich.table import Table

from annelid import __version__, springs
from annelid.commands.support.options import Machine, parse
from annelid.core.device import available_threads, device
from annelid.core.measurement import Measurement, Report

_PACKAGES = ("warp-lang", "numpy", "scipy", "trimesh", "tyro", "rich", "viser", "gymnasium", "ray")


def command(arguments: list[str]) -> int:
    """Print the facts and the result of a short self test."""
    machine = parse(Machine, arguments, "annelid doctor")
    facts, begin = _facts(), time.perf_counter()
    chosen = device(machine.device)
    checks = self_test(chosen, machine.threads)
    report = Report("doctor", chosen.alias, time.perf_counter() - begin, checks)
    if machine.json:
        print(json.dumps({**json.loads(report.to_json()), "facts": facts}))
    else:
        table = Table(box=None, show_header=False)
        for name, value in facts.items():
            table.add_row(name, value)
        Console(highlight=False).print(table)
        report.print()
    return 0 if report.passed else 1


def self_test(chosen: wp.Device, threads: int | None) -> list[Measurement]:
    """An oscillator with a known period, a fall of known depth, and the rate of a small block."""
    pair = springs.Body(
        positions=[[0.0, 0.0, 0.0], [1.1, 0.0, 0.0]],
        masses=[1.0, 1.0],
        springs=[[0, 1]],
        rest_lengths=[1.0],
        stiffness=[100.0],
    ).fix(np.array([0]))
    swing = springs.simulation(
        pair, device=chosen, threads=threads, gravity=(0.0, 0.0, 0.0), integrator="verlet", dt=1e-3
    )
    swing.run(1.0)
    position = float(swing.state.positions.numpy()[1, 0])
    block = springs.simulation(springs.block((12, 12, 12)), device=chosen, threads=threads)
    block.run(0.1)
    begin = time.perf_counter()
    block.run(0.2)
    rate = 2000 * block.solver.model.spring_count / (time.perf_counter() - begin)
    fallen = 0.55 - float(block.summary().center_of_mass[2])
    return [
        Measurement("oscillator-position", position, "m", 1.0 + 0.1 * math.cos(10.0), 1e-4, "x = 1 + 0.1 cos(10 t)"),
        Measurement("fall-in-300-ms", fallen, "m", 0.5 * 9.81 * 0.3**2, 1e-3, "g t²/2"),
        Measurement("springs-12x12x12", rate, "springs/s"),
    ]


def _facts() -> dict[str, str]:
    facts = {
        "annelid": __version__,
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}, {available_threads()} cores",
        "devices": ", ".join(f"{d.alias} ({d.name or 'CPU'})" for d in wp.get_devices()),
        "cuda driver": ".".join(map(str, wp.get_cuda_driver_version() or ())) or "none",
        "cuda toolkit": ".".join(map(str, wp.get_cuda_toolkit_version() or ())) or "none",
        "kernel cache": str(wp.config.kernel_cache_dir),
    }
    for name in _PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return facts
