"""Checkpoints: what is saved comes back; what is damaged, foreign or of another model is refused."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Simulation
from annelid.core import archives
from annelid.core.archives import read_archive, write_archive
from annelid.core.checkpoint import KIND, load_checkpoint
from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.recording import Recorder

Make = Callable[..., Any]


@pytest.fixture
def saved(growth: Make, tmp_path: Path) -> Path:
    """A checkpoint after 9 steps."""
    simulation = Simulation(growth())
    simulation.step(9)
    simulation.save(tmp_path / "good.npz")
    return tmp_path / "good.npz"


def refused(simulation: Simulation[Any], path: Path, words: str | None = None) -> None:
    before = (simulation.state_hash(), simulation.step_count)
    with pytest.raises(FileFormatError, match=words):
        simulation.load(path)
    assert (simulation.state_hash(), simulation.step_count) == before


def test_a_simulation_continues_from_its_checkpoint(growth: Make, grown: Make, saved: Path) -> None:
    simulation = Simulation(growth())
    simulation.step(30)
    simulation.load(saved)
    assert (simulation.step_count, simulation.time) == (9, pytest.approx(0.9))
    simulation.step(3)
    assert float(simulation.state.values.numpy()[0]) == grown(12)


def test_a_checkpoint_is_replaced_whole(growth: Make, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up while a checkpoint is written leaves the old one."""
    before = saved.read_bytes()
    simulation = Simulation(growth())

    def full(*_: Any, **__: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(archives, "_write_part", full)
    with pytest.raises(OSError, match="No space left"):
        simulation.save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["good.npz"]


def test_folders_are_made(growth: Make, tmp_path: Path) -> None:
    Simulation(growth()).save(tmp_path / "a" / "b" / "c.npz")
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["c.npz"]


def test_other_models_are_refused(growth: Make, saved: Path) -> None:
    refused(Simulation(growth(size=4)), saved, "belongs to another model")
    refused(Simulation(growth(dt=0.2)), saved, r"saved with dt = 0.1 s, not 0.2 s")


@pytest.mark.parametrize("version", [0, 1, 999, "2", None])
def test_other_versions_are_refused(version: Any, growth: Make, saved: Path) -> None:
    spoil(saved, lambda header, arrays: header.update(version=version))
    refused(Simulation(growth()), saved, f"has version {version}; this Annelid reads version 2")


def test_absent_and_foreign_files_are_refused(growth: Make, tmp_path: Path) -> None:
    simulation = Simulation(growth())
    refused(simulation, tmp_path / "nothing.npz", "there is no checkpoint .*nothing.npz")
    refused(simulation, tmp_path, "there is no checkpoint")
    for content in (b"", b"hello", b"\x89HDF\r\n\x1a\n", os.urandom(5000)):
        (tmp_path / "foreign").write_bytes(content)
        refused(simulation, tmp_path / "foreign", "foreign is not a checkpoint")
    np.savez(tmp_path / "other.npz", temperature=np.arange(10))
    refused(simulation, tmp_path / "other.npz", "is not a checkpoint, or it is damaged")


def test_files_of_other_kinds_are_told_what_they_are(growth: Make, tmp_path: Path) -> None:
    """Checkpoints of version 0.1 among them: damaged ones made the HDF5 library hang or crash."""
    (tmp_path / "old.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + os.urandom(1000))
    refused(
        Simulation(growth()),
        tmp_path / "old.h5",
        r"it is an HDF5 file, as .* of version 0\.1 were",
    )
    Recorder(tmp_path / "r.rec").close()
    refused(Simulation(growth()), tmp_path / "r.rec", "it is a recording: `annelid view .*r.rec` plays it")


Change = Callable[[dict[str, Any], dict[str, np.ndarray]], object]


def spoil(path: Path, change: Change) -> None:
    """Write a checkpoint again with other contents, and checksums that are right."""
    header, arrays = read_archive(path, KIND)
    change(header, arrays)
    write_archive(path, KIND, header, arrays)


def not_a_number(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays["state/values"][1] = np.nan


def another_clock(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays["state/clock"][0] = 1234


def whole_numbers(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays["state/values"] = arrays["state/values"].astype(np.int64)


def another_shape(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays["state/values"] = arrays["state/values"][None]


def no_array(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["arrays"].remove("state/values")
    del arrays["state/values"]


def an_array_not_listed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["arrays"].remove("state/values")


def a_list_of_nothing(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["arrays"] = 7


def no_step(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    del header["step"]


def step_in_words(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["step"] = "nine"


def step_before_the_first(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["step"] = -9


def step_beyond_counting(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["step"] = 10**400


def no_model(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["model"] = None


def many_versions(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["version"] = [2, 2]


@pytest.mark.parametrize(
    "change",
    [
        not_a_number, another_clock, whole_numbers, another_shape, no_array, an_array_not_listed, a_list_of_nothing,
        no_step, step_in_words, step_before_the_first, step_beyond_counting, no_model, many_versions,
    ],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_checkpoints_that_are_not_right_are_refused(change: Any, growth: Make, saved: Path) -> None:
    spoil(saved, change)
    refused(Simulation(growth()), saved)


def test_a_truncated_checkpoint_is_refused(growth: Make, saved: Path) -> None:
    simulation = Simulation(growth())
    whole = saved.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        saved.write_bytes(whole[:length])
        refused(simulation, saved)


def test_a_flipped_byte_is_refused_or_harmless(growth: Make, saved: Path) -> None:
    """Wherever a file is damaged: either it is refused, or what is read is what was written."""
    good = Simulation(growth())
    good.load(saved)
    expected = (good.state_hash(), good.step_count)
    whole = saved.read_bytes()
    simulation = Simulation(growth())
    before = (simulation.state_hash(), simulation.step_count)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            simulation.load(saved)
        except AnnelidError:
            assert (simulation.state_hash(), simulation.step_count) == before, f"changed by byte {place}"
        else:
            assert (simulation.state_hash(), simulation.step_count) == expected, f"misread after byte {place}"
            simulation.reset()


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes among its files")
def test_what_is_no_file_is_not_replaced(growth: Make, tmp_path: Path) -> None:
    """As root, a rename would put a file in the place of /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidValue, match="not a file that can be replaced"):
        Simulation(growth()).save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("path", ["taken/x.npz", "x\0.npz"])
def test_a_file_that_cannot_be_there_is_told_in_a_sentence(growth: Make, tmp_path: Path, path: str) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(InvalidValue, match=r"the folder .*taken cannot be made|named by a text or a path"):
        Simulation(growth()).save(tmp_path / path)
    assert [found.name for found in tmp_path.iterdir()] == ["taken"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(growth: Make, tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OSError, match="."):
        Simulation(growth()).save(tmp_path / "x.npz")


def test_a_checkpoint_of_another_physics_names_both(saved: Path) -> None:
    with pytest.raises(FileFormatError, match="is a checkpoint of growth, and this is a simulation of decay"):
        load_checkpoint(saved, "decay-3", 1.0, lambda arrays, changes: None)


def test_steps_that_the_simulation_did_not_take_are_not_saved(growth: Make, tmp_path: Path) -> None:
    """Those of an environment, which saves itself: a file that nobody could load is not written."""
    simulation = Simulation(growth())
    simulation.solver.advance(simulation.state, 3)
    with pytest.raises(InvalidValue, match="has done 3 steps, and its simulation only 0 .* save the environment"):
        simulation.save(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []
