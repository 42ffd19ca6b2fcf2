"""Scenes of a user's own file on the command line."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from annelid import cli
from annelid.commands.support.command_options import require_free_names, taken_names
from annelid.core.errors import AnnelidError, InvalidValue, UnknownName
from annelid.core.own_files import is_own
from annelid.core.recording.file_kinds import what_it_is
from annelid.scenes.registry import scenes
from annelid.scenes.support.own import _CONTRACT, DURATION, own_scene

FUNCTION = '''
from annelid import springs

def cube(height: float = 0.5, side: int = 3):
    """A cube that falls.

    Args:
        height: Height of the fall [m]
    """
    simulation = springs.simulation(springs.block((side,) * 3).moved((0.0, 0.0, height)))
    simulation.sensors.add("Left foot", springs.position_of())
    return simulation

def _helper():
    return 1
'''

CLASS = '''
from dataclasses import dataclass, field
from annelid import springs
from beside import SIDE

@dataclass(frozen=True)
class Fall:
    """It falls."""
    sides: list[int] = field(default_factory=lambda: [SIDE] * 3)

    def build(self, *, device="auto", threads=None):
        return springs.simulation(springs.block(tuple(self.sides)), device=device, threads=threads)
'''


DATACLASS = "from dataclasses import dataclass\n@dataclass\nclass A:\n    {}\n    def build(self): ..."


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_function_becomes_a_scene_with_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, FUNCTION)
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "mine.py", "--height", "2", "--seconds", "0.01", "--json"])
    assert not ended.value.code
    numbers = {m["name"]: m["value"] for m in json.loads(capsys.readouterr().out)["measurements"]}
    assert numbers["center-z"] == pytest.approx(2.1, abs=0.01)
    assert numbers["left-foot-z"] == pytest.approx(numbers["center-z"], rel=1e-5)
    assert (tmp_path / "out" / "mine" / "results.json").is_file()
    assert "`annelid run mine.py --record`" in str(what_it_is(tmp_path / "out" / "mine" / "final.npz"))


def test_a_class_may_leave_out_what_every_scene_has(tmp_path: Path) -> None:
    written(tmp_path, "SIDE = 2", "beside.py")
    kind = own_scene(written(tmp_path, CLASS))
    assert (kind.name, kind.duration) == ("mine", DURATION)
    simulation = kind().build(device="cpu")
    assert len(simulation.positions()) == 8
    assert {m.name for m in kind().measure(simulation)} >= {"center-z", "kinetic-energy"}


def test_one_of_several_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, FUNCTION + "\ndef ball():\n    springs.simulation\n")
    with pytest.raises(InvalidValue, match=r"mine.py has several scenes: cube, ball; name one, mine.py:cube"):
        own_scene(path)
    cube = own_scene(f"{path}:cube")
    assert (cube.__name__, cube.name) == ("Cube", "mine-cube")  # a folder for each
    with pytest.raises(UnknownName, match="no scene in mine.py named 'cub'. Did you mean 'cube'"):
        own_scene(f"{path}:cub")
    with pytest.raises(InvalidValue, match=r"ball\(\) must return a simulation, not NoneType"):
        own_scene(f"{path}:ball")().build()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", "mine.py has no scene: write a dataclass"),
        ("def f(a):\n    return a\n", r"the parameter a of f\(\) needs a default"),
        ("def f(*a):\n    return a\n", r"a of f\(\) cannot be an option"),
        ("def f(name='../evil'):\n    return name\n", r"`name` is part of every scene: rename .* of f\(\)"),
        ("def f(build=1):\n    return build\n", "`build` is part of every scene"),
        (
            "import numpy\ndef f(a=numpy.ones(3)):\n    return a\n",
            r"default of a of f\(\) is of type ndarray, which can",
        ),
        (DATACLASS.format("name: str = 'a'"), "write `name: ClassVar"),
        (DATACLASS.format("name = '../evil'"), "name = '../evil' of A cannot be the name of a folder"),
        (
            DATACLASS.format("n: int"),
            "needs a def",
        ),
    ],
)
def test_a_file_without_a_scene_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        own_scene(written(tmp_path, text))


def test_a_helper_is_not_taken_for_a_scene(tmp_path: Path) -> None:
    helper = "\ndef body(n=4):\n    return springs.block((n,) * 3)\n"
    assert own_scene(written(tmp_path, FUNCTION + helper)).__name__ == "Cube"
    assert own_scene(written(tmp_path, FUNCTION + "\ndef scaled(height):\n    return height\n")).__name__ == "Cube"


@pytest.mark.parametrize("command", ["run", "view", "picture", "video"])
def test_options_of_no_command_are_parameters(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, FUNCTION.replace("height", "speed"))
    with pytest.raises(SystemExit):
        cli.main([command, path])
    assert "annelid: `speed` is an option of `annelid video`: rename" in capsys.readouterr().err


def test_names_of_options_are_told_and_kept_from_every_scene() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "own.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page.partition("No parameter can be called")[2].partition("\n\n")[0]))
    assert named == {*taken_names(), *_CONTRACT}
    for kind in scenes().values():
        require_free_names(each.name for each in fields(kind))


def test_a_mistake_in_a_function_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "def scene(size: int = 0):\n    return 1 / size\n")
    with pytest.raises(SystemExit) as found:
        cli.main(["run", path, "--out", str(tmp_path / "out")])
    assert found.value.code == 2
    assert capsys.readouterr().err.endswith("mine.py, line 2, in scene: ZeroDivisionError: division by zero.\n")


def test_a_file_that_is_absent_or_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnnelidError, match="there is no file"):
        own_scene(str(tmp_path / "absent.py"))
    with pytest.raises(AnnelidError, match=r"mine.py, line 2: ZeroDivisionError: division by zero\.$") as found:
        own_scene(written(tmp_path, "a = 0\n1 / a"))
    assert isinstance(found.value.__cause__, ZeroDivisionError)
    with pytest.raises(AnnelidError, match=r"mine.py, line 3: SyntaxError: .*\.$"):
        own_scene(written(tmp_path, "a = 1\nb = 2\nc = = 3\n"))
    with pytest.raises(AnnelidError, match=r"mine.py, line 1: ModuleNotFoundError: No module named 'nowhere'\.$"):
        own_scene(written(tmp_path, "import nowhere"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnnelidError, match=r"^mine.py, line 1: ModuleNotFoundError"):
        own_scene("mine.py")
    assert is_own("a/b.py:c")
    assert not is_own("worm")
    assert not is_own("recording.rec")
