"""The weight of a fluid in a cavity by columns (Rodríguez et al., sec. III): how much of it each node carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.replay import Replays, Stage
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns_memory import Memory, pair_stages, span_stages
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.levels import FluidLevel
from annelid.fem.kernels.columns import fit_grid, gather_nodes, lay_faces, settle, share_corners, weigh
from annelid.shapes.values import Floats, frame, require_count, require_positive

Method = Literal["auto", "spans", "balanced", "triangles", "columns"]
Correction = Literal["none", "volume", "moment"]

_MOST_CELLS = 20_000


@dataclass(frozen=True, eq=False)
class ColumnLoad:
    """What columns found, on the host.

    Attributes:
        weights: Weight on each node of the cavity [N], shape [n].
        forces: The same as forces [N], shape [n, 3].
        volume: Volume of all sections of columns [m³], as found, without correction.
        centre: Centre of all sections [m], shape [3], as found.
        exact_volume: Volume of the fluid by the exact polyhedron [m³].
        exact_centre: Centre of the fluid by the exact polyhedron [m], shape [3].
        level: Height of the fluid's surface [m]; of the highest point for a full cavity.
    """

    weights: Floats
    forces: Floats
    volume: float
    centre: Floats
    exact_volume: float
    exact_centre: Floats
    level: float

    @property
    def weight(self) -> float:
        """Weight of the fluid: the sum over all nodes [N]."""
        return float(self.weights.sum())


class FluidColumns:
    """Shares the weight of the fluid in a cavity among its nodes, on a grid of columns along gravity.

    The grid is fitted to the cavity as seen along gravity, with a column in the middle of each cell. A column that
    runs through the cavity has a section of fluid for each of its bottoms; its weight goes to the nodes of the
    triangle on which it stands. Triangles smaller than a cell count as often as a column meets them.

    Args:
        cavity: The cavity.
        fluid: What fills it.
        cells: Columns along each side of the grid, or a pair of numbers.
        method: "spans" (one thread walks the rows of each triangle; for the CPU), "balanced" (k = ⌊α c⌋ threads a
            triangle, with c the mean number of columns in the boxes of triangles), "triangles" (one thread each),
            "columns" (one thread each). "auto" takes spans on the CPU and balanced threads on CUDA. All find the same
            sections.
        correction: "moment" scales the weights so that their sum and their moment are those of the exact polyhedron,
            "volume" only their sum, "none" leaves them as they were found.
        alpha: α of the balanced threads.
        device: Where to compute.

    Attributes:
        weights: Weight on each node of the cavity [N], float64 of shape [n], on the device.
        forces: The same as forces [N], vec3d of shape [n], on the device.
        level: The level of the fluid.
    """

    def __init__(
        self,
        cavity: Cavity,
        fluid: Fluid,
        *,
        cells: int | tuple[int, int] = 100,
        method: Method = "auto",
        correction: Correction = "moment",
        alpha: float = 0.25,
        device: str | wp.Device = "auto",
    ) -> None:
        self.cavity, self.fluid = cavity, fluid
        self.device = choose_device(device)
        self.columns, self.rows = _shape(cells)
        self.method = _method(method, self.device)
        if correction not in get_args(Correction):
            raise InvalidValue(f"correction {correction!r} must be one of {', '.join(get_args(Correction))}.")
        self.correction, self.alpha = correction, require_positive("alpha", alpha)
        self.level = FluidLevel(cavity, fluid, device=self.device)
        self.turn = frame(fluid.up.tolist()).T
        self.threads = 1
        self._memory = Memory(cavity, self.columns, self.rows, self.device)
        self._replays = Replays(self.device)
        self._ready = False

    @property
    def weights(self) -> wp.array[Any]:
        """Weight on each node of the cavity [N], float64 of shape [n], on the device."""
        return self._memory.weights

    @property
    def forces(self) -> wp.array[Any]:
        """Weight on each node of the cavity as a force [N], vec3d of shape [n], on the device."""
        return self._memory.forces

    def pull(self, fluid: Fluid) -> None:
        """Go on with the same fluid under another gravity, along which columns then stand."""
        self.fluid, self.turn = fluid, frame(fluid.up.tolist()).T
        self.level.pull(fluid)

    def evaluate(self, positions: wp.array[Any]) -> None:
        """Find the weights, without waiting for the device. The first time it looks how much memory they need.

        Args:
            positions: Positions of all nodes of the solid [m], vec3d of shape [n], on the same device.
        """
        if not self._ready:
            self._prepare(positions)
        self._replays.run(lambda: self._stages(positions), positions, name=self.fluid.gravity)

    def read(self) -> ColumnLoad:
        """What the last evaluation found, on the host; says so if it cannot be trusted."""
        memory = self._memory
        exact, found = memory.sums.numpy()
        overflow, unmatched = memory.problems.numpy().tolist()
        if not np.isfinite([*exact, *found]).all():
            raise InvalidValue(f"a position of {self.cavity.name} is not finite; its weight cannot be found.")
        if unmatched:
            raise InvalidMesh(f"a column of {self.cavity.name} has no end; the cavity is not closed.")
        if overflow > memory.layers:
            raise InvalidMesh(
                f"a column of {self.cavity.name} crosses {overflow} layers of fluid, but there is room for "
                f"{memory.layers}; call `grow()` and evaluate again."
            )
        grid = memory.grid.numpy()[0]
        return ColumnLoad(
            weights=memory.weights.numpy().copy(),
            forces=memory.forces.numpy().copy(),
            volume=float(found[0]),
            centre=self._centre(grid, found),
            exact_volume=float(exact[0]),
            exact_centre=self._centre(grid, exact),
            level=float(grid["level"]),
        )

    def grow(self) -> None:
        """Make room for twice as many layers in a column."""
        self._memory.grow()
        self._replays.clear()

    def load(self, positions: ArrayLike) -> ColumnLoad:
        """Weights at positions that are on the host, shape [n, 3]; checks the cavity and the level first."""
        volume = self.cavity.check(positions)
        self.fluid.check(self.cavity.points(positions), volume)
        where = wp.array(np.asarray(positions, dtype=np.float64), dtype=wp.vec3d, device=self.device)
        self.evaluate(where)
        while int(self._memory.problems.numpy()[0]) > self._memory.layers:
            self.grow()
            self.evaluate(where)
        return self.read()

    def _centre(self, grid: Any, sums: Floats) -> Floats:
        if sums[0] == 0.0:
            return np.full(3, np.nan)
        u, v, height = sums[1:] / sums[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            place = grid["origin"] + np.array([u, v]) / grid["inverse"]
        return np.asarray(self.turn.T @ np.array([*place, height]))

    def _prepare(self, positions: wp.array[Any]) -> None:
        """Choose the number of threads a triangle from the mean number of columns in the boxes of triangles."""
        if self.method == "balanced":
            for stage in [*self.level.stages(positions), *self._grid_stages(positions)]:
                stage.launch(self.device)
            self.threads = max(1, int(self.alpha * self._memory.mean_box()))
        self._memory.reserve(self.threads)
        self._ready = True

    def _stages(self, positions: wp.array[Any]) -> list[Stage]:
        clip = int(not self.fluid.full)
        if self.method == "spans":
            middle = span_stages(self._memory, clip)
        else:
            middle = pair_stages(self._memory, clip, self.method, self.threads)
        return [*self.level.stages(positions), *self._grid_stages(positions), *middle, *self._weight_stages()]

    def _grid_stages(self, positions: wp.array[Any]) -> list[Stage]:
        m, full = self._memory, int(self.fluid.full)
        turn, size = wp.mat33d(*self.turn.ravel().tolist()), (self.columns, self.rows)
        return [
            Stage(
                fit_grid, None, [m.nodes, turn, *size, full, self.level.height, positions, m.points, m.grid, m.problems]
            ),
            Stage(
                lay_faces,
                len(self.cavity.triangles),
                [m.triangles, *size, 1 - full, m.grid, m.points, m.faces, m.boxes, m.exact],
            ),
        ]

    def _weight_stages(self) -> list[Stage]:
        m, nodes, triangles = self._memory, len(self.cavity.nodes), len(self.cavity.triangles)
        correction = get_args(Correction).index(self.correction)
        down = wp.vec3d(*(-self.fluid.up).tolist())
        weight = wp.float64(self.fluid.specific_weight)
        return [
            Stage(share_corners, triangles, [m.triangles, m.lanes, m.grid, m.points, m.parts, m.found, m.corners]),
            Stage(gather_nodes, nodes, [m.first, m.corner, m.shares, m.volumes]),
            Stage(settle, None, [correction, m.grid, m.points, m.exact, m.found, m.volumes, m.sums, m.law]),
            Stage(weigh, nodes, [weight, down, m.grid, m.points, m.law, m.volumes, m.weights, m.forces]),
        ]


def _shape(cells: int | tuple[int, int]) -> tuple[int, int]:
    pair = cells if isinstance(cells, tuple) else (cells, cells)
    if len(pair) != 2:
        raise InvalidValue(f"cells = {cells!r} cannot be used; give one whole number, or two.")
    first, second = (require_count("cells of the column grid", n, least=1, most=_MOST_CELLS) for n in pair)
    return first, second


def _method(method: str, device: wp.Device) -> str:
    if method not in get_args(Method):
        raise InvalidValue(f"method {method!r} must be one of {', '.join(get_args(Method))}.")
    if method == "spans" and device.is_cuda:
        raise InvalidValue("method 'spans' is for the CPU; use 'auto' or 'balanced' on CUDA.")
    if method == "auto":
        return "balanced" if device.is_cuda else "spans"
    return method
