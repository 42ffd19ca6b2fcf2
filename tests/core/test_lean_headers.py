"""Kernels of this package that name nothing of meshes and tiles are compiled with a header that has none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import warp as wp

from annelid.core.kernels.arrays import points_kernel
from annelid.core.warp_build import lean_headers
from annelid.core.warp_build.lean_headers import _folder, _generate, compile_lean, lean_header
from annelid.core.warp_build.own_modules import take_own_modules

NATIVE = Path(wp.__file__).parent / "native"
PLAIN = '#define WP_NO_BFLOAT16\n#include "builtin.h"\n#include "deterministic.h"\nvar_0 = wp::add(var_1, var_2);\n'
RELEASE = {"mode": "release", "verify_fp": False, "cpu_compiler_flags": "-march=native"}


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


def generated(source: str, *, is_cpu: bool = True, **options: Any) -> tuple[str, str]:
    """The source and flags of a module for which Warp gives that source."""
    given = RELEASE | options
    found, *rest = _generate(lambda _options, _is_cpu: (source, "cpp", {}), given, is_cpu)
    assert rest == ["cpp", {}]
    return found, given["cpu_compiler_flags"]


def test_a_plain_kernel_gets_it(cache: Path) -> None:
    source, flags = generated(PLAIN)
    assert source == PLAIN.replace('#include "deterministic.h"\n', "")
    folder = Path(flags.removeprefix("-march=native -iquote "))
    assert folder.parent == cache
    assert [file.name for file in folder.iterdir()] == ["builtin.h"]


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (PLAIN + "var_3 = wp::mesh_query_point(var_4);\n", {}),
        (PLAIN.removeprefix("#define WP_NO_BFLOAT16\n"), {}),
        (PLAIN, {"mode": "debug"}),
        (PLAIN, {"verify_fp": True}),
        (PLAIN, {"is_cpu": False}),
    ],
)
def test_others_get_all(cache: Path, source: str, options: dict[str, Any]) -> None:
    assert generated(source, **options) == (source, "-march=native")


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


@wp.kernel(module="unique", enable_backward=False)
def foreign(values: wp.array[wp.int32]):
    values[wp.tid()] = 7


@pytest.mark.skipif(not lean_headers.is_on(), reason="all kernels are compiled as Warp does it")
def test_only_modules_of_this_package_get_it() -> None:
    own = points_kernel(wp.vec3).module.name
    take_own_modules()
    changed = [name for name, module in wp._src.context.user_modules.items() if "_run_codegen" in vars(module)]
    assert own in changed
    assert foreign.module.name not in changed


def test_other_versions_of_warp_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNELID_PLAIN_WARP", "0")
    assert lean_headers.is_on() == (wp.__version__ in lean_headers.TESTED)
    monkeypatch.setattr(lean_headers, "TESTED", ("1.18.0",))
    compile_lean(foreign.module)
    assert "_run_codegen" not in vars(foreign.module)


@pytest.mark.parametrize("value", ["1", "yes"])
def test_it_can_be_switched_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNELID_PLAIN_WARP", value)
    assert not lean_headers.is_on()
