"""What needs an extra says so at once: before Warp is imported, in one sentence, with the command that installs it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from annelid.commands.support.needs import require_packages
from annelid.core import packages
from annelid.core.errors import MissingPackage
from annelid.core.packages import installation
from annelid.scenes.pendulum import Pendulum
from annelid.scenes.registry import DRAWN, INVERSE, SCENES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

REFUSED = {
    "viser": ("view", ["view worm", "view recording.rec", "bench view"]),
    "PIL": ("view", ["picture worm", "video worm --out worm.gif", "export a.rec a.gif", "export a.rec a.mp4"]),
    "imageio_ffmpeg": ("view", ["video worm", "export a.rec a.mp4", "evolve worm --video", "train Bulldozer --video"]),
    "matplotlib": ("view", ["study lattices", "materials --plot silicones.png"]),
    "cma": ("evolve", ["evolve cma.toml"]),
    "ribs": ("evolve", ["evolve map-elites.toml"]),
    "pymoo": ("evolve", ["evolve nsga2.toml"]),
    "ray": ("ray", ["evolve spring-worm --executor ray", "evolve spring-worm --ray-address=auto"]),
    "gymnasium": ("rl", ["train Bulldozer"]),
    "stable_baselines3": ("rl", ["train Bulldozer"]),
    "torch": ("rl", ["train Bulldozer"]),
    "pxr": ("export", ["export a.rec a.usda", "export a.rec a.usdc", "export a.rec a.usd"]),
    "rerun": ("export", ["export a.rec a.rrd"]),
    "daqp": ("fem", ["run trunk", "view finger", "picture pendulum", "video silicone-cylinder", "bench fem"]),
}
"""Modules, the extra that brings each, and commands that cannot do without."""

NOT_REFUSED = {"meshio": "fem", "mujoco": "export", "tensorboard": "rl", "threadpoolctl": "fem"}
"""Packages that no command needs: `TetMesh.read` asks for meshio, `read_mjcf` for mujoco, others bring logs, speed."""

_HIDING = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder, ModuleSpec
from annelid.cli import main

there, told = set(), {}
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        top = name.partition(".")[0]
        if top in there:  # so that the sentence is about the one that is hidden, whatever this machine has
            return ModuleSpec(name, None)
        return None if top in hidden else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
cases, every = json.load(sys.stdin)
for module, command in cases:
    hidden, there = {module}, set(every) - {module}
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            main(command.split())
            code = 0
        except SystemExit as end:
            code = end.code
    told[f"{module}: {command}"] = [code, errors.getvalue(), "warp" in sys.modules, "numpy" in sys.modules]
print(json.dumps(told))
"""


def python(script: str, folder: Path, given: Any = None) -> str:
    command = [sys.executable, "-c", script]
    text = json.dumps(given)
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_refuse_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    for searcher in ("cma", "map-elites", "nsga2"):
        (tmp_path / f"{searcher}.toml").write_text(f'[searcher]\nname = "{searcher}"\n', encoding="utf-8")
    cases = [(module, command) for module, (_, commands) in REFUSED.items() for command in commands]
    told = json.loads(python(_HIDING, tmp_path, [cases, list(REFUSED)]))
    assert len(told) == len(cases)
    for case, (code, sentence, *heavy) in told.items():
        extra = REFUSED[case.partition(":")[0]][0]
        assert code == 2, case
        assert re.fullmatch(rf"annelid: .+ needs .+, which is not installed: .+{extra}.*\.\n", sentence), case
        assert not any(heavy), case


def test_every_package_of_every_extra_is_accounted_for() -> None:
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    own = [extra for extra in extras if extra not in ("all", "dev")]
    brought = {(re.split("[<>=]", text)[0], extra) for extra in own for text in extras[extra]}
    asked = {(module, extra) for module, (extra, _) in REFUSED.items()} - {("torch", "rl")}  # comes with the others
    called = {"PIL": "pillow", "pxr": "usd-core", "rerun": "rerun-sdk"}
    packages = {(called.get(module, module).replace("_", "-"), extra) for module, extra in asked}
    assert brought == packages | set(NOT_REFUSED.items())
    assert extras["all"] == [f"annelid[{','.join(own)}]"]


