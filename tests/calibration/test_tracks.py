"""Tables of tracks: units, gaps, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from annelid.calibration import Tracks, read_tracks
from annelid.core.errors import FileFormatError, InvalidValue

HEAD = "t [ms],tip_x [mm],tip_y [mm],tip_z [mm]\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "tracks.csv"
    path.write_text(text)
    return path


def test_units_are_read_from_the_first_line(tmp_path: Path) -> None:
    found = read_tracks(written(tmp_path, HEAD + "0,1,2,3\n10,,5,6\n20,7,8,9\n"))
    np.testing.assert_allclose(found.times, [0.0, 0.01, 0.02])
    np.testing.assert_allclose(found.places[[0, 2], 0], [[1e-3, 2e-3, 3e-3], [7e-3, 8e-3, 9e-3]])
    assert found.seen.tolist() == [[True], [False], [True]]
    assert "missing 33.3 %" in repr(found)


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    tracks = Tracks(np.arange(3.0), np.arange(18.0).reshape(3, 2, 3), ("a", "b"))
    found = read_tracks(tracks.save(tmp_path / "out.csv"))
    np.testing.assert_allclose(found.places, tracks.places)
    assert found.of(["b"]).names == ("b",)
    assert len(found.between(0.5, 2.0).times) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,tip_x\n1,2\n", "no column 't'"),
        ("t,speed\n1,2\n", "names no markers"),
        ("t,tip_x,tip_y\n1,2,3\n", "no column 'tip_z'"),
        (HEAD, "no numbers below"),
        (HEAD.replace(",", ";") + "0;1,5;2;3\n", "separated by semicolons"),
        ("t,tip_x,tip_y,tip_z,tip_x\n0,1,2,3,4\n", "names two columns 'tip_x'"),
        (HEAD + "0,1,2\n", "line 2 .* has 3 values for 4 columns"),
        (HEAD + "0,1,two,3\n", "line 2 .* is no row of numbers"),
        (HEAD + "0,1,2,3\n0,1,2,3\n", "do not rise after row 1"),
        (HEAD + "0,1,2,3\n10,,,\n20,nan,2,3\n", "'tip' .* is missing in 67 %"),
        (HEAD.replace("mm", "inch") + "0,1,2,3\n", "unit 'inch' .* is none of m, cm, mm"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises((FileFormatError, InvalidValue), match=sentence):
        read_tracks(written(tmp_path, text))


def test_units_that_contradict_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + "0,1,2,3\n")
    with pytest.raises(InvalidValue, match="says 'mm' in its first line, and unit says 'm'"):
        read_tracks(path, unit="m")
    with pytest.raises(FileFormatError, match="there is no"):
        read_tracks(tmp_path / "none.csv")
