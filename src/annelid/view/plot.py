"""Plots of numbers, through matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.files import replaced
from annelid.view.annotate import MissingPackage


def line_plot(
    path: str | Path,
    x: np.ndarray,
    lines: Mapping[str, np.ndarray],
    *,
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
) -> Path:
    """Draw curves over one axis to a PNG.

    Args:
        path: File to write.
        x: Values along x, shape [n].
        lines: Values of each curve by name, shape [n].
        x_label: Name and unit of x.
        y_label: Name and unit of the curves.
        logarithmic: Whether both axes are logarithmic.
    """
    figure, axes = _figure()
    for name, values in lines.items():
        axes.plot(x, values, marker="o", markersize=3, linewidth=1.5, label=name)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    if len(lines) > 1:
        axes.legend(frameon=False)
    with replaced(Path(path)) as temporary:
        figure.savefig(temporary, format="png", dpi=120, bbox_inches="tight")
    return Path(path)


def _figure() -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage("plots need matplotlib: pip install annelid[view].") from None
    figure = Figure(figsize=(6.4, 4.2))
    return figure, figure.add_subplot()
