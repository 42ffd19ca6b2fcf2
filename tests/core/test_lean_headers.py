"""Kernels that name nothing of meshes and tiles are compiled with a header that has none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp

from annelid.core.lean_headers import _folder, _Leaning, lean_header

NATIVE = Path(wp.__file__).parent / "native"
PLAIN = '#define WP_NO_BFLOAT16\n#include "builtin.h"\n#include "deterministic.h"\nvar_0 = wp::add(var_1, var_2);\n'
RELEASE = {"mode": "release", "verify_fp": False}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    return tmp_path


def test_the_header_has_sums_but_no_tiles() -> None:
    text = lean_header(NATIVE)
    assert "struct mat_t" in text
    assert "tile_matmul" not in text
    assert "mesh_query_point(" not in text
    assert text.count("#pragma once") == 1


def test_a_plain_kernel_gets_it(cache: Path) -> None:
    folder = _folder(PLAIN, RELEASE)
    assert folder is not None
    assert folder.parent == cache
    assert [file.name for file in folder.iterdir()] == ["builtin.h"]


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (PLAIN + "var_3 = wp::mesh_query_point(var_4);\n", RELEASE),
        (PLAIN.removeprefix("#define WP_NO_BFLOAT16\n"), RELEASE),
        (PLAIN, {"mode": "debug", "verify_fp": False}),
        (PLAIN, {"mode": "release", "verify_fp": True}),
    ],
)
def test_others_get_all(cache: Path, source: str, options: dict[str, object]) -> None:
    assert _folder(source, options) is None


def test_a_header_that_is_written_again_has_the_same_date(cache: Path) -> None:
    dates = []
    for _ in range(2):
        folder = _folder(PLAIN, RELEASE)
        assert folder is not None
        header = folder / "builtin.h"
        dates.append(header.stat().st_mtime_ns)
        header.unlink()
    assert dates[0] == dates[1]


def test_a_damaged_header_is_written_again(cache: Path) -> None:
    folder = _folder(PLAIN, RELEASE)
    assert folder is not None
    whole = (folder / "builtin.h").read_bytes()
    (folder / "builtin.h").write_bytes(whole[: len(whole) // 2])
    assert _folder(PLAIN, RELEASE) == folder
    assert (folder / "builtin.h").read_bytes() == whole


def test_folders_that_flags_or_files_cannot_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for name in ("with space", "file"):
        monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / name))
        assert _folder(PLAIN, RELEASE) is None


def test_what_cannot_be_compiled_gets_all(cache: Path) -> None:
    path = cache / "kernel.cpp"
    path.write_text(PLAIN)
    built = []

    def build(_target: str, source: str, *, extra_flags: str, **_options: object) -> None:
        built.append(("-iquote" in extra_flags, Path(source).read_text()))
        if "-iquote" in extra_flags:
            raise RuntimeError("no")

    _Leaning(build)("kernel.o", str(path), extra_flags="-march=native", **RELEASE)
    assert built == [(True, PLAIN.replace('#include "deterministic.h"\n', "")), (False, PLAIN)]
