"""Files of the kernel cache that were cut off or written over are compiled again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.device import device
from annelid.core.kernels.worlds import begin_again

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "halved": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "another first byte": lambda content: bytes([content[0] ^ 255]) + content[1:],
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
    assert {path.suffix for path in files} >= {".meta", ".o"}
    for some in ([path] for path in files), [files]:
        for damaged in some:
            for path in damaged:
                path.write_bytes(DAMAGES[damage](path.read_bytes()))
            assert begun() == [7, 0]
