"""The live network of a simulation: which masses and springs exist, and the rows that hold them.

The rows of a model are shared among masses with equal surroundings. An edit gives the masses that it touches rows of
their own, from a pool of spare rows, and describes the change as a `Patch` of a few array elements: what an edit costs
depends on the edit, not on the size of the body.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from annelid.core.errors import AnnelidError
from annelid.core.gate import Gate
from annelid.core.handles import Handles, HandleTable
from annelid.core.locks import RankedLock
from annelid.springs.graves import Graves, Part
from annelid.springs.pairs import Pairs
from annelid.springs.rows import Rows, entry_keys

_SMALLEST_ROW = 32
_POOL_ROWS = 65_536

COLUMNS = ("stiffness", "pull", "damping", "signal", "limit")
"""Constants of an entry: stiffness [N/m], stiffness times rest length [N], dashpot [N s/m], signal, squared breaking
length [m²]."""


@dataclass
class Patch:
    """Elements of the device's arrays to overwrite: row of masses, extents of rows, entries of rows.

    `replaced` are rows that no mass uses after the patch.
    """

    masses: np.ndarray
    mass_rows: np.ndarray
    rows: np.ndarray
    extents: np.ndarray
    entries: np.ndarray
    offsets: np.ndarray
    constants: dict[str, np.ndarray]
    replaced: np.ndarray
    written: bool = False


@dataclass
class _Pool:
    """Spare rows of one capacity: their numbers."""

    free: list[int] = field(default_factory=list)


class Network:
    """Masses and springs that come and go.

    Args:
        rows: The rows of the model as it was built.
        springs: The two masses of each spring, shape [s, 2].
        constants: `COLUMNS` of each spring, each of shape [s], in the precision of the device.
        lengths: Passive rest lengths [m], shape [s].

    Attributes:
        lock: Taken after the gate of the simulation, or without it (see `core.locks`); guards all of this.
        prepared: Edits that are part of it but not yet of the device, in their order: what installs them, and the
            gate that this needs.
    """

    def __init__(self, rows: Rows, springs: np.ndarray, constants: dict[str, np.ndarray], lengths: np.ndarray) -> None:
        count = len(rows.row_of)
        self.lock = RankedLock("network")
        self.prepared: deque[tuple[Gate, Callable[[], None]]] = deque()
        self.masses, self.springs = HandleTable("mass", count), HandleTable("spring", len(springs))
        self.version = 0
        self.edited = False
        self.stride = rows.stride
        self.ends = springs.astype(np.int32).copy()
        self.constants = {name: values.copy() for name, values in constants.items()}
        self.lengths = lengths.astype(float)  # which the constants of a spring without stiffness do not tell
        self.row_of = rows.row_of.copy()
        self.starts, self.counts = rows.extents[:, 0].astype(np.int64), rows.extents[:, 1].copy()
        self.capacities = self.counts.copy()
        self.users = np.bincount(rows.row_of, minlength=len(self.starts))
        self.offsets = rows.offsets.copy()
        self.entries = {name: rows.entries(values, values.dtype) for name, values in constants.items()}
        self.entries_used = len(self.offsets)
        self._pools: dict[int, _Pool] = {}
        self._pairs = Pairs()
        self.graves = Graves(self._last_values(np.zeros(0, np.int64)))
        self.struck = self.halves(np.zeros(0, np.int64))
        self.empty_row = self._new_rows(np.array([_SMALLEST_ROW]))[0]
        spare = min(count, _POOL_ROWS)
        self.row_room = len(self.starts) + spare
        self.entry_room = self.entries_used + (spare + rows.stride) * _SMALLEST_ROW

    @contextmanager
    def settled(self) -> Iterator[None]:
        """A block in which the network stays as it is; for whoever holds the gate it is that of the device."""
        with self.lock:
            while self.prepared and self.prepared[0][0].mine:
                self.prepared.popleft()[1]()
            yield

    # --- what there is ---

    def live_springs(self) -> np.ndarray:
        """Indices of the springs that exist, shape [k]."""
        return np.flatnonzero(self.springs.alive[: self.springs.used])

    def only_broke(self, masses: int) -> bool:
        """Whether no edit has changed what there is of so many masses: all springs that are gone have broken."""
        gone = int((~self.springs.alive[: self.springs.used]).sum())
        return self.masses.used == self.masses.live_count == masses and 2 * gone == len(self.struck["mass"])

    def extents(self) -> np.ndarray:
        """First entry and number of entries of each row, shape [r, 2]."""
        return np.stack([self.starts, self.counts], axis=1)

    def rest_lengths(self, index: np.ndarray) -> np.ndarray:
        """Passive rest lengths of springs [m]."""
        return self.lengths[index]

    def springs_between(self, first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
        """The live springs between each pair of masses."""
        return self._pairs.between(first, second, springs=self.springs, ends=self.ends)

    def springs_of(self, mass: int) -> np.ndarray:
        """The live springs that hold a mass."""
        row = self.row_of[mass]
        entry = self.starts[row] + np.arange(self.counts[row]) * self.stride
        others = np.unique(mass + self.offsets[entry])
        ids = self.springs_between(np.full(len(others), mass), others)
        return np.concatenate(ids) if ids else np.zeros(0, np.int64)

    def degree(self, masses: np.ndarray) -> np.ndarray:
        """Number of springs of each mass."""
        return self.counts[self.row_of[masses]]

    def offsets_of(self, masses: np.ndarray) -> np.ndarray:
        """Offsets to the other end of all half-springs of masses, mass after mass."""
        return self._entries_of(masses)["offset"]

    def spare_rows(self) -> dict[int, list[int]]:
        """Rows that nobody uses by their capacity; the last is taken first."""
        return {capacity: pool.free for capacity, pool in self._pools.items()}

    def set_spare_rows(self, pairs: np.ndarray) -> None:
        """Set `spare_rows` from pairs of capacity and row, shape [k, 2]."""
        self._pools = {}
        for capacity, row in pairs.tolist():
            self._pools.setdefault(capacity, _Pool()).free.append(row)

    # --- changes ---

    def become(self, other: Network) -> None:
        """Take over all that another network holds; who waits for the lock of this one goes on waiting for it."""
        lock, prepared, version = self.lock, self.prepared, self.version
        vars(self).update(vars(other))
        self.lock, self.prepared, self.version = lock, prepared, version + 1

    def _note_change(self) -> None:
        self.version += 1
        self.edited = True

    def add_masses(self, masses: np.ndarray) -> None:
        """Give new mass slots an empty row."""
        need = int(masses.max()) + 1 if len(masses) else 0
        if need > len(self.row_of):
            room = max(need, 2 * len(self.row_of))
            self.row_of = np.concatenate([self.row_of, np.full(room - len(self.row_of), self.empty_row, np.int32)])
        self.row_of[masses] = self.empty_row

    def place_springs(self, index: np.ndarray, ends: np.ndarray) -> None:
        """Say between which masses new springs will be (they are put into rows by `rewire`)."""
        self._spring_room(int(index.max()) + 1 if len(index) else 0)
        self.ends[index] = ends
        self._pairs.note(index, springs=self.springs, ends=self.ends)

    def write_springs(self, index: np.ndarray, lengths: np.ndarray, constants: dict[str, np.ndarray]) -> None:
        """Describe springs in their slots."""
        self.lengths[index] = lengths
        for name, values in constants.items():
            self.constants[name][index] = values

    def change_springs(self, index: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Change stiffness, rest length or damping of springs in their slots."""
        columns = self.constants
        lengths = self.rest_lengths(index)
        stiffness = values.get("stiffness", columns["stiffness"][index])
        rest = values.get("rest_lengths", lengths)
        if "limit" in columns:
            columns["limit"][index] *= (rest / lengths) ** 2
        self.lengths[index] = rest
        columns["stiffness"][index], columns["pull"][index] = stiffness, stiffness * rest
        if "damping" in values:
            columns["damping"][index] = values["damping"]

    def strike(self, index: np.ndarray) -> None:
        """Remove broken springs from the list; their entries stay in the rows until the next edit."""
        halves = self.halves(index)
        self.struck = {name: np.concatenate([values, halves[name]]) for name, values in self.struck.items()}
        self.bury(index)
        self.springs.free(index)
        self._note_change()

    def mend(self, masses: np.ndarray) -> None:
        """Take the broken springs of some masses back into the list, whose entries never left the rows.

        Args:
            masses: Whether springs of a mass come back, shape [n]; both masses of a spring, or neither.
        """
        back = masses[self.struck["mass"]]
        self.struck = {name: values[~back] for name, values in self.struck.items()}
        gone = np.flatnonzero(~self.springs.alive[: self.springs.used])
        self.springs.refill(gone[masses[self.ends[gone, 0]]])
        self.version += 1

    def bury(self, index: np.ndarray) -> None:
        """Keep the last values of springs that are about to be removed, for handles that become stale."""
        if len(index):
            self.graves.add(self._last_values(index))

    def _last_values(self, index: np.ndarray) -> Part:
        values = {name: column[index].copy() for name, column in self._columns().items()}
        return index.copy(), self.springs.generation[index].copy(), self.ends[index].copy(), values

    def spring_values(self, handles: Handles) -> dict[str, np.ndarray]:
        """Ends, stiffness [N/m] and rest length [m] of springs; of a removed one, what they were last."""
        alive = self.springs.valid(handles)
        ends = self.ends[np.where(alive, handles.index, 0)].copy()
        columns = {name: column[np.where(alive, handles.index, 0)].copy() for name, column in self._columns().items()}
        for k in np.flatnonzero(~alive):
            ends[k], values = self.graves.find(int(handles.index[k]), int(handles.generation[k]))
            for name, value in values.items():
                columns[name][k] = value
        return {"alive": alive, "ends": ends, **columns}

    def _columns(self) -> dict[str, np.ndarray]:
        """All that is known of springs besides their ends."""
        return {"rest_lengths": self.lengths, **self.constants}

    def halves(self, index: np.ndarray) -> dict[str, np.ndarray]:
        """Both halves of springs: mass, offset to the other mass, and constants."""
        mine, other = self.ends[index].T.ravel(), self.ends[index][:, ::-1].T.ravel()
        table = {"mass": mine.astype(np.int64), "offset": (other - mine).astype(np.int32)}
        return table | {name: np.tile(values[index], 2) for name, values in self.constants.items()}

    def rewire(self, removed: dict[str, np.ndarray], added: dict[str, np.ndarray]) -> Patch:
        """Take half-springs out of rows and put others in; only the rows of the masses concerned are touched."""
        self._note_change()
        touched = np.unique(np.concatenate([removed["mass"], added["mass"]]))
        old = self._entries_of(touched)
        kept = _without(old, removed)
        table = {name: np.concatenate([kept[name], added[name]]) for name in kept}
        # Kept entries are in order already: a stable sort of nearly sorted keys costs little more than a look at them.
        order = np.argsort((table["mass"] << 32) + table["offset"], kind="stable")
        table = {name: values[order] for name, values in table.items()}
        owner = np.searchsorted(touched, table["mass"])
        counts = np.bincount(owner, minlength=len(touched)).astype(np.int32)
        rows, replaced = self._rows_for(touched, counts)
        self.counts[rows] = counts
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        entries = self.starts[rows][owner] + within * self.stride
        self.offsets[entries] = table["offset"]
        for name in self.entries:
            self.entries[name][entries] = table[name]
        extents = np.stack([self.starts[rows], counts], axis=1).astype(np.int32)
        constants = {name: table[name] for name in self.entries}
        return Patch(touched, rows.astype(np.int32), rows, extents, entries, table["offset"], constants, replaced)

    def verify(self) -> None:
        """Check that each live spring stands once in the rows of its two masses, and nothing else stands there."""
        live = self.live_springs()
        listed = self.halves(live)
        wanted = {name: np.concatenate([values, self.struck[name]]) for name, values in listed.items()}
        masses = np.flatnonzero(self.masses.alive[: self.masses.used])
        there = self._entries_of(masses)
        if len(there["mass"]) != len(wanted["mass"]):
            raise AnnelidError(f"{len(there['mass'])} half-springs are in rows, {len(wanted['mass'])} should be.")
        if not np.array_equal(np.sort(entry_keys(_columns(there))), np.sort(entry_keys(_columns(wanted)))):
            raise AnnelidError("the rows of the network do not match its springs.")
        if not self.masses.alive[self.ends[live]].all():
            raise AnnelidError("a live spring ends at a mass that does not exist.")

    def _entries_of(self, masses: np.ndarray) -> dict[str, np.ndarray]:
        """All half-springs of masses."""
        rows = self.row_of[masses]
        counts = self.counts[rows]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        entry = np.repeat(self.starts[rows], counts) + within * self.stride
        table = {"mass": np.repeat(masses, counts), "offset": self.offsets[entry]}
        return table | {name: values[entry] for name, values in self.entries.items()}

    def release(self, patch: Patch) -> None:
        """Return the rows that a patch has replaced to the pools, once the device no longer uses them."""
        for row in patch.replaced[self.capacities[patch.replaced] >= _SMALLEST_ROW].tolist():
            self._pools.setdefault(int(self.capacities[row]), _Pool()).free.append(row)

    def _rows_for(self, masses: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A new row for each mass, and the rows that are no longer used.

        Rows are never changed in place: until a mass is switched to its new row, the kernels go on with the old one.
        """
        left = self.row_of[masses].astype(np.int64)
        np.subtract.at(self.users, left, 1)
        unused = np.unique(left[(self.users[left] == 0) & (left != self.empty_row)])
        rows = np.full(len(masses), self.empty_row, np.int64)
        rows[counts > 0] = self._new_rows(_capacity(counts[counts > 0]))
        self.users[rows] = 1
        self.row_of[masses] = rows
        return rows, unused

    def _new_rows(self, capacities: np.ndarray) -> np.ndarray:
        """Rows from the pools, which are filled as needed."""
        rows = np.empty(len(capacities), np.int64)
        for capacity in np.unique(capacities).tolist():
            pool = self._pools.setdefault(capacity, _Pool())
            wanted = np.flatnonzero(capacities == capacity)
            if len(wanted) > len(pool.free):
                self._fill(pool, capacity, len(wanted) - len(pool.free))
            rows[wanted] = [pool.free.pop() for _ in range(len(wanted))]
        return rows

    def _fill(self, pool: _Pool, capacity: int, missing: int) -> None:
        """Lay new rows of a capacity at the end of the entries, in blocks as wide as the stride."""
        blocks = -(-missing // self.stride)
        first = len(self.starts)
        number = np.arange(blocks * self.stride)
        starts = self.entries_used + number // self.stride * (capacity * self.stride) + number % self.stride
        self.entries_used += blocks * capacity * self.stride
        self.starts = np.concatenate([self.starts, starts])
        self.counts = np.concatenate([self.counts, np.zeros(len(number), np.int32)])
        self.capacities = np.concatenate([self.capacities, np.full(len(number), capacity, self.capacities.dtype)])
        self.users = np.concatenate([self.users, np.zeros(len(number), self.users.dtype)])
        self._entry_room(self.entries_used)
        pool.free.extend(range(first + len(number) - 1, first - 1, -1))

    def _entry_room(self, size: int) -> None:
        if size > len(self.offsets):
            extra = max(size, 2 * len(self.offsets)) - len(self.offsets)
            self.offsets = np.concatenate([self.offsets, np.zeros(extra, np.int32)])
            for name, values in self.entries.items():
                self.entries[name] = np.concatenate([values, np.zeros(extra, values.dtype)])

    def _spring_room(self, size: int) -> None:
        if size > len(self.ends):
            extra = max(size, 2 * len(self.ends)) - len(self.ends)
            self.ends = np.concatenate([self.ends, np.zeros((extra, 2), np.int32)])
            self.lengths = np.concatenate([self.lengths, np.zeros(extra)])
            for name, values in self.constants.items():
                self.constants[name] = np.concatenate([values, np.zeros(extra, values.dtype)])


def _capacity(counts: np.ndarray) -> np.ndarray:
    """Room of a row for that many entries: a power of two, with some to spare."""
    return np.maximum(_SMALLEST_ROW, 2 ** np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64))


def _columns(table: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [np.ascontiguousarray(values) for values in table.values()]


def _without(entries: dict[str, np.ndarray], removed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Entries less the removed ones, as multisets: of equal entries as many go as were removed."""
    if len(removed["mass"]) == 0:
        return entries
    have, gone = entry_keys(_columns(entries)), entry_keys(_columns({name: removed[name] for name in entries}))
    gone = np.sort(gone)
    like = np.flatnonzero(gone[np.minimum(np.searchsorted(gone, have), len(gone) - 1)] == have)
    like = like[np.argsort(have[like], kind="stable")]
    ranked = have[like]
    place = np.searchsorted(ranked, gone, "left") + np.arange(len(gone)) - np.searchsorted(gone, gone, "left")
    if len(ranked) == 0 or (place >= len(ranked)).any() or (ranked[np.minimum(place, len(ranked) - 1)] != gone).any():
        raise AnnelidError("a spring to remove is not in its masses' rows: the network is damaged.")
    keep = np.ones(len(have), bool)
    keep[like[place]] = False
    return {name: values[keep] for name, values in entries.items()}
