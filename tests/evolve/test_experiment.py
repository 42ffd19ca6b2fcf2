"""Experiments as dataclasses and as files."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest
from evolve_test_problems import BowlOptions, CrawlOptions
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue, UnknownName
from annelid.evolve import EA, Experiment, read_experiment
from annelid.evolve.experiments import experiment_names, experiment_summary, named_experiment
from annelid.evolve.options import from_table, to_table
from annelid.evolve.registry import name_of

FILE = """
name = "worm"
generations = 12
seed = 7
repetitions = 3

[problem]
name = "evolve_test_problems:CrawlOptions"
seconds = 3

[searcher]
name = "ea"
population = 30
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_file_says_all(tmp_path: Path) -> None:
    found = read_experiment(written(tmp_path, FILE))
    assert found == Experiment("worm", CrawlOptions(seconds=3.0), EA(population=30), 12, 7, 3)
    assert found.seeds == (7, 8, 9)


def test_what_a_file_leaves_out_has_defaults(tmp_path: Path) -> None:
    found = read_experiment(written(tmp_path, 'problem = "evolve_test_problems:BowlOptions"'))
    assert found == Experiment("mine", BowlOptions())
    assert found.searcher == EA(250, 8, 0.8, 0.15, 1.0, 10)  # the paper's
    assert found.generations == 500


def test_an_experiment_is_its_table() -> None:
    experiment = Experiment("x", BowlOptions(parameters=9), EA(sigma=0.5), generations=3)
    assert Experiment.from_table(experiment.to_table()) == experiment


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("generations = ", "not a TOML file"),
        ("generations = 3", r"needs a table \[problem\]"),
        ('problem = "no-such"', "no problem named 'no-such'"),
        ('problem = "no_such_module:X"', "cannot be imported"),
        ('problem = "evolve_test_problems:Nothing"', "cannot be imported"),
        ('problem = "evolve_test_problems:Bowl"', "not a dataclass of options"),
        (FILE.replace('"ea"', '"ae"'), "no searcher named 'ae'. Did you mean 'ea'"),
        (FILE.replace("population = 30", "populaton = 30"), "no option of searcher named 'populaton'.*population"),
        (FILE.replace("population = 30", 'population = "30"'), "searcher.population must be a whole number, not '30'"),
        (FILE.replace("population = 30", "population = 3.5"), "must be a whole number, not 3.5"),
        (FILE.replace("population = 30", "population = true"), "must be a whole number, not True"),
        (FILE.replace("seconds = 3", "seconds = [3]"), r"problem.seconds must be a number, not \[3\]"),
        (
            FILE.replace("generations = 12", "generations = -1"),
            "generations of an experiment must be .* 0 or more",
        ),
        (FILE.replace("generations = 12", "generation = 12"), "Did you mean 'generations'"),
        (
            FILE.replace("repetitions = 3", "repetitions = 0"),
            "repetitions of an experiment must be .* 1 or more",
        ),
        (FILE.replace("seed = 7", "seed = -7"), "seed of an experiment must be .* 0 or more"),
        (FILE.replace('"worm"', '"a/b"'), "cannot be"),
        (FILE.replace("[searcher]", "[[searcher]]"), r"needs a table \[searcher\]"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence) as caught:
        read_experiment(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_experiment(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(FileFormatError, match="not a TOML file"):
        read_experiment(tmp_path / "binary.toml")
    (tmp_path / "huge.toml").write_bytes(b"#" * 2_000_000)
    with pytest.raises(FileFormatError, match="2000000 bytes"):
        read_experiment(tmp_path / "huge.toml")


def test_options_that_no_other_process_could_find_are_refused() -> None:
    @dataclass(frozen=True)
    class Hidden:
        name: ClassVar[str] = "hidden"

    with pytest.raises(InvalidValue, match="cannot be found again"):
        name_of(Hidden())


def test_named_experiments_are_whole() -> None:
    for name in experiment_names():
        experiment = named_experiment(name)
        assert experiment.name == name
        assert experiment_summary(name)
        assert Experiment.from_table(experiment.to_table()) == experiment
        problem = experiment.problem.build(device="cpu")
        rows = problem.sample(np.random.default_rng(0), 3)
        assert rows.shape == (3, problem.parameters)
    with pytest.raises(UnknownName, match="no experiment"):
        named_experiment("nothing-of-this-name")


@dataclass(frozen=True)
class Inner:
    size: tuple[int, int] = (1, 2)
    mode: Literal["slow", "fast"] = "slow"


@dataclass(frozen=True)
class Outer:
    weights: tuple[float, ...] = ()
    inner: Inner = Inner()
    title: str = ""
    limit: float | None = None
    on: bool = False


@given(
    st.builds(
        Outer,
        st.lists(st.floats(allow_nan=False)).map(tuple),
        st.builds(Inner, st.tuples(st.integers(), st.integers()), st.sampled_from(["slow", "fast"])),
        st.text(),
        st.none() | st.floats(allow_nan=False),
        st.booleans(),
    )
)
def test_options_and_tables_are_the_same_thing(options: Outer) -> None:
    assert from_table(Outer, to_table(options), "outer") == options


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"inner": {"size": [1]}}, r"outer.inner.size must be a list of 2 values, not of 1"),
        ({"inner": {"mode": "quick"}}, "outer.inner.mode must be one of slow, fast, not 'quick'"),
        ({"inner": 3}, "outer.inner must be a table, not 3"),
        ({"weights": 3}, "outer.weights must be a list"),
        ({"weights": [1, "x"]}, r"outer.weights\[1\] must be a number"),
        ({"on": 1}, "outer.on must be true or false"),
        ({"limit": "high"}, "outer.limit must be a number"),
        ({"inner": {"sizes": [1, 2]}}, "Did you mean 'size'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: dict, sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        from_table(Outer, table, "outer")