@pytest.mark.parametrize("arguments", [[], ["worm", "--help"], ["--list"]])
def test_help_needs_nothing(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    require_packages("view", arguments)


@pytest.mark.parametrize("command", ["train Bulldozer", "evolve worm", "run pendulum", "run cantilever-topology"])
def test_what_will_be_left_out_is_told_at_the_start(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in REFUSED:
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    name, *arguments = command.split()
    require_packages(name, arguments)
    assert capsys.readouterr().err == (
        f"annelid: it will be left out: a plot needs matplotlib, which is not installed: {installation('view')}.\n"
    )
    require_packages(name, [*arguments, "--no-plot"] if name != "run" else ["worm"])
    assert capsys.readouterr().err == ""


def test_a_scene_keeps_what_needs_no_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    simulation = Pendulum().build(device="cpu", threads=1)
    with pytest.raises(MissingPackage):
        Pendulum().outputs(simulation, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["actuation.csv"]


def mentioning(words: str) -> set[str]:
    """Names of the scenes whose file holds one of some words."""
    texts = {name: (ROOT / "src" / Path(*module.split("."))).with_suffix(".py") for name, (module, _) in SCENES.items()}
    return {name for name, path in texts.items() if re.search(words, path.read_text(encoding="utf-8"))}


def test_the_scenes_that_need_an_extra_are_listed() -> None:
    assert mentioning(r"fem\.(inverse|forward)_simulation") == INVERSE
    assert mentioning(r"from annelid\.view\.(figures|picture) import") == DRAWN


# --- the command that installs an extra ---


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with an environment of its own."""
    file = tmp_path / "clone" / "src" / "annelid" / "core" / "packages.py"
    file.parent.mkdir(parents=True)
    for name in ("pyproject.toml", "Makefile"):
        (tmp_path / "clone" / name).touch()
    (tmp_path / "clone" / ".venv").mkdir()
    monkeypatch.setattr(packages, "__file__", str(file))
    return tmp_path / "clone"


def test_from_a_clone(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    assert installation("rl") == "pip install -e '.[rl]'"
    monkeypatch.chdir(tmp_path)
    assert installation("rl") == f"pip install -e '{clone}[rl]'"


def test_from_a_clone_that_make_has_set_up(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    monkeypatch.chdir(clone)
    assert installation("rl") == "make setup EXTRA=rl"
    monkeypatch.chdir(tmp_path)
    assert installation("rl") == f"make -C '{clone}' setup EXTRA=rl"


def test_where_it_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "__file__", str(tmp_path / "site-packages" / "annelid" / "core" / "packages.py"))
    assert installation("rl") == "pip install 'annelid[rl]'"
    monkeypatch.setattr(packages, "os", SimpleNamespace(name="nt"))
    assert installation("rl") == 'pip install "annelid[rl]"'


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_knows_extras(tmp_path: Path) -> None:
    command = ["make", "--dry-run", "setup", "EXTRA=rl fem", f"VENV={tmp_path / '.venv'}"]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout
    assert re.findall(r"--editable '(.*)'", shown) == [".[rl]", ".[fem]"]


# --- the start of the program ---


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_first_questions_are_answered_without_warp(option: str, tmp_path: Path) -> None:
    script = f"import sys; from annelid.cli import main; main([{option!r}]); print('warp' in sys.modules)"
    assert python(script, tmp_path).splitlines()[-1] == "False"


@pytest.mark.parametrize("package", ["annelid", "annelid.evolve", "annelid.envs"])
def test_packages_offer_all_that_they_list(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing_like_it'"):
        module.nothing_like_it  # noqa: B018
