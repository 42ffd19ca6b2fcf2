"""Files of the kernel cache that were cut off or written over, in a single bit, are compiled again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.device import device
from annelid.core.kernels.worlds import begin_again
from annelid.core.warp_build.kept_files import drop_damaged


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "halved": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "a flipped first bit": lambda content: flipped(content, 0),
    "a flipped bit": lambda content: flipped(content, len(content) // 2),
    "noise": lambda content: np.random.default_rng(0).bytes(len(content)),
}


def begun() -> list[int]:
    """What a kernel gives after it was loaded again from the folder."""
    device("cpu")
    begin_again.module.unload()
    mask, clock = wp.array([True, False], dtype=wp.bool, device="cpu"), wp.array([7], dtype=wp.int64, device="cpu")
    found = wp.zeros(2, dtype=wp.int64, device="cpu")
    wp.launch(begin_again, 2, [mask, clock], [found], device="cpu")
    return list(found.numpy())


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_compiled_again(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    assert begun() == [7, 0]
    files = sorted(next(tmp_path.glob("wp_annelid.core*")).iterdir())
    assert {path.suffix for path in files} >= {".meta", ".o", ".json"}
    for some in ([path] for path in files), [files]:
        for damaged in some:
            for path in damaged:
                path.write_bytes(DAMAGES[damage](path.read_bytes()))
            assert begun() == [7, 0]


def test_a_flipped_bit_anywhere_in_what_is_loaded_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "cache"))
    begun()
    kept, random = next(tmp_path.glob("cache/wp_annelid.core*")), np.random.default_rng(1)
    files = [path for path in kept.iterdir() if path.suffix != ".cpp"]
    for number, path in enumerate(20 * files):
        copy, content = tmp_path / str(number), path.read_bytes()
        shutil.copytree(kept, copy)
        drop_damaged(copy)
        (copy / path.name).write_bytes(flipped(content, int(random.integers(len(content)))))
        drop_damaged(copy)
        assert not copy.exists(), path


def test_files_without_sums_are_loaded_and_get_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an earlier version, or of another process that has just compiled them."""
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    begun()
    sums = next(tmp_path.glob("wp_annelid.core*/sums.json"))
    kept, dates = sums.read_text(), {path: path.stat().st_mtime_ns for path in sums.parent.glob("*.o")}
    sums.unlink()
    assert begun() == [7, 0]
    assert sums.read_text() == kept
    assert dates == {path: path.stat().st_mtime_ns for path in sums.parent.glob("*.o")}
