"""Sensors of where things are, how they move and turn, in every physics over one view of its states.

A view says which rows of a state make up the part that is read, in each world, and where their vectors are. A physics
hands over views; sums, means, rotations and readings of each thing by itself are taken here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Selected, Sums, finish_angle, finish_sum, finish_turn, vector_kernel
from annelid.core.options import require_truth
from annelid.core.replay import Launcher
from annelid.core.sensors import Mean, Reading, Sensor, side_of
from annelid.core.solver import Solver
from annelid.core.state import State

W = TypeVar("W")

_KEPT = 4  # launches of a sensor that are kept prepared
_AXES = {2: ("x", "z"), 3: ("x", "y", "z")}
_UNITS = {"position": "m", "velocity": "m/s", "spin": "rad/s", "force": "N", "torque": "N m"}


class Members:
    """Rows of a state that are read in each world, on the device.

    Args:
        device: Where.
        rows: Numbers of the rows of each world, or of the first one where worlds are alike; negative where a thing that
            is read by itself is gone.
        stride: Rows of a world, where worlds are alike; else 0.
        each: Whether each is read by itself: then there are as many in every world.
        weights: Weight of each row in sums; None for 1.
        scales: What sums are multiplied by, one number or one for each world.
        rests: Where each row was at rest, from the middle of the part [m], for how it has turned.
        origins: What vectors of all rows of the state are measured from, vec3d; None for 0.
    """

    def __init__(
        self,
        device: wp.Device,
        rows: Sequence[np.ndarray],
        *,
        stride: int = 0,
        each: bool = False,
        weights: np.ndarray | None = None,
        scales: Any = 1.0,
        rests: np.ndarray | None = None,
        origins: wp.array[Any] | None = None,
    ) -> None:
        begins = np.concatenate([[0], np.cumsum([len(some) for some in rows])])
        self.count = len(rows[0]) if each else 1
        self.selected = Selected()
        self.selected.begins = wp.array(begins.astype(np.int32), dtype=wp.int32, device=device)
        self.selected.rows = wp.array(np.concatenate(rows).astype(np.int32), dtype=wp.int32, device=device)
        self.selected.stride, self.selected.each = stride, int(each)
        for name, given, dtype in (("weights", weights, wp.float64), ("rests", rests, wp.vec3d)):
            setattr(self.selected, name, wp.array([] if given is None else given, dtype=dtype, device=device))
        self.selected.scales = wp.array(np.atleast_1d(scales), dtype=wp.float64, device=device)
        self.selected.origins = wp.zeros(0, dtype=wp.vec3d, device=device) if origins is None else origins


@dataclass(frozen=True, eq=False)
class StateView:
    """What a sensor reads of states: vectors of some of their rows.

    Attributes:
        members: Gives the rows, which may change with the body.
        vectors: From a state to its vectors, of which the first `size` numbers count.
        size: Numbers of a vector: 3, or 2 in a plane.
        parts: Parts in which sums are taken.
        there: Which of the things that are read by themselves each world has, shape [worlds, things]; None: all.
        means: Numbers and weights of the things, in the order of the readout, whose mean it reads, for gradients.
    """

    members: Callable[[], Members]
    vectors: Callable[[Any], wp.array[Any]]
    size: int = 3
    parts: int = PARTS
    there: np.ndarray | None = None
    means: tuple[np.ndarray, np.ndarray] | None = None

    def reading(self, own: Solver, side: Callable[[State], State], unit: str) -> Reading:
        """A reading of the sums of vectors, times their scales, or of every vector by itself."""
        members, worlds, size, device = self.members(), own.worlds, self.size, own.device
        count = members.count
        direct = bool(members.selected.each) or self.parts == 1
        shape = (worlds, count if direct else self.parts)
        sums, launcher = wp.zeros((0, 0) if direct else shape, dtype=Sums, device=device), Launcher(device, kept=_KEPT)
        there = None if self.there is None or self.there.all() else np.repeat(self.there, size, axis=1)

        def read(state: State, out: wp.array[Any], first: int) -> None:
            selected = self._launch(launcher, side(state), shape, first, sums, out, turned=False)
            if not direct:
                launcher.launch(finish_sum, worlds, [sums, selected.scales, 0, size, first, out])

        return Reading(read, (size * count,), unit, _AXES[size] if count == 1 else (), there=there)

    def turn(self, own: Solver, side: Callable[[State], State]) -> Reading:
        """A reading of how the part has turned: a quaternion, or an angle in a plane."""
        sums = wp.zeros((own.worlds, self.parts), dtype=Sums, device=own.device)
        launcher = Launcher(own.device, kept=_KEPT)
        finish = finish_turn if self.size == 3 else finish_angle

        def read(state: State, out: wp.array[Any], first: int) -> None:
            self._launch(launcher, side(state), sums.shape, first, sums, out, turned=True)
            launcher.launch(finish, own.worlds, [sums, first, out])

        return Reading(read, (4,), "", ("x", "y", "z", "w")) if self.size == 3 else Reading(read, (1,), "rad")

    def _launch(
        self, launcher: Launcher, state: Any, shape: tuple[int, ...], first: int, sums: Any, out: Any, *, turned: bool
    ) -> Any:
        """Sum vectors, or moments of how they have turned, or write readings; and say which rows these are."""
        vectors, selected = self.vectors(state), self.members().selected
        kernel = vector_kernel(vectors.dtype, self.size, turned)
        launcher.launch(kernel, shape, [selected, vectors, first, sums, out])
        return selected


@dataclass(frozen=True, eq=False)
class VectorSensor(Sensor):
    """Reads a vector of a part of each world, or how the part has turned; made by `position_of` and its like.

    Attributes:
        quantity: "position", "velocity", "turn", "spin", "force" or "torque".
        parts: What there is to be read.
        where: Which of it.
        each: Whether each thing is read by itself.
        robot: Number of the robot in its world.
    """

    quantity: str
    parts: Parts[Any]
    where: Any = None
    each: bool = False
    robot: int | None = None

    def __post_init__(self) -> None:
        require_truth("each", self.each)
        if self.robot is not None and not self.parts.robots:
            raise InvalidValue(f"{self.parts.what} are not of robots: leave out robot={self.robot!r:.40}.")

    def attach(self, solver: Solver) -> Reading:
        """The sensor of a solver, or of a side of it."""
        own, side = side_of(solver, self.parts.solvers, f"{self.quantity} of {self.parts.what}")
        view = self.parts.view(own, self)
        if self.quantity == "turn":
            return view.turn(own, side)
        unit = _UNITS[self.quantity]
        reading = view.reading(own, side, unit)
        return replace(reading, means=self._means(view)) if own is solver else reading

    def _means(self, view: StateView) -> tuple[Mean, ...]:
        """The means of vectors that the readings are."""
        if view.means is None:
            return ()
        part, (things, weights) = {"position": "positions", "velocity": "velocities"}[self.quantity], view.means
        if self.each:
            return tuple(Mean(part, things[k : k + 1], np.ones(1)) for k in range(len(things)))
        return (Mean(part, things, weights),)


@dataclass(frozen=True, eq=False)
class Parts(Generic[W]):
    """What there is to be read in a physics: masses, nodes, voxels, bodies.

    Attributes:
        what: What they are, in the plural, for the sentence that refuses another solver.
        solvers: Classes of the solvers that have them.
        view: The view of what a sensor reads of a solver.
        robots: Whether worlds hold robots that are read one by one.
    """

    what: str
    solvers: tuple[type[Any], ...]
    view: Callable[[Any, VectorSensor], StateView]
    robots: bool = False

    def position_of(self, where: W | None = None, *, each: bool = False, robot: int | None = None) -> Sensor:
        """Mean position [m], x, y, z, or x and z of 2-D voxels: of all, or of a part.

        Args:
            where: Which part: what `Where` of the package is, such as the name of a group; a body among grains.
            each: Whether each mass, node or voxel is read by itself, one after the other.
            robot: Number of the robot in its world, where worlds hold several; None for all, of 2-D voxels the first.
        """
        return VectorSensor("position", self, where, each, robot)

    def velocity_of(self, where: W | None = None, *, each: bool = False, robot: int | None = None) -> Sensor:
        """Mean velocity [m/s]; see `position_of`."""
        return VectorSensor("velocity", self, where, each, robot)

    def orientation_of(self, where: W | None = None, *, robot: int | None = None) -> Sensor:
        """How a part has turned since it was built: the rotation that fits it best; see `position_of`.

        It is a quaternion x, y, z, w, or the angle from x to z [rad], from -π to π, of 2-D voxels.
        """
        return VectorSensor("turn", self, where, robot=robot)


def require_robot(robot: int, count: int, world: int) -> None:
    """Refuse the number of a robot that a world does not have."""
    if isinstance(robot, bool) or not isinstance(robot, int | np.integer):
        raise InvalidValue(f"a robot is named by its number in its world, from 0 to {count - 1}, not by {robot!r:.60}.")
    if not 0 <= robot < count:
        raise InvalidValue(f"world {world} has the robots 0 to {count - 1}, not {robot}.")
