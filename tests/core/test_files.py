"""Files are written whole or not at all, whoever else writes them, and links that were planted are not followed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import InvalidValue
from annelid.core.files import replaced
from annelid.core.ownership import LOCK, owned

from ..threads import together

KIND = Kind("test", 1, "a file of a test")
WRITER = """
import sys
from tests.core.test_files import save
save(sys.argv[1], int(sys.argv[2]))
"""


def save(path: Any, number: int, times: int = 30) -> None:
    """Write an archive again and again, and read what is there by then, by whomever."""
    for _ in range(times):
        write_archive(path, KIND, {"number": number}, {"values": np.full(2000, number)})
        header, arrays = read_archive(path, KIND)
        np.testing.assert_array_equal(arrays["values"], header["number"])


def test_threads_and_processes_save_to_one_path(tmp_path: Path) -> None:
    path = tmp_path / "here" / "state.npz"
    command = [sys.executable, "-c", WRITER, str(path)]
    others = [subprocess.Popen([*command, str(number)], cwd=Path(__file__).parents[2]) for number in (10, 11)]
    together(*[lambda number=number: save(path, number) for number in range(4)])  # type: ignore[misc]
    assert [other.wait(60.0) for other in others] == [0, 0]
    assert [each.name for each in path.parent.iterdir()] == ["state.npz"]


@pytest.mark.skipif(os.name != "posix", reason="names are guessed as a program on POSIX would")
def test_planted_links_are_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "out" / "state.npz"
    victim.write_text("mine")
    path.parent.mkdir()
    guesses = [f".{path.name}.{os.getpid()}.part", f".{path.name}.part", f"{path.name}.part", f"{path.name}.tmp"]
    for name in (*guesses, path.name):
        (path.parent / name).symlink_to(victim)
    save(path, 1, times=1)
    assert victim.read_text() == "mine"
    assert not path.is_symlink()
    (path.parent / LOCK).symlink_to(victim)
    with pytest.raises(InvalidValue, match="results cannot be written"), owned(path.parent):
        pass
    assert victim.read_text() == "mine"


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_nobody_else_reaches_the_file_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".npz")
    with replaced(path) as temporary:
        temporary.write_text("new")
        assert stat.S_IMODE(temporary.parent.stat().st_mode) == 0o700
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode  # as the user wishes it
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_fails_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with replaced(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(OSError, match="No such file") as caught, replaced(path) as temporary:
        temporary.read_text()
    assert caught.value.filename == str(path)
