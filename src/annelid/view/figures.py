"""Plots of numbers, through matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.files import replaced
from annelid.core.packages import optional


def line_plot(path: str | Path, x: np.ndarray, lines: Mapping[str, np.ndarray], *, x_label: str, y_label: str) -> Path:
    """Draw curves over one axis to a PNG.

    Args:
        path: File to write.
        x: Values along x, shape [n].
        lines: Values of each curve by name, shape [n].
        x_label: Name and unit of x.
        y_label: Name and unit of the curves.
    """
    figure, axes = _figure()
    for name, values in lines.items():
        axes.plot(x, values, marker="o", markersize=3, linewidth=1.5, label=name)
    return _finished(figure, axes, path, x_label, y_label, legend=len(lines) > 1)


def band_plot(path: str | Path, x: np.ndarray, groups: Mapping[str, np.ndarray], *, x_label: str, y_label: str) -> Path:
    """Draw the median of each group of curves, the band that holds the middle half of them, and their ends thinly.

    Args:
        path: File to write, a PNG.
        x: Values along x, shape [n].
        groups: Values of the curves of each group by name, shape [n, curves]; values that are not finite leave gaps.
        x_label: Name and unit of x.
        y_label: Name and unit of the curves.
    """
    figure, axes = _figure()
    for name, curves in groups.items():
        known = np.where(np.isfinite(curves), curves, np.nan)
        known[np.isnan(known).any(axis=1)] = np.nan
        low, first, middle, third, high = np.percentile(known, [0, 25, 50, 75, 100], axis=1)
        (line,) = axes.plot(x, middle, linewidth=1.8, label=name)
        axes.fill_between(x, first, third, color=line.get_color(), alpha=0.25, linewidth=0)
        for end in (low, high):
            axes.plot(x, end, color=line.get_color(), linewidth=0.6, alpha=0.5)
    return _finished(figure, axes, path, x_label, y_label, legend=len(groups) > 1)


def curve_plot(
    path: str | Path,
    curves: Mapping[str, np.ndarray],
    points: Mapping[str, np.ndarray],
    *,
    x_label: str,
    y_label: str,
) -> Path:
    """Draw curves in a plane and single points beside them, both axes alike.

    Args:
        path: File to write, a PNG.
        curves: Points of each curve by name, shape [n, 2].
        points: Single points by name, shape [2].
        x_label: Name and unit of x.
        y_label: Name and unit of y.
    """
    figure, axes = _figure()
    for name, curve in curves.items():
        axes.plot(*curve.T, marker="o", markersize=3, linewidth=1.5, label=name)
    for name, point in points.items():
        axes.plot(*point, marker="o", markersize=8, color="#e0b020", markeredgecolor="#806000")
        axes.annotate(name, point, xytext=(7, 5), textcoords="offset points")
    axes.set_aspect("equal", adjustable="datalim")
    return _finished(figure, axes, path, x_label, y_label, legend=len(curves) > 1)


def range_plot(path: str | Path, curves: Mapping[str, np.ndarray], *, x_label: str, y_label: str) -> Path:
    """Draw many curves that each have a range of their own over a logarithmic y, the highest first in the legend.

    Args:
        path: File to write, a PNG.
        curves: Points of each curve by name, shape [n, 2].
        x_label: Name and unit of x.
        y_label: Name and unit of y.
    """
    figure, axes = _figure()
    reach = min(curve[-1, 0] for curve in curves.values())
    height = {name: float(np.interp(reach, *curve.T)) for name, curve in curves.items()}
    for i, name in enumerate(sorted(curves, key=lambda name: -height[name])):
        style = ("-", "--", ":")[i // 10 % 3]  # matplotlib has ten colours of its own
        axes.plot(*curves[name].T, style, linewidth=1.5, label=name)
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _finished(figure, axes, path, x_label, y_label, legend=False)


def _finished(figure: Any, axes: Any, path: str | Path, x_label: str, y_label: str, *, legend: bool) -> Path:
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(frameon=False)
    with replaced(Path(path)) as temporary:
        figure.savefig(temporary, format="png", dpi=120, bbox_inches="tight")
    return Path(path)


def _figure() -> tuple[Any, Any]:
    figure = optional("matplotlib.figure", purpose="a plot", extra="view").Figure(figsize=(6.4, 4.2))
    return figure, figure.add_subplot()
