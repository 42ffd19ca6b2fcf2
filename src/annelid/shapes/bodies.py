"""Reading obstacles that move, for every physics whose states keep them as `motions.Bodies`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from annelid.core.summary import Summary
from annelid.shapes.free_bodies import FreeBodies
from annelid.shapes.motions import Moment, MotionTable
from annelid.shapes.rigid import Obstacle, Rigid


class ReadsBodies(ABC):
    """What a readout knows of obstacles."""

    @property
    @abstractmethod
    def motions(self) -> MotionTable:
        """How obstacles move."""

    @abstractmethod
    def begun(self, state: Any) -> np.ndarray:
        """Step at which each world began; empty where all began together."""

    def moment(self, state: Any, body: Obstacle | int | str, world: int = 0) -> Moment:
        """Where an obstacle is and how it moves: as it was given, its name or its number."""
        clock, number = int(state.clock.numpy()[0]), self.motions.number_of(body)
        return self.motions.moment(number, state.bodies, clock, self.begun(state), world)

    def placed(self, state: Any, body: Obstacle | int | str, world: int = 0) -> Rigid:
        """An obstacle as a fixed one that stands where it is now, to draw."""
        return self.motions.placed(self.motions.number_of(body), self.moment(state, body, world))

    def body_position(self, state: Any, body: Obstacle | int | str, world: int = 0) -> np.ndarray:
        """Centre of mass of an obstacle in a world [m], shape [3]."""
        return self.moment(state, body, world).place

    def body_turn(self, state: Any, body: Obstacle | int | str, world: int = 0) -> np.ndarray:
        """How its frame is turned, as `Rigid.rotation` is: a quaternion (x, y, z, w), shape [4]."""
        return np.array(self.placed(state, body, world).rotation)

    def body_velocity(self, state: Any, body: Obstacle | int | str, world: int = 0) -> np.ndarray:
        """Velocity of its centre of mass [m/s], shape [3]."""
        return self.moment(state, body, world).velocity

    def body_spin(self, state: Any, body: Obstacle | int | str, world: int = 0) -> np.ndarray:
        """Its angular velocity [rad/s], shape [3]."""
        return self.moment(state, body, world).spin

    def with_free(
        self, own: Summary, state: Any, free: FreeBodies | None, gravity: Any, worlds: Iterable[int]
    ) -> Summary:  # fmt: skip
        """Totals of what touches free obstacles and of these, in some worlds."""
        for number, body in zip(self.motions.free, free.bodies, strict=True) if free is not None else ():
            for world in worlds:
                now = self.moment(state, number, world)
                inertia = now.turn.as_matrix() @ body.inertia @ now.turn.as_matrix().T
                momentum, turning = body.mass * now.velocity, inertia @ now.spin
                rotational, mass = 0.5 * float(now.spin @ turning), own.mass + body.mass
                own = replace(
                    own,
                    mass=mass,
                    center_of_mass=(own.mass * own.center_of_mass + body.mass * now.place) / mass,
                    momentum=own.momentum + momentum,
                    angular_momentum=own.angular_momentum + np.cross(now.place, momentum) + turning,
                    kinetic=own.kinetic + 0.5 * float(momentum @ now.velocity) + rotational,
                    rotational=own.rotational + rotational,
                    gravitational=own.gravitational - body.mass * float(now.place @ np.asarray(gravity)),
                )
        return own
