"""What users install: wheel and sdist build, hold all that the program reads, and run without the sources beside it."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="needs hatchling: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    targets = ["--target", "sdist", "--target", "wheel"]  # both, as `python -m build` does
    command = [sys.executable, "-m", "hatchling", "build", *targets, "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120, stdout=subprocess.DEVNULL)
    (built,) = folder.glob("annelid-*.whl")
    return built


def test_the_sdist_holds_what_builds_and_tests_it(wheel: Path) -> None:
    (sdist,) = wheel.parent.glob("annelid-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "Makefile", "README.md", "LICENSE", "src/annelid/cli.py", "tests/conftest.py"} <= names


def test_it_holds_every_file_of_the_package(wheel: Path) -> None:
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "annelid").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= set(zipfile.ZipFile(wheel).namelist())


def test_it_runs_from_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*pip, str(wheel)], check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}

    def told(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, timeout=120, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    asked = "import annelid; from annelid.core.packages import installation as i; print(annelid.__file__, i('rl'))"
    place, _, command = told("-c", asked).partition(" ")
    assert place.startswith(str(site))
    assert command == "pip install 'annelid[rl]'\n"
    assert wheel.name.split("-")[1] == told("-m", "annelid", "--version").strip()
    assert '"name": "worm"' in told("-m", "annelid", "run", "worm", "--seconds", "0.1", "--json")
    assert (tmp_path / "out" / "worm" / "results.json").is_file()
