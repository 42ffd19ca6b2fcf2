"""A network as plain arrays, for checkpoints of bodies that were edited or have broken.

The order of entries in rows, of free slots and of spare rows is part of it: what is loaded goes on to the bit, and
later edits of it hand out the same slots.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from annelid.core.errors import AnnelidError, FileFormatError
from annelid.core.handles import HandleTable
from annelid.springs.network import Network

_PLAIN = ("ends", "lengths", "row_of", "starts", "counts", "capacities", "users", "offsets")
_COUNTS = ("entries_used", "row_room", "entry_room")


def network_record(network: Network) -> dict[str, np.ndarray]:
    """The arrays that `restore_network` makes the same network from."""
    pools = [(capacity, row) for capacity, rows in network.spare_rows().items() for row in rows]
    index, generation, ends, values = network.graves.joined()
    record = {name: getattr(network, name).copy() for name in _PLAIN}
    record |= {f"constants.{name}": column.copy() for name, column in network.constants.items()}
    record |= {f"entries.{name}": column.copy() for name, column in network.entries.items()}
    record |= {f"struck.{name}": column.copy() for name, column in network.struck.items()}
    record |= {f"graves.{name}": column.copy() for name, column in values.items()}
    record |= {"graves.index": index, "graves.generation": generation, "graves.ends": ends}
    record |= _table_record("masses", network.masses) | _table_record("springs", network.springs)
    record["spare"] = np.array(pools, np.int64).reshape(-1, 2)
    record["counters"] = np.array([getattr(network, name) for name in _COUNTS], np.int64)
    return record


def restore_network(network: Network, record: Mapping[str, np.ndarray], mass_count: int) -> None:
    """Make a network what it was when it was recorded; `network` is as built.

    Args:
        network: The network of the same body before any change.
        record: What `network_record` returned, from a file that nobody vouches for.
        mass_count: Number of mass slots that the kernels visit.
    """
    _require_alike(network_record(network), record)
    for name in _PLAIN:
        setattr(network, name, record[name].copy())
    for name, value in zip(_COUNTS, record["counters"].tolist(), strict=True):
        setattr(network, name, int(value))
    for group, columns in (("constants", network.constants), ("entries", network.entries), ("struck", network.struck)):
        for name in columns:
            columns[name] = record[f"{group}.{name}"].copy()
    _restore_table(network.masses, "masses", record)
    _restore_table(network.springs, "springs", record)
    values = {name: record[f"graves.{name}"].copy() for name in network.graves.joined()[3]}
    network.graves.add((record["graves.index"], record["graves.generation"], record["graves.ends"], values))
    network.set_spare_rows(record["spare"])
    try:
        _require_inside(network, mass_count)
        network.verify()
    except (IndexError, ValueError, AnnelidError) as error:
        raise FileFormatError("the checkpoint is damaged: the springs in it do not fit together.") from error


def _table_record(name: str, table: HandleTable) -> dict[str, np.ndarray]:
    alive, generation = table.alive[: table.filled].copy(), table.generation[: table.filled].copy()
    free = np.array([slot for slot in table.free_slots if slot < table.filled], np.int64)
    reserved = np.setdiff1d(np.flatnonzero(~alive), free)  # by edits that are not part of it
    free = np.concatenate([free, reserved])
    return {f"{name}.alive": alive, f"{name}.generation": generation, f"{name}.free": free}


def _restore_table(table: HandleTable, name: str, record: Mapping[str, np.ndarray]) -> None:
    alive, generation, free = (record[f"{name}.{part}"] for part in ("alive", "generation", "free"))
    if len(alive) != len(generation) or not np.array_equal(np.sort(free), np.flatnonzero(~alive)):
        raise FileFormatError(f"the checkpoint is damaged: its slots of {name} contradict each other.")
    table.used = table.filled = len(alive)
    table.alive, table.generation = alive.copy(), generation.copy()
    table.free_slots = free.tolist()


def _require_alike(built: Mapping[str, np.ndarray], record: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays of other kinds than those of the network as it was built."""
    for name, array in built.items():
        given = record.get(name)
        if given is None or given.dtype != array.dtype or given.shape[1:] != array.shape[1:]:
            raise FileFormatError(f"the checkpoint is damaged: its springs have no array {name!r} of the right kind.")


def _require_inside(network: Network, mass_count: int) -> None:
    """Refuse indices that point outside their arrays, before a kernel follows them."""
    rows, masses = len(network.starts), network.masses.used
    last = network.starts + (np.maximum(network.counts, 1) - 1) * network.stride
    inside = (
        masses <= mass_count
        and len(network.row_of) >= masses
        and all(len(a) == rows for a in (network.counts, network.capacities, network.users))
        and all(len(a) == len(network.offsets) for a in network.entries.values())
        and all(
            len(a) == len(network.ends) >= network.springs.used for a in (network.lengths, *network.constants.values())
        )
        and 0 <= network.entries_used <= len(network.offsets)
        and network.row_room >= rows
        and (network.counts >= 0).all()
        and (network.counts <= network.capacities).all()
        and _within(network.row_of, rows)
        and _within(network.starts, len(network.offsets))
        and _within(last, len(network.offsets))
        and _within(network.ends[: network.springs.used], masses)
        and all(_within(np.asarray(spare), rows) for spare in network.spare_rows().values())
    )
    if not inside:
        raise ValueError("indices of the network point outside it")
    mass = np.repeat(np.arange(masses), network.counts[network.row_of[:masses]])
    if not _within(mass + network.offsets_of(np.arange(masses)), masses):
        raise ValueError("a spring ends outside the network")


def _within(index: np.ndarray, size: int) -> bool:
    return bool(len(index) == 0 or (index.min() >= 0 and index.max() < size))
