"""The wheel that users install: it builds, holds all that the program reads, and runs without the sources beside it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="needs hatchling: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120, stdout=subprocess.DEVNULL)
    (built,) = folder.glob("annelid-*.whl")
    return built


def test_it_holds_every_file_of_the_package(wheel: Path) -> None:
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "annelid").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= set(zipfile.ZipFile(wheel).namelist())


def test_it_runs_from_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)  # what pip does with a wheel of pure Python
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}

    def told(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, timeout=120, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    assert told("-c", "import annelid; print(annelid.__file__)").startswith(str(site))
    assert wheel.name.split("-")[1] == told("-m", "annelid", "--version").strip()
    assert '"name": "worm"' in told("-m", "annelid", "run", "worm", "--seconds", "0.1", "--json")
    assert (tmp_path / "out" / "worm" / "results.json").is_file()
