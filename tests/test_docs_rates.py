"""Rates of springs in README and documentation are those of the file that `annelid study throughput` wrote."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULT = json.loads((ROOT / "benchmarks" / "results" / "throughput.json").read_text(encoding="utf-8"))
FOUND = {measurement["name"]: measurement["value"] for measurement in RESULT["measurements"]}


def row(page: str, begin: str) -> str:
    """The first line of a page that begins so."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith(begin))


def giga(name: str) -> str:
    """Springs a second as pages print them: 67.0 G."""
    value = FOUND[name] / 1e9
    return f"{value:.0f} G" if value >= 100.0 else f"{value:#.3g} G"


@pytest.mark.parametrize("size", ["30", "50"])
def test_springs_a_second(size: str) -> None:
    cube = "x".join([size] * 3)
    gpu, cpu = (giga(f"{device}-{cube}-symplectic") for device in ("cuda", "cpu"))
    study = row("docs/reference/studies.md", f"| springs/s, {size}³ |")
    assert f"| {cpu} | {gpu} |" in study
    for device, rate in (("GPU", gpu), ("CPU", cpu)):
        assert f"| {rate} springs/s" in row("docs/atlas-rates.md", f"| springs of a block of {size}³, {device} |")


def test_the_ratio_to_titan_on_the_same_machine() -> None:
    line = row("docs/atlas-rates.md", "| springs of a block of 50³ masses, H200 |")
    titan = re.search(r"rebuilt there: ([\d.]+) G", line)
    assert titan is not None
    ratio = FOUND["cuda-50x50x50-symplectic"] / 1e9 / float(titan[1])
    assert f"| {giga('cuda-50x50x50-symplectic')} springs/s |" in line
    assert f"| {ratio:.0f} |" in line


def test_seconds_and_steps() -> None:
    step = {device: FOUND[f"{device}-iteration-8025-masses"] for device in ("cpu", "cuda")}
    second = {device: FOUND[f"{device}-second-50x50x50-100us"] for device in ("cpu", "cuda")}
    gpu_step = f"{1e3 * step['cuda']:.3g} µs"
    assert f"{step['cpu']:.3g} ms | {gpu_step} |" in row("docs/reference/studies.md", "| step of the 8,025-mass body")
    assert f"| {gpu_step}, H200" in row("docs/atlas-rates.md", "| a step of the body of 8,025 masses")
    study = row("docs/reference/studies.md", "| 1 simulated second")
    assert f"{second['cpu']:.3g} s | {second['cuda']:.3g} s |" in study
    rates = row("docs/atlas-rates.md", "| a simulated second of 50³")
    assert f"{second['cuda']:.3g} s, H200; {second['cpu']:.3g} s, 16 x86-64 cores" in rates


def test_costs_of_integrators() -> None:
    for begin, name in (("| step of Verlet", "verlet"), ("| step of Runge-Kutta 4", "rk4")):
        cpu, gpu = (FOUND[f"{device}-cost-{name}"] for device in ("cpu", "cuda"))
        assert f"| {cpu:.3g} (50³) | {gpu:.3g} (100³) |" in row("docs/reference/studies.md", begin)


def test_the_rates_of_the_front_page() -> None:
    slow, fast = (FOUND[f"cuda-{cube}-symplectic"] / 1e9 for cube in ("50x50x50", "100x100x100"))
    line = row("README.md", "On an NVIDIA H200")
    assert f"{slow:.0f} to {fast:.0f} billion springs a second (50³ to 100³ masses)" in line
