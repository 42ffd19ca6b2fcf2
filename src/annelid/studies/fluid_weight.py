"""Weight of a fluid in a cavity: Table I, the balancing of threads and Fig. 3 of Rodríguez et al., sec. III."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.snapshot import Snapshot
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import Correction, FluidColumns, Method
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.pictures import WEIGHT_FIELD, weight_picture
from annelid.studies.support.cavities import Surface, divided_box, icosphere, knot
from annelid.studies.support.fluid_checks import Errors, column_errors, constraint_errors, partly_filled
from annelid.studies.support.plots import COLORS, figure
from annelid.view.camera.camera import Camera
from annelid.view.picture import Painter, save_picture

_GRIDS = (30, 50, 100, 200)
_TABLE = {30: 4.1835, 50: 4.1828, 100: 4.1803, 200: 4.1798}
"""Volume of the sphere [cm³] on grids of so many columns a side."""
_SIGNED = 4.179739
_SOURCE = "Rodríguez et al., Table I"
_EXACT = "exact polyhedron"
_HEAVY = 2.5e8  # pairs of a column and a triangle above which one CPU thread a column is not worth waiting for


@dataclass(frozen=True, eq=False)
class Found:
    """What the study found.

    Attributes:
        device: "cpu" or "cuda".
        volumes: Volume of the sphere [m³] by columns on each grid, uncorrected.
        signed: Signed volume of the sphere [m³].
        errors: Errors of weight and moment by shape and correction.
        partial: Largest errors of weight and centre in partly filled cavities, by columns and by pressure.
        constraint: Error of J_p against differences of the volume, and of the sum of J_w.
        times: Seconds by shape and method on a grid of 200².
        sphere_times: Seconds on each grid by the method of the device.
        maps: Heat maps of the sphere and of the knot.
    """

    device: str
    volumes: dict[int, float]
    signed: float
    errors: dict[tuple[str, str], Errors]
    partial: dict[str, Errors]
    constraint: tuple[float, float]
    times: dict[tuple[str, str], float]
    sphere_times: dict[int, float]
    maps: dict[str, Snapshot]


@dataclass(frozen=True)
class FluidWeight(Checked):
    """The weight of a fluid in a cavity by columns, beside the exact polyhedron, and how threads are balanced."""

    name: ClassVar[str] = "fluid-weight"

    quick: bool = parameter(
        False, "Fewer repetitions of what is timed, and a knot of 4,480 triangles in place of 70,000."
    )
    cells: int = parameter(200, "Columns along a side of the grid on which shapes and threads are compared.", least=1)
    seconds: float = parameter(
        1.0, "How long each method is timed [s]; a fifth of it in the quick form.", unit="s", above=0.0
    )

    def shapes(self) -> dict[str, Surface]:
        """A sphere, a knotted tube, and boxes along the grid and turned by a third of a degree."""
        along, around = (112, 20) if self.quick else (350, 100)
        box = divided_box((0.01, 0.02, 0.03), 2)
        return {
            "sphere": icosphere(4, 0.01),
            "knot": knot(along, around, size=0.02, thickness=0.006),
            "box": box,
            "box-turned": (_turned(box[0], 0.3), box[1]),
        }

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Table I, errors against the exact polyhedron, and times."""
        shapes = self.shapes()
        sphere = shapes["sphere"]
        volumes = {n: _columns(sphere, n, device, "none").load(sphere[0]).volume for n in _GRIDS}
        progress.say("volumes of the sphere: " + ", ".join(f"{1e6 * v:.4f} cm³" for v in volumes.values()))
        errors = {
            (name, correction): column_errors(*surface, self.cells, device, correction)
            for name, surface in shapes.items()
            for correction in get_args(Correction)
        }
        partial = partly_filled(*shapes["knot"], self.cells, device)
        progress.say("errors against the exact polyhedron found")
        return Found(
            device="cuda" if device.is_cuda else "cpu",
            volumes=volumes,
            signed=Cavity(sphere[1]).volume(sphere[0]),
            errors=errors,
            partial=partial,
            constraint=constraint_errors(*sphere, self.cells, device),
            times=self._times(shapes, device, progress),
            sphere_times={n: self._time(_columns(sphere, n, device), sphere[0]) for n in _GRIDS},
            maps=self._maps(shapes, device),
        )

    def measure(self, found: Found) -> list[Measurement]:
        """Table I, errors and times beside what they should be."""
        rows = [
            Measurement(f"sphere-{n}x{n}", 1e6 * found.volumes[n], "cm³", reference, 2e-4, _SOURCE)
            for n, reference in _TABLE.items()
        ]
        rows.append(Measurement("sphere-signed", 1e6 * found.signed, "cm³", _SIGNED, 1e-6, _SOURCE))
        for (shape, correction), error in found.errors.items():
            judged = 0.1 if correction == "moment" else None
            for what, value in (("weight", error.weight), ("moment", error.centre)):
                name = f"{shape}-{correction}-{what}-error"
                rows.append(Measurement(name, 100 * value, "%", judged, bound="at-most", source=_EXACT))
        for way, error in found.partial.items():
            for what, value in (("weight", error.weight), ("centre", error.centre)):
                name = f"partly-filled-{way}-{what}-error"
                rows.append(Measurement(name, 100 * value, "%", 0.2, bound="at-most", source=_EXACT))
        slope, sum_error = found.constraint
        rows.append(Measurement("jp-error", slope, "", 1e-5, bound="at-most", source="differences of the volume"))
        rows.append(
            Measurement("jw-sum-error", sum_error, "", 1e-3, bound="at-most", source="ρ g, uncorrected columns")
        )
        return [*rows, *self._time_rows(found)]

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Errors and times against the grid, the times of the methods, and the heat maps."""
        chart = figure(folder / "fluid-weight.png", lambda a: _draw(a, found), size=(10.0, 3.4), grid=(1, 3))
        below: Any = {"direction": (0.25, -1.0, -0.75), "aspect": 0.8, "margin": 1.15}
        painter = Painter(
            size=(1280, 440), field=WEIGHT_FIELD, color_map="tide", names=list(found.maps), columns=len(found.maps),
            camera=lambda shot: Camera.framing(shot, **below), name=None, samples=2, limits=(0.0, 1.0),
        )  # fmt: skip
        save_picture(painter.paint(list(found.maps.values())), folder / "fluid-weight-map.png")
        return [chart, folder / "fluid-weight-map.png"]

    def _time_rows(self, found: Found) -> list[Measurement]:
        must = 0.3 if found.device == "cuda" else 4.0
        unit, cells = "ms", f"{self.cells}x{self.cells}"
        rows = []
        for n, seconds in found.sphere_times.items():
            reference = must if n == 200 else None
            rows.append(Measurement(f"time-sphere-{n}x{n}", 1e3 * seconds, unit, reference, bound="at-most"))
        for (shape, method), seconds in found.times.items():
            rows.append(Measurement(f"time-{shape}-{cells}-{method}", 1e3 * seconds, unit))
        return rows

    def _times(self, shapes: dict[str, Surface], device: wp.Device, progress: Progress) -> dict[tuple[str, str], float]:
        times, heavy = {}, 0.1 * _HEAVY if self.quick else _HEAVY
        coarse = {**{name: shapes[name] for name in ("sphere", "knot")}, "box-12": divided_box((0.01, 0.02, 0.03), 0)}
        for name, surface in coarse.items():
            for method in get_args(Method)[1:]:
                pairs = self.cells**2 * len(surface[1])
                if (method == "spans" and device.is_cuda) or (method == "columns" and pairs > heavy and device.is_cpu):
                    continue
                columns = _columns(surface, self.cells, device, method=method)
                times[name, method] = self._time(columns, surface[0])
            progress.say(f"{name}: " + ", ".join(f"{m} {1e3 * s:.3g} ms" for (n, m), s in times.items() if n == name))
        return times

    def _time(self, columns: FluidColumns, vertices: np.ndarray) -> float:
        """The best time of an evaluation [s]; on CUDA of many that are not waited for one by one."""
        positions = wp.array(vertices, dtype=wp.vec3d, device=columns.device)
        columns.evaluate(positions)
        batch = 20 if columns.device.is_cuda else 1
        seconds = (0.2 if self.quick else 1.0) * self.seconds
        return best_time(lambda: columns.evaluate(positions), columns.device, batch, seconds)

    def _maps(self, shapes: dict[str, Surface], device: wp.Device) -> dict[str, Snapshot]:
        """Fig. 3, each map in shares of its heaviest nodes, so that shapes and grids can be compared."""
        maps = {}
        for name, n in (("sphere", 30), ("sphere", 50), ("sphere", 200), ("knot", 200)):
            vertices, triangles = shapes[name]
            load = _columns(shapes[name], n, device, "none").load(vertices)
            maps[f"{name} {n}×{n}"] = weight_picture(Cavity(triangles, name), vertices, load, relative=True)
        return maps


def best_time(call: Callable[[], object], device: wp.Device, batch: int, seconds: float) -> float:
    """The shortest time of a call [s], of as many batches as fit into some seconds, at least three.

    On the CPU it is the time of the one thread that computes, which others on the same machine do not lengthen.
    """
    clock = time.perf_counter if device.is_cuda else time.thread_time
    best, end, rounds = np.inf, time.perf_counter() + seconds, 0
    while rounds < 3 or time.perf_counter() < end:
        wp.synchronize_device(device)
        begin = clock()
        for _ in range(batch):
            call()
        wp.synchronize_device(device)
        best, rounds = min(best, (clock() - begin) / batch), rounds + 1
    return float(best)


def _columns(
    surface: Surface, cells: int, device: wp.Device, correction: Correction = "moment", *, method: Method = "auto"
) -> FluidColumns:
    cavity = Cavity(surface[1])
    return FluidColumns(cavity, Fluid(), cells=cells, method=method, correction=correction, device=device)


def _turned(vertices: np.ndarray, degrees: float) -> np.ndarray:
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(vertices @ turn.T)


def _draw(axes: Any, found: Found) -> None:
    left, middle, right = axes[0]
    grids = list(found.volumes)
    left.loglog(grids, [abs(v / found.signed - 1) for v in found.volumes.values()], "o-", color=COLORS[0])
    left.set(xlabel="columns a side", ylabel="relative error of the volume", title="sphere, uncorrected")
    middle.semilogx(grids, [1e3 * s for s in found.sphere_times.values()], "o-", color=COLORS[1])
    middle.set_ylim(bottom=0.0)
    middle.set(xlabel="columns a side", ylabel="time [ms]", title=f"sphere, {found.device}")
    shapes = list(dict.fromkeys(shape for shape, _ in found.times))
    methods = list(dict.fromkeys(method for _, method in found.times))
    for k, method in enumerate(methods):
        place = np.arange(len(shapes)) + 0.8 * (k + 0.5) / len(methods) - 0.4
        heights = [1e3 * found.times.get((shape, method), np.nan) for shape in shapes]
        right.bar(place, heights, 0.7 / len(methods), color=COLORS[k], label=method)
    right.set_yscale("log")
    right.set_xticks(range(len(shapes)), shapes)
    right.set(ylabel="time [ms]", title="methods")
    right.legend(fontsize=7)
    for axis in (left, middle):
        axis.set_xticks(grids, [str(n) for n in grids])
        axis.minorticks_off()
