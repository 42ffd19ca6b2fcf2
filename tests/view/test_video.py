"""Videos, checked by decoding them; grids."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.packages import installation
from annelid.core.snapshot import Field, Snapshot, Spheres
from annelid.view.camera.camera import Camera
from annelid.view.picture import Painter
from annelid.view.tiles import GAP, best_columns, fitted, tile
from annelid.view.video import VideoWriter, video

Scene = Callable[..., Snapshot]


def read_mp4(path: Path) -> tuple[dict[str, object], list[np.ndarray]]:
    import imageio_ffmpeg

    frames = imageio_ffmpeg.read_frames(str(path))
    about = next(frames)
    width, height = about["size"]
    return about, [np.frombuffer(frame, dtype=np.uint8).reshape(height, width, 3) for frame in frames]


def moving_square(count: int, size: tuple[int, int]) -> list[np.ndarray]:
    width, height = size
    frames = [np.full((height, width, 3), 230, dtype=np.uint8) for _ in range(count)]
    for i, frame in enumerate(frames):
        frame[10:30, 4 + 3 * i : 24 + 3 * i] = (200, 40, 40)
    return frames


@pytest.mark.parametrize("size", [(96, 64), (95, 63)])
def test_mp4_comes_back_frame_by_frame(tmp_path: Path, size: tuple[int, int]) -> None:
    path, frames = tmp_path / "out" / "square.mp4", moving_square(12, size)
    with VideoWriter(path, size, fps=24.0) as writer:
        for frame in frames:
            writer.write(frame)
    assert writer.frames == 12
    about, decoded = read_mp4(path)
    assert about["size"] == (96, 64)  # even, as H.264 wants it
    assert about["fps"] == pytest.approx(24.0)
    assert "yuv420p" in str(about["pix_fmt"])
    assert len(decoded) == 12
    for sent, got in zip(frames, decoded, strict=True):
        assert np.abs(got[: size[1], : size[0]].astype(int) - sent).mean() < 6.0
    assert all(np.abs(a.astype(int) - b).max() > 60 for a, b in zip(decoded[:-1], decoded[1:], strict=True))
    assert [file.name for file in path.parent.iterdir()] == ["square.mp4"]


def test_gif_comes_back_frame_by_frame(tmp_path: Path) -> None:
    from PIL import Image, ImageSequence

    path, frames = tmp_path / "square.gif", moving_square(9, (60, 40))
    with VideoWriter(path, (60, 40), fps=30.0) as writer:
        for frame in frames:
            writer.write(frame)
    with Image.open(path) as gif:
        decoded = [(np.asarray(f.convert("RGB")).astype(int), f.info["duration"]) for f in ImageSequence.Iterator(gif)]
        assert gif.info["loop"] == 0
    assert len(decoded) == 9
    for sent, (got, _) in zip(frames, decoded, strict=True):
        assert np.abs(got - sent).max() <= 8
    assert sum(duration for _, duration in decoded) == pytest.approx(9 / 30.0 * 1000.0, abs=10.0)


def interrupted_after(frame: np.ndarray, writer: VideoWriter) -> None:
    writer.write(frame)
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_no_half_written_video_is_left(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"broken{suffix}"
    frame = moving_square(1, (64, 48))[0]
    with pytest.raises(KeyboardInterrupt), VideoWriter(path, (64, 48)) as writer:
        interrupted_after(frame, writer)
    with pytest.raises(InvalidValue, match="no image"), VideoWriter(path, (64, 48)):
        pass
    with pytest.raises(InvalidValue, match="does not fit"), VideoWriter(path, (64, 48)) as writer:
        writer.write(frame[1:])
    assert list(tmp_path.iterdir()) == []


def test_bad_videos_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"must end in \.mp4 or \.gif"):
        VideoWriter(tmp_path / "a.avi", (64, 48))
    with pytest.raises(InvalidValue, match="fps 0"):
        VideoWriter(tmp_path / "a.mp4", (64, 48), fps=0.0)
    with pytest.raises(InvalidValue, match=r"fps 1e-300 must be between 0\.01 and 1000"):
        VideoWriter(tmp_path / "a.mp4", (64, 48), fps=1e-300)
    with pytest.raises(InvalidValue, match="at least 2 by 2"):
        VideoWriter(tmp_path / "a.mp4", (1, 48))
    with pytest.raises(InvalidValue, match="`with"):
        VideoWriter(tmp_path / "a.mp4", (64, 48)).write(moving_square(1, (64, 48))[0])


@pytest.mark.parametrize(("suffix", "package"), [(".mp4", "imageio_ffmpeg"), (".gif", "PIL")])
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with (
        pytest.raises(AnnelidError, match=re.escape(installation("view"))),
        VideoWriter(tmp_path / f"a{suffix}", (8, 8)),
    ):
        pass


def test_video_of_a_simulation_and_of_a_grid(tmp_path: Path, scene: Scene) -> None:
    moments = [scene(0.2 * i, time=0.1 * i) for i in range(4)]
    painter = Painter(size=(120, 80), samples=1, device="cpu")
    assert video(moments, tmp_path / "one.mp4", fps=10.0, painter=painter) == 4
    pairs = [(a, b) for a, b in zip(moments, moments[::-1], strict=True)]
    grid = Painter(size=(160, 60), columns=2, samples=1, field="height", device="cpu")
    assert video(pairs, tmp_path / "grid.mp4", fps=10.0, painter=grid) == 4
    for name in ("one.mp4", "grid.mp4"):
        _, decoded = read_mp4(tmp_path / name)
        assert len(decoded) == 4
        assert all(np.abs(a.astype(int) - b).max() > 40 for a, b in zip(decoded[:-1], decoded[1:], strict=True))


class KeptImages(Painter):
    """Keeps what it paints."""

    images: list[np.ndarray]

    def paint(self, snapshots: Snapshot | Sequence[Snapshot]) -> np.ndarray:
        image = super().paint(snapshots)
        self.images = [*getattr(self, "images", []), image]
        return image


def strained_balls(count: int) -> list[Snapshot]:
    """Two balls: strains are rounding errors at first and then only grow, and one ball is lifted out of the view."""

    def moment(i: int) -> Snapshot:
        centers = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 1.5 * i]])
        strain = Field(np.array([-1e-9, 1e-9]) if i == 0 else np.array([0.0, 0.1 * i]))
        return Snapshot(0.1 * i, parts=(Spheres("balls", centers, 0.2, {"strain": strain}, color=(0.9, 0.1, 0.1)),))

    return [moment(i) for i in range(count)]


def test_colours_have_the_range_of_the_whole_video(tmp_path: Path) -> None:
    moments, options = strained_balls(5), {"size": (96, 64), "samples": 1, "field": "strain", "device": "cpu"}
    found = KeptImages(**options)  # type: ignore[arg-type]
    video(iter(moments), tmp_path / "found.gif", painter=found)
    given = KeptImages(limits=(-1e-9, 0.4), color_map="tide", **options)  # type: ignore[arg-type]
    video(moments, tmp_path / "given.gif", painter=given)
    assert np.array_equal(found.images, given.images)
    narrow = KeptImages(limits=(0.0, 0.1), **options)  # type: ignore[arg-type]
    video(moments, tmp_path / "narrow.gif", painter=narrow)
    assert not np.array_equal(found.images[1], narrow.images[1])


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("worlds", [1, 2])
def test_nothing_leaves_a_video_whose_camera_is_not_given(tmp_path: Path, follow: bool, worlds: int) -> None:
    painter = KeptImages(size=(120, 90), samples=1, name=None, follow=follow, device="cpu")
    moments = strained_balls(5)
    video([[moments[0], shot][-worlds:] for shot in moments], tmp_path / "lifted.gif", painter=painter)
    red = [(image[..., 0] > 1.5 * image[..., 1].astype(float)) for image in painter.images]
    assert all(mask.sum() > 0.5 * red[0].sum() for mask in red)
    assert not any(mask[edge].any() for mask in red for edge in (0, -1, (slice(None), 0), (slice(None), -1)))


def test_a_painter_that_knows_range_and_camera_takes_moments_as_they_come(tmp_path: Path) -> None:
    painted: list[int] = []
    painter = KeptImages(size=(60, 40), samples=1, camera=Camera((0.0, -9.0, 0.0), (0.0, 0.0, 0.0)), device="cpu")
    moments = (painted.append(len(getattr(painter, "images", []))) or shot for shot in strained_balls(3))
    video(moments, tmp_path / "a.gif", painter=painter)
    assert painted == [0, 1, 2]


def test_tile_puts_images_in_rows() -> None:
    frames = [np.full((4, 6, 3), value, dtype=np.uint8) for value in (10, 20, 30)]
    grid = tile(frames, 2)
    assert grid.shape == (8 + GAP, 12 + GAP, 3)
    assert (grid[:4, :6] == 10).all()
    assert (grid[:4, 6 + GAP :] == 20).all()
    assert (grid[4 + GAP :, :6] == 30).all()
    assert (grid[4 + GAP :, 6 + GAP :] == 255).all()
    assert fitted(grid, (20, 9)).shape == (9, 20, 3)


def test_tile_refuses_what_does_not_fit() -> None:
    frame = np.zeros((4, 6, 3), dtype=np.uint8)
    with pytest.raises(InvalidValue, match="at least one image"):
        tile([], 2)
    with pytest.raises(InvalidValue, match="one size"):
        tile([frame, frame[1:]], 2)
    with pytest.raises(InvalidValue, match="as many captions"):
        tile([frame, frame], 2, captions=["a"])


@pytest.mark.parametrize(
    ("count", "aspect", "columns"), [(1, 1.5, 1), (4, 1.0, 2), (6, 1.5, 3), (9, 1.0, 3), (2, 1.0, 2)]
)
def test_grids_are_near_square(count: int, aspect: float, columns: int) -> None:
    assert best_columns(count, aspect) == columns
