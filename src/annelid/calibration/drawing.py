"""Curves of a run: each component of each marker, measured and in the model."""

from __future__ import annotations

from pathlib import Path

from annelid.calibration.identified import Compared
from annelid.core.files import replaced
from annelid.core.packages import optional

_MEASURED, _MODEL = "#1f6f9f", "#c8553d"
_MOST_MARKERS = 6


def draw_run(run: Compared, path: Path) -> Path:
    """Write a figure of a run, components by rows and markers by columns [mm]; of many markers the first six."""
    shown = run.markers[:_MOST_MARKERS]
    grid = len(run.axes), len(shown)
    sheet = optional("matplotlib.figure", purpose="a plot (leave it out with --no-plot)", extra="view").Figure(
        figsize=(1.0 + 2.8 * grid[1], 0.6 + 1.7 * grid[0]), layout="constrained"
    )
    axes = sheet.subplots(*grid, squeeze=False, sharex=True)
    for row, axis in enumerate(run.axes):
        component = "xyz".index(axis)
        for column, marker in enumerate(shown):
            ax = axes[row, column]
            measured, model = (1e3 * places[:, column, component] for places in (run.measured, run.model))
            dots = "." if len(run.times) < 200 else ","
            ax.plot(run.times, measured, dots if len(run.times) > 1 else "o", color=_MEASURED, label="measured")
            ax.plot(run.times, model, "-" if len(run.times) > 1 else "x", color=_MODEL, lw=1.0, label="model")
            ax.grid(alpha=0.3)
            if row == 0:
                ax.set_title(f"{marker}, rms {run.left[column]:.2g} mm", fontsize=9)
            if column == 0:
                ax.set_ylabel(f"{axis} [mm]")
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    axes[0, 0].legend(frameon=False, fontsize=8)
    sheet.suptitle(f"{run.name}{' (held out)' if run.held_out else ''}", fontsize=10)
    with replaced(path) as temporary:
        sheet.savefig(temporary, format="png", dpi=120)
    return path
