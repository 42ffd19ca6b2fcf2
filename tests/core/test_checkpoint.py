"""Checkpoints: what is saved comes back; what is damaged, foreign or of another model is refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from annelid import Simulation
from annelid.core.checkpoint import load_checkpoint
from annelid.core.errors import AnnelidError, FileFormatError

Make = Callable[..., Any]


@pytest.fixture
def saved(growth: Make, tmp_path: Path) -> Path:
    """A checkpoint after 9 steps."""
    simulation = Simulation(growth())
    simulation.step(9)
    simulation.save(tmp_path / "good.h5")
    return tmp_path / "good.h5"


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

    monkeypatch.setattr(h5py.Group, "create_dataset", full)
    with pytest.raises(OSError, match="No space left"):
        simulation.save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["good.h5"]


def test_folders_are_made(growth: Make, tmp_path: Path) -> None:
    Simulation(growth()).save(tmp_path / "a" / "b" / "c.h5")
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["c.h5"]


def test_other_models_are_refused(growth: Make, saved: Path) -> None:
    refused(Simulation(growth(size=4)), saved, "belongs to another model")
    refused(Simulation(growth(dt=0.2)), saved, r"saved with dt = 0.1 s, not 0.2 s")


@pytest.mark.parametrize("version", [0, 2, 999])
def test_other_versions_are_refused(version: int, growth: Make, saved: Path) -> None:
    with h5py.File(saved, "r+") as file:
        file.attrs["version"] = version
    refused(Simulation(growth()), saved, f"has version {version}; this Annelid reads version 1")


def test_absent_and_foreign_files_are_refused(growth: Make, tmp_path: Path) -> None:
    simulation = Simulation(growth())
    refused(simulation, tmp_path / "nothing.h5", "there is no checkpoint .*nothing.h5")
    refused(simulation, tmp_path, "there is no checkpoint")
    for content in (b"", b"hello", b"\x89HDF\r\n\x1a\n", os.urandom(5000)):
        (tmp_path / "foreign").write_bytes(content)
        refused(simulation, tmp_path / "foreign", "foreign is not a checkpoint")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["temperature"] = np.arange(10)
    refused(simulation, tmp_path / "other.h5", "not a checkpoint of Annelid")


def spoil(path: Path, change: Callable[[h5py.File], None]) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


def a_huge_array(file: h5py.File) -> None:
    del file["state/values"]
    file.create_dataset("state/values", shape=(1 << 45,), dtype=float, chunks=(1 << 20,))


def an_array_for_the_group(file: h5py.File) -> None:
    del file["state"]
    file["state"] = np.arange(3)


def a_group_for_an_array(file: h5py.File) -> None:
    del file["state/values"]
    file.create_group("state/values")


def words_for_numbers(file: h5py.File) -> None:
    del file["state/values"]
    file["state/values"] = np.array(["a", "b", "c"], dtype=h5py.string_dtype())


def a_link_to_another_file(file: h5py.File) -> None:
    del file["state/values"]
    file["state/values"] = h5py.ExternalLink("elsewhere.h5", "/values")


def not_a_number(file: h5py.File) -> None:
    file["state/values"][1] = np.nan


def another_clock(file: h5py.File) -> None:
    file["state/clock"][0] = 1234


def no_step(file: h5py.File) -> None:
    del file.attrs["step"]


def step_in_words(file: h5py.File) -> None:
    file.attrs["step"] = "nine"


def no_model(file: h5py.File) -> None:
    del file.attrs["model"]


def many_versions(file: h5py.File) -> None:
    file.attrs["version"] = np.array([1, 1])


def no_array(file: h5py.File) -> None:
    del file["state/values"]


@pytest.mark.parametrize(
    "change",
    [
        a_huge_array, an_array_for_the_group, a_group_for_an_array, words_for_numbers, a_link_to_another_file,
        not_a_number, another_clock, no_step, step_in_words, no_model, many_versions, no_array,
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
    for place in range(0, len(whole), 5):
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(growth: Make, tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OSError, match="."):
        Simulation(growth()).save(tmp_path / "x.h5")


def test_a_checkpoint_of_another_physics_names_both(saved: Path) -> None:
    with pytest.raises(FileFormatError, match="is a checkpoint of growth, and this is a simulation of decay"):
        load_checkpoint(saved, "decay-3", 1.0, lambda arrays, changes: None)
