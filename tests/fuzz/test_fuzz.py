"""Damaged files for every reader, in short; `python tests/fuzz/fuzz.py` is the long form."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

FUZZ = Path(__file__).parent
SOURCE = FUZZ.parents[1] / "src" / "annelid"

sys.path[:0] = [str(FUZZ)]

from mutations import mutated  # noqa: E402
from readers import READERS  # noqa: E402

from annelid.core.errors import AnnelidError  # noqa: E402

CASES = 25


@pytest.mark.parametrize("name", [name for name, reader in READERS.items() if not reader.costly])
def test_damaged_files_are_read_or_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    if name.startswith(("msh", "vt")):
        pytest.importorskip("meshio")
    reader = READERS[name]
    path = tmp_path / f"sample{reader.suffix}"
    read = reader.make(path)
    sample = path.read_bytes()
    read(path)
    for seed in range(CASES):
        path.write_bytes(mutated(sample, seed, reader.extra))
        try:
            read(path)
        except AnnelidError as error:
            assert "\n" not in str(error), f"seed {seed}"  # noqa: PT017


COPIED = {"plan", "measured-runs", "robot", "squeezes"}
"""Samples that the reader of a test opens itself, to copy them to where they are looked for."""


@pytest.fixture
def short_of_memory() -> Iterator[None]:
    """What reads without end fails, and does not take the machine with it."""
    resource = pytest.importorskip("resource")
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    signal.signal(signal.SIGALRM, before)


def _too_long(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeoutError("the reader waits")


def of_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # without a block on the disk


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="devices of Linux")
@pytest.mark.usefixtures("short_of_memory")
@pytest.mark.parametrize("make", [of_zeros, os.mkfifo, Path.mkdir, terabyte])
def test_what_is_no_file_or_too_large_is_refused_at_once(make: Callable[[Path], None], tmp_path: Path) -> None:
    for name, reader in READERS.items():
        if reader.costly or name in COPIED or (name.startswith(("msh", "vt")) and not find_spec("meshio")):
            continue
        sample, path = tmp_path / f"{name}-sample{reader.suffix}", tmp_path / f"{name}{reader.suffix}"
        read = reader.make(sample)
        make(path)
        signal.alarm(20)  # a pipe waits for its writer
        try:
            assert read(path) is None, name  # what nobody is told of is not believed
        except AnnelidError as error:
            assert str(path) in str(error), name  # noqa: PT017
        finally:
            signal.alarm(0)


def test_damage_depends_on_the_seed_alone() -> None:
    sample = b"v 0.5 1.0 2.0\n" * 9
    assert [mutated(sample, seed) for seed in range(50)] == [mutated(sample, seed) for seed in range(50)]
    assert len({mutated(sample, seed) for seed in range(50)}) > 40


def test_the_command_counts_what_became_of_files() -> None:
    command = [sys.executable, "-P", FUZZ / "fuzz.py", "--reader", "history", "--cases", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 files: read" in done.stdout
    assert "0 findings" in done.stdout


FUZZED = {
    "commands/support/needs.py", "commands/support/study_results.py", "control/files.py",
    "core/archives.py", "core/checkpoint.py", "core/recording/layout.py", "core/recording/reading.py",
    "core/recording/file_kinds.py", "core/sweep.py", "shapes/tet/exchange.py",
    "shapes/articulated/urdf.py",
    "envs/training/history.py", "envs/training/run.py", "evolve/experiment.py", "shapes/mesh_files.py",
    "shapes/resistive/media.py", "shapes/sdf_cache.py", "shapes/tet/bounded.py", "studies/support/tables.py",
    "voxels/robot.py", "voxels/evogym.py", "calibration/tracks.py", "studies/squeeze.py", "core/xml_files.py",
    "voxels3d/files/voxelyze_json.py", "voxels3d/files/history.py", "evolve/history.py",
}  # fmt: skip
"""Modules that read files of users; `readers` has a sample for each."""

TRUSTED = {
    "commands/doctor.py", "commands/soak.py", "commands/soaking/visit.py", "commands/soaking/visitor.py",
    "commands/support/experiments.py", "evolve/problems/task_files.py",
    "core/files.py", "core/warp_build/kept_files.py", "core/warp_build/lean_headers.py", "core/memory.py",
    "core/ownership.py",
    "core/recording/recorder.py", "envs/training/agents.py", "envs/training/scaling.py",
    "evolve/problems/walks.py", "gallery/making.py",
    "gallery/study_pages.py", "view/files/html.py", "view/showing.py",
}  # fmt: skip
"""Modules that read what they have just written or run, what is part of the package, or what the system says."""

_CALLS = re.compile(r"\b(read_text|read_bytes|open_regular)\(|\.(fromfile|load_scene|loads|ZipFile)\(|\bopen\([^)]*\"r")


def test_no_file_is_read_that_is_not_fuzzed() -> None:
    """A new reader joins the lists above, and `readers`."""
    sources = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {name for name, path in sources.items() if _CALLS.search(path.read_text(encoding="utf-8"))}
    assert found <= FUZZED | TRUSTED, "these read files and have no reader in tests/fuzz/readers.py"
