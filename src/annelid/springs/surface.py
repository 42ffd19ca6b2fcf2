"""The surface of a body as it is drawn: skins that masses carry, and triangles between masses without a skin."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from scipy import sparse

from annelid.springs.body import Body
from annelid.springs.covering import Worn
from annelid.springs.kernels.carried import carried_points_kernel, carried_values
from annelid.springs.model import Model
from annelid.springs.network import Network
from annelid.springs.readout import Readout
from annelid.springs.standing import missing_springs, standing_cells, standing_triangles


class Surface:
    """The drawn surface of one model; it follows edits and breaking.

    Args:
        model: The model.
        readout: What reads its states.
        whole: Show it as it was built, whatever has broken: worlds side by side are seen alike.

    Attributes:
        triangles: Corners, outward, shape [t, 3]; the same array while the topology is the same.
        nearest: The mass with the largest share in each point, int32 on the device, once there is something to draw.
    """

    def __init__(self, model: Model, readout: Readout, *, whole: bool = False) -> None:
        self._model, self._readout, self._whole = model, readout, whole
        self.triangles: np.ndarray = np.zeros((0, 3), np.int32)
        self._stale = True

    def follow(self) -> None:
        """Look again at the next use, since edits or breaking have changed the network."""
        self._stale = True

    def exists(self) -> bool:
        """Whether there is anything to draw."""
        if self._stale:
            self._look()
            self._stale = False
        return len(self.triangles) > 0

    def _look(self) -> None:
        """Work out what is seen now."""
        triangles, shares = self._shown()
        if not np.array_equal(triangles, self.triangles):  # viewers take the same array as a sign of no change
            self.triangles = triangles
        array = self._readout.device_array
        self.nearest = array(_largest(shares).astype(np.int32), wp.int32)
        self._carried = len(self._model.body.coverings) > 0
        if not self._carried:
            return
        masses, slots = np.unique(shares.indices, return_inverse=True)
        self._chosen = array(masses.astype(np.int32), wp.int32)
        self._begins = array(shares.indptr.astype(np.int32), wp.int32)
        self._carriers = array(shares.indices.astype(np.int32), wp.int32)
        self._slots = array(slots.ravel().astype(np.int32), wp.int32)
        self._shares = array(shares.data.astype(np.float32), wp.float32)

    def points(self, state: Any) -> wp.array[Any]:
        """Positions of the corners [m] in single precision."""
        if not self._carried:
            return self._readout.points(state, self.nearest)
        out = wp.empty(len(self.nearest), dtype=wp.vec3, device=self._readout.device)
        inputs = [self._begins, self._carriers, self._shares, state.positions]
        kernel = carried_points_kernel(self._model.types.vec4)
        wp.launch(kernel, len(out), inputs, [out], device=self._readout.device)
        return out

    def field(self, state: Any, name: str) -> wp.array[Any]:
        """A scalar at the corners; see `Readout.mass_field`."""
        if name == "material" or not self._carried:  # names cannot be mixed
            return self._readout.mass_field(state, name, self.nearest)
        values = self._readout.mass_field(state, name, self._chosen)
        out = wp.empty(len(self.nearest), dtype=wp.float32, device=self._readout.device)
        inputs = [self._begins, self._slots, self._shares, values]
        wp.launch(carried_values, len(out), inputs, [out], device=self._readout.device)
        return out

    def _shown(self) -> tuple[np.ndarray, sparse.csr_array]:
        """Triangles, and the share of each mass in each of their corners."""
        body, network = self._model.body, self._model.network
        bare, whole = _uncovered(body), self._whole or network.version == 0
        if not whole:
            bare = standing_triangles(bare, network)
        used, corners = np.unique(bare, return_inverse=True)
        size = self._model.mass_count
        parts = [sparse.csr_array((np.ones(len(used)), used, np.arange(len(used) + 1)), shape=(len(used), size))]
        triangles, first = [corners.reshape(-1, 3)], len(used)
        lost = np.zeros((0, 2), np.int32) if whole else missing_springs(body.springs, network)
        for worn in body.coverings:
            present = worn.covering.cells.present if whole else _standing(worn, lost, network)
            shown = worn.covering.remaining(present)
            triangles.append(shown.triangles + first)
            first += shown.shares.shape[0]
            shares = shown.shares
            shape = (shares.shape[0], size)
            parts.append(sparse.csr_array((shares.data, shares.indices + worn.first, shares.indptr), shape=shape))
        return np.concatenate(triangles).astype(np.int32), sparse.csr_array(sparse.vstack(parts))


def _standing(worn: Worn, lost: np.ndarray, network: Network) -> np.ndarray:
    cells = worn.covering.cells
    return cells.present & standing_cells(cells.masses + worn.first, cells.partners, lost, network)


def _uncovered(body: Body) -> np.ndarray:
    """Triangles between masses that carry no skin."""
    if not body.coverings:
        return np.asarray(body.triangles)
    covered = np.zeros(body.mass_count, bool)
    for worn in body.coverings:
        covered[worn.first : worn.first + worn.covering.cells.mass_count] = True
    return body.triangles[~covered[body.triangles].all(axis=1)]


def _largest(shares: sparse.csr_array) -> np.ndarray:
    """The mass with the largest share in each point."""
    row = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    order = np.lexsort((-shares.data, row))
    return np.asarray(shares.indices[order[shares.indptr[:-1]]])
