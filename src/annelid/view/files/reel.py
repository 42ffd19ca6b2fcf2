"""The frames of a recording that are written, one after another, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from annelid.core.memory import require_memory
from annelid.core.recording import Recording
from annelid.core.snapshot import Field, Plane, Snapshot
from annelid.view.camera.camera import Camera
from annelid.view.colors import Scale, merged, scale_for
from annelid.view.files.parts import Finite, finite_parts, points_of

Told = Callable[[float, float], None]
"""Called with how much is done and how much there is to do, in seconds of the recording."""


class Reel:
    """Frames of a recording, as they are played: segments one after another.

    Attributes:
        recording: The recording.
        picks: Numbers of the frames.
        times: When each is played [s], shape [frames].
        scale: How the values of the chosen field become colours; None where there are no fields.
        low: Lowest corner of everything in all frames [m], shape [3].
        high: Highest corner.
    """

    def __init__(
        self, recording: Recording, *, every: int = 1, field: str | None = None, told: Told | None = None
    ) -> None:
        self.recording, self._told = recording, told
        self.picks = np.arange(0, len(recording), min(every, len(recording)))
        self.times: np.ndarray = recording.reel[self.picks]
        field = field or next((name for part in finite_parts(recording.frame(0)) for name in part.fields), None)
        self.low, self.high, ranges = self._look(field)
        self.scale: Scale | None = scale_for(field, ranges) if field is not None and ranges else None

    def __len__(self) -> int:
        return len(self.picks)

    @property
    def rate(self) -> float:
        """Frames a second: the most usual one where they differ, 24 for a single frame."""
        steps = np.diff(self.times)
        usual = float(np.median(steps)) if len(steps) else 0.0
        return float(np.round(1.0 / usual, 6)) if usual > 0.0 else 24.0

    @property
    def camera(self) -> Camera:
        """A camera that sees everything in all frames."""
        return Camera.framing((self.low, self.high))

    def frames(self) -> Iterator[tuple[float, Snapshot]]:
        """Time on the reel [s] and snapshot of each frame; planes as they are."""
        for time, pick in zip(self.times.tolist(), self.picks.tolist(), strict=True):
            if self._told is not None:
                self._told(time - self.times[0], self.times[-1] - self.times[0])
            yield time, self.recording.frame(pick)

    def planes(self) -> list[Plane]:
        """Planes of the first frame."""
        first = self.recording.frame(int(self.picks[0]))
        return [part for part in first.parts if isinstance(part, Plane)]

    def colors(self, part: Finite) -> np.ndarray | None:
        """Display colour of each vertex, sphere or segment by the field, shape [n, 3]; None where a part lacks it."""
        if self.scale is None or self.scale.name not in part.fields:
            return None
        return self.scale.colors(part.fields[self.scale.name].values)

    def require_memory(self, what: str) -> None:
        """Refuse to hold all frames where the machine has no room for them."""
        parts = finite_parts(self.recording.frame(int(self.picks[0])))
        each = sum(len(points_of(part)) * (12 + 4 * len(part.fields)) for part in parts)
        frames = f"{what} of {len(self)} frames with {sum(len(points_of(p)) for p in parts)} points"
        require_memory(frames, 3.0 * each * len(self), "keep fewer frames, with every=10 (--every 10)")

    def _look(self, field: str | None) -> tuple[np.ndarray, np.ndarray, list[Field]]:
        """Corners of everything, and the field of each part with its extremes in the place of its values."""
        low, high, ranges = np.full(3, np.inf), np.full(3, -np.inf), []
        for pick in self.picks.tolist():
            snapshot = self.recording.frame(pick)
            one, two = snapshot.bounds()
            low, high = np.fmin(low, one), np.fmax(high, two)
            for part in finite_parts(snapshot):
                if field is not None and field in part.fields:
                    ranges.append(merged([part.fields[field]]))
        return low, high, ranges
