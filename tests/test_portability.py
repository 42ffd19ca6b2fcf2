"""What other operating systems lack is not needed: a run without POSIX, and text files that name their encoding."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "annelid"

_AS_ON_WINDOWS = """
import ctypes, json, os, sys
from types import ModuleType, SimpleNamespace
import asyncio, multiprocessing, socket, subprocess, tempfile, unittest.mock, webbrowser
import numpy, rich.progress, scipy.sparse.csgraph, scipy.spatial, trimesh, tyro, warp

warp.init()  # what other packages need, they may have
locked = set()

def locking(file, mode, count):
    if os.fstat(file).st_ino in locked:
        raise PermissionError("locked")
    locked.add(os.fstat(file).st_ino)

def memory(status):
    status._obj.m0 = 8 << 30
    return 1

sys.modules["msvcrt"] = ModuleType("msvcrt")
vars(sys.modules["msvcrt"]).update(locking=locking, LK_NBLCK=2)
ctypes.windll = SimpleNamespace(
    kernel32=SimpleNamespace(GlobalMemoryStatusEx=memory, SwitchToThread=ctypes.CDLL(None).sched_yield)
)
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in ("fork", "register_at_fork", "sched_getaffinity", "sched_setaffinity", "sysconf", "getuid", "geteuid"):
    if name in vars(os):
        delattr(os, name)
sys.platform = "win32"

from annelid.cli import main
from annelid.core.memory import machine_memory
from annelid.core.ownership import owned
from annelid.core.errors import FolderInUse
from contextvars import Context
from pathlib import Path

command = "run bounce --masses 4 --seconds 0.02 --device cpu --threads 2 --record --json --out".split()
try:
    main([*command, "done"])
except SystemExit as end:
    code = end.code
with owned(Path("taken")):
    try:
        Context().run(main, [*command, "taken"])
    except SystemExit as end:
        refused = end.code
print(json.dumps([code, refused, sorted(os.listdir("done")), machine_memory() <= 8 << 30]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it is tried on a system that has what is hidden")
def test_a_run_without_posix(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _AS_ON_WINDOWS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    results = ["final.npz", "numbers.csv", "recording.rec", "results.json"]
    assert json.loads(done.stdout.splitlines()[-1]) == [0, 2, results, True]
    assert "taken is being written by process" in done.stderr


# --- text files ---


def unnamed_encodings(source: str) -> list[str]:
    """Calls that open a text file in the encoding of the machine."""
    if "open" not in source and "_text" not in source:  # quicker than a look at the syntax
        return []
    return [ast.unparse(call) for call in ast.walk(ast.parse(source)) if isinstance(call, ast.Call) and _unnamed(call)]


def _unnamed(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    name = called.rpartition(".")[2]
    if called in ("read_text", "write_text"):  # of `core.files`, which names it
        return False
    if name in ("read_text", "write_text"):
        return not any(keyword.arg == "encoding" for keyword in call.keywords)
    mode = [a.value for a in call.args if isinstance(a, ast.Constant) and str(a.value).strip("rwxab+") == ""]
    text = name == "open" and any("b" not in str(value) for value in mode)
    return text and not any(keyword.arg == "encoding" for keyword in call.keywords)


def test_text_files_name_their_encoding() -> None:
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {name: calls for name, text in texts.items() if (calls := unnamed_encodings(text))}
    assert found == {"core/archives.py": ["file.open(entry, 'w', force_zip64=True)"]}  # a part of a ZIP file, in bytes


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("path.read_text()", True),
        ("read_text(path)", False),
        ("write_text(path, text)", False),
        ("path.write_text(text, encoding='utf-8')", False),
        ("open(path, 'w')", True),
        ("path.open('rb')", False),
        ("path.open('w', encoding='utf-8')", False),
        ("webbrowser.open(url)", False),
    ],
)
def test_calls_without_an_encoding_are_found(call: str, found: bool) -> None:
    assert unnamed_encodings(call) == ([call] if found else [])
