"""One writer for a folder: refusals, what a killed owner leaves, and what is cleared away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from annelid.core import ownership
from annelid.core.errors import FolderInUse, InvalidValue
from annelid.core.ownership import LOCK, owned

_OWNER = """
import sys
from pathlib import Path
from annelid.core.ownership import owned
with owned(Path(sys.argv[1])):
    print("mine", flush=True)
    sys.stdin.read()
"""


def process(code: str, folder: Path) -> subprocess.Popen[str]:
    """A process of its own that talks through pipes."""
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def owner(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns a folder."""
    other = process(_OWNER, folder)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "mine\n"
        yield other
    finally:
        other.kill()
        other.communicate(timeout=10)


def test_a_second_process_is_refused_and_told_who_the_first_one_is(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "worm"
    with owner(folder) as other:
        with pytest.raises(FolderInUse, match=rf"worm is being written by process {other.pid} on \S+: wait .*--out"):
            owned(folder).__enter__()
        assert other.poll() is None
        other.communicate(timeout=10)  # its standard input ends, and so does it
    with owned(folder):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, getattr(signal, "SIGKILL", signal.SIGTERM)])
def test_an_owner_that_was_ended_locks_nothing(how: signal.Signals, tmp_path: Path) -> None:
    with owner(tmp_path / "out") as other:
        other.send_signal(how)
        other.communicate(timeout=10)
        with owned(tmp_path / "out"):
            assert f"process {os.getpid()} on" in (tmp_path / "out" / LOCK).read_text()
    assert not (tmp_path / "out" / LOCK).exists()


def test_a_lock_of_a_process_that_is_gone_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("process 1 on elsewhere, and a long text that was there before\n")
    with owned(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"process {os.getpid()} on")
        assert "elsewhere" not in (tmp_path / LOCK).read_text()


def test_a_lock_that_was_taken_away_between_opening_and_locking_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner ends just then: whoever locked its old file would share the folder with whoever makes a new one."""
    lock, endings = ownership.try_lock, []

    def meanwhile(file: int) -> bool:
        if not endings:
            endings.append((tmp_path / "out" / LOCK).unlink())
            (tmp_path / "out").rmdir()
        return lock(file)

    monkeypatch.setattr(ownership, "try_lock", meanwhile)
    with owned(tmp_path / "out"):
        assert (tmp_path / "out" / LOCK).read_text().startswith(f"process {os.getpid()} on")
    assert len(endings) == 1


def test_whoever_owns_it_may_own_it_again(tmp_path: Path) -> None:
    """A command owns the folder of the search that it starts."""
    with owned(tmp_path), owned(tmp_path / "."):
        pass
    with owned(tmp_path):
        pass


def test_another_thread_is_refused(tmp_path: Path) -> None:
    refused: list[str] = []

    def attempt() -> None:
        try:
            with owned(tmp_path):
                pass
        except FolderInUse as error:
            refused.append(str(error))

    with owned(tmp_path):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(timeout=10)
    assert len(refused) == 1


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="no such"), owned(tmp_path / "deep" / "er"):
        raise InvalidValue("no such")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidValue, match="results cannot be written to"), owned(tmp_path / "file" / "below"):
        pass
