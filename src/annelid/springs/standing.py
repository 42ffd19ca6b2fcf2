"""Which cells of a skin, and which triangles between masses, still stand when masses are gone and springs broken."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from annelid.springs.network import Network

_PAIR = np.array([1 << 32, 1])


def missing_springs(springs: np.ndarray, network: Network) -> np.ndarray:
    """Pairs of masses that were joined when the body was built and no longer are, shape [k, 2]."""
    live = np.zeros(len(network.ends), bool)
    live[network.live_springs()] = True
    kept = live[: len(springs)] & (network.ends[: len(springs)] == springs).all(axis=1)
    live[: len(springs)] &= ~kept
    gone = springs[~kept]
    near = np.zeros(len(network.row_of), bool)
    near[gone] = True
    twins = springs[kept & near[springs].all(axis=1)]  # a pair may have had several springs
    added = network.ends[live]
    return gone[~np.isin(_keys(gone), np.concatenate([_keys(twins), _keys(added)]))]


def standing_cells(masses: np.ndarray, partners: np.ndarray, lost: np.ndarray, network: Network) -> np.ndarray:
    """Whether all masses of each cell exist, and none has lost more than half of its springs to the others, shape [c].

    A cell that a crack runs through has a mass with few partners on its side, which are half of them at most.

    Args:
        masses: The masses of each cell, shape [c, k].
        partners: How many of the others each of them was joined with.
        lost: Pairs that are no longer joined, shape [m, 2].
        network: The network.
    """
    standing = network.masses.alive[masses].all(axis=1)
    if len(lost) == 0 or len(masses) == 0:
        return standing
    cell = np.repeat(np.arange(len(masses)), masses.shape[1])
    members = sparse.csr_array(
        (np.ones(masses.size, np.int32), (masses.ravel(), cell)), shape=(int(masses.max()) + 1, len(masses))
    )
    members.data[:] = 1  # a mass that is repeated counts once
    lost = lost[(lost < members.shape[0]).all(axis=1)]
    shared = sparse.coo_array(members[lost[:, 0]].multiply(members[lost[:, 1]]))
    size = (len(masses), members.shape[0])
    ends, cells = lost[shared.row], np.asarray(shared.col)
    gone = sparse.csr_array((np.ones(2 * len(cells)), (np.tile(cells, 2), ends.T.ravel())), shape=size)
    some = np.unique(cells)
    less = gone[np.repeat(some, masses.shape[1]), masses[some].ravel()].reshape(-1, masses.shape[1])
    standing[some] &= (2 * less <= partners[some]).all(axis=1)
    return standing


def standing_triangles(triangles: np.ndarray, network: Network) -> np.ndarray:
    """Triangles whose masses exist and whose sides are still held by springs."""
    if network.version == 0 or len(triangles) == 0:
        return triangles
    inside = network.masses.alive[triangles].all(axis=1)
    held = _keys(network.ends[network.live_springs()])
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1)
    whole = np.isin(_keys(sides), held).all(axis=1)
    return triangles[inside & whole]


def _keys(pairs: np.ndarray) -> np.ndarray:
    return np.asarray(np.sort(pairs.astype(np.int64), axis=-1) @ _PAIR)
