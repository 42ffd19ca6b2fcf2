"""Files that are handed to the wrong command are told what they are and which one takes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import springs
from annelid.core.archives import write_archive
from annelid.core.checkpoint import KIND
from annelid.core.errors import FileFormatError
from annelid.core.recording import Recorder, Recording
from annelid.core.recording.file_kinds import annelid_version, what_it_is
from annelid.evolve import checkpoint as searches
from annelid.shapes import Box, tet_beam


def test_a_checkpoint_says_of_what_and_when(tmp_path: Path) -> None:
    simulation = springs.simulation(springs.block((2, 2, 2)), device="cpu", dt=5e-4)
    simulation.step(40)
    simulation.save(tmp_path / "half.npz", scene="worm")
    with pytest.raises(FileFormatError) as refused:
        Recording(tmp_path / "half.npz")
    words = f"a checkpoint of springs in the scene worm at 0.02 s, step 40, saved by Annelid {annelid_version()},"
    assert words in str(refused.value)
    assert "simulation.load(" in str(refused.value)
    assert "`annelid run worm --record`" in str(refused.value)
    simulation.save(tmp_path / "half.npz")
    assert "simulation.record(FILE)" in str(what_it_is(tmp_path / "half.npz"))


def test_a_recording_says_of_which_scene(tmp_path: Path) -> None:
    path = tmp_path / "r.rec"
    Recorder(path, scene="worm").close()
    with pytest.raises(FileFormatError, match="it is a recording of the scene worm: `annelid view .* plays it"):
        springs.simulation(springs.block((2, 2, 2)), device="cpu").load(path)


def test_other_files_of_annelid_are_known(tmp_path: Path) -> None:
    tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)).save(tmp_path / "beam.npz")
    searches.save(tmp_path / "checkpoint.npz", {}, {})
    Box((1.0, 1.0, 1.0)).surface().write(tmp_path / "box.stl")
    found = {path.name: str(what_it_is(path)) for path in tmp_path.iterdir()}
    assert "TetMesh.load" in found["beam.npz"]
    assert "annelid evolve NAME" in found["checkpoint.npz"]
    assert "annelid view workshop --shape file --file" in found["box.stl"]


def test_what_others_wrote_is_not_believed(tmp_path: Path) -> None:
    """Neither text that would spoil a terminal nor numbers that are none."""
    path = tmp_path / "strange.npz"
    write_archive(path, KIND, {"model": "\x1b[31m-1", "scene": "a b`rm", "step": "x", "dt": 1.0, "annelid": 3}, {})
    assert str(what_it_is(path)).startswith("a checkpoint, which is a state without pictures: simulation.load(")
    write_archive(path, KIND, {"step": 10**400, "dt": 1e-3}, {})
    assert str(what_it_is(path)).startswith("a checkpoint, which is a state without pictures: simulation.load(")
    np.savez(path, a=np.zeros(3))
    assert what_it_is(path) is None
    assert what_it_is(tmp_path) is None
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert what_it_is(path) is None
