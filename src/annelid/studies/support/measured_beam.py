"""The silicone beam that Dubied et al. measured (RA-L 2022): its sizes, its tracks, and a solid of the same form.

Dragon Skin 10, 100 x 30 x 30 mm, clamped at x = 0, with three markers at its end. It is held about straight, let go,
swings and settles, by itself or with a weight that hangs on the upper edge of its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.optimize import curve_fit

from annelid import fem
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.materials import Material, NeoHooke
from annelid.shapes import QuadraticTetMesh, tet_beam
from annelid.studies.support.tables import read_columns

LENGTH, SIDE, DENSITY, GRAVITY = 0.1, 0.03, 1070.0, 9.80709
MARKERS = np.array([(0.1, 0.015, 0.036), (0.1, -0.006, 0.024), (0.1, 0.036, 0.006)])
"""Where the markers are at rest [m], 6 mm off the surfaces."""
RUNS = {"gravity": 0.0, "load-0.51N": 0.51012, "load-1.00N": 1.00062}
"""Files of the runs, and the weight that hangs at the end [N]."""
_COLUMNS = [f"tip{marker}_{axis}" for marker in (1, 2, 3) for axis in "xyz"]
_MOMENTS = 40  # fewest from which a damped sine of 8 Hz is told
_SETTLED, _WINDOW = 1.0, (0.3, 2.0)  # the last second; where the motion is a damped sine [s]


@dataclass(frozen=True)
class Sine:
    """A damped sine: frequency [Hz], damping ratio, and the part of its amplitude that is left after five periods."""

    frequency: float
    damping: float

    @property
    def left(self) -> float:
        """Part of the amplitude after five periods."""
        return float(np.exp(-10.0 * np.pi * self.damping))


@dataclass(frozen=True, eq=False)
class Run:
    """One run: moments [s], shape [t], places of the markers [m], shape [t, 3, 3], and the weight [N]."""

    name: str
    weight: float
    times: np.ndarray
    places: np.ndarray

    @cached_property
    def settled(self) -> np.ndarray:
        """How far the markers have sunk in the end [m], shape [3, 3]."""
        held, late = self.times < 0.0, self.times > self.times[-1] - _SETTLED
        return np.asarray(self.places[late].mean(axis=0) - self.places[held].mean(axis=0))

    @cached_property
    def sine(self) -> Sine:
        """How it rings: the height of the second marker."""
        return damped_sine(self.times, self.places[:, 1, 2])


def read_runs(folder: Path) -> list[Run]:
    """The three runs in a folder."""
    runs = []
    missing = [f"{name}.csv" for name in RUNS if not (folder / f"{name}.csv").is_file()]
    if missing:
        raise FileFormatError(f"{folder} has no {', '.join(missing)}; name the folder that has the runs of the beam.")
    for name, weight in RUNS.items():
        path = folder / f"{name}.csv"
        table = read_columns(path, ("t", *_COLUMNS))
        moved = float(np.ptp(table[:, 1:], axis=0).max(initial=0.0))
        if len(table) < 100 or not np.isfinite(table).all() or not 1e-3 < moved < 0.1 or not (table[:, 0] < 0.0).any():
            raise InvalidValue(
                f"the tracks of {path} cannot be those of the beam: {len(table)} moments, a motion of {moved:.3g} m; "
                "give times from before the release on [s] and places in metres."
            )
        _require_moments(path, table[:, 0])
        runs.append(Run(name, weight, table[:, 0], table[:, 1:].reshape(-1, 3, 3)))
    return runs


def _require_moments(path: Path, times: np.ndarray) -> None:
    """Refuse times that do not rise, and tracks that end before the motion can be told from them."""
    wrong = np.flatnonzero(np.diff(times) <= 0.0)
    if len(wrong):
        raise InvalidValue(
            f"the times of {path} do not rise from {times[wrong[0]]:g} to {times[wrong[0] + 1]:g} s; sort its rows, "
            "each once."
        )
    inside = np.count_nonzero((times >= _WINDOW[0]) & (times <= _WINDOW[1]))
    if times[-1] < _WINDOW[1] or inside < _MOMENTS:
        raise InvalidValue(
            f"the tracks of {path} end at {times[-1]:g} s with {inside} moments between {_WINDOW[0]:g} and "
            f"{_WINDOW[1]:g} s; give times in seconds, at least {_MOMENTS} of them there."
        )


def damped_sine(times: np.ndarray, heights: np.ndarray) -> Sine:
    """The damped sine that fits best between 0.3 and 2 s; a slow drift is left aside."""
    chosen = (times >= _WINDOW[0]) & (times <= _WINDOW[1])
    t, z = times[chosen] - _WINDOW[0], heights[chosen]
    size = 8 * len(t)
    strengths = np.abs(np.fft.rfft((z - z.mean()) * np.hanning(len(z)), size))
    first = float(np.fft.rfftfreq(size, t[1] - t[0])[strengths.argmax()])

    def model(t: np.ndarray, a: float, b: float, f: float, damping: float, c: float, drift: float) -> np.ndarray:
        turn = 2.0 * np.pi * f * t
        return np.asarray((a * np.cos(turn) + b * np.sin(turn)) * np.exp(-damping * turn) + c + drift * t)

    found, _ = curve_fit(model, t, z, [0.5 * np.ptp(z), 0.0, first, 0.05, z.mean(), 0.0], maxfev=20_000)
    return Sine(float(found[2]), float(found[3]))


@dataclass(frozen=True)
class Beam:
    """The beam as a solid of 10-node tetrahedra, neo-Hookean and nearly incompressible.

    Attributes:
        cells: Cells along the beam and across it.
        markers: Mass of the three markers together [kg], which nobody has told.
    """

    cells: tuple[int, int, int]
    markers: float

    def solid(self, modulus: float, weight: float, series: tuple[tuple[float, float], ...] = ()) -> fem.Solid:
        """The beam with Young's modulus [Pa] of a long time, and a Prony series on top of it."""
        law = NeoHooke(modulus / (2.0 * 1.499))
        silicone = Material.hyperelastic("beam", law, density=DENSITY, poisson_ratio=0.499)
        made = fem.Solid(self._mesh, silicone.relaxing(series) if series else silicone)
        made.fix(made.nodes[:, 0] < 1e-9).group("end", made.nodes[:, 0] > LENGTH - 1e-9)
        top = made.nodes[:, 2] > made.nodes[:, 2].max() - 1e-9
        made.hang("end", self.markers)
        return made.hang(top & (made.nodes[:, 0] > LENGTH - 1e-9), weight / GRAVITY)

    def settled(self, modulus: float, weight: float) -> np.ndarray:
        """How far the markers sink [m], shape [3, 3]."""
        solid = self.solid(modulus, weight)
        return self.shift(solid, fem.equilibrium(solid, gravity=(0.0, 0.0, -GRAVITY), device="cpu"))

    def swing(
        self, modulus: float, weight: float, series: tuple[tuple[float, float], ...], period: float, steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Let it go: moments [s], and how far the markers have moved [m], shape [t, 3, 3].

        Args:
            modulus: Young's modulus of a long time [Pa].
            weight: What hangs at the end [N].
            series: Prony series.
            period: About the period of its motion [s].
            steps: Time steps in it.
        """
        solid, dt = self.solid(modulus, weight, series), period / steps
        simulation = fem.simulation(
            solid, dt=dt, gravity=(0.0, 0.0, -GRAVITY), integrator="midpoint", device="cpu"
        )  # fmt: skip
        places = [np.zeros((3, 3))]
        for _ in range(round(_WINDOW[1] / dt) + 1):
            simulation.step(1)
            places.append(self.shift(solid, simulation.positions()))
        return dt * np.arange(len(places)), np.array(places)

    @staticmethod
    def shift(solid: fem.Solid, positions: np.ndarray) -> np.ndarray:
        """How far the markers have moved with the end, to which they are rigidly attached [m], shape [3, 3]."""
        end = solid.groups["end"]
        before, after = solid.nodes[end], positions[end]
        first, then = before.mean(axis=0), after.mean(axis=0)
        left, _, right = np.linalg.svd((after - then).T @ (before - first))
        turn = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
        at = MARKERS + solid.nodes.min(axis=0)
        return np.asarray((at - first) @ turn.T + then - at)

    @cached_property
    def _mesh(self) -> QuadraticTetMesh:
        return tet_beam(LENGTH, SIDE, SIDE, cells=self.cells).quadratic()
