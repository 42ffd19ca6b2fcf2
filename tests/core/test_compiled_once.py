"""What one process compiles, others wait for instead of compiling it too."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp
from warp._src import codegen
from warp._src.context import Module

from annelid.core import compiled_once, compiled_structures


class _Module:
    """Compiles what is not there, as Warp's modules do, and counts how often."""

    def __init__(self) -> None:
        self.built, self.begun, self.go_on = 0, threading.Event(), threading.Event()

    def compile(self, device: None, output_dir: str, output_name: str) -> bool:
        target = Path(output_dir, output_name)
        if target.exists():
            return False
        self.begun.set()
        assert self.go_on.wait(60.0)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(b"compiled")
        self.built += 1
        return True


def test_warp_compiles_by_way_of_it() -> None:
    found = Module._compile
    assert hasattr(found, "__wrapped__")
    compiled_once.compile_once()  # a second time changes nothing
    assert Module._compile is found


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    module, in_turn = _Module(), compiled_once._taking_turns(_Module.compile)
    arguments = (module, None, str(tmp_path / "cache" / "wp_module"), "module.o")
    (tmp_path / "cache").mkdir()
    first = threading.Thread(target=in_turn, args=arguments)
    first.start()
    assert module.begun.wait(60.0)
    second = threading.Thread(target=in_turn, args=arguments)  # files are locked against threads as against processes
    second.start()
    module.go_on.set()
    first.join()
    second.join()
    assert module.built == 1
    assert in_turn(*arguments) is False


@wp.kernel(module="unique", enable_backward=False)
def count_up(values: wp.array[wp.int32]):
    values[wp.tid()] = wp.tid() + 41


def counted() -> list[int]:
    """What the kernel gives after it was loaded again from the folder."""
    count_up.module.unload()
    values = wp.zeros(2, dtype=wp.int32, device="cpu")
    wp.launch(count_up, 2, [values], device="cpu")
    return list(values.numpy())


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def flipped(content: bytes) -> bytes:
    return bytes([content[0] ^ 255]) + content[1:-1] + bytes([content[-1] ^ 1])


def replaced_by_noise(content: bytes) -> bytes:
    return np.random.default_rng(0).bytes(len(content))


@pytest.mark.parametrize("damage", [halved, emptied, flipped, replaced_by_noise, None])
def test_damaged_files_are_compiled_again(damage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    assert counted() == [41, 42]
    files = sorted(next(tmp_path.glob("*count_up*")).iterdir())
    assert sorted({path.suffix for path in files}) == [".cpp", ".meta", ".o", ".sha256"]
    for some in ([path] for path in files), [files]:
        for damaged in some:
            whole = {path: path.read_bytes() for path in damaged}
            for path, content in whole.items():
                path.unlink() if damage is None else path.write_bytes(damage(content))
            assert counted() == [41, 42]
            assert all(compiled_once.is_whole(path) for path in files if path.suffix == ".o")


def test_what_is_whole_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    assert counted() == [41, 42]
    code = next(tmp_path.glob("*count_up*/*.o"))
    before = code.stat().st_mtime_ns
    assert counted() == [41, 42]
    assert code.stat().st_mtime_ns == before


def test_patience_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_once, "PATIENCE", 0.0)
    entered = []
    with compiled_once.turn(tmp_path, "00"), compiled_once.turn(tmp_path, "00"):
        entered.append("both")
    assert entered == ["both"]


def test_a_folder_that_cannot_be_written_is_left_to_warp(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    entered = []
    with compiled_once.turn(tmp_path / "file", "00"):
        entered.append("without a lock")
    assert entered == ["without a lock"]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_functions_of_structures_are_local() -> None:
    found = codegen.struct_template
    lines = [line for line in found.splitlines() if " add(" in line or " adj_atomic_add(" in line]
    assert len(lines) == 2
    assert all(line.startswith("static ") for line in lines)
    compiled_structures.leave_out_uncalled()  # a second time changes nothing
    assert codegen.struct_template == found
