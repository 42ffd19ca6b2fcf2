"""Videos: MP4 through ffmpeg, GIF through Pillow; of one simulation, or of many in a grid.

A file appears under its name only when it is complete. H.264 with the pixel format that every player knows needs even
sizes; an image of odd size is extended by a copy of its last row or column.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from annelid.core.errors import AnnelidError, InvalidValue, MissingPackage
from annelid.core.files import as_path, replaced
from annelid.core.packages import installation, optional
from annelid.core.pool import Job, Pool
from annelid.core.recording import Recorder, Recording
from annelid.core.snapshot import Snapshot
from annelid.view.annotate import pillow
from annelid.view.picture import Painter

SUFFIXES = (".mp4", ".gif")
_LEAST_FPS = 0.01  # ffmpeg is told hundredths, and takes no rate of 0


class _Encoder(Protocol):
    def write(self, frame: np.ndarray) -> None: ...

    def close(self) -> None: ...


class VideoWriter:
    """Writes images to a video, inside a `with` block; if that ends in an error, no file is left.

    Attributes:
        path: File to write.
        frames: Images written so far.
    """

    def __init__(self, path: str | Path, size: tuple[int, int], fps: float = 30.0) -> None:
        """Prepare a video.

        Args:
            path: File to write; the suffix chooses, .mp4 or .gif.
            size: Width and height of the images [pixels].
            fps: Images a second.
        """
        self.path = as_path(path)
        self.size = size
        self.fps = fps
        self.frames = 0
        if self.path.suffix.lower() not in SUFFIXES:
            raise InvalidValue(f"video file {self.path.name!r} must end in {' or '.join(SUFFIXES)}.")
        if not (_LEAST_FPS <= fps <= 1000.0):
            raise InvalidValue(f"fps {fps} must be between {_LEAST_FPS} and 1000.")
        if size[0] < 2 or size[1] < 2:
            raise InvalidValue(f"video size {size} must be at least 2 by 2.")
        self._encoder: _Encoder | None = None
        self._writing = self._written()

    def __enter__(self) -> VideoWriter:
        self._writing.__enter__()
        return self

    def write(self, frame: np.ndarray) -> None:
        """Append an image, shape [height, width, 3], uint8."""
        if self._encoder is None:
            raise InvalidValue("a video is written inside a `with VideoWriter(...)` block only.")
        width, height = self.size
        if frame.shape != (height, width, 3) or frame.dtype != np.uint8:
            raise InvalidValue(
                f"image of shape {list(frame.shape)}, {frame.dtype}, does not fit [{height}, {width}, 3], uint8."
            )
        self._encoder.write(frame)
        self.frames += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writing.__exit__(kind, error, trace)

    @contextmanager
    def _written(self) -> Iterator[None]:
        suffix = self.path.suffix.lower()
        with replaced(self.path) as temporary:
            written = temporary.with_suffix(suffix)  # which chooses the kind
            encoder = self._encoder = (_Mp4 if suffix == ".mp4" else _Gif)(written, self.size, self.fps)
            try:
                yield
            finally:
                self._encoder = None
                encoder.close()
            if self.frames == 0:
                raise InvalidValue(f"video {self.path.name!r} would have no image; it was not written.")
            if not written.exists() or written.stat().st_size == 0:
                raise AnnelidError(f"video {self.path.name!r} could not be encoded; it was not written.")
            written.replace(temporary)


def require_mp4() -> Any:
    """The package that writes MP4; refused here where it is missing, before a long search and not after it."""
    return optional("imageio_ffmpeg", purpose="MP4", extra="view", package="imageio-ffmpeg")


class _Mp4:
    """H.264 through the ffmpeg that imageio-ffmpeg brings along."""

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        imageio_ffmpeg = require_mp4()
        even = (size[0] + size[0] % 2, size[1] + size[1] % 2)
        self._pad = ((0, size[1] % 2), (0, size[0] % 2), (0, 0))
        # As near to the images as "medium" at 18 (structural similarity 0.996), in half the time, a quarter larger.
        options = ["-crf", "16", "-preset", "veryfast", "-movflags", "+faststart"]
        try:
            self._pipe: Generator[None, Any, None] = imageio_ffmpeg.write_frames(
                str(path),
                even,
                fps=fps,
                codec="libx264",
                pix_fmt_in="rgb24",
                pix_fmt_out="yuv420p",
                macro_block_size=2,
                quality=None,
                output_params=options,
            )
            self._pipe.send(None)
        except (RuntimeError, OSError) as error:
            raise MissingPackage(f"MP4 needs a working ffmpeg ({error}): {installation('view')}.") from error

    def write(self, frame: np.ndarray) -> None:
        even = np.pad(frame, self._pad, mode="edge") if any(map(any, self._pad)) else frame
        try:
            self._pipe.send(np.ascontiguousarray(even))
        except OSError as error:
            raise AnnelidError(f"ffmpeg stopped while the video was written: {error}.") from error

    def close(self) -> None:
        self._pipe.close()


class _Gif:
    """GIF with one palette for all frames, chosen when all are known; until then they wait in a scratch file."""

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        self._image = pillow()[0]
        self._path = path
        self._size = size
        self._fps = fps
        self._count = 0
        self._scratch = tempfile.TemporaryFile()  # noqa: SIM115, closed by `close`

    def write(self, frame: np.ndarray) -> None:
        self._scratch.write(np.ascontiguousarray(frame).tobytes())
        self._count += 1

    def close(self) -> None:
        with self._scratch:
            if self._count == 0:
                return
            palette = self._palette()
            # Without dithering: its noise neither compresses nor stays still.
            frames = (
                self._read(i).quantize(palette=palette, dither=self._image.Dither.NONE) for i in range(self._count)
            )
            first = next(frames)
            first.save(self._path, save_all=True, append_images=frames, duration=self._durations(), loop=0, disposal=1)

    def _read(self, index: int) -> Any:
        width, height = self._size
        self._scratch.seek(index * width * height * 3)
        return self._image.frombytes("RGB", (width, height), self._scratch.read(width * height * 3))

    def _palette(self) -> Any:
        picks = np.unique(np.linspace(0, self._count - 1, 8).astype(int))
        strip = np.concatenate([np.asarray(self._read(int(i)))[::2, ::2] for i in picks])
        return self._image.fromarray(strip).quantize(colors=256)

    def _durations(self) -> list[int]:
        """Milliseconds a frame; GIF counts hundredths of a second, so they take turns where fps does not divide 100."""
        ends = np.rint(100.0 / self._fps * np.arange(self._count + 1))
        return [int(10 * max(2, step)) for step in np.diff(ends)]


def video(
    moments: Iterable[Snapshot | Sequence[Snapshot]],
    path: str | Path,
    *,
    fps: float = 30.0,
    painter: Painter | None = None,
) -> int:
    """Paint every moment, and write the video.

    Unless range and camera are given, all moments are recorded first, in a temporary file, and painted when it is known
    what they show.

    Args:
        moments: A snapshot for each image, or a sequence of them, one a simulation, for a grid.
        path: File to write; the suffix chooses, .mp4 or .gif.
        fps: Images a second.
        painter: How to paint; None for the default.

    Returns:
        Number of images.
    """
    painter = painter or Painter()
    known = nullcontext(moments) if painter.settled else _watched(moments, painter)
    with VideoWriter(path, painter.size, fps) as writer, _Behind(writer) as behind, known as shown:
        for moment in shown:
            behind.write(painter.paint(moment))
    return writer.frames


@contextmanager
def _watched(
    moments: Iterable[Snapshot | Sequence[Snapshot]], painter: Painter
) -> Iterator[Iterable[Sequence[Snapshot]]]:
    """The same moments, of all of which the painter has taken note."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        recorders: list[Recorder] = []
        for moment in moments:
            shots = [moment] if isinstance(moment, Snapshot) else list(moment)
            painter.watch(shots)
            while len(recorders) < len(shots):
                recorders.append(stack.enter_context(Recorder(Path(folder) / f"{len(recorders)}.rec")))
            for recorder, shot in zip(recorders, shots, strict=True):
                recorder.new_segment()  # moments may go back in time
                recorder.write(replace(shot, numbers={}))
        for recorder in recorders:
            recorder.close()
        films = [stack.enter_context(Recording(recorder.path)) for recorder in recorders]
        yield (list(shots) for shots in zip(*(map(film.frame, range(len(film))) for film in films), strict=True))


class _Behind:
    """Hands images to a writer in a thread of its own, one at a time: an encoder takes them as slowly as it encodes."""

    def __init__(self, writer: VideoWriter) -> None:
        self._writer = writer
        self._pool = Pool(1, "annelid-video")
        self._last: Job[None] | None = None

    def __enter__(self) -> _Behind:
        return self

    def write(self, frame: np.ndarray) -> None:
        """Append an image; an error of the one before it is raised here."""
        self._wait()
        self._last = self._pool.submit(partial(self._writer.write, frame))

    def _wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def __exit__(self, *_: object) -> None:
        self._wait()
