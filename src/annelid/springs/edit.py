"""Edits of a running network: masses and springs that are added, removed and changed between two steps.

An edit collects changes, checks them all, and is applied as a whole or not at all. Its cost depends on what it changes,
not on the size of the body.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers, as_truths
from annelid.core.device import undisturbed
from annelid.core.errors import AnnelidError, InvalidValue, StaleHandle
from annelid.core.gate import Gate
from annelid.core.handles import Handles, HandleTable
from annelid.core.options import require_truth
from annelid.springs.choosing import Choice, chosen_by_number, chosen_by_place, warn_of_slots
from annelid.springs.model import Model
from annelid.springs.network import Patch

MassLike = Choice
SpringLike = Choice


@dataclass
class _NewSprings:
    handles: Handles
    ends: np.ndarray
    stiffness: np.ndarray
    rest_lengths: np.ndarray | None
    damping: np.ndarray
    yield_strains: np.ndarray


@dataclass
class MassChange:
    """New values for masses; what is None stays.

    Attributes:
        index: Slots, shape [k].
        positions: [m], shape [k, 3].
        velocities: [m/s], shape [k, 3].
        masses: [kg], shape [k].
        fixed: Whether they are held, shape [k].
        forces: Constant external forces [N], shape [k, 3].
    """

    index: np.ndarray
    positions: np.ndarray | None = None
    velocities: np.ndarray | None = None
    masses: np.ndarray | None = None
    fixed: np.ndarray | None = None
    forces: np.ndarray | None = None


class EditedSolver(Protocol):
    """What an edit asks of the solver whose network it changes; `springs.Solver` has it.

    Attributes:
        model: The model.
        device: Where it computes.
    """

    model: Model
    device: wp.Device

    def sweep_broken(self, states: Sequence[Any]) -> None:
        """Take springs that broke by now out of the network."""
        ...

    def positions_of(self, state: Any, masses: np.ndarray) -> np.ndarray:
        """Positions of some masses [m], shape [k, 3]."""
        ...

    def prepare(self, patch: Patch) -> None:
        """Write new rows while the simulation runs."""
        ...

    def install(self, patch: Patch, changes: Sequence[MassChange], gone: np.ndarray, states: Sequence[Any]) -> None:
        """Bring a change of the network and of masses to the device, between two steps."""
        ...


class Editor:
    """Collects the changes of one edit: `with simulation.edit() as e: ...`.

    Masses and springs are named by handles; by a function of positions, or of the midpoints of springs; by a mask over
    those that are left, masses in the order of `positions()`; or by index. Indices are slots, which keep their numbers
    when others are removed, unlike the rows of `positions()`.

    Attributes:
        pause_seconds: For how long the simulation stood still when it was applied [s].
    """

    def __init__(self, solver: EditedSolver, states: Sequence[Any]) -> None:
        self._solver, self._states = solver, states
        self._gate: AbstractContextManager[Any] = nullcontext()
        self._network = solver.model.network
        self._removed: list[Handles] = []
        self._removed_masses: list[tuple[Handles, bool]] = []
        self._changed: list[tuple[Handles, dict[str, np.ndarray]]] = []
        self._added: list[_NewSprings] = []
        self._mass_changes: list[tuple[Handles, MassChange]] = []
        self._new_masses: list[Handles] = []
        self._tables = (self._network.masses, self._network.springs)
        self._filled = False
        self._over = False
        self.pause_seconds = 0.0

    # --- changes that are asked for ---

    def masses(self, which: MassLike | None = None) -> Handles:
        """Handles to masses: to all that are left, in the order of `positions()`, or to those that are named."""
        self._require_open()
        if which is not None:
            return self._handles(self._network.masses, which)
        with self._network.lock:
            return self._network.masses.handles()

    def add_masses(
        self, positions: np.ndarray, masses: float | np.ndarray, *, velocities: Any = 0.0, fixed: Any = False
    ) -> Handles:
        """Add masses [kg] at positions [m], shape [k, 3]; the handles are valid at once, also in this edit."""
        self._require_open()
        points = np.atleast_2d(as_numbers("positions of new masses", positions))
        weights = _spread("mass", masses, len(points), low=0.0, strict=True)
        if points.shape[1] != 3 or not np.isfinite(points).all():
            raise InvalidValue("positions of new masses must be finite numbers of shape [k, 3].")
        try:
            speeds = np.broadcast_to(np.asarray(velocities, float), points.shape)
        except (TypeError, ValueError, OverflowError):
            speeds = np.full(points.shape, np.nan)
        if not np.isfinite(speeds).all():
            raise InvalidValue("velocities of new masses must be finite numbers of shape [k, 3], or one for all.")
        held = as_truths("fixed of new masses", fixed)
        if held.shape not in ((), (1,), (len(points),)):
            raise InvalidValue(f"fixed has shape {list(held.shape)}, expected one value or {len(points)}.")
        held = np.broadcast_to(held, len(points))
        with self._network.lock:
            handles = self._network.masses.reserve(len(points))
        self._new_masses.append(handles)
        self._mass_changes.append(
            (handles, MassChange(handles.index, points, speeds, weights, held, np.zeros_like(points)))
        )
        return handles

    def change_masses(self, which: MassLike, **values: Any) -> None:
        """Change `positions`, `velocities`, `masses`, `fixed` or `forces` of masses."""
        self._require_open()
        handles = self._masses(which)
        shapes = {"positions": 3, "velocities": 3, "forces": 3, "masses": 0, "fixed": 0}
        change = MassChange(handles.index)
        for name, value in values.items():
            if name not in shapes:
                raise InvalidValue(f"a mass has no {name!r}; it has {', '.join(shapes)}.")
            shape = (len(handles), 3) if shapes[name] else (len(handles),)
            try:
                given = as_truths("fixed of masses", value) if name == "fixed" else np.asarray(value, float)
                array = np.broadcast_to(given, shape).copy()
            except InvalidValue:
                raise
            except (TypeError, ValueError, OverflowError):
                raise InvalidValue(
                    f"{name} of {len(handles)} masses must be one value for all or an array of shape {list(shape)}, "
                    f"not {value!r:.60}."
                ) from None
            if not np.isfinite(array).all() or (name == "masses" and not (array > 0.0).all()):
                raise InvalidValue(f"{name} must be finite" + (" and positive." if name == "masses" else "."))
            setattr(change, name, array)
        self._mass_changes.append((handles, change))

    def remove_masses(self, masses: MassLike, *, with_springs: bool = False) -> None:
        """Remove masses; those that springs still hold are refused unless their springs go too."""
        self._require_open()
        require_truth("with_springs", with_springs)
        self._removed_masses.append((self._masses(masses), with_springs))

    def add_springs(
        self,
        first: MassLike,
        second: MassLike,
        *,
        stiffness: float | np.ndarray,
        rest_lengths: float | np.ndarray | None = None,
        damping: float | np.ndarray = 0.0,
        yield_strains: float | np.ndarray = np.inf,
    ) -> Handles:
        """Add springs between pairs of masses; None rests at the distance that the masses have when it is applied."""
        self._require_open()
        a, b = self._masses(first), self._masses(second)
        count = len(a)
        if len(b) != count:
            raise InvalidValue(f"springs need as many first ends as second ones, not {count} and {len(b)}.")
        if (a.index == b.index).any():
            raise InvalidValue(f"a spring from mass {int(a.index[a.index == b.index][0])} to itself cannot be added.")
        values = (
            np.stack([a.index, b.index], axis=1),
            _spread("stiffness", stiffness, count, low=0.0),
            None if rest_lengths is None else _spread("rest length", rest_lengths, count, low=0.0, strict=True),
            _spread("damping", damping, count, low=0.0),
            _spread("yield strain", yield_strains, count, low=0.0, strict=True, finite=False),
        )
        new = _NewSprings(self._take_springs(count), *values)
        self._added.append(new)
        return new.handles

    def remove_springs(self, springs: SpringLike) -> None:
        """Remove springs."""
        self._require_open()
        self._removed.append(self._springs(springs))

    def change_springs(self, springs: SpringLike, **values: float | np.ndarray) -> None:
        """Change `stiffness`, `rest_lengths` or `damping` of springs."""
        self._require_open()
        handles = self._springs(springs)
        known = ("stiffness", "rest_lengths", "damping")
        for name in values:
            if name not in known:
                raise InvalidValue(f"a spring has no {name!r} to change; it has {', '.join(known)}.")
        spread = {n: _spread(n, v, len(handles), low=0.0, strict=n == "rest_lengths") for n, v in values.items()}
        self._changed.append((handles, spread))

    # --- application ---

    @contextmanager
    def collecting(self, gate: Gate) -> Iterator[Editor]:
        """The block in which changes are collected; at its end they are applied, or given back if anything fails."""
        self._gate = gate
        try:
            yield self
            self._over = True
            self._apply(gate)
        except BaseException:
            self._give_back()
            raise
        finally:
            self._over = True

    def _apply(self, gate: Gate) -> None:
        """Check everything, then change rows and state between two steps.

        The gate comes before the lock of the network, and nobody waits for the gate with that lock: see `core.locks`.
        """
        network = self._network
        # What depends on the moment is looked up while the simulation stands still; the rest is prepared while it runs.
        if self._solver.model.features.breaking or any(new.rest_lengths is None for new in self._added):
            with gate, network.settled(), undisturbed(self._solver.device):
                self._solver.sweep_broken(self._states)
                self._prepare(gate)
        else:
            with network.lock:
                self._prepare(gate)
        with gate, network.settled():  # by now another thread may have installed it
            pass

    def _prepare(self, gate: Gate) -> None:
        """Change the network, and leave it to whoever next has the gate and the network to change the device."""
        network = self._network
        self._fill_slots()
        removed, masses_gone = self._check()
        added = self._describe()
        gone = self._leaving(removed)
        there = self._write(added, removed)
        network.bury(removed)
        network.springs.free(removed)
        patch = network.rewire(gone, there)
        network.masses.free(masses_gone)
        if self._solver.device.is_cpu:  # on CUDA another thread may be capturing its stream
            self._solver.prepare(patch)
        self._new_masses, self._added = [], []  # are not given back any more
        network.prepared.append((gate, lambda: self._install(patch, masses_gone)))

    def _install(self, patch: Patch, masses_gone: np.ndarray) -> None:
        begin = time.perf_counter()
        changes = [change for _, change in self._mass_changes]
        with undisturbed(self._solver.device):
            self._solver.install(patch, changes, masses_gone, self._states)
        self.pause_seconds = time.perf_counter() - begin

    def _check(self) -> tuple[np.ndarray, np.ndarray]:
        """All springs to remove and all masses to remove, after every check that can fail."""
        table, network = self._network.springs, self._network
        if self._solver.model.features.substeps > 1:
            raise InvalidValue("a body with a group of smaller steps cannot be edited while it runs.")
        removed = [table.require(handles) for handles in self._removed]
        for handles, values in self._changed:
            table.require(handles)
            self._require_column("damping", "damping", "damping" in values)
        for handles, _ in self._mass_changes:
            network.masses.require(handles)
        for new in self._added:
            alive = network.masses.alive[new.ends]
            if not alive.all():
                raise InvalidValue("a spring cannot be added to a mass that was removed in the meantime.")
        gone = [network.masses.require(handles) for handles, _ in self._removed_masses]
        for (_, with_springs), masses in zip(self._removed_masses, gone, strict=True):
            if with_springs:
                removed += [network.springs_of(int(mass)) for mass in masses]
                removed += [new.handles.index[np.isin(new.ends, masses).any(axis=1)] for new in self._added]
        springs, masses = _joined(removed), _joined(gone)
        self._require_free(springs, masses)
        if np.intersect1d(self._changed_springs(), springs).size:
            raise InvalidValue("a spring cannot be changed and removed in one edit.")
        return springs, masses

    def _require_free(self, springs: np.ndarray, masses: np.ndarray) -> None:
        """Refuse to remove masses that would leave springs without an end."""
        if not len(masses):
            return
        ends = self._network.ends[springs].ravel()
        new_ends = np.concatenate([np.zeros(0, np.int64), *(new.ends.ravel() for new in self._added)])
        held = self._network.degree(masses) + np.array([(new_ends == m).sum() for m in masses])
        left = held - np.array([(ends == m).sum() for m in masses])
        if (left > 0).any():
            mass, count = int(masses[left > 0][0]), int(left[left > 0][0])
            raise InvalidValue(
                f"mass {mass} cannot be removed: {count} spring(s) would be left without an end; "
                "remove them too, or use with_springs=True."
            )

    def _describe(self) -> list[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
        """New springs as index, rest lengths and constants."""
        lengths = [self._rest_lengths(new) for new in self._added]
        return [(n.handles.index, own, self._constants(n, own)) for n, own in zip(self._added, lengths, strict=True)]

    def _rest_lengths(self, new: _NewSprings) -> np.ndarray:
        """Rest lengths of new springs [m]; those that rest as they are get the distance of their masses."""
        if new.rest_lengths is not None:
            return new.rest_lengths
        points = self._positions(new.ends.ravel()).reshape(-1, 2, 3)
        lengths = np.linalg.norm(points[:, 1] - points[:, 0], axis=1)
        if not (lengths > 0.0).all():
            raise InvalidValue("a spring between two masses at one place needs a rest length.")
        return np.asarray(lengths)

    def _constants(self, new: _NewSprings, lengths: np.ndarray) -> dict[str, np.ndarray]:
        columns = self._network.constants
        self._require_column("damping", "damping", bool((new.damping > 0.0).any()))
        self._require_column("limit", "breaking", bool(np.isfinite(new.yield_strains).any()))
        values = {
            "stiffness": new.stiffness,
            "pull": new.stiffness * lengths,
            "damping": new.damping,
            "signal": np.zeros(len(lengths)),
            "limit": (lengths * (1.0 + new.yield_strains)) ** 2,
        }
        return {name: values[name].astype(column.dtype) for name, column in columns.items()}

    def _require_column(self, column: str, feature: str, wanted: bool) -> None:
        if wanted and column not in self._network.constants:
            raise InvalidValue(
                f"this model has no spring {feature}: build it with prepare=({feature!r},) to add it later."
            )

    def _positions(self, masses: np.ndarray) -> np.ndarray:
        """Positions now; those of masses that this very edit adds are where it puts them."""
        points = self._solver.positions_of(self._states[0], masses)
        for handles, change in self._mass_changes:
            if change.positions is not None:
                where = {int(i): p for i, p in zip(handles.index, change.positions, strict=True)}
                for k, mass in enumerate(masses.tolist()):
                    points[k] = where.get(mass, points[k])
        return points

    def _changed_springs(self) -> np.ndarray:
        return _joined([handles.index for handles, _ in self._changed])

    def _new_springs(self) -> np.ndarray:
        return _joined([new.handles.index for new in self._added])

    def _leaving(self, removed: np.ndarray) -> dict[str, np.ndarray]:
        """Half-springs that leave their rows: of removed springs, and the old form of changed ones."""
        old = np.union1d(removed, self._changed_springs())
        return self._network.halves(np.setdiff1d(old, self._new_springs()))

    def _write(
        self, added: list[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]], removed: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Write new and changed springs into their slots; returns the half-springs that enter rows."""
        network = self._network
        for index, lengths, constants in added:
            network.write_springs(index, lengths, constants)
        for handles, values in self._changed:
            network.change_springs(handles.index, values)
        written = np.union1d(self._new_springs(), self._changed_springs())
        return network.halves(np.setdiff1d(written, removed))

    def _fill_slots(self) -> None:
        if self._tables != (self._network.masses, self._network.springs):
            raise StaleHandle("the simulation was loaded or reset while this edit was collected: begin it again.")
        for handles in self._new_masses:
            self._network.masses.fill(handles)
            self._network.add_masses(handles.index)  # a row, also for one that this very edit removes again
        for new in self._added:
            self._network.place_springs(new.handles.index, new.ends)  # before anyone looks for springs between masses
            self._network.springs.fill(new.handles)
        self._filled = True

    def _give_back(self) -> None:
        """Free the slots of what will not come, if they are still there after a `load` or `reset`."""
        taken = [(self._network.masses, handles) for handles in self._new_masses]
        taken += [(self._network.springs, new.handles) for new in self._added]
        self._new_masses, self._added = [], []
        if self._tables == (self._network.masses, self._network.springs):
            with self._network.lock:
                for table, handles in taken:
                    table.free(handles.index) if self._filled else table.give_back(handles)

    def _take_springs(self, count: int) -> Handles:
        with self._network.lock:
            return self._network.springs.reserve(count)

    def _masses(self, given: MassLike) -> Handles:
        handles = self._handles(self._network.masses, given)
        warn_of_slots(self._network.masses, given, handles)
        return handles

    def _springs(self, given: SpringLike) -> Handles:
        return self._handles(self._network.springs, given)

    def _handles(self, table: HandleTable, given: Choice) -> Handles:
        if isinstance(given, Handles):
            return given
        if not callable(given):
            with self._network.lock:
                return chosen_by_number(table, given)
        with self._gate, self._network.settled():
            live = table.handles()
            places = self._places(live)
        return chosen_by_place(live, places, given)  # the user's function may ask for locks of its own

    def _places(self, live: Handles) -> np.ndarray:
        """Where masses are, and the middle of springs [m], shape [k, 3]."""
        if live.kind == "mass":
            return self._solver.positions_of(self._states[0], live.index)
        ends = self._network.ends[live.index]
        return self._solver.positions_of(self._states[0], ends.ravel()).reshape(-1, 2, 3).mean(axis=1)

    def _require_open(self) -> None:
        if self._over:
            raise AnnelidError("this edit is over: begin another one, `with simulation.edit() as edit: ...`.")


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """All indices once; an index that is named twice counts once."""
    return np.unique(np.concatenate([np.zeros(0, np.int64), *(np.asarray(part, np.int64) for part in parts)]))


def _spread(what: str, values: Any, count: int, *, low: float, strict: bool = False, finite: bool = True) -> np.ndarray:
    given = as_numbers(what, values)
    try:
        array = np.broadcast_to(given, count).copy()
    except ValueError:
        raise InvalidValue(f"{what} has shape {list(given.shape)}, expected one value or {count}.") from None
    good = (array > low if strict else array >= low) & (np.isfinite(array) | (not finite))
    if not good.all():
        raise InvalidValue(f"{what} is {array[~good][0]}: it must be {'above' if strict else 'at least'} {low:g}.")
    return array
