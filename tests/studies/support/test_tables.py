"""Tables of measured numbers: what is read, and what a damaged file is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid.core.errors import FileFormatError
from annelid.studies.support.tables import read_columns


def test_columns_are_found_by_name_whatever_a_spreadsheet_has_added(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("\ufeffa, b ,c\r\n1, 2,3\r\n\r\n4,5, 6\r\n".encode())
    np.testing.assert_array_equal(read_columns(path, ("c", "a")), [[3.0, 1.0], [6.0, 4.0]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no column 'a' in its first line; it needs a, b"),
        (b"a;b\n1;2\n", "has no column 'a' in its first line"),
        (b"a,b\n", "no numbers below them"),
        (b"a,b\n1,2\n3\n", r"line 3 of .* has 1 values for 2 columns; is the file cut off\?"),
        (b"a,b\n1,two\n", "line 2 of .* is no row of numbers"),
        (b"\xff\xfe\x00", "cannot be read as a table of text"),
    ],
)
def test_damaged_tables_are_told_with_their_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=sentence):
        read_columns(path, ("a", "b"))
    with pytest.raises(FileFormatError, match="there is no"):
        read_columns(tmp_path / "other.csv", ("a",))
