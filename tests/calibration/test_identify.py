"""Known constants come back from tracks of their own, with honest deviations; bad input is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Calibration, Free, Run, fem, identify, springs
from annelid.calibration import NotDetermined, Tracks, save, synthetic_tracks
from annelid.calibration.comparison import registered
from annelid.calibration.markers import markers_on
from annelid.calibration.springs_twin import SpringsTwin
from annelid.cli import main
from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue, UnknownName
from annelid.materials import Material
from annelid.shapes import tet_beam

TIMES = 0.01 * np.arange(31)
MARKERS = {"middle": (0.1, 0.025, 0.05), "tip": (0.15, 0.0, 0.05)}
WORLD = {"dt": 1e-3, "device": "cpu", "threads": 1}
TRUE = {"stiffness_factor": 1.0, "damping_factor": 1.0}


def beam() -> springs.Body:
    body = springs.block((4, 2, 2), 0.05, mass=0.02, stiffness=20.0, damping=0.3)
    body.fix(body.positions[:, 0] < 1e-6)
    return body.group("end", body.positions[:, 0] > 0.149)


def solid() -> fem.Solid:
    rubber = Material("rubber", 1070.0, 2e5, 0.45, 1.0, 0.05, "Given.")
    made = fem.Solid(tet_beam(0.1, 0.03, 0.03, cells=(2, 1, 1)), rubber)
    return made.fix(made.nodes[:, 0] < 1e-9).group("end", made.nodes[:, 0] > 0.0999)


def tracks(**run: Any) -> Tracks:
    return synthetic_tracks(beam(), MARKERS, TRUE, TIMES, noise=1e-3, seed=1, world=WORLD, **run)


@pytest.mark.parametrize("off", [5.0, 0.02])
def test_a_lattice_comes_back_from_a_start_far_off(off: float, tmp_path: Path) -> None:
    free = {name: off * value for name, value in TRUE.items()}
    found = identify(Calibration(beam(), [Run(tracks(), name="swing")], MARKERS, free, world=WORLD))
    for name, value in TRUE.items():
        assert abs(found.constants[name] - value) < 2.5 * found.deviations[name]
    assert found.deviations["stiffness_factor"] < 0.005
    assert 0.8 < found.noise < 1.2
    assert "damping_factor" in found.weakest
    assert {path.name for path in save(found, tmp_path, plots=False)} == {"report.md", "constants.json"}
    assert "| swing | tip |" in (tmp_path / "report.md").read_text()


def test_a_search_goes_on_after_a_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tracks()
    plan = Calibration(beam(), [Run(seen, name="swing")], MARKERS, {"stiffness_factor": 1.3}, world=WORLD)
    whole = identify(plan, scan=False)
    asked, plain = [], SpringsTwin.motion

    def tiring(self: SpringsTwin, constants: Any, times: np.ndarray) -> np.ndarray:
        asked.append(len(times))
        if len(asked) == 4:
            raise KeyboardInterrupt
        return plain(self, constants, times)

    monkeypatch.setattr(SpringsTwin, "motion", tiring)
    with pytest.raises(KeyboardInterrupt):
        identify(plan, scan=False, folder=tmp_path)
    lines: list[str] = []
    again = identify(plan, scan=False, folder=tmp_path, resume=True, say=lines.append)
    assert lines[0] == "3 batches of simulations are known from before"
    assert again.constants == whole.constants
    assert again.evaluations == whole.evaluations
    asked[:] = [0] * 4
    identify(plan, scan=False, folder=tmp_path, resume=True)
    assert len(asked) == 4 + 2  # one to see that the body is the same, and the motion that is shown
    for changes in ({"free": {"stiffness_factor": 1.2}}, {"body": beam().push("end", (0.0, 0.0, 0.1))}):
        with pytest.raises(FileFormatError, match="belongs to another search"):
            identify(replace(plan, **changes), scan=False, folder=tmp_path, resume=True)


def test_loads_and_releases_are_followed() -> None:
    body, loads = beam(), {"end": lambda time: (0.0, 0.0, 2.0 if time < 0.1 else 0.0)}
    run: dict[str, Any] = {"loads": loads, "releases": {"end": 0.05}, "interval": 0.05}
    seen = synthetic_tracks(body, MARKERS, {"stiffness_factor": 1.0}, TIMES, world=WORLD, **run)
    still = seen.places[TIMES <= 0.05, 1]
    np.testing.assert_allclose(still, np.broadcast_to(MARKERS["tip"], still.shape), atol=1e-12)
    assert np.ptp(seen.places[:, 1, 2]) > 5e-3
    found = identify(Calibration(body, [Run(seen, **run)], MARKERS, {"stiffness_factor": 1.3}, world=WORLD), scan=False)
    assert found.constants["stiffness_factor"] == pytest.approx(1.0, rel=1e-4)


def test_a_body_that_was_pulled_and_let_go_begins_where_it_rested() -> None:
    body = beam()
    run: dict[str, Any] = {"loads": {"end": lambda time: (0.0, 0.0, -1.0 if time < 0.01 else 0.0)}, "start": "settled"}
    seen = synthetic_tracks(body, MARKERS, {"stiffness_factor": 1.0}, TIMES, world=WORLD, **run)
    loaded = body.copy().push("end", (0.0, 0.0, -1.0))
    assert seen.places[0, 1, 2] == pytest.approx(springs.equilibrium(loaded)[body.indices("end"), 2].max(), abs=1e-3)


def test_a_solid_comes_back_from_where_it_settles_and_predicts_another_load() -> None:
    markers, truth = {"a": (0.05, 0.0, 0.015), "b": (0.1, 0.0, 0.015)}, {"youngs_modulus": 1.5e5}
    runs = [
        Run(
            synthetic_tracks(solid(), markers, truth, TIMES[:20], noise=2e-5, motion=False, loads={"end": load}),
            name=f"load-{number}",
            motion=False,
            loads={"end": load},
        )
        for number, load in enumerate([(0.0, 0.0, -0.1), (0.0, 0.0, -0.3), (0.0, 0.1, -0.2)])
    ]
    start = {"youngs_modulus": 50.0 * 1.5e5}
    found = identify(Calibration(solid(), runs[:2], markers, start, held_out=runs[2:], registration="shift"))
    assert found.constants["youngs_modulus"] == pytest.approx(1.5e5, rel=5e-3)
    assert [run.held_out for run in found.runs] == [False, False, True]
    assert found.runs[2].left.max() < 0.05


def test_a_solid_in_motion_comes_back() -> None:
    markers, truth = {"a": (0.05, 0.0, 0.015), "b": (0.1, 0.0, 0.015)}, {"youngs_modulus": 5e4, "velocity_damping": 4.0}
    seen = synthetic_tracks(solid(), markers, truth, TIMES[::2], world={"dt": 0.02})
    free = {"youngs_modulus": 6e4, "velocity_damping": 6.0}
    found = identify(Calibration(solid(), [Run(seen)], markers, free, world={"dt": 0.02}), scan=False)
    for name, value in truth.items():
        assert found.constants[name] == pytest.approx(value, rel=1e-3)


def test_a_time_step_that_is_none_is_refused_for_solids_too() -> None:
    markers = {"a": (0.05, 0.0, 0.015)}
    seen = Tracks(TIMES, np.broadcast_to(list(markers.values()), (31, 1, 3)), tuple(markers))
    with pytest.raises(InvalidValue, match="dt of .* not -1"):  # it was taken, and constants were fitted to it
        identify(Calibration(solid(), [Run(seen)], markers, {"youngs_modulus": 5e4}, world={"dt": -1}))
    with pytest.raises(InvalidValue, match="tracks of a run must be Tracks, or the path of their table, not int: 3"):
        Run(3)


def test_constants_that_no_material_has_count_as_bad() -> None:
    markers = {"a": (0.05, 0.0, 0.015), "b": (0.1, 0.0, 0.015)}
    seen = Tracks(TIMES, np.broadcast_to(list(markers.values()), (31, 2, 3)), tuple(markers))
    plan = Calibration(solid(), [Run(seen, motion=False)], markers, {"poisson_ratio": 0.4})
    (one,) = plan.comparisons(plan.runs, "cpu", 1)
    left = one.residuals({"poisson_ratio": np.array([0.4, 0.6])}, 0.0)
    assert np.isfinite(left).all(axis=1).tolist() == [True, False]


def test_a_capture_in_another_frame_is_registered() -> None:
    chance = np.random.default_rng(2)
    model = chance.normal(size=(4, 3, 3))
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    measured = model @ turn.T + [1.0, 2.0, 3.0]
    measured[1, 2] = np.nan
    seen = np.isfinite(measured)
    np.testing.assert_allclose(registered(model, measured, "rigid")[seen], measured[seen], atol=1e-12)


def test_what_data_leave_open_is_said() -> None:
    seen = synthetic_tracks(beam(), MARKERS, TRUE, TIMES, noise=1e-4, world=WORLD)
    free = {"stiffness_factor": 1.1, "mass_factor": Free(1.1, 0.1, 10.0), "damping_factor": 1.1}
    still = {**WORLD, "gravity": (0.0, 0.0, -9.81)}
    with pytest.warns(NotDetermined, match="log stiffness_factor|log mass_factor"):
        found = identify(Calibration(beam(), [Run(seen)], MARKERS, free, world=still), scan=False)
    assert found.open


def test_markers_follow_any_affine_motion() -> None:
    for body, places in ((beam(), beam().positions), (solid(), solid().nodes)):
        inside = {"one": places.mean(axis=0), "two": 0.7 * places[0] + 0.3 * places[-1]}
        weights = markers_on(body, inside, 0.0).weights
        change = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)
        np.testing.assert_allclose(
            weights @ (places @ change.T + 1.0), np.array(list(inside.values())) @ change.T + 1.0
        )


def test_a_group_carries_a_marker_that_stands_off() -> None:
    """As a rigid whole: where the group swells, the marker does not move away from it."""
    body, place = solid(), {"stalk": (0.12, 0.0, 0.021), "foot": (0.05, 0.0, 0.01)}
    markers = markers_on(body, place, 0.0, {"stalk": "end"})
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    turned = body.nodes @ turn.T
    np.testing.assert_allclose(markers.places(turned), np.array(list(place.values())) @ turn.T, atol=1e-12)
    end = body.groups["end"]
    turned[end] = turned[end].mean(axis=0) + 1.2 * (turned[end] - turned[end].mean(axis=0))
    both = markers.places(np.stack([turned, np.full(turned.shape, np.nan)]))
    np.testing.assert_allclose(both[0, 0], turn @ place["stalk"], atol=1e-12)
    assert np.isnan(both[1]).all()
    body.group("edge", end[:2])
    with pytest.raises(InvalidValue, match="its 2 points lie on a line"):
        markers_on(body, place, 0.0, {"stalk": "edge"})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"markers": {"middle": (0.1, 0.0, 0.0), "tip": (0.3, 0.0, 0.0)}}, "marker 'tip' .* mm outside of the body"),
        ({"markers": {"nose": (0.1, 0.0, 0.0)}}, "no marker 'nose'; it has middle, tip"),
        ({"free": {"stifness_factor": 1.0}}, "no constant of springs named 'stifness_factor'"),
        ({"free": {"stiffness_factor.steel": 1.0}}, "no material of the body named 'steel'"),
        ({"free": {"stiffness_factor": -1.0}}, "starts at -1"),
        ({"free": {"friction": 0.5}}, "'friction' feeds nothing here: the simulation has no obstacles"),
        ({"free": {"gravity": 9.81}}, "'gravity' is no constant that one number says"),
        ({"body": springs.block((4, 2, 2), 0.05), "free": {"damping_factor": 1.0}}, "let damping be free"),
        ({"markers": [(0.1, 0.0, 0.0)]}, "markers must be places by name"),
        ({"windows": [np.nan]}, "windows must be times above 0 s, not nan"),
        ({"reach": "far"}, "reach must be a length of 0 m or more"),
        ({"world": {"dt": "short"}}, "dt"),
        ({"runs": []}, "no runs"),
        ({"registration": "loose"}, "registration must be one of"),
        ({"body": 3}, "must be a springs.Body, a fem.Solid or a function"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], sentence: str) -> None:
    seen = Tracks(TIMES, np.broadcast_to(list(MARKERS.values()), (31, 2, 3)), tuple(MARKERS))
    given = {"body": beam(), "runs": [Run(seen)], "markers": MARKERS, "free": {"stiffness_factor": 1.0}, "world": WORLD}
    with pytest.raises(AnnelidError, match=sentence):
        identify(Calibration(**{**given, **changes}))


def test_wrong_units_are_guessed() -> None:
    places = np.broadcast_to(list(MARKERS.values()), (31, 2, 3))
    free = {"stiffness_factor": 1.0}
    with pytest.raises(InvalidValue, match="seem to be millimetres; give unit='mm'"):
        identify(Calibration(beam(), [Run(Tracks(TIMES, 1e3 * places, tuple(MARKERS)))], MARKERS, free, world=WORLD))
    with pytest.raises(InvalidValue, match="seem to be centimetres; give unit='cm'"):
        identify(Calibration(beam(), [Run(Tracks(TIMES, 1e2 * places, tuple(MARKERS)))], MARKERS, free, world=WORLD))
    with pytest.raises(InvalidValue, match="metres that are called millimetres"):
        identify(Calibration(beam(), [Run(Tracks(TIMES, 1e-3 * places, tuple(MARKERS)))], MARKERS, free, world=WORLD))
    one = {"tip": MARKERS["tip"]}
    with pytest.raises(InvalidValue, match="158 m from the origin .* 0.158 m as built: .*millimetres; give unit='mm'"):
        identify(Calibration(beam(), [Run(Tracks(TIMES, 1e3 * places, tuple(MARKERS)))], one, free, world=WORLD))
    with pytest.raises(InvalidValue, match="give time_unit='ms'"):
        identify(Calibration(beam(), [Run(Tracks(1e3 * TIMES, places, tuple(MARKERS)))], MARKERS, free, world=WORLD))


def test_a_model_that_does_not_follow_is_told() -> None:
    seen = tracks()
    quick = Calibration(beam(), [Run(Tracks(1e-3 * seen.times, seen.places, seen.names))], MARKERS, {"drag": 1e-3})
    with (
        pytest.warns(NotDetermined, match="the data do not determine drag"),
        pytest.warns(NotDetermined, match="the model does not follow run 'tracks': .* mm .* are left of a marker"),
    ):
        identify(replace(quick, world={**WORLD, "dt": 1e-5}), scan=False, iterations=1)


def test_fewer_data_than_constants_are_refused() -> None:
    seen = Tracks(TIMES[:2], np.array(MARKERS["tip"]) + np.array([[[0.0]], [[1e-3]]]), ("tip",))
    one = {"tip": MARKERS["tip"]}
    with pytest.raises(
        InvalidValue, match=r"3 measured numbers .*cannot determine 1 constants and 6 numbers of the frames"
    ):
        identify(Calibration(beam(), [Run(seen)], one, {"stiffness_factor": 1.0}, registration="rigid", world=WORLD))


FILE = """
from annelid import Calibration, Run, springs

