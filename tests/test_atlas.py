"""The atlas: which results speak for a study, what the page says, and that nothing red is hidden."""

import json
from pathlib import Path
from typing import Any

import pytest

from annelid.commands.atlas import command
from annelid.commands.support.atlas import atlas, chosen, command_of, form_of
from annelid.commands.support.atlas_pages import as_html, as_markdown
from annelid.commands.support.study_results import Result, find_results, read_result
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.measurement import Measurement, Report
from annelid.core.provenance import provenance
from annelid.studies.registry import study_class, study_names

GOOD = Measurement("height", 1.02, "m", 1.0, 0.1, "Fig. 5 | a_b")
BAD = Measurement("rate", 5.0, "1/s", 10.0, bound="at-least")
KEPT = Path(__file__).parents[1] / "benchmarks" / "results"


def written(path: Path, name: str, *rows: Measurement, **facts: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(Report(name, "cpu (2 cores)", 1.0, rows, facts).to_json())
    return path


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    lost = Measurement("lost", float("nan"), "", 1.0, 0.1)
    facts = provenance(study_class("energy")(quick=True))
    result = read_result(written(tmp_path / "results.json", "energy", GOOD, BAD, lost, **facts))
    assert list(result.report.measurements[:2]) == [GOOD, BAD]
    assert [m.passed for m in result.report.measurements] == [True, False, False]
    assert result.quick
    assert result.date == facts["date"]
    assert set(result.versions) >= {"python", "annelid", "warp-lang", "numpy"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": 1, "measurements": [3]}', '{"measurements": [{}]}'])
def test_what_is_no_result_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(FileFormatError, match="results.json is not"):
        read_result(tmp_path / "results.json")
    assert find_results([tmp_path]) == []  # among others it is passed over
    with pytest.raises(InvalidValue, match="is not there"):
        find_results([tmp_path / "nowhere"])


def test_the_full_form_speaks_before_the_quick_one_and_then_the_newest(tmp_path: Path) -> None:
    quick, full = {"options": {"quick": True}}, {"options": {"quick": False}}
    written(tmp_path / "a" / "results.json", "energy", BAD, date="2026-03-01", **full)
    written(tmp_path / "b" / "results.json", "energy", GOOD, date="2026-02-01", **full)
    written(tmp_path / "c" / "results.json", "energy", GOOD, date="2026-04-01", **quick)
    written(tmp_path / "d" / "results.json", "worm", GOOD)  # a scene
    found = chosen(find_results([tmp_path]))
    assert list(found) == ["energy"]
    assert found["energy"].path.parent.name == "a"  # newest of the full ones, though it does not hold


def test_the_page_shows_what_does_not_hold_and_what_was_not_run(tmp_path: Path) -> None:
    facts = {"date": "2026-11-17T05:00:00+00:00", "plots": ["energy.png"], "options": {"quick": True}}
    facts["note"] = "in parts,\nover two sittings"
    result = read_result(written(tmp_path / "energy.json", "energy", GOOD, BAD, **facts))
    sections = atlas([result])
    for text in (as_markdown("Atlas", sections), as_html("Atlas", sections)):
        assert "#c62828" in text  # red
        assert "1 of 2" in text
        assert "≥ 10" in text
        assert "energy.png" in text
        assert "annelid study energy --quick --device cpu" in text
        assert text.count("not run") >= len(study_names()) - 1
        assert "2026-11-17 05:00:00 UTC" in text
        assert "how it ran: in parts, over two sittings;" in text
    assert r"Fig. 5 \| a\_b" in as_markdown("Atlas", sections)


def test_the_command_repeats_options(tmp_path: Path) -> None:
    facts = provenance(study_class("gait")(seeds=2, folder=tmp_path))
    result = Result(tmp_path, Report("gait", "cuda:0 (NVIDIA H200)", 1.0, [], facts))
    assert command_of(result) == "annelid study gait --seeds 2 --device cuda"


def test_other_sizes_are_a_stated_form_but_not_files_and_pauses(tmp_path: Path) -> None:
    def result(**options: Any) -> Result:
        facts = provenance(study_class("evolve-sensing")(**options))
        return Result(tmp_path, Report("evolve-sensing", "cpu (2 cores)", 1.0, [], facts))

    assert form_of(result()) == "full"
    assert form_of(result(minutes=9.0, resume=True, folder=tmp_path)) == "full"
    assert form_of(result(population=100, resume=True)) == "stated"
    assert form_of(result(population=100, quick=True)) == "quick"
    assert (
        command_of(result(population=100, minutes=9.0)) == "annelid study evolve-sensing --population 100 --device cpu"
    )


def test_the_command_writes_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "out" / "energy" / "results.json", "energy", GOOD)
    page = tmp_path / "atlas.md"
    assert command([str(tmp_path / "out"), "--out", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["studies"]["energy"]["passed"] is True
    assert told["studies"]["energy"]["form"] == "full"
    assert len(told["not-run"]) == len(study_names()) - 1
    assert page.read_text(encoding="utf-8").startswith("# Atlas")
    with pytest.raises(InvalidValue, match=r"\.html or \.md"):
        command([str(tmp_path), "--out", str(tmp_path / "atlas.pdf")])


def test_no_page_is_written_where_there_are_no_results(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"no study has left results in .*: annelid study NAME writes them"):
        command([str(tmp_path), "--out", str(tmp_path / "atlas.html")])
    assert list(tmp_path.iterdir()) == []


def test_results_in_the_checkout_are_of_studies_and_tell_their_date() -> None:
    kept = sorted(KEPT.glob("*.json"))
    assert kept
    for path in kept:
        result = read_result(path)
        assert result.report.name in study_names()
        assert path.stem == result.report.name
        assert result.date
        assert result.versions
