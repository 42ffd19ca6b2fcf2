"""What ends a command besides its own work: full disks, closed and broken streams, interruptions, other alphabets."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import pytest

from annelid.cli import main
from annelid.scenes.bounce import Bounce

SMALL = ["run", "bounce", "--masses", "4", "--seconds", "0.02", "--device", "cpu"]
FULL = Path("/dev/full")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command line sets its own


def ended(*arguments: str) -> int:
    """The exit code of a command that runs here."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command as a process of its own."""
    options = {"capture_output": True} | options
    command = [sys.executable, "-m", "annelid", *arguments]
    return subprocess.run(command, text=True, timeout=60, check=False, **options)


# --- streams ---


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_standard_output_that_is_full() -> None:
    with FULL.open("w") as full:
        result = program("--version", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert result.returncode == 2
    assert result.stderr == "annelid: reading or writing failed: No space left on device.\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(streams: str) -> None:
    result = subprocess.run(
        f'"{sys.executable}" -m annelid --version {streams}',
        shell=True, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")


def test_a_reader_that_has_had_enough_is_not_told() -> None:
    read, write = os.pipe()
    os.close(read)
    result = program("--version", stdout=write, stderr=subprocess.PIPE, capture_output=False)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, "")


def test_what_ascii_lacks_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert ended("run", "--list") == 0
    stream.seek(0)
    assert "A 4?2 robot" in stream.read()


# --- files ---


def test_a_disk_that_is_full(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def full(path: Path, text: str, **_: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_text", full)
    assert ended(*SMALL) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("annelid: out")
    assert err.endswith("results.json cannot be read or written: No space left on device.\n")
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(os.name != "posix", reason="a shell limits the size of files")
def test_files_that_may_not_grow(tmp_path: Path) -> None:
    command = f'ulimit -f 4; "{sys.executable}" -m annelid {" ".join(SMALL)} --masses 6'
    result = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.endswith("reading or writing failed: File too large.\n")
    assert result.stderr.count("annelid:") == 1  # a slow machine may have told its progress before
    assert list(tmp_path.iterdir()) == []


def test_kernels_that_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    cache = tmp_path / "file" / "cache"
    result = program(*SMALL, env={**os.environ, "WARP_CACHE_PATH": str(cache)})
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"annelid: Warp cannot keep its kernels in {tmp_path / 'file'}")
    assert result.stderr.endswith("set WARP_CACHE_PATH to a folder that can be written.\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["a = " + 9000 * "[" + 9000 * "]", "a" + 3000 * ".a" + " = 1"], ids=["arrays", "keys"])
def test_a_deep_experiment(text: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(text)
    assert ended("evolve", "deep.toml") == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("annelid: ")
    assert err.count("\n") == 1
    assert len(err) < 300


# --- memory and interruptions ---


def test_memory_that_ran_out(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def build(*_: Any, **__: Any) -> NoReturn:
        raise MemoryError("Unable to allocate 58.2 TiB for an array with shape (20000, 20000, 20000)")

    monkeypatch.setattr(Bounce, "build", build)
    assert ended(*SMALL) == 2
    assert capfd.readouterr().err.startswith("annelid: there is not enough memory: Unable to allocate 58.2 TiB for")


def test_an_interruption(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def build(*_: Any, **__: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bounce, "build", build)
    assert ended(*SMALL) == 130
    assert capfd.readouterr() == ("", "annelid: stopped.\n")


_INTERRUPTED = """
import os, signal, sys

class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == "warp._src.types":
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as while Warp is started
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interruption())
from annelid.cli import main
main(["run", "bounce"])
"""


@pytest.mark.skipif(os.name != "posix", reason="a process interrupts itself by a signal")
def test_an_interruption_while_modules_are_imported() -> None:
    command = [sys.executable, "-c", _INTERRUPTED]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "annelid: stopped.\n")


_INTERRUPTED_AGAIN = """
import atexit, os, signal, sys
from annelid import cli

def interrupted(arguments):
    os.kill(os.getpid(), signal.SIGINT)

atexit.register(lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range(3)])
cli.command_of = lambda name: interrupted
sys.argv = ["annelid", "run", "bounce"]
cli.main()
"""


@pytest.mark.skipif(os.name != "posix", reason="a process interrupts itself by a signal")
def test_further_interruptions_while_it_ends_are_not_heard() -> None:
    command = [sys.executable, "-c", _INTERRUPTED_AGAIN]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "annelid: stopped.\n")
