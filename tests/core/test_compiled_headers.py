"""Compiled headers of the CPU's kernels are made once and found by other processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp
from warp._src import build

from annelid.core import compiled_functions, compiled_headers, lean_headers


class _Compiler:
    """Makes the header that it does not find, as Warp's compiler does, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, *, pch_dir: str | None, use_precompiled_headers: bool) -> None:
        if pch_dir is not None and not (header := Path(pch_dir) / "builtin.pch").exists():
            header.write_bytes(b"compiled")
            self.made += 1


def test_warp_builds_by_way_of_it() -> None:
    layers, outer = [], build.build_cpu
    while hasattr(outer, "_build"):
        layers.append(type(outer))
        outer = outer._build
    assert layers == [lean_headers._Leaning, compiled_headers._Sharing, compiled_functions._Rewriting]


def test_a_second_process_finds_what_the_first_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "cache"))
    compiler = _Compiler()
    sharing = compiled_headers._Sharing(compiler)
    for process in ("one", "two"):
        (tmp_path / process).mkdir()
        sharing(pch_dir=str(tmp_path / process), use_precompiled_headers=True)
    assert compiler.made == 1
    assert (tmp_path / "two" / "builtin.pch").read_bytes() == b"compiled"
    shared = sorted((tmp_path / "cache").glob("wp_annelid_headers_*/*"))
    assert [path.name for path in shared] == ["builtin.pch", "builtin.pch.sha256"]  # no parts left behind
    for number, path in enumerate(shared):  # what is damaged is compiled again
        path.write_bytes(path.read_bytes()[:3])
        for process in (f"damaged-{number}", f"mended-{number}"):
            (tmp_path / process).mkdir()
            sharing(pch_dir=str(tmp_path / process), use_precompiled_headers=True)
            assert (tmp_path / process / "builtin.pch").read_bytes() == b"compiled"
        assert compiler.made == 2 + number


def test_builds_without_headers_and_folders_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = _Compiler()
    sharing = compiled_headers._Sharing(compiler)
    sharing(pch_dir=None, use_precompiled_headers=False)
    (tmp_path / "file").touch()
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "file"))
    sharing(pch_dir=str(tmp_path), use_precompiled_headers=True)
    assert compiler.made == 1
