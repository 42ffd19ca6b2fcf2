"""What lies on the bench of the workshop: a body with its simulation, and the tools that change it while it runs.

A part is what lies in a box now, wherever the body has moved. Fixing and pulling are edits of the running simulation.
Cutting, painting and actuating make a new one, which goes on from where the body is; its clock starts again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annelid import springs
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.materials import material, names
from annelid.scenes.support.blank import Blank
from annelid.scenes.support.design import Design

Vector = Sequence[float] | np.ndarray
"""Three numbers."""

_STEP_SHARE = 0.6  # of the stable time step: pulling adds stiffness that the estimate does not know
_LONGEST_STEP = 1e-3


@dataclass
class _Grip:
    """A mass, by its place in the grid, that is pulled towards a place [m] by a spring to an anchor."""

    key: int
    place: np.ndarray
    anchor: springs.Handles | None = None


class Workpiece:
    """A body that can be worked on.

    Args:
        design: Shape, pitch, material and surroundings.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.

    Attributes:
        design: What it was made of.
        simulation: Its simulation now; tools may put another one in its place.
    """

    materials = names()

    def __init__(self, design: Design, *, device: str = "auto", threads: int | None = None) -> None:
        self.design = design
        self._machine: dict[str, Any] = {"device": choose_device(device), "threads": threads}
        self.simulation: Simulation[springs.Solver]

    def build(self) -> Simulation[springs.Solver]:
        """Make the body anew from its design; all work on it is forgotten."""
        self._blank = Blank(self.design.solid(), self.design.pitch, self.design.material)
        low, high = self._blank.bounds()
        self._shift = np.array([0.0, 0.0, self.design.drop]) - [*(0.5 * (low + high))[:2], self._blank.grid.origin[2]]
        self._grip: _Grip | None = None
        self._nodes = np.zeros(self._blank.node_shape, bool)
        self._cells = np.zeros(self._blank.kept.shape, bool)
        return self.reset()

    def reset(self) -> Simulation[springs.Solver]:
        """Back to the beginning and at rest, with all work on it."""
        self._grip = None
        return self._simulate(None)

    # --- tools ---

    def mark(self, center: Vector, size: Vector) -> int:
        """Choose the part of the body that lies in a box now; returns its number of masses.

        Args:
            center: Middle of the box [m].
            size: Lengths of its sides [m].
        """
        middle, half = np.asarray(center, float), 0.5 * np.asarray(size, float)
        if middle.shape != (3,) or half.shape != (3,) or not np.isfinite([middle, half]).all() or not (half > 0).all():
            raise InvalidValue(f"a box needs a middle and three positive lengths [m], not {center} and {size}.")
        places = self._places()
        with np.errstate(invalid="ignore"):  # what is not there has no place
            nodes = (np.abs(places - middle) <= half).all(axis=-1)
            cells = (np.abs(self._blank.middles(places) - middle) <= half).all(axis=-1) & self._blank.kept
        if not nodes.any():
            raise InvalidValue("no mass is inside the box: drag it onto the body, or make it larger.")
        self._nodes, self._cells = nodes, cells
        return int(nodes.sum())

    def fix(self, held: bool = True) -> int:
        """Hold the masses of the marked part where they are now, or let them go; returns how many."""
        masses = self._masses(self._nodes)
        if not len(masses):
            raise InvalidValue("no part is marked: put the box over a part of the body first.")
        with self.simulation.edit() as edit:
            edit.change_masses(edit.masses(masses), velocities=np.zeros(3), fixed=held)
        self._blank.fixed[self._nodes] = held
        return len(masses)

    def cut(self) -> int:
        """Remove the cells of the marked part; returns how many."""
        count = self._blank.cut(self._marked_cells())
        self._nodes, self._cells = np.zeros_like(self._nodes), np.zeros_like(self._cells)
        self._simulate(self._motion())
        return count

    def paint(self, matter: str) -> int:
        """Give the cells of the marked part another material; returns how many."""
        count = self._blank.paint(self._marked_cells(), matter)
        self._simulate(self._motion())
        return count

    def actuate(self, amplitude: float, frequency: float) -> int:
        """Let the cells of the marked part expand and contract; returns how many.

        Args:
            amplitude: Fraction of the length; 0 makes them passive.
            frequency: Cycles a second [Hz].
        """
        if not abs(amplitude) <= 0.9:
            raise InvalidValue(f"the amplitude of an actuation must be between -0.9 and 0.9, not {amplitude}.")
        if not (math.isfinite(frequency) and frequency > 0.0):
            raise InvalidValue(f"the frequency of an actuation must be positive [Hz], not {frequency}.")
        cells = self._marked_cells()
        self._blank.actuate(cells, springs.expand_contract(amplitude, frequency))
        self._simulate(self._motion())
        return int(cells.sum())

    def pick(self, origin: Vector, direction: Vector) -> np.ndarray:
        """The place [m] of the first mass of the surface on a ray, shape [3]."""
        ahead = np.asarray(direction, float) / np.linalg.norm(direction)
        points = self._positions()[np.unique(self.simulation.solver.model.body.triangles)] - np.asarray(origin, float)
        depth = points @ ahead
        off = np.linalg.norm(points - depth[:, None] * ahead, axis=1)
        near = np.flatnonzero((off < self.design.pitch) & (depth > 0.0))
        if not len(near):
            raise InvalidValue("the body is not where you clicked: click on its surface.")
        first = near[depth[near] < depth[near].min() + self.design.pitch]
        return points[first[np.argmin(off[first])]] + np.asarray(origin, float)

    def pull(self, place: Vector, *, at: Vector | None = None) -> np.ndarray:
        """Pull a mass towards a place [m] by a spring; returns where the mass is now, shape [3].

        Args:
            place: Where to; call again to move it.
            at: Take hold of the mass nearest to this point [m]; None keeps the one that is held.
        """
        goal = np.asarray(place, float)
        if goal.shape != (3,) or not np.isfinite(goal).all():
            raise InvalidValue(f"a body can be pulled to three finite numbers [m], not {place}.")
        if at is not None or self._grip is None:
            self.release()
            self._grip = _Grip(self._nearest(goal if at is None else np.asarray(at, float)), goal)
        self._grip.place = goal
        self._hold(self._grip)
        return self._at(self._grip)

    def release(self) -> None:
        """Let go of what is pulled."""
        if self._grip is not None and self._grip.anchor is not None:
            with self.simulation.edit() as edit:
                edit.remove_masses(self._grip.anchor, with_springs=True)
        self._grip = None

    def grip(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where the mass is that is pulled, and where to [m]; None if none is."""
        if self._grip is None:
            return None
        return self._at(self._grip), self._grip.place

    def held(self) -> np.ndarray:
        """Where the fixed masses are [m], shape [k, 3]."""
        return self._positions()[self._masses(self._blank.fixed)]

    def set_ground(self, there: bool) -> None:
        """Add a ground at height 0, or remove it."""
        if there and self._positions()[:, 2].min() < -0.5 * self.design.pitch:
            raise InvalidValue("the body has fallen below the ground: reset it before you put the ground back.")
        self.design = replace(self.design, ground=there)
        self._simulate(self._motion())

    def change(self, design: Design) -> None:
        """Take gravity and friction of another design while it runs."""
        self.design = replace(design, ground=self.design.ground)
        model = self.simulation.solver.model
        model.set_world(replace(model.world, **self.design.world(self._contact_stiffness())))

    # --- how it is done ---

    def _simulate(self, motion: tuple[np.ndarray, np.ndarray] | None) -> Simulation[springs.Solver]:
        """A new simulation of the body, going on from a motion by node, or at rest at the beginning."""
        body = self._blank.body()
        self._keys = self._blank.keys(body)
        body = body.moved(self._shift)
        if motion is not None:
            body.positions, body.velocities = (values[self._keys] for values in motion)
        body.velocities[body.fixed] = 0.0
        self._mass_count = body.mass_count
        world = {**self.design.world(self._contact_stiffness()), "prepare": ("damping",)}
        world["dt"] = _dt(body, world, self._machine["device"])
        self.simulation = springs.simulation(body, **self._machine, **world)
        self.simulation.attachments["workpiece"] = self
        if self._grip is not None:
            self._grip.anchor = None
            if self._grip.key in self._keys:
                self._hold(self._grip)
            else:
                self._grip = None
        return self.simulation

    def _hold(self, grip: _Grip) -> None:
        """Put the anchor where the handle is; the first time, with a spring to the mass."""
        with self.simulation.edit() as edit:
            if grip.anchor is not None:
                edit.change_masses(grip.anchor, positions=grip.place)
                return
            mass, body = int(np.flatnonzero(self._keys == grip.key)[0]), self.simulation.solver.model.body
            grip.anchor = edit.add_masses(grip.place, 1e-9 * float(body.masses.sum()), fixed=True)
            stiffness = self._pull_stiffness()
            damping = 0.5 * math.sqrt(stiffness * float(body.masses[mass]))
            length = 1e-3 * self.design.pitch
            edit.add_springs(
                edit.masses([mass]), grip.anchor, stiffness=stiffness, rest_lengths=length, damping=damping
            )

    def _pull_stiffness(self) -> float:
        """Of a spring that lifts the body by a small part of its size, but is no stiffer than a cell of it [N/m]."""
        body = self.simulation.solver.model.body
        low, high = body.bounds()
        return min(self._contact_stiffness(), 500.0 * float(body.masses.sum()) / float(np.max(high - low)))

    def _contact_stiffness(self) -> float:
        """About that of a cell of the softest material: the ground then yields no more than the body [N/m]."""
        return self.design.pitch * min(material(name).youngs_modulus for name in self._blank.materials)

    def _marked_cells(self) -> np.ndarray:
        if not self._cells.any():
            raise InvalidValue("no whole cell is inside the box: drag it onto the body, or make it larger.")
        return self._cells

    def _masses(self, nodes: np.ndarray) -> np.ndarray:
        return np.flatnonzero(nodes.ravel()[self._keys])

    def _at(self, grip: _Grip) -> np.ndarray:
        """Where the mass is that is pulled [m], shape [3]."""
        solver, mass = self.simulation.solver, np.flatnonzero(self._keys == grip.key)
        with self.simulation.gate:
            return np.asarray(solver.positions_of(self.simulation.state, mass)[0])

    def _nearest(self, point: np.ndarray) -> int:
        distance = np.linalg.norm(self._positions() - point, axis=1)
        return int(self._keys[np.argmin(distance)])

    def _positions(self) -> np.ndarray:
        """Where the masses are now [m], shape [n, 3]; anchors are left out."""
        with self.simulation.gate:
            return self.simulation.state.positions.numpy()[: self._mass_count, :3].astype(float)

    def _motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Where nodes are [m] and how they move [m/s], NaN where there is no mass, each of shape [nodes, 3]."""
        with self.simulation.gate:
            speeds = self.simulation.state.velocities.numpy()[: self._mass_count].astype(float)
        return self._by_node(self._positions()), self._by_node(speeds)

    def _places(self) -> np.ndarray:
        """Where all nodes are now [m], NaN where there is no mass, shape [nx + 1, ny + 1, nz + 1, 3]."""
        return self._by_node(self._positions()).reshape(*self._blank.node_shape, 3)

    def _by_node(self, values: np.ndarray) -> np.ndarray:
        nodes = np.full((self._blank.fixed.size, 3), np.nan)
        nodes[self._keys] = values
        return nodes


def _dt(body: springs.Body, world: dict[str, Any], device: Any) -> float:
    """A time step [s] that is safely stable, with two digits."""
    stable = springs.Model(body, springs.World(**world, relaxation=0.0), device).stable_step()
    step = min(_STEP_SHARE * stable, _LONGEST_STEP)
    digit = 10.0 ** (math.floor(math.log10(step)) - 1)
    return float(f"{math.floor(step / digit) * digit:.3g}")
