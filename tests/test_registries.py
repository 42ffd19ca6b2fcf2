"""The lists of what can be named: every entry can be imported, and nothing that looks like one is missing."""

import ast
from pathlib import Path

import pytest

from annelid.benches.registry import BENCHES, bench_module, bench_names
from annelid.cli import COMMANDS, command_of, entries, main
from annelid.envs.baselines.registry import SCRIPTS
from annelid.envs.registration import TASKS, task
from annelid.envs.task import Task
from annelid.evolve.contract import ProblemOptions
from annelid.evolve.experiments import experiment_names, experiment_summary, named_experiment
from annelid.evolve.registry import PROBLEMS, SEARCHERS, problem_options, searcher_options
from annelid.robots.registry import ROBOTS, robot_maker
from annelid.scenes.registry import SCENES, scene_class, scene_names
from annelid.studies.registry import STUDIES, study_class, study_names

PACKAGE = Path(__file__).parents[1] / "src" / "annelid"


def files(folder: str, *others: str) -> set[str]:
    """Names of the modules of a folder that promises one file an entry; `others` are no entries."""
    return {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__", *others}


def modules(table: dict[str, tuple[str, str]]) -> set[str]:
    return {module.rpartition(".")[2] for module, _ in table.values()}


def subclasses(folder: str, base: str) -> set[str]:
    """Names of the classes in a folder that derive from a class of this name."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / folder).rglob("*.py")]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {node.name for node in classes if base in map(ast.unparse, node.bases)}


@pytest.mark.parametrize("name", scene_names())
def test_scenes(name: str) -> None:
    assert scene_class(name).name == name


@pytest.mark.parametrize("name", study_names())
def test_studies(name: str) -> None:
    assert study_class(name).name == name


@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_robots(name: str) -> None:
    assert callable(robot_maker(name))


@pytest.mark.parametrize("name", bench_names())
def test_benches(name: str) -> None:
    module = bench_module(name)
    assert callable(module.bench)
    assert module.Options()


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str) -> None:
    assert callable(command_of(name))


@pytest.mark.parametrize("name", TASKS)
def test_environments(name: str) -> None:
    assert issubclass(task(name), Task)


@pytest.mark.parametrize("name", experiment_names())
def test_experiments(name: str) -> None:
    assert named_experiment(name).name == name
    assert experiment_summary(name)


def test_problems_and_searchers() -> None:
    assert all(isinstance(problem_options(name)(), ProblemOptions) for name in PROBLEMS)
    assert all(searcher_options(name).name == name for name in SEARCHERS)


def test_nothing_is_missing() -> None:
    assert modules(SCENES) == files("scenes", "registry")
    assert modules(STUDIES) == files("studies", "registry", "study")
    assert {name.replace("-", "_") for name in BENCHES} == files("benches", "registry")
    assert set(COMMANDS) == files("commands")
    assert modules(ROBOTS) == files("robots", "registry")
    assert {kind for _, kind in TASKS.values()} == subclasses("envs", "Task")
    assert set(SCRIPTS) == set(TASKS)


@pytest.mark.parametrize("command", entries())
def test_names_are_listed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--list"])
    shown = capsys.readouterr().out
    assert [name for name in entries()[command] if name not in shown] == []


def test_help_tells_how_entries_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{len(entries()['train'])} tasks" in shown
    assert "annelid study|evolve|train|bench --list" in shown


def test_what_make_check_runs_is_there_and_has_every_physics() -> None:
    root = PACKAGE.parents[1]
    named = (root / "tests" / "check.txt").read_text(encoding="utf-8").split()
    gone = [each for each in named if not (root / each.partition("::")[0]).exists()]
    lost = [each for each in named if (test := each.partition("::")[2]) and f"def {test}(" not in _text(root, each)]
    assert gone + lost == [], "tests/check.txt lists what make check runs: name what came in the place of these"
    assert {"springs", "grains", "fem", "voxels", "voxels3d", "coupling"} <= {each.split("/")[1] for each in named}


def _text(root: Path, test: str) -> str:
    return (root / test.partition("::")[0]).read_text(encoding="utf-8")
