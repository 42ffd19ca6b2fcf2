"""`annelid bench NAME`: measure throughput."""

from __future__ import annotations

import time
from importlib import import_module

from annelid.commands.support.options import Machine, combined, parse, split_name
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.errors import UnknownName
from annelid.core.measurement import Measurement, Report
from annelid.core.progress import Progress

BENCHES = {
    "springs": "Springs per second against size",
    "edits": "Cost of edits, asynchronous running, and a stress from many threads",
    "voxels": "Voxel-steps per second of worms of all lengths, and of many robots at once",
    "grains": "Grain-steps per second against grains, bodies, sweeps, searches and methods",
    "coupling": "A worm of springs in a bed of grains against real time",
    "fem": "Assembly, factors, fluid weight and inverse steps of soft robots",
    "envs": "Actions per second of the environments, one world and many",
    "view": "Frames of the camera, and what a viewer costs a simulation",
}


def command(arguments: list[str]) -> int:
    """Run a bench."""
    name, rest = split_name(arguments, "bench", list(BENCHES))
    if name is None:
        for known, text in BENCHES.items():
            print(f"{known:16s} {text}")
        return 0
    if name not in BENCHES:
        raise UnknownName("bench", name, BENCHES)
    module = import_module(f"annelid.benches.{name}")
    options = parse(combined("Bench", module.Options, Machine, doc=BENCHES[name]), rest, f"annelid bench {name}")
    device, begin = choose_device(options.machine.device), time.perf_counter()
    measurements: list[Measurement] = []
    with Progress(f"bench {name}", 1.0, quiet=options.machine.json) as progress:
        for measurement in module.bench(device, options.machine.threads, options.options):
            measurements.append(measurement)
            progress.say(f"{measurement.name}: {measurement.value:.4g} {measurement.unit}")
    report = Report(f"bench-{name}", device_title(device), time.perf_counter() - begin, measurements)
    if options.machine.json:
        print(report.to_json())
    else:
        report.print()
    return 0