body = springs.block((4, 2, 2), 0.05, mass=0.02, stiffness=20.0, damping=0.3)
body.fix(body.positions[:, 0] < 1e-6)
markers = {{"middle": (0.1, 0.025, 0.05), "tip": (0.15, 0.0, 0.05)}}
swing = Calibration(
    body, [Run({first!r}), Run({second!r})], markers, {{"stiffness_factor": 1.5}}, world={{"dt": 1e-3}}
)
"""


def test_the_command_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        tracks().save(tmp_path / f"{name}.csv")
    path = tmp_path / "mine.py"
    path.write_text(FILE.format(first=str(tmp_path / "one.csv"), second=str(tmp_path / "two.csv")))
    out = tmp_path / "out"
    given = ["identify", str(path), "--out", str(out), "--hold-out", "two", "--no-scan", "--device", "cpu"]
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 0
    assert {each.name for each in out.iterdir()} == {
        "results.json",
        "report.md",
        "constants.json",
        "one.png",
        "two.png",
    }
    assert "| two (held out) | tip |" in (out / "report.md").read_text()
    assert "stiffness-factor" in capsys.readouterr().out


def test_the_command_refuses_what_is_no_calibration(tmp_path: Path) -> None:
    from annelid.commands.identify import calibration_of

    path = tmp_path / "mine.py"
    path.write_text("thing = 3\n")
    with pytest.raises(AnnelidError, match="has 0 calibrations"):
        calibration_of(str(path))
    with pytest.raises(AnnelidError, match="is no annelid.Calibration, but int"):
        calibration_of(f"{path}:thing")
    with pytest.raises(UnknownName, match="no calibration in"):
        calibration_of(f"{path}:thin")
    with pytest.raises(AnnelidError, match="is no Python file"):
        calibration_of("swing")


@pytest.mark.parametrize("made", [beam, solid])
def test_tracks_that_do_not_move_are_refused(made: Any) -> None:
    """A motion that exploded and stayed finite won: 30.6 ± 0.027."""
    body, markers = made(), {"a": (0.05, 0.0, 0.0), "b": (0.1, 0.0, 0.0)}
    name = "stiffness_factor" if made is beam else "youngs_modulus"
    seen = Tracks(TIMES, np.broadcast_to(list(markers.values()), (31, 2, 3)).copy(), tuple(markers))
    seen.places[3, 1] = np.nan
    plan = Calibration(body, [Run(seen, name="still")], markers, {name: 1.0}, reach=0.1, world=WORLD)
    with pytest.raises(InvalidValue, match="no marker moves in run 'still'"):
        identify(plan)


def test_motions_that_diverge_and_stay_finite_count_as_bad() -> None:
    plan = Calibration(beam(), [Run(tracks(), name="swing")], MARKERS, {"stiffness_factor": 1.0}, world=WORLD)
    (comparison,) = plan.comparisons(plan.runs, "cpu", 1)
    copies = {"stiffness_factor": np.array([1.0, 28.8])}
    assert np.isfinite(comparison.twin.motion(copies, comparison.times)).all()  # 1e90 mm away
    assert np.isfinite(comparison.model(copies, comparison.end)).all(axis=(1, 2, 3)).tolist() == [True, False]
