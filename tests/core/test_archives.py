"""Archives: arrays come back, and no file, however damaged or malicious, is believed."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra import numpy as arrays_of

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError

KIND = Kind("test-archive", 3, "an archive of tests")
ARRAYS = {
    "a/points": np.arange(12.0).reshape(4, 3),
    "flags": np.array([True, False]),
    "nothing": np.zeros((0, 5), np.int32),
    "one": np.array(7, np.uint16),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_archive(tmp_path / "it.npz", KIND, {"text": "ä", "number": 0.1}, ARRAYS)
    return tmp_path / "it.npz"


def alike(found: dict[str, np.ndarray]) -> bool:
    return list(found) == list(ARRAYS) and all(
        found[name].dtype == array.dtype and np.array_equal(found[name], array) for name, array in ARRAYS.items()
    )


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_written_comes_back_and_numpy_reads_it_too(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "folder" / "it.npz"
    write_archive(path, KIND, {"text": "ä", "number": 0.1}, ARRAYS, packed=packed)
    header, arrays = read_archive(path, KIND, max_bytes=10_000)
    assert (header["text"], header["number"]) == ("ä", 0.1)
    assert alike(arrays)
    with np.load(path) as file:
        assert np.array_equal(file["a/points"], ARRAYS["a/points"])
    assert [p.name for p in path.parent.iterdir()] == ["it.npz"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(array=arrays_of.arrays(arrays_of.scalar_dtypes().filter(lambda t: t.kind in "biuf"), arrays_of.array_shapes()))
def test_any_array_of_numbers_comes_back(tmp_path: Path, array: np.ndarray) -> None:
    if array.dtype.itemsize > 8:
        return
    write_archive(tmp_path / "it.npz", KIND, {}, {"it": array.T})
    np.testing.assert_array_equal(read_archive(tmp_path / "it.npz", KIND)[1]["it"], array.T)


def test_a_flipped_byte_is_refused_or_harmless(path: Path) -> None:
    whole = path.read_bytes()
    harmless = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            header, arrays = read_archive(path, KIND)
        except FileFormatError as error:
            assert str(path) in str(error)  # noqa: PT017
            continue
        assert header["text"] == "ä"
        assert alike(arrays), f"misread after byte {place}"
        harmless += 1
    assert harmless < len(whole) / 4, "only dates and attributes of the zip are not guarded"


def described(path: Path, description: bytes, *, method: int = zipfile.ZIP_STORED, data: bytes = b"") -> Path:
    """A file whose one part describes itself in some words."""
    head = b"\x93NUMPY\x01\x00" + len(description).to_bytes(2, "little")
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("header.npy", head + description + data)
    return path


@pytest.mark.parametrize(
    "description",
    [
        b"{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }\n",
        b"(" * 9000,
        b"9" * 9000,
        b"",
    ],
)
def test_descriptions_are_not_believed(tmp_path: Path, description: bytes) -> None:
    path = described(tmp_path / "it.npz", description, data=b"1234")
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="is not an archive of tests, or it is damaged"):
        read_archive(path, KIND)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_file_that_unpacks_to_more_than_it_may_is_refused_before_it_does(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    write_archive(path, KIND, {}, {"zeros": np.zeros(3_000_000)}, packed=True)
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="unpacks to .* more than"):
        read_archive(path, KIND)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert read_archive(path, KIND, max_bytes=30_000_000)[1]["zeros"].shape == (3_000_000,)


def test_other_ways_to_pack_and_double_names_are_refused(tmp_path: Path) -> None:
    path = described(tmp_path / "it.npz", b"{}", method=zipfile.ZIP_LZMA, data=bytes(1000))
    with pytest.raises(FileFormatError, match="packed in another way"):
        read_archive(path, KIND, max_bytes=10_000)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.npy", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("header.npy", b"2")
    with pytest.raises(FileFormatError, match="in another way"):
        read_archive(path, KIND)


def test_what_is_no_number_is_not_written(tmp_path: Path) -> None:
    for array in (np.array(["a"]), np.array([None]), np.zeros(2, "c16")):
        with pytest.raises(TypeError, match="which an archive does not hold"):
            write_archive(tmp_path / "it.npz", KIND, {}, {"it": array})
    assert not list(tmp_path.iterdir())
