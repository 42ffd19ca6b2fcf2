"""Scenes of a user's own file on the command line."""

import json
from pathlib import Path

import pytest

from annelid import cli
from annelid.core.errors import AnnelidError, InvalidValue, UnknownName
from annelid.core.own_files import is_own
from annelid.scenes.support.own import DURATION, own_scene

FUNCTION = '''
from annelid import springs

def cube(height: float = 0.5, side: int = 3):
    """A cube that falls.

    Args:
        height: Height of the fall [m]
    """
    return springs.simulation(springs.block((side,) * 3).moved((0.0, 0.0, height)))

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
    assert (tmp_path / "out" / "mine" / "results.json").is_file()


def test_a_class_may_leave_out_what_every_scene_has(tmp_path: Path) -> None:
    written(tmp_path, "SIDE = 2", "beside.py")
    kind = own_scene(written(tmp_path, CLASS))
    assert (kind.name, kind.duration) == ("mine", DURATION)
    simulation = kind().build(device="cpu")
    assert len(simulation.positions()) == 8
    assert {m.name for m in kind().measure(simulation)} >= {"center-z", "kinetic-energy"}


def test_one_of_several_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, FUNCTION + "\ndef ball():\n    return None\n")
    with pytest.raises(InvalidValue, match=r"mine.py has several scenes: cube, ball; name one, mine.py:cube"):
        own_scene(path)
    assert own_scene(f"{path}:cube").__name__ == "Cube"
    with pytest.raises(UnknownName, match="no scene in mine.py named 'cub'. Did you mean 'cube'"):
        own_scene(f"{path}:cub")
    with pytest.raises(InvalidValue, match=r"ball\(\) must return a simulation, not NoneType"):
        own_scene(f"{path}:ball")().build()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", "mine.py has no scene: write a dataclass"),
        ("def f(a):\n    return a\n", "needs no arguments"),
        (
            "from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int\n    def build(self): ...",
            "needs a def",
        ),
    ],
)
def test_a_file_without_a_scene_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        own_scene(written(tmp_path, text))


def test_a_file_that_is_absent_or_wrong(tmp_path: Path) -> None:
    with pytest.raises(AnnelidError, match="there is no file"):
        own_scene(str(tmp_path / "absent.py"))
    with pytest.raises(ZeroDivisionError):  # the user's own fault, shown where it is
        own_scene(written(tmp_path, "1 / 0"))
    assert is_own("a/b.py:c")
    assert not is_own("worm")
    assert not is_own("recording.rec")
