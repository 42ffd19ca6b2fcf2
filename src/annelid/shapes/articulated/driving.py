"""Joints as controls: the links of a tree are driven so that its joints move with the speeds that they are told.

    simulation = grains.simulation(bed, obstacles=[ground(), *arm.bodies(motion="driven")])
    drive = JointDrive(simulation, arm, every=0.005)
    drive.command({"shoulder": 0.5})
    simulation.run(1.0)

Links are driven: whatever they meet yields. Within an interval each link moves evenly and arrives where the joints take
it, so that links part by the square of the interval at most, and errors do not add up.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.pacing import whole_steps
from annelid.core.simulation import Simulation
from annelid.core.solver import driving
from annelid.shapes.articulated.tree import RigidTree
from annelid.shapes.mass import mass_properties
from annelid.shapes.values import Floats

Policy = Callable[[float, Floats], ArrayLike]
"""From the time [s] and the values of the joints, shape [joints], to their speeds [rad/s] or [m/s], shape [joints]."""


class JointDrive:
    """Commands of the joints of a robot whose bodies were made with motion="driven".

    Args:
        simulation: Springs, grains, solids, 3-D voxels or soft bodies among grains, with the bodies of the robot among
            the obstacles.
        tree: The robot, where it was placed.
        values: Values of its joints as it begins, as they were given to `bodies`.
        every: Simulated time between two commands of the links [s].
        policy: Function of time and values that gives speeds, instead of `command`. It must depend on nothing else.
    """

    def __init__(
        self,
        simulation: Simulation[Any],
        tree: RigidTree,
        values: Mapping[str, float] | ArrayLike | None = None,
        *,
        every: float = 0.005,
        policy: Policy | None = None,
    ) -> None:
        self.tree, self._policy = tree, policy
        self._simulation: Simulation[Any] = weakref.proxy(simulation)  # which keeps this drive
        self._solver, self._side = driving(simulation.solver)
        self._steps = whole_steps(every, simulation.dt)
        self._middles = [mass_properties(part.shape).center for part in tree.parts]
        self._speeds = np.zeros(len(tree.moving))
        begin = tree.values(values)
        self._at = {0: begin, simulation.step_count: begin}  # values by step: repeated steps find theirs again
        self._last = simulation.step_count
        for part in tree.parts:  # what is no body of this simulation, or is not driven, is told at once
            self._solver.drive(self._side(simulation.state), part.name, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        simulation.pace(self._act, every=every)

    @property
    def values(self) -> dict[str, float]:
        """Values of the joints now [rad] or [m], by name."""
        done = self._simulation.step_count
        begin = done - done % self._steps
        ends = [self._at.get(begin), self._at.get(begin + self._steps)]
        now = ends[0] if ends[0] is not None else self._at[self._last]
        if ends[0] is not None and ends[1] is not None and done > begin:
            now = ends[0] + (done - begin) / self._steps * (ends[1] - ends[0])
        return dict(zip(self.tree.names, now.tolist(), strict=True))

    def command(self, speeds: Mapping[str, float] | ArrayLike) -> None:
        """Let joints move with these speeds [rad/s] or [m/s] from the next interval on; others keep theirs.

        Joints stop at their limits, and none is faster than its largest speed.

        Args:
            speeds: Speeds by name, or of all joints, shape [joints].
        """
        if self._policy is not None:
            raise InvalidValue("these joints follow a policy: make the drive without one to command them.")
        wanted = self._speeds.copy()
        if isinstance(speeds, Mapping):
            for name, speed in speeds.items():
                wanted[self.tree.index(name)] = speed
        else:
            wanted = np.array(speeds, dtype=np.float64)
        self._speeds = self._checked(wanted)

    def _checked(self, speeds: Floats) -> Floats:
        if speeds.shape != (len(self.tree.moving),) or not np.isfinite(speeds).all():
            raise InvalidValue(
                f"speeds of the joints of {self.tree.name} must be {len(self.tree.moving)} finite numbers, not "
                f"{speeds}."
            )
        return np.clip(speeds, -self.tree.speed, self.tree.speed)

    def _act(self, state: Any, step: int) -> None:
        """Send the links where the joints take them until the next call."""
        begin = self._at.get(step, self._at[self._last])
        seconds = self._steps * self._simulation.dt
        if self._policy is not None:
            told = np.asarray(self._policy(step * self._simulation.dt, begin.copy()), dtype=np.float64)
            self._speeds = self._checked(told)
        end = np.clip(begin + seconds * self._speeds, self.tree.lower, self.tree.upper)
        self._at[step], self._at[step + self._steps], self._last = begin, end, step + self._steps
        frames = self.tree.frames(np.stack([begin, end]))
        for part, middle in zip(self.tree.parts, self._middles, strict=True):
            one, two = frames[part.link] @ part.frame
            way = (two - one)[:3, :3] @ middle + (two - one)[:3, 3]
            turn = Rotation.from_matrix(two[:3, :3] @ one[:3, :3].T).as_rotvec()
            self._solver.drive(self._side(state), part.name, way / seconds, turn / seconds)
