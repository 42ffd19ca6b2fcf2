"""The command line: what it prints where, what it writes, and how it refuses."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import annelid
from annelid import springs
from annelid.cli import main
from annelid.commands.support.recordings import recording_of
from annelid.core import memory
from annelid.core.archives import read_archive
from annelid.core.checkpoint import KIND
from annelid.core.ownership import LOCK, owned
from annelid.materials import names
from annelid.scenes.bounce import Bounce
from annelid.scenes.registry import scene_names

SMALL = ["bounce", "--masses", "4", "--seconds", "0.02", "--device", "cpu"]


@dataclass
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one JSON object of standard output."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command line sets its own

    def call(*arguments: str) -> Result:
        capfd.readouterr()
        try:
            main(arguments)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        return Result(code, *capfd.readouterr())

    return call


def everything(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


# --- help ---


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_fits_one_screen(arguments: list[str], cli: Callable[..., Result]) -> None:
    result = cli(*arguments)
    assert result.code == 0
    lines = result.out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for word in ("annelid run", "annelid bench", "annelid doctor", "--device", "--threads", "--json"):
        assert word in result.out
    scenes = " ".join(result.out.partition("Scenes: ")[2].split()).partition(".")[0]
    assert scenes.split(", ") == scene_names()


def test_what_is_switched_off_says_so(cli: Callable[..., Result]) -> None:
    wanted = {
        ("view", "worm"): ("--no-open", "Do not open a browser"),
        ("view", "workshop"): ("--no-ground", "Switch off: "),
        ("study", "throughput"): ("--no-plot", "Draw nothing"),
        ("evolve", "body-5x5"): ("--no-plot", "Do not draw"),
    }
    for command, (flag, text) in wanted.items():
        shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", cli(*command, "--help").out).split())
        assert f"{flag} {text}" in shown
    assert "FILE.rec" in cli("view", "--help").out


def test_version(cli: Callable[..., Result]) -> None:
    assert cli("--version").out == f"{annelid.__version__}\n"


@pytest.mark.parametrize("command", ["run", "bench"])
def test_names_are_listed(command: str, cli: Callable[..., Result]) -> None:
    for flag in ("--help", "--list"):
        result = cli(command, flag)
        assert result.code == 0
        for name in {"run": ["worm", "bounce"], "bench": ["springs"]}[command]:
            assert name in result.out


@pytest.mark.parametrize("arguments", [["run", "worm"], ["bench", "springs"], ["doctor"]])
def test_every_command_takes_the_machine_options(arguments: list[str], cli: Callable[..., Result]) -> None:
    result = cli(*arguments, "--help")
    assert result.code == 0
    for option in ("--device", "--threads", "--json"):
        assert option in result.out


def test_options_of_a_scene_are_explained(cli: Callable[..., Result]) -> None:
    shown = cli("run", "worm", "--help").out
    for word in ("--friction", "Coulomb friction of the ground", "(default: 0.8)", "--seconds", "--out"):
        assert word in shown


# --- run ---


def test_run_writes_its_results(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli("run", *SMALL)
    assert result.code == 0
    assert "center-height" in result.out
    assert everything(tmp_path) == [
        "out",
        *(f"out/bounce{n}" for n in ("", "/final.npz", "/numbers.csv", "/results.json")),
    ]
    read = json.loads((tmp_path / "out/bounce/results.json").read_text())
    assert read["name"] == "bounce"
    rows = list(csv.DictReader((tmp_path / "out/bounce/numbers.csv").open()))
    times = [float(row["time"]) for row in rows]
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(0.02)
    assert np.diff(times) == pytest.approx(1e-4)
    heights = np.array([float(row["center-z"]) for row in rows])
    np.testing.assert_allclose(heights[0] - heights, 0.5 * 9.81 * np.array(times) ** 2, atol=1e-4)


def test_where_files_go_is_told_and_chosen(cli: Callable[..., Result], tmp_path: Path) -> None:
    assert cli(*("run", *SMALL, "--out", "here")).out.endswith("Results are in here.\n")
    refused = cli("run", *SMALL, "--fields", "speed")
    assert (refused.code, refused.err) == (2, "annelid: --fields chooses what is recorded: give --record too.\n")
    refused = cli("view", "here")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "no recording.rec in the folder here: `annelid run NAME --record`" in refused.err
    small = [*SMALL[:3], "--device", "cpu", "--pixels", "60", "40"]
    assert cli("picture", *small, "--out", "a.jpg").out == "a.jpg\n"
    assert (tmp_path / "a.jpg").is_file()


def test_range_and_camera_of_pictures_and_videos_are_options(cli: Callable[..., Result], tmp_path: Path) -> None:
    small = [*SMALL, "--device", "cpu", "--pixels", "60", "40"]
    colors = ["--field", "speed", "--range", "0", "4"]
    places = ["0.5", "-3", "1", "0", "0", "1"], ["0.5", "3", "1", "0", "0", "1"]
    for number, place in enumerate(places):
        seen = [*colors, "--camera", *place, "--out"]
        assert cli("picture", *small[:3], *small[5:], *seen, f"{number}.png").code == 0
        assert cli("video", *small, *seen, f"{number}.gif", "--follow", "False").code == 0
    assert (tmp_path / "0.png").read_bytes() != (tmp_path / "1.png").read_bytes()
    assert cli("run", *SMALL, "--record", "--out", "here").code == 0
    assert cli("export", "here", "a.gif", *small[5:], *colors, "--camera", *places[0]).code == 0
    assert "the lower one first" in cli("video", *small, "--field", "speed", "--range", "4", "0").err


def test_a_folder_stands_for_its_recording(cli: Callable[..., Result], tmp_path: Path) -> None:
    assert cli("run", *SMALL, "--record", "--out", "here").code == 0
    assert cli("export", "here", "numbers.csv").code == 0
    assert recording_of("here") == Path("here", "recording.rec")


def test_the_last_state_can_be_loaded(cli: Callable[..., Result], tmp_path: Path) -> None:
    cli("run", *SMALL, "--out", "here")
    simulation = Bounce(masses=4).build(device="cpu")
    simulation.load(tmp_path / "here/final.npz")
    assert simulation.time == pytest.approx(0.02)
    again = Bounce(masses=4).build(device="cpu")
    again.run(0.02)
    assert simulation.state_hash() == again.state_hash()


def test_json_is_all_that_is_printed(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli("run", *SMALL, "--json", "--threads", "1", "--out", "deep/er")
    assert result.code == 0
    read = result.json()
    assert set(read) >= {"name", "device", "seconds", "passed", "measurements"}
    assert (read["name"], read["passed"]) == ("bounce", None)
    assert {m["name"] for m in read["measurements"]} == {"center-height", "kinetic-energy", "kinetic-share-of-fall"}
    assert read == json.loads((tmp_path / "deep/er/results.json").read_text())
    assert result.err == ""


def test_options_reach_the_scene(cli: Callable[..., Result]) -> None:
    low, high = (cli("run", *SMALL, "--json", "--height", h).json()["measurements"][0]["value"] for h in ("0.5", "2.5"))
    assert high - low == pytest.approx(2.0, abs=1e-3)


def test_a_run_that_diverges_keeps_the_last_good_state(
    cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        springs, "simulation", partial(springs.simulation, dt=1e-4, relaxation=0.0)
    )  # its own are stable
    result = cli("run", *SMALL, "--damping", "3000", "--json")
    assert result.code == 2
    assert result.out == ""
    assert "warning: the time step 0.0001 s is above the stable one" in result.err
    assert "the last good state is in out/bounce/last-good.npz" in result.err
    assert "annelid: the simulation diverged at step" in result.err
    assert "Traceback" not in result.err
    assert everything(tmp_path) == ["out", "out/bounce", "out/bounce/last-good.npz"]
    simulation = Bounce(masses=4, damping=3000.0).build(device="cpu")
    simulation.load(tmp_path / "out/bounce/last-good.npz")
    assert np.isfinite(simulation.state.velocities.numpy()).all()


def test_a_second_run_replaces_the_first(cli: Callable[..., Result], tmp_path: Path) -> None:
    cli("run", *SMALL)
    cli("run", *SMALL, "--seconds", "0.01")
    assert read_archive(tmp_path / "out/bounce/final.npz", KIND)[0]["step"] == 100
    assert len(everything(tmp_path / "out/bounce")) == 3


def test_files_of_another_kind_are_told_apart(cli: Callable[..., Result]) -> None:
    cli("run", *SMALL, "--record")
    final, recording = "out/bounce/final.npz", "out/bounce/recording.rec"
    for arguments in (
        ["view", final],
        ["export", final, "page.html"],
        ["run", final],
        ["picture", final],
        ["evolve", final],
    ):
        result = cli(*arguments)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "it is a checkpoint of springs in the scene bounce at 0.02 s, step 200, saved by Annelid" in result.err
        assert "`annelid run bounce --record` makes a recording" in result.err
    for arguments in (["run", recording], ["video", recording]):
        result = cli(*arguments)
        assert result.code == 2
        assert f"it is a recording of the scene bounce: `annelid view {recording}` plays it" in result.err
    result = cli("export", "bounce", "page.html")
    assert result.code == 2
    assert "bounce is a scene, not a recording: `annelid run bounce --record`" in result.err


# --- bench and doctor ---


def test_bench(cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    block = springs.block
    monkeypatch.setattr(springs, "block", lambda shape, *a, **k: block((4, 4, 4), *a, **k))
    result = cli("bench", "springs", "--device", "cpu", "--seconds", "0.01", "--json")
    assert result.code == 0
    read = result.json()
    assert (read["name"], read["device"][:3]) == ("bench-springs", "cpu")
    values = {m["name"]: m["value"] for m in read["measurements"]}
    assert {"springs-30x30x30", "springs-5x5x321", "springs-50x50x50", "springs-30x30x30-bytes"} <= values.keys()
    assert all(value > 0.0 for value in values.values())
    assert result.err == ""
    assert everything(tmp_path) == []


def test_doctor(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli("doctor", "--device", "cpu", "--json")
    read = result.json()
    assert result.code == 0
    assert read["passed"] is True
    assert read["facts"]["annelid"] == annelid.__version__
    assert {"python", "devices", "cuda driver", "kernel cache", "warp-lang", "numpy"} <= read["facts"].keys()
    table = cli("doctor", "--device", "cpu")
    assert table.code == 0
    for word in ("kernel cache", "warp-lang", "oscillator-position", "yes"):
        assert word in table.out
    assert everything(tmp_path) == []


# --- materials ---


def test_materials_are_listed_and_told_in_full(cli: Callable[..., Result], tmp_path: Path) -> None:
    listed = cli("materials")
    assert listed.code == 0
    assert max(map(len, listed.out.splitlines())) <= 80
    assert all(f"{name} " in listed.out for name in names())
    assert "Marechal" in listed.out
    one = " ".join(cli("materials", "Dragon Skin 10").out.split())
    assert "μ 34.77, α 2.858" in one
    assert "C 27.95, 1.576, -0.02341" in one
    assert one.count("Soft Robotics Materials Database") == 1 + 4
    assert "/yeoh" not in cli("materials", "rubber").out.replace("NAME/yeoh", "")
    assert "Structural steel" in cli("materials", "steel").out
    assert everything(tmp_path) == []


def test_materials_as_json_and_as_a_picture(cli: Callable[..., Result], tmp_path: Path) -> None:
    found = cli("materials", "ecoflex", "--json", "--plot", "curves.png").json()
    assert found["plot"] == "curves.png"
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    soft = next(each for each in found["materials"] if each["name"] == "ecoflex-00-10/yeoh")
    assert soft["law"] == {"kind": "Yeoh", "c1": 3605.0, "c2": 137.9, "c3": -0.1887}
    assert (soft["measured_to"], soft["density"]) == (3.0, 1040.0)
    assert len(cli("materials", "silicone", "--json").json()["materials"]) == 76
    assert len(cli("materials", "--json").json()["materials"]) == len(names())


# --- refusals ---


REFUSED = [
    (["rnu", "worm"], "no command named 'rnu'. Did you mean 'run'?"),
    (["run", "wrom"], "no scene named 'wrom'. Did you mean 'worm'? Known: "),
    (["picture", "."], "takes a scene, and . is a folder; annelid run takes folders of voxel robots"),
    (["bench", "sprngs"], "no bench named 'sprngs'. Did you mean 'springs'?"),
    (["run"], "name a scene: "),
    (["run", ""], "name a scene: "),
    (["evolve", "nothing-like-it"], "no experiment named 'nothing-like-it'. Known: "),
    (["run", "--json"], "name a scene"),
    (["bench"], "name a bench: "),
    (["run", "bounce", "--device", "gpu"], "unknown device 'gpu'"),
    (["run", "bounce", "--device", "cuda:99"], "device 'cuda:99' is not there"),
    (["doctor", "--device", "tpu"], "unknown device 'tpu'"),
    (["bench", "springs", "--device", "tpu"], "unknown device 'tpu'"),
    (["run", *SMALL, "--threads", "0"], "threads must be a whole number of at least 1, not 0"),
    (["run", *SMALL, "--threads", "-3"], "threads must be a whole number of at least 1, not -3"),
    (["doctor", "--device", "cpu", "--threads", "0"], "threads must be a whole number of at least 1"),
    (["run", "bounce", "--seconds", "-1"], "--seconds must be a positive time, not -1"),
    (["run", "bounce", "--seconds", "nan"], "--seconds must be a positive time, not nan"),
    (["bench", "springs", "--device", "cpu", "--seconds", "-1"], "seconds must be a positive time, not -1"),
    (["bench", "envs", "--seconds", "nan"], "--seconds must be a positive time, not nan."),
    (["bench", "edits", "--stress-seconds", "0"], "--stress-seconds must be a positive time, not 0.0."),
    (["bench", "edits", "--device", "cpu", "--editors", "0"], "--editors must be 1 or more, not 0."),
    (["run", "bounce", "--masses", "1"], "masses of bounce must be a whole number between 2 and 500, not 1."),
    (["run", "bounce", "--restitution", "2"], "restitution of bounce must be between 0 and 1, not 2.0"),
    (["run", "worm", "--friction", "nan"], "friction of worm must be between 0 and 100, not nan."),
    (["run", "bounce", "--masses", "20000"], "masses of bounce must be a whole number between 2 and 500, not 20000."),
    (["run", "bounce", "--masses", "400"], "needs about 128 GB of memory, this machine has 25 GB"),
    (["run", "swarm", "--side", "0"], "side of swarm must be a whole number between 1 and 1000, not 0."),
    (["run", "heater", "--thickness", "0"], "thickness of heater must be a whole number between 2 and 40, not 0."),
    (["view", "tyre", "--inner", "nan"], "inner of tyre must be between 0.03 and 10 m, not nan."),
    (["picture", "worms", "--count", "-1"], "count of worms must be a whole number between 1 and 100000, not -1."),
    (["run", "bounce", "--record-every", "-1"], "--record-every must be a positive time, not -1.0."),
    (["picture", "bounce", "--pixels", "0", "0"], "between 2 and 16384 pixels, not 0 x 0."),
    (["video", "bounce", "--masses", "3", "--pixels", "4", "0", "--device", "cpu"], "pixels, not 4 x 0."),
    (["picture", "bounce", "--out", "a.bmp"], "--out a.bmp is no folder, and a picture file must end in .png or .jpg."),
    (["picture", "bounce", "--masses", "3", "--field", "heat", "--device", "cpu"], "no field named 'heat'. Known: "),
    (["video", "bounce", "--masses", "3", "--field", "heat", "--device", "cpu"], "no field named 'heat'. Known: "),
    (["video", "bounce", "--fps", "nan"], "--fps must be a positive number, not nan."),
    (["gallery", "scene/bounce", "--film-seconds", "nan"], "--film-seconds must be a positive time, not nan."),
    (["gallery", "scene"], "no entry of the gallery named 'scene'. `annelid gallery --list` names all "),
    (["gallery", "--jobs", "1", "scene/worm"], "scene/worm stands behind an option: name entries first, as in annelid"),
    (["gallery", "scene/bounce", "scene/bonce"], "named 'scene/bonce'. Did you mean 'scene/bounce'?"),
    (["gallery", "--most-seconds", "-1"], "--most-seconds must be a positive time, not -1.0."),
    (["materials", "ecoflx-00-30"], "no material named 'ecoflx-00-30'. Did you mean 'ecoflex-00-30'?"),
    (["materials", "dragon-skin-10/gent"], "'dragon-skin-10' comes as 'dragon-skin-10/ogden', "),
    (["materials", "--plot", "curves.jpg"], "--plot curves.jpg must be the name of a PNG"),
    (["materials", "steel", "--plot", "curves.png"], "'steel' has no law for large strains that could be drawn"),
]


def test_what_is_missing_is_asked_for_with_its_article(cli: Callable[..., Result]) -> None:
    assert cli("train").err.startswith("annelid: name an environment: Bulldozer, ")


@pytest.mark.parametrize("json_flag", [[], ["--json"]], ids=["plain", "json"])
@pytest.mark.parametrize(
    ("arguments", "words"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_bad_input_gets_one_sentence(
    arguments: list[str],
    words: str,
    json_flag: list[str],
    cli: Callable[..., Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 25 * 10**9)
    result = cli(*arguments, *json_flag)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("annelid: ")
    assert result.err.count("\n") == 1
    assert words in " ".join(result.err.split())
    assert everything(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "bounce", "--masses", "x"], ["run", "bounce", "--nonsense"], ["run", "worm", "--direction", "sideways"],
        ["run", "worm", "--threads", "two"], ["doctor", "--nonsense"], ["bench", "springs", "--seconds"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_options_that_do_not_parse_are_explained(
    arguments: list[str], cli: Callable[..., Result], tmp_path: Path
) -> None:
    result = cli(*arguments, "--json") if arguments[-1] != "--seconds" else cli(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert "--help" in result.err
    assert "Traceback" not in result.err
    assert everything(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "worm", "--seconds", "abc"], "--seconds: it takes a number, not 'abc'."),
        (["run", "worm", "--threads", "1e9"], "--threads: it takes a whole number, not '1e9'."),
        (["run", "worm", "--friction", "0,8"], "--friction: it takes a number, not '0,8'."),
        (["picture", "worm", "--pixels", "a", "3"], "--pixels: it takes 2 whole numbers, not 'a 3'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_number_is_told_without_names_of_types(
    arguments: list[str], words: str, cli: Callable[..., Result]
) -> None:
    told = " ".join(cli(*arguments).err.replace("│", " ").split())
    assert words in told
    assert "class" not in told
    assert "typing" not in told


def test_an_output_folder_that_is_a_file(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    result = cli("run", *SMALL, "--out", "taken")
    assert result.code == 2
    assert result.err.startswith("annelid: ")
    assert "taken" in result.err
    assert "Traceback" not in result.err
    assert (tmp_path / "taken").read_text() == "mine"
    assert everything(tmp_path) == ["taken"]


@pytest.mark.parametrize(
    "command",
    [["run", "bounce"], ["study", "lattices", "--quick"], ["evolve", "spring-worm"], ["train", "springwalker"]],
    ids=lambda command: command[0],
)
def test_a_folder_that_another_process_writes_to(
    command: list[str], cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annelid.cli.require_packages", lambda *_: None)  # no agent is trained, so none must be there
    with owned(tmp_path / "taken"):
        result = Context().run(cli, *command, "--device", "cpu", "--out", "taken")  # a context that owns nothing
        assert result.code == 2
        assert re.fullmatch(r"annelid: taken is being written by process \d+ on \S+: wait .*\n", result.err)
        assert [path.name for path in (tmp_path / "taken").iterdir()] == [LOCK]


def test_the_program_itself(tmp_path: Path) -> None:
    """As a process of its own: standard output holds the JSON and nothing of Warp, and errors end with code 2."""
    command = [sys.executable, "-m", "annelid", "run"]
    good = subprocess.run([*command, *SMALL, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert good.returncode == 0
    assert json.loads(good.stdout)["name"] == "bounce"
    assert good.stderr == ""
    bad = subprocess.run([*command, "wrom"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "Did you mean 'worm'?" in bad.stderr


def test_run_varies_parameters_into_one_table(cli: Callable[..., Result], tmp_path: Path) -> None:
    vary = ["--vary", "height=0.5,1.5", "--vary", "friction=0.2,0.4", "--out", "here"]
    result = cli("run", *SMALL, *vary, "--json")
    assert result.code == 0
    rows = result.json()["rows"]
    assert [(row["height"], row["friction"]) for row in rows] == [(0.5, 0.2), (0.5, 0.4), (1.5, 0.2), (1.5, 0.4)]
    assert rows[0]["center-height"] < rows[2]["center-height"]
    assert (tmp_path / "here/height-0.5-friction-0.2/final.npz").exists()
    assert len((tmp_path / "here/table.csv").read_text().splitlines()) == 5
    assert "holds a sweep already" in cli("run", *SMALL, *vary).err
    more = cli("run", *SMALL, *vary[:1], "height=0.5,2.5", *vary[2:], "--resume")
    assert more.err.count("annelid: ") == 2  # two of them are new
    assert "6 runs are in here/table.csv" in more.out
    assert "of other options" in cli("run", *SMALL, "--damping", "1.0", *vary, "--resume").err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--vary", "heigth=1"], "height"),
        (["--vary", "height=high"], "must be of type float"),
        (["--vary", "height="], "names no values"),
        (["--vary", "height=1", "--vary", "height=2"], "a second time"),
        (["--workers", "2"], "give --vary"),
        (["--resume"], "give --vary"),
    ],
)
def test_what_cannot_be_varied_is_refused(arguments: list[str], sentence: str, cli: Callable[..., Result]) -> None:
    result = cli("run", *SMALL, *arguments)
    assert result.code == 2
    assert sentence in result.err
