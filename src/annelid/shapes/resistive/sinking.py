"""Rigid bodies in ground that resists, as a simulation: it can be watched, recorded, saved and gone on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.identity import identity
from annelid.core.options import spelled_out
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Color, Look, Mesh, Snapshot
from annelid.core.stability import StepReport
from annelid.core.state import copy_state, rows
from annelid.core.summary import Summary
from annelid.shapes.resistive.among import require_above, require_no_give
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.resistive.kernels.falling import fall_kernel
from annelid.shapes.resistive.pictures import sand_parts
from annelid.shapes.resistive.pieces import pieces_of
from annelid.shapes.rigid import Rigid, as_rigids
from annelid.shapes.values import as_vector, require_positive

_COLOR: Color = (0.55, 0.55, 0.60)  # of bodies that have none of their own


@dataclass(kw_only=True)
class State:
    """Bodies in motion.

    Attributes:
        places: Their centres of mass [m], vec3d of shape [n].
        turns: Their quaternions (x, y, z, w), quatd of shape [n].
        velocities: Of the centres of mass [m/s], vec3d of shape [n].
        spins: Angular velocities [rad/s], vec3d of shape [n].
        forces: Of the ground on each body in the last step [N], vec3d of shape [n].
        clock: Steps done, shape [1].
    """

    places: wp.array[Any] = rows("body", wp.vec3d)
    turns: wp.array[Any] = rows("body", wp.quatd)
    velocities: wp.array[Any] = rows("body", wp.vec3d)
    spins: wp.array[Any] = rows("body", wp.vec3d)
    forces: wp.array[Any] = rows("body", wp.vec3d)
    clock: wp.array[Any] = rows("simulation", wp.int64)


class Sinking:
    """Steps rigid bodies in ground that resists; it reads their states as well.

    Args:
        ground: The ground; its `friction` is that between bodies and ground, and it keeps no hollows.
        bodies: Closed shapes with `motion="free"` or `"driven"`; they do not touch each other.
        dt: Time step [s].
        gravity: Acceleration of gravity [m/s²].
        device: "auto", "cpu", "cuda" or "cuda:N".
    """

    physics, batch, worlds = "sinking", 50, 1
    fields: tuple[str, ...] = ()

    def __init__(
        self,
        ground: ResistiveGround,
        bodies: Sequence[Rigid],
        *,
        dt: float = 1e-4,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        device: str | wp.Device = "auto",
    ) -> None:
        self.model = tuple(as_rigids(bodies, "bodies in sand"))
        _require_movable(self.model)
        require_no_give(ground, "rigid bodies")
        self.ground, self.dt, self.device = ground, require_positive("dt", dt), choose_device(device)
        self.gravity = np.array(as_vector("gravity", gravity))
        self._built = identity(ground, self.model, self.gravity)
        pieces = [pieces_of(body) for body in self.model]
        for body, (_, arms, _) in zip(self.model, pieces, strict=True):
            require_above(ground, (body.turn.apply(arms) + body.place)[:, 2], "pieces of the surface")
        self.masses = np.array([body.total_mass for body in self.model])
        self._inertias = np.array(
            [body.unit.inertia * (mass / body.unit.mass) for body, mass in zip(self.model, self.masses, strict=True)]
        )
        normals, arms, areas = (np.concatenate(values) for values in zip(*pieces, strict=True))
        firsts = np.cumsum([0, *(len(one[2]) for one in pieces)])
        self._inputs = [
            self.dt, wp.vec3d(*self.gravity.tolist()), ground.numbers(wp.float64), self._array(self.masses, wp.float64),
            self._array(self._inertias, wp.mat33d), self._array([one.moves == "driven" for one in self.model], wp.bool),
            self._array(firsts, wp.int32), self._array(normals, wp.vec3d), self._array(arms, wp.vec3d),
            self._array(areas, wp.float64),
        ]  # fmt: skip

    def _array(self, values: Any, dtype: Any) -> wp.array[Any]:
        return wp.array(np.asarray(values), dtype=dtype, device=self.device)

    @property
    def readout(self) -> Sinking:
        """What reads states: itself."""
        return self

    # --- steps ---

    def initial_state(self) -> State:
        """Bodies where they were given, at time zero."""
        return State(
            places=self._array([body.place for body in self.model], wp.vec3d),
            turns=self._array([body.rotation for body in self.model], wp.quatd),
            velocities=self._array([body.velocity for body in self.model], wp.vec3d),
            spins=self._array([body.spin for body in self.model], wp.vec3d),
            forces=wp.zeros(len(self.model), dtype=wp.vec3d, device=self.device),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
        )

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        moved = [state.places, state.turns, state.velocities, state.spins, state.forces]
        wp.launch(fall_kernel(), len(self.model), [steps, *self._inputs, *moved], device=self.device)
        state.clock.fill_(int(state.clock.numpy()[0]) + steps)

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring bodies back to where they were given; with a mask, of the only world, the clock goes on."""
        if mask is not None and not mask.numpy()[0]:
            return
        clock = wp.clone(state.clock)
        copy_state(self.initial_state(), state)
        if mask is not None:
            wp.copy(state.clock, clock)

    def diverged_at(self) -> int | None:
        """Never: the ground only slows bodies down."""
        return None

    def clear_divergence(self) -> None:
        """There is none."""

    def describe_divergence(self, state: State) -> str:
        """What would help, if it could diverge."""
        return f"a smaller dt than {self.dt:g} s may help"

    def explain_step(self) -> StepReport:
        """What limits the time step: nothing that is known beforehand."""
        return StepReport(self.dt, self.dt, "the step that was asked for")

    def fingerprint(self) -> str:
        """Identity of ground and bodies, for checkpoints."""
        return f"sinking-{self._built}"

    # --- reading ---

    def positions(self, state: State) -> np.ndarray:
        """Centres of mass [m], shape [n, 3]."""
        return np.array(state.places.numpy())

    def velocities(self, state: State) -> np.ndarray:
        """Velocities of the centres of mass [m/s], shape [n, 3]."""
        return np.array(state.velocities.numpy())

    def rotations(self, state: State) -> np.ndarray:
        """Quaternions (x, y, z, w), shape [n, 4]."""
        return np.array(state.turns.numpy())

    def spins(self, state: State) -> np.ndarray:
        """Angular velocities [rad/s], shape [n, 3]."""
        return np.array(state.spins.numpy())

    def forces(self, state: State) -> np.ndarray:
        """Force of the ground on each body in the last step [N], shape [n, 3]."""
        return np.array(state.forces.numpy())

    def summary(self, state: State) -> Summary:
        """Totals of all bodies."""
        x, v, w, m = self.positions(state), self.velocities(state), self.spins(state), self.masses
        turn = Rotation.from_quat(self.rotations(state)).as_matrix()
        turning = np.einsum("bij,bjk,blk,bl->bi", turn, self._inertias, turn, w)
        rotational = 0.5 * float((w * turning).sum())
        return Summary(
            mass=float(m.sum()),
            center_of_mass=m @ x / m.sum(),
            momentum=m @ v,
            angular_momentum=(np.cross(x, m[:, None] * v) + turning).sum(axis=0),
            kinetic=0.5 * float(m @ (v * v).sum(axis=1)) + rotational,
            rotational=rotational,
            gravitational=-float(m @ (x @ self.gravity)),
        )

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """Bodies and the surface of the ground."""
        look.require_known(self.fields)
        turns, places = Rotation.from_quat(self.rotations(state)), self.positions(state)
        parts = [
            Mesh(
                body.name or f"body-{number}",
                turns[number].apply(np.array(body.shape.surface().vertices) - body.middle) + places[number],
                np.asarray(body.shape.surface().triangles, np.int32),
                color=body.color or _COLOR,
            )
            for number, body in enumerate(self.model)
        ]
        step = int(state.clock.numpy()[0])
        return Snapshot(step * self.dt, step, (*sand_parts(self.ground), *parts))


@spelled_out("a simulation of bodies in sand")
def simulation(
    ground: ResistiveGround,
    bodies: Sequence[Rigid],
    *,
    dt: float = 1e-4,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    device: str | wp.Device = "auto",
) -> Simulation[Sinking]:
    """A simulation of rigid bodies in ground that resists; see `Sinking` for its arguments."""
    return Simulation(Sinking(ground, bodies, dt=dt, gravity=gravity, device=device))


def _require_movable(bodies: Sequence[Rigid]) -> None:
    if not bodies:
        raise InvalidValue("there is no body that could move in the ResistiveGround: give at least one Rigid.")
    for number, body in enumerate(bodies):
        if body.moves == "fixed":
            raise InvalidValue(
                f"{body.called(number)}, is fixed, and nothing would happen to it in a ResistiveGround: use "
                "motion='free' or 'driven'."
            )
