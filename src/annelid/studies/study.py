"""What a study is: a frozen dataclass of options that computes, judges what it found, and draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.measurement import Measurement
from annelid.core.progress import Progress


@runtime_checkable
class Study(Protocol):
    """An experiment of a paper.

    The three steps are separate so that a test can judge without drawing, and a plot never computes.

    Attributes:
        name: Name on the command line.
        quick: Whether to run the form that takes seconds.
    """

    name: ClassVar[str]

    @property
    def quick(self) -> bool:
        """Whether to run the form that takes seconds."""
        ...

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Any:
        """Run the experiment; what it found, in a form of its own."""
        ...

    def measure(self, found: Any) -> list[Measurement]:
        """Numbers beside what they should be."""
        ...

    def plot(self, found: Any, folder: Path) -> list[Path]:
        """Draw it; the files that were written."""
        ...


@runtime_checkable
class Filmed(Protocol):
    """A study that draws a film, too."""

    @property
    def film(self) -> str | None:
        """File of the film, an MP4; None in a form that draws none."""
        ...


def run(study: Study, device: wp.Device, threads: int | None, progress: Progress) -> list[Measurement]:
    """Compute and judge, without a plot."""
    return study.measure(study.compute(device, threads, progress))
