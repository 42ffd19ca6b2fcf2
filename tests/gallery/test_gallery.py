"""The gallery: nothing that has a name is missing, and an entry is what its card promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from PIL import Image

from annelid.cli import entries as named
from annelid.commands.gallery import command
from annelid.commands.support.terminal import INTERRUPTED
from annelid.core.errors import UnknownName
from annelid.core.snapshot import Snapshot, Spheres
from annelid.gallery import making, pictures, study_pages
from annelid.gallery.cards import cards, write_index
from annelid.gallery.entries import KINDS, entries, entry_of
from annelid.gallery.filming import Film
from annelid.gallery.footage import MOST_FRAMES, Footage
from annelid.gallery.lighter import LIGHTER
from annelid.gallery.making import DONE, FAILED, SOURCE, fail, is_made, make, shown, to_make
from annelid.gallery.pictures import PAGE, PICTURE, PREVIEW
from annelid.robots.registry import ROBOTS
from annelid.scenes.registry import scene_class
from annelid.view.camera.camera import Camera
from annelid.view.camera.framing import corners
from annelid.view.picture import Viewpoint


def test_every_name_of_every_registry_is_there() -> None:
    known = {"scene": named()["run"], "environment": named()["train"], "study": named()["study"]}
    known["robot"] = sorted(ROBOTS)
    assert sorted(entries()) == sorted(f"{kind}/{name}" for kind, names in known.items() for name in names)
    assert [key for key, entry in entries().items() if not (entry.summary() and entry.source.is_file())] == []
    assert [entry.key for entry in entries().values() if entry.shown_by and entry.shown_by not in entries()] == []


def test_scenes_that_are_filmed_smaller_are_named_with_their_sizes() -> None:
    for name, sizes in LIGHTER.items():
        kind: Any = scene_class(name)
        scene, words = kind(**sizes), entry_of(f"scene/{name}").command.split()
        assert words[:3] == ["annelid", "view", name]
        assert {flag: float(value) for flag, value in zip(words[3::2], words[4::2], strict=True)} == {
            f"--{size.replace('_', '-')}": getattr(scene, size) for size in sizes
        }


def test_an_unknown_entry_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="scene/worm"):
        entry_of("scene/wurm")


def test_a_robot_that_is_shown_at_work_is_made_as_that_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr("annelid.commands.gallery.make", lambda entry, *_, **__: made.append(entry.key))
    assert command(["robot/runner", "robot/bellows", "--out", str(tmp_path)]) == 0
    assert made == ["scene/runner", "robot/bellows"]


def test_footage_keeps_few_frames_evenly_spaced() -> None:
    footage = Footage(budget=1e9)
    for number in range(1000):
        footage.offer(lambda number=number: Snapshot(float(number)))
    steps = np.diff([frame.time for frame in footage.frames])
    assert MOST_FRAMES // 2 <= len(footage.frames) <= MOST_FRAMES
    assert set(steps) == {32.0}
    assert footage.frames[0].time == 0.0


def test_footage_of_many_points_is_shorter() -> None:
    footage, grains = Footage(budget=1e9), Spheres("grains", np.zeros((50_000, 3)), 0.01)
    for number in range(100):
        footage.offer(lambda number=number: Snapshot(float(number), parts=(grains,)))
    assert len(footage.frames) <= 20


def opened(path: Path) -> tuple[int, np.ndarray]:
    """Number of images of a file, and the last one."""
    with Image.open(path) as image:
        count = getattr(image, "n_frames", 1)
        image.seek(count - 1)
        return count, np.asarray(image.convert("RGB"), float)


def test_an_entry_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_PICTURE_SIZE", (180, 120))
    monkeypatch.setattr(pictures, "_PREVIEW_SIZE", (90, 60))
    monkeypatch.setattr(pictures, "_PREVIEW_FRAMES", 4)
    entry = entry_of("scene/worm")
    folder = make(entry, tmp_path, budget=0.2, device="cpu", threads=1)
    assert {path.name for path in folder.iterdir()} == {PICTURE, PREVIEW, PAGE, SOURCE, DONE}
    assert opened(folder / PICTURE)[1].std() > 5.0
    count, last = opened(folder / PREVIEW)
    assert count > 1
    assert last.std() > 5.0
    page = (folder / PAGE).read_text(encoding="utf-8")
    times = json.loads(re.search(r'"times":(\[.*?\])', page).group(1))  # type: ignore[union-attr]
    assert len(times) == json.loads((folder / DONE).read_text())["frames"] > 1
    assert "class" in (folder / SOURCE).read_text(encoding="utf-8")
    assert entry not in to_make(tmp_path)
    assert f'src="scene/worm/{PREVIEW}"' in write_index(tmp_path).read_text(encoding="utf-8")


class Drawn:
    """A study whose plots are there at once."""

    name = "materials"
    quick = True

    def __init__(self, *, quick: bool) -> None:
        assert quick

    def compute(self, device: Any, threads: int | None, progress: Any) -> None:
        assert threads == 1

    def measure(self, found: Any) -> list[Any]:
        from annelid.core.measurement import Measurement

        return [Measurement("stretch", 2.0, "m", 2.0, 0.1)]

    def plot(self, found: Any, folder: Path) -> list[Path]:
        files = [folder / "a.png", folder / "b.png"]
        for path in files:
            Image.new("RGB", (60, 40), (200, 30, 30)).save(path)
        return files


def heap(width: float, *, at: float = 0.0, strays: float | None = None) -> Snapshot:
    """A frame of 1,000 grains over a square; one in two hundred of them may have rolled away."""
    centers = np.random.default_rng(0).uniform([at, 0.0, 0.0], [at + width, width, 0.1], (1000, 3))
    if strays is not None:
        centers[::200, 0] = strays
    return Snapshot(0.0, parts=(Spheres("grains", centers, 0.01),))


def viewpoint(*frames: Snapshot, camera: Camera | None = None, follow: bool = False) -> Viewpoint:
    return pictures._viewpoint(Film(list(frames), camera, follow, None))


def test_what_goes_far_is_followed_and_what_spreads_is_seen_whole() -> None:
    assert callable(viewpoint(heap(1.0), heap(1.0, at=5.0)))
    camera, nearly = viewpoint(heap(1.0), heap(4.0)), viewpoint(heap(1.0), heap(4.0, strays=50.0))
    assert isinstance(camera, Camera)
    assert isinstance(nearly, Camera)
    assert nearly.position == pytest.approx(camera.position, rel=0.05)


@pytest.mark.parametrize("camera", [None, Camera((0.0, -3.0, 1.0), (0.0, 0.0, 0.0))])
@pytest.mark.parametrize("follow", [False, True])
def test_no_film_is_cut_off(camera: Camera | None, follow: bool) -> None:
    frames = [heap(0.5), heap(1.0, at=0.5), heap(4.0, at=2.0)]
    seen = viewpoint(*frames, camera=camera, follow=follow)
    for frame in frames:
        where = seen(frame) if callable(seen) else seen
        assert where.sees(corners(*frame.bounds()))
        assert camera is None or where.axes()[2] == pytest.approx(camera.axes()[2])


def test_a_camera_that_sees_all_of_a_film_stays_where_it_is() -> None:
    camera = Camera((0.5, -5.0, 1.0), (0.5, 0.5, 0.0))
    assert viewpoint(heap(1.0), camera=camera) == camera


def test_a_study_is_shown_by_its_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_pages, "study_class", lambda name: Drawn)
    folder = make(entry_of("study/materials"), tmp_path, device="cpu", threads=1)
    assert opened(folder / PREVIEW)[0] > 4
    page = (folder / PAGE).read_text(encoding="utf-8")
    assert page.count("data:image/png") == 2
    assert re.findall("<td[^>]*>([^<]*)</td>", page) == ["stretch", "2 m", "2 ± 0.1", "yes"]


def test_what_was_stopped_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches the processes of the entries too: nothing says afterwards that these could not be made."""
    some = [entry_of("scene/worm"), entry_of("scene/drum")]
    monkeypatch.setattr("annelid.commands.gallery.to_make", lambda _: some)
    ends = iter([(INTERRUPTED, "annelid: stopped."), (2, "annelid: it is broken.")])
    monkeypatch.setattr("subprocess.run", lambda given, **_: CompletedProcess(given, *_end(next(ends))))
    assert command(["--out", str(tmp_path), "--jobs", "1"]) == 0
    assert not (tmp_path / "scene" / "worm" / FAILED).exists()
    assert (tmp_path / "scene" / "drum" / FAILED).read_text(encoding="utf-8") == "it is broken."


def _end(told: tuple[int, str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a process that has told why it ended."""
    return told[0], "", told[1]


def test_cards_say_what_is_missing_and_why(tmp_path: Path) -> None:
    fail(entry_of("scene/worm"), tmp_path, "it took <too> long")
    assert not is_made(entry_of("scene/worm"), tmp_path)
    text = "".join(cards(shown(tmp_path), kind) for kind in KINDS)
    assert "it took &lt;too&gt; long" in text
    assert text.count("<article") == len(entries())
    lines = re.findall("<code>annelid gallery ([A-Za-z/0-9-]+)</code>", text)
    assert sorted(lines) == sorted(entries()), "each names the line that makes it, which the command knows"
    assert "<code>make gallery ENTRY=scene/worm docs</code>" in cards(
        shown(tmp_path), "scene", remedy="make gallery ENTRY={key} docs"
    )
    assert (tmp_path / "scene" / "worm" / FAILED).is_file()
    assert making.FILM_SECONDS > 0.0
