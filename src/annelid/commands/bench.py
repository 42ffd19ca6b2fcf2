"""`annelid bench NAME`: measure throughput."""

from __future__ import annotations

import time
from typing import Any

from annelid.benches.registry import BENCHES, bench_module, bench_names
from annelid.commands.support.options import Machine, combined, parse, split_name
from annelid.core.device import device as choose_device
from annelid.core.device import device_title
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement, Report
from annelid.core.progress import Progress


def command(arguments: list[str]) -> int:
    """Run a bench."""
    name, rest = split_name(arguments, "bench", bench_names())
    if name is None:
        print("usage: annelid bench NAME [OPTIONS]; annelid bench NAME --help tells the options.\n")
        for known, text in BENCHES.items():
            print(f"  {known:16s} {text}")
        return 0
    module = bench_module(name)
    options = parse(combined("Bench", module.Options, Machine, doc=BENCHES[name]), rest, f"annelid bench {name}")
    _require_times(options.options)
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


def _require_times(options: Any) -> None:
    """Refuse times in which nothing can be measured before anything is built; a bench looks at its other options."""
    for name, value in vars(options).items():
        if name.endswith("seconds") and not 0.0 < value < float("inf"):
            raise InvalidValue(f"--{name.replace('_', '-')} must be a positive time, not {value}.")
