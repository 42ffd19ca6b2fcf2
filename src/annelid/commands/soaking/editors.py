"""Those who edit the tower, each in a thread of its own; they look after each edit whether it is there.

What an editor has made of the tower it can hand out (`held`) and take back (`hold`), because a checkpoint that is
loaded takes back edits, too.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from annelid.commands.soaking.tower import PITCH, STIFFNESS, Tower
from annelid.commands.soaking.wanted import want
from annelid.core.handles import Handles

_MOST_GROWN = 16
_CHANGED_AT_ONCE = 8
_MASS = 0.1


class Editor(Protocol):
    """Edits a tower, and knows what it must have become.

    Attributes:
        name: What it does.
        masses: Masses that it has added and not removed.
        springs: Springs that it has added and that have neither gone nor broken.
    """

    name: str

    @property
    def masses(self) -> int: ...  # noqa: D102 - above

    @property
    def springs(self) -> int: ...  # noqa: D102 - above

    def edit(self) -> None:
        """Make one edit and look whether it is there."""
        ...

    def verify(self) -> None:
        """Look whether everything is there that it has made."""
        ...

    def held(self) -> Any:
        """A copy of what it must find, for `hold`."""
        ...

    def hold(self, held: Any) -> None:
        """The tower was taken back to where it was then."""
        ...


class Stiffener:
    """Changes springs of its own share of the tower.

    Args:
        simulation: The tower.
        springs: Its springs, which nobody else changes.
        seed: Of its choices.
    """

    name = "stiffness"
    masses = springs = 0

    def __init__(self, simulation: Tower, springs: np.ndarray, seed: int) -> None:
        self._simulation, self._network = simulation, simulation.solver.model.network
        self._own, self._random = springs, np.random.default_rng(seed)
        self._wanted = self._network.constants["stiffness"][springs].copy()

    def edit(self) -> None:
        """Change the stiffness of some springs."""
        chosen = self._random.choice(len(self._own), _CHANGED_AT_ONCE, replace=False)
        stiffness = STIFFNESS * self._random.uniform(0.8, 1.2, _CHANGED_AT_ONCE)
        with self._simulation.edit() as edit:
            edit.change_springs(self._own[chosen], stiffness=stiffness)
        self._wanted[chosen] = stiffness
        self.verify()

    def verify(self) -> None:
        """Look at the stiffness of its springs."""
        with self._network.settled():
            there = self._network.constants["stiffness"][self._own].copy()
        lost = np.flatnonzero(there != self._wanted)
        want(not len(lost), f"{len(lost)} springs have lost the stiffness that an edit gave them.")

    def held(self) -> Any:
        """The stiffness of its springs."""
        return self._wanted.copy()

    def hold(self, held: Any) -> None:
        """They have this stiffness again."""
        self._wanted = held.copy()


class Grower:
    """Hangs masses on the tower by two springs each, and takes them away again.

    Args:
        simulation: The tower.
        seed: Of its choices.
    """

    name = "growth"

    def __init__(self, simulation: Tower, seed: int) -> None:
        self._simulation, self._network = simulation, simulation.solver.model.network
        self._random = np.random.default_rng(seed)
        body = simulation.solver.model.body
        self._ends = body.springs[~body.fixed[body.springs].any(axis=1)]
        self._grown: list[tuple[Handles, Handles]] = []

    @property
    def masses(self) -> int:
        """Masses that hang on the tower."""
        return len(self._grown)

    @property
    def springs(self) -> int:
        """Springs that hold them."""
        return 2 * len(self._grown)

    def edit(self) -> None:
        """Add a mass or remove one."""
        if self._random.random() < 1.0 - len(self._grown) / _MOST_GROWN:
            self._add()
        else:
            self._remove(int(self._random.integers(len(self._grown))))
        self.verify()

    def verify(self) -> None:
        """Look at its masses, in the network and on the device, and at their springs."""
        with self._simulation.gate, self._network.settled():
            inverse = self._simulation.state.positions.numpy()[:, 3]
            for mass, springs in self._grown:
                there = bool(self._network.masses.valid(mass).all() and self._network.springs.valid(springs).all())
                want(there, f"mass {int(mass.index[0])}, which an edit has added, is gone or has lost springs.")
                want(
                    bool(np.float32(1.0 / _MASS) == inverse[mass.index[0]]),
                    f"mass {int(mass.index[0])}, which an edit has added, has not reached the device.",
                )

    def held(self) -> Any:
        """Its masses and springs."""
        return list(self._grown)

    def hold(self, held: Any) -> None:
        """These hang on the tower again."""
        self._grown = list(held)

    def _add(self) -> None:
        held = self._random.choice(self._ends)
        place = np.array([-2.0 * PITCH, self._random.uniform(0.0, 4.0 * PITCH), self._random.uniform(0.3, 0.9)])
        with self._simulation.edit() as edit:
            mass = edit.add_masses([place], _MASS)
            springs = edit.add_springs(mass + mass, self._network.masses.handles(held), stiffness=200.0, damping=1.0)
        self._grown.append((mass, springs))

    def _remove(self, which: int) -> None:
        mass, springs = self._grown[which]
        with self._simulation.edit() as edit:
            edit.remove_masses(mass, with_springs=True)
        del self._grown[which]
        with self._network.settled():
            left = self._network.masses.valid(mass).any() or self._network.springs.valid(springs).any()
        want(not left, f"mass {int(mass.index[0])}, which an edit has removed, is still there.")


class Mover:
    """Moves fixed masses of its own, which nothing holds, from place to place.

    Args:
        simulation: The tower.
        seed: Of its choices.
    """

    name = "places"
    springs = 0

    def __init__(self, simulation: Tower, seed: int) -> None:
        self._simulation, self._network = simulation, simulation.solver.model.network
        self._random = np.random.default_rng(seed)
        self._places = self._anywhere()
        with simulation.edit() as edit:
            self._own = edit.add_masses(self._places, _MASS, fixed=True)

    @property
    def masses(self) -> int:
        """Its own."""
        return len(self._own)

    def edit(self) -> None:
        """Move its masses."""
        places = self._anywhere()
        with self._simulation.edit() as edit:
            edit.change_masses(self._own, positions=places)
        self._places = places
        self.verify()

    def verify(self) -> None:
        """Look where they are on the device: fixed masses stay where they were put."""
        with self._simulation.gate, self._network.settled():
            there = self._simulation.solver.positions_of(self._simulation.state, self._own.index)
        want(
            bool((there.astype(np.float32) == self._places).all()),
            f"fixed masses are at {there[0].tolist()}, and an edit has put them at {self._places[0].tolist()}.",
        )

    def held(self) -> Any:
        """Where they are."""
        return self._places.copy()

    def hold(self, held: Any) -> None:
        """They are here again."""
        self._places = held.copy()

    def _anywhere(self) -> np.ndarray:
        return self._random.uniform((0.8, 0.0, 0.0), (1.2, 0.4, 1.0), (3, 3)).astype(np.float32)


class Breaker:
    """Adds springs that are stretched too far already, and waits for the news that they broke.

    Args:
        simulation: The tower.
        seed: Of its choices.

    Attributes:
        broken: Springs that were reported as broken.
    """

    name = "breaking"
    masses = 0

    def __init__(self, simulation: Tower, seed: int) -> None:
        self._simulation, self._random = simulation, np.random.default_rng(seed)
        self._free = np.flatnonzero(~simulation.solver.model.body.fixed)
        self._waiting: set[tuple[int, int]] = set()
        self.broken = 0

    @property
    def springs(self) -> int:
        """Springs that have not been reported yet."""
        return len(self._waiting)

    def edit(self) -> None:
        """Add a spring that breaks in the next step."""
        ends = self._random.choice(self._free, (2, 2), replace=False)
        with self._simulation.edit() as edit:
            masses = map(edit.masses, ends)
            added = edit.add_springs(*masses, stiffness=10.0, rest_lengths=0.1 * PITCH, yield_strains=0.5)
            # Before the edit ends: once it has, another thread may already hear that they broke.
            self._waiting |= _named(added)
        self.verify()

    def verify(self) -> None:
        """Hear what broke since the last time: nothing but what it has added, and that once."""
        with self._simulation.gate:
            news = [event for event in self._simulation.events if event.kind == "broken"]
            self._simulation.events.clear()
        for event in news:
            broken = _named(event.detail)
            want(broken <= self._waiting, f"springs {sorted(broken - self._waiting)} broke, which are strong.")
            self._waiting -= broken
            self.broken += len(broken)

    def held(self) -> Any:
        """The springs that are about to break."""
        return set(self._waiting)

    def hold(self, held: Any) -> None:
        """These are about to break again."""
        self._waiting = set(held)


def _named(handles: Handles) -> set[tuple[int, int]]:
    return set(zip(handles.index.tolist(), handles.generation.tolist(), strict=True))


def all_editors(simulation: Tower, seed: int) -> tuple[list[Editor], Breaker]:
    """Two who change springs, and one each who adds masses, moves them and breaks springs."""
    count = simulation.solver.model.body.spring_count
    shares = np.array_split(np.arange(count), 2)
    breaker = Breaker(simulation, seed + 4)
    stiffeners = [Stiffener(simulation, share, seed + k) for k, share in enumerate(shares)]
    return [*stiffeners, Grower(simulation, seed + 2), Mover(simulation, seed + 3), breaker], breaker
