"""Figures of the studies, with matplotlib, which is only needed here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from annelid.core.files import replaced
from annelid.core.packages import optional

COLORS = ("#1f6f9f", "#c8553d", "#4f8a4c", "#8461a8", "#b08a2e")
"""Colours of curves, dark enough on white and told apart in grey."""

_STYLE = {
    "figure.dpi": 120,
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def require_matplotlib() -> None:
    """Say what is missing before the computation, not after it."""
    _pyplot()


def require_films() -> None:
    """The same of films that a study draws beside its plots."""
    purpose = "a film (leave out plots and films with --no-plot)"
    optional("imageio_ffmpeg", purpose=purpose, extra="view", package="imageio-ffmpeg")


def figure(path: Path, draw: Callable[[Any], None], *, size: tuple[float, float], grid: tuple[int, int]) -> Path:
    """Write a figure, whole or not at all.

    Args:
        path: The PNG file.
        draw: Draws on the axes, an array of shape `grid`.
        size: Width and height [inches].
        grid: Rows and columns of axes.
    """
    pyplot = _pyplot()
    with pyplot.rc_context(_STYLE):
        sheet, axes = pyplot.subplots(*grid, figsize=size, squeeze=False, layout="constrained")
        try:
            draw(axes)
            with replaced(path) as temporary:
                sheet.savefig(temporary, format="png")
        finally:
            pyplot.close(sheet)
    return path


@functools.cache
def _pyplot() -> Any:
    optional("matplotlib", purpose="a plot (leave it out with --no-plot)", extra="view").use("Agg")
    return optional("matplotlib.pyplot", purpose="a plot", extra="view")
