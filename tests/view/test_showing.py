"""Simulations that are shown from Python: `picture`, `show`, `video`, `view`, and what they print."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from annelid import fem, grains, springs, voxels
from annelid.core.errors import AnnelidError, InvalidValue, UnknownName
from annelid.core.measurement import Measurement, Report
from annelid.core.recording import Recording
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look
from annelid.shapes import tet_beam

SMALL: dict[str, Any] = {"pixels": (120, 80), "samples": 1}


@pytest.fixture(scope="module")
def falling() -> Simulation[Any]:
    return springs.simulation(springs.block((3, 3, 3)), device="cpu", threads=1)


def test_a_picture_is_written_and_displayed(falling: Simulation[Any], tmp_path: Path) -> None:
    made = falling.picture(tmp_path / "new" / "cube.png", show=("springs", "masses"), field="speed", **SMALL)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "new" / "cube.png")), made.pixels)
    assert made.pixels.shape == (80, 120, 3)
    assert made.pixels.std() > 5.0
    assert np.array_equal(np.asarray(made), made.pixels)
    falling.picture(tmp_path / "cube.jpg", **SMALL)
    assert Image.open(tmp_path / "cube.jpg").format == "JPEG"
    shown: Any = falling.show(**SMALL)
    assert shown._repr_png_().startswith(b"\x89PNG")
    assert not np.array_equal(shown.pixels, made.pixels)


def test_a_field_is_checked_before_a_video_is_begun(
    falling: Simulation[Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnknownName, match="no field named 'colour'"):
        falling.video(tmp_path / "new" / "cube.mp4", 0.1, field="colour", **SMALL)
    assert list(tmp_path.iterdir()) == []
    assert "".join(capfd.readouterr()) == ""


def test_a_video_goes_on_from_here(falling: Simulation[Any], tmp_path: Path) -> None:
    falling.run(0.01)
    film: Any = falling.video(tmp_path / "cube.gif", 0.1, fps=20, speed=1.0, **SMALL)
    assert film.frames == 3
    assert falling.time == pytest.approx(0.11, abs=falling.dt)
    assert "image/gif;base64" in film._repr_html_()
    assert Image.open(film.path).n_frames == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"show": ("spring",)}, "no part to show named 'spring'. Did you mean 'springs'"),
        ({"field": "colour"}, "no field named 'colour'"),
    ],
)
def test_what_cannot_be_shown_is_refused(falling: Simulation[Any], options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnknownName, match=sentence):
        falling.picture(**options, **SMALL)


@pytest.mark.parametrize("wrong", [{"seconds": 0.0}, {"seconds": "1"}, {"seconds": 1.0, "fps": float("nan")}])
def test_a_video_that_cannot_be_leaves_nothing(falling: Simulation[Any], wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=f"{list(wrong)[-1]} must be a"):
        falling.video(tmp_path / "cube.mp4", **wrong)
    assert not list(tmp_path.iterdir())


def test_a_page_plays_and_resets_the_simulation_itself(falling: Simulation[Any]) -> None:
    page: Any = falling.view(wait=False, open=False, port=18090, name="cube")
    try:
        assert page.url in page._repr_html_()
        assert list(page.runner.simulations) == [falling]
        page._rebuild()
        assert falling.step_count == 0
        page.runner.step(7).result()
        assert falling.step_count == 7
    finally:
        page.close()
    falling.step(1)
    assert falling.step_count == 8


def test_a_running_simulation_is_not_served(falling: Simulation[Any]) -> None:
    falling.start()
    try:
        with pytest.raises(AnnelidError, match=r"pause\(\) it first"):
            falling.view(wait=False, open=False)
    finally:
        falling.stop()


def test_what_is_printed_is_short(falling: Simulation[Any]) -> None:
    report = Report("drop", "cpu", 1.0, [Measurement("height", 1.0, "m", 1.0, 0.1), Measurement("speed", 2.0, "m/s")])
    things = [
        springs.block((9, 9, 9)),
        grains.Bed(np.random.default_rng(0).uniform(size=(999, 3)), 0.01),
        fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(5, 2, 2)), "ecoflex-00-30"),
        voxels.Robot.from_text("ooo\no.o"),
        falling,
        falling.snapshot(),
        report,
    ]
    for thing in things:
        assert type(thing).__name__ in repr(thing)
        assert len(repr(thing)) < 300
        assert "array(" not in repr(thing)
        assert thing._repr_html_().startswith("<table>")
    assert "masses 729" in repr(things[0])
    assert "grains 999" in repr(things[1])
    assert "not all hold" not in repr(report)


def test_nothing_of_a_name_becomes_markup() -> None:
    assert "<script>" not in Report("<script>", "cpu", 1.0, [])._repr_html_()


def test_paths_may_be_any_path(falling: Simulation[Any], tmp_path: Path) -> None:
    path: os.PathLike[str] = tmp_path / "cube.png"
    falling.picture(os.fspath(path), **SMALL)
    assert Path(path).stat().st_size > 0


@pytest.mark.parametrize(
    "build",
    [
        lambda: springs.simulation(springs.block((3, 3, 3)), device="cpu", threads=1),
        lambda: voxels.simulation(voxels.Robot.from_text("ooo\no.o"), device="cpu"),
    ],
)
def test_a_recording_holds_all_fields_or_those_asked_for(build: Any, tmp_path: Path) -> None:
    simulation: Simulation[Any] = build()
    path, some = tmp_path / "all.rec", simulation.fields[:1]
    simulation.record(path, every=1.0).close()
    assert _fields(path) == set(simulation.fields)
    kept = path.read_bytes()
    with pytest.raises(UnknownName, match="no field named 'colour'"):
        simulation.record(path, every=1.0, fields=("colour",))
    with pytest.raises(InvalidValue, match="either fields or a look"):
        simulation.record(path, every=1.0, fields=some, look=Look())
    assert path.read_bytes() == kept
    simulation.record(tmp_path / "some.rec", every=1.0, fields=some).close()
    assert _fields(tmp_path / "some.rec") == set(some)
    simulation.record(tmp_path / "one.rec", every=1.0, fields=some[0]).close()
    assert _fields(tmp_path / "one.rec") == set(some)
    with pytest.raises(InvalidValue, match=r"'one.npz' does not end in .rec as recordings do: record to one.rec"):
        simulation.record(tmp_path / "one.npz", every=1.0)


def _fields(path: Path) -> set[str]:
    with Recording(path) as recording:
        return {name for part in recording.frame(0).parts for name in vars(part).get("fields", ())}
