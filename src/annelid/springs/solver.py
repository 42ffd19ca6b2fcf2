"""Stepping a mass-spring model: launches on the CPU's threads or through captured CUDA graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import thread_count
from annelid.core.launch import Team
from annelid.core.snapshot import Look, Snapshot
from annelid.springs.kernels.passes import buffers_of, time_shift
from annelid.springs.kernels.program import advance_clock, pass_kernel, signal_kernel, team_kernel
from annelid.springs.model import Model
from annelid.springs.pictures import Painter
from annelid.springs.readout import Summary

_BLOCK = 128
_FACTORS = 1 << 20  # entries of the table of signals, which bounds the steps of a batch
_MASSES_A_THREAD = 500  # below this another CPU thread costs more at the barrier than it brings


@dataclass
class State:
    """What changes with time.

    Attributes:
        positions: Position [m] and inverse mass [1/kg] (0 when fixed) of each mass, shape [n, 4].
        velocities: Velocities [m/s], shape [n, 3].
        accelerations: Accelerations of the last step [m/s²], shape [n, 3]; kept by the Verlet integrator only.
        clock: Steps done, shape [1].
    """

    positions: wp.array
    velocities: wp.array
    accelerations: wp.array
    clock: wp.array


class Solver:
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.
    """

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device = model, model.device
        self.threads = min(thread_count(threads), max(1, model.mass_count // _MASSES_A_THREAD))
        self.time_step = model.world.dt
        self.batch = self._batch()
        self._work = self._scratch()
        self._next = self._state_buffers()
        self._team = None if self.device.is_cuda else Team(self.threads)
        self._graphs: dict[int, Any] = {}
        self._painter = Painter(model)
        self._bound: State | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def initial_state(self) -> State:
        """The state in which the body was built."""
        body, types = self.model.body, self.model.types
        inverse = np.where(body.fixed, 0.0, 1.0 / body.masses)
        positions = np.column_stack([body.positions, inverse]).astype(self.model.numpy_real)
        verlet = self.model.world.integrator == "verlet"
        state = State(
            positions=wp.array(positions, dtype=types.vec4, device=self.device),
            velocities=wp.array(_guided(body), dtype=types.vec3, device=self.device),
            accelerations=wp.zeros(self.model.mass_count if verlet else 0, dtype=types.vec3, device=self.device),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
        )
        if verlet:
            self._first_acceleration(state)
        return state

    def advance(self, state: State, steps: int) -> None:
        """Take steps; on CUDA this returns before they are done."""
        self._bind(state)
        while steps > 0:
            count = min(steps, self.batch)
            if self.device.is_cuda:
                self._advance_cuda(state, count)
            else:
                self._advance_cpu(state, count)
            steps -= count

    def trouble(self) -> int | None:
        """The step after which a velocity was no longer finite, None while all are; waits for the device."""
        step = int(self._work.trouble.numpy()[0])
        return step if step >= 0 else None

    def forgive(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._work.trouble.fill_(-1)

    def complaint(self, state: State) -> str:
        """The fastest mass and the longest stable step, in words."""
        speeds = np.linalg.norm(state.velocities.numpy().astype(float), axis=1)
        fastest = int(np.nanargmax(speeds))
        stable = self.model.stable_step()
        return (
            f"mass {fastest} moves fastest, at {speeds[fastest]:.3g} m/s; the stable step of this model is about "
            f"{stable:.3g} s and dt is {self.time_step:.3g} s"
        )

    def stable_step(self) -> float:
        """Longest stable time step [s], estimated."""
        return self.model.stable_step()

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        return f"springs-{self.model.fingerprint()}"

    def summary(self, state: State) -> Summary:
        """Centre of mass, momenta and energies."""
        return self._painter.readout.summary(state)

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    def _advance_cpu(self, state: State, steps: int) -> None:
        assert self._team is not None
        here, after = (state.positions, state.velocities), self._next
        self._team.run(team_kernel(self.model.features), [steps, self.model.arrays, self._work, *here, *after])
        if steps % 2:
            for target, source in zip(here, after, strict=True):
                wp.copy(target, source)
        state.clock.numpy()[0] += steps

    def _advance_cuda(self, state: State, steps: int) -> None:
        if steps not in self._graphs:
            self._enqueue(state, steps, record=False)  # loads the kernels, which cannot happen during capture
            with wp.ScopedCapture(device=self.device) as capture:
                self._enqueue(state, steps, record=True)
            if len(self._graphs) >= 8:
                self._graphs.pop(next(iter(self._graphs)))
            self._graphs[steps] = capture.graph
        else:
            wp.capture_launch(self._graphs[steps])

    def _enqueue(self, state: State, steps: int, *, record: bool) -> None:
        """Launch a batch of steps; recorded into a graph they are not executed."""
        features, per_step = self.model.features, self.model.features.signal_rows_per_step
        if features.actuated:
            self._launch(signal_kernel(features), (steps * per_step + 1, self.model.signal_count), [], block=256)
        pair = ((state.positions, state.velocities), self._next)
        for step in range(steps):
            base, out = pair[step % 2], pair[1 - step % 2]
            for kind in features.passes:
                self._launch_pass(kind, step, per_step, base, out)
        if steps % 2:
            for target, source in zip(*pair, strict=True):
                wp.copy(target, source)
        wp.launch(advance_clock, 1, [steps, state.clock], device=self.device)

    def _launch_pass(self, kind: str, step: int, per_step: int, base: Any, out: Any) -> None:
        work, lanes = self._work, self.model.lanes
        stages = {"base": base, "out": out, "p": (work.x_p, work.v_p), "q": (work.x_q, work.v_q)}
        x_from, v_from, x_to, v_to = buffers_of(kind)
        kernel = pass_kernel(self.model.features, kind, lanes)
        row = step * per_step + int(time_shift(kind) * per_step)
        arguments = [step, row, *base, stages[x_from][0], stages[v_from][1], stages[x_to][0], stages[v_to][1]]
        threads = -(-self.model.mass_count * lanes // _BLOCK) * _BLOCK
        self._launch(kernel, threads, arguments, block=_BLOCK)

    def _launch(self, kernel: wp.Kernel, dim: Any, arguments: list[Any], *, block: int) -> None:
        wp.launch(
            kernel,
            dim,
            [self.model.arrays, self._work, *arguments],
            device=self.device,
            block_dim=block if self.device.is_cuda else None,
        )

    def _bind(self, state: State) -> None:
        """Point the kernels at the clock and accelerations of this state; graphs of another state are dropped."""
        if self._bound is state:
            return
        self._bound = state
        self._work.clock = state.clock
        if len(state.accelerations):
            self._work.sum_v = state.accelerations
        self._graphs.clear()

    def _first_acceleration(self, state: State) -> None:
        """Verlet begins with the acceleration at the initial state: a kick whose velocities are thrown away."""
        self._bind(state)
        features = self.model.features
        if features.actuated:
            self._launch(signal_kernel(features), (1, self.model.signal_count), [], block=256)
        here = (state.positions, state.velocities)
        arguments = [-1, 0, *here, *here, *self._next]  # a kick looks at the end of its step: the one before the first
        self._launch(pass_kernel(features, "kick", 1), self.model.mass_count, arguments, block=_BLOCK)

    def _batch(self) -> int:
        model = self.model
        if not model.features.actuated:
            return 64 if self.device.is_cuda else 128
        return int(np.clip(_FACTORS // (model.signal_count * model.features.signal_rows_per_step), 1, 64))

    def _scratch(self) -> Any:
        types, count, features = self.model.types, self.model.mass_count, self.model.features
        work = types.Work()
        rows = self.batch * features.signal_rows_per_step + 1
        stages = count if features.integrator in ("verlet", "rk4") else 0
        rk4 = count if features.integrator == "rk4" else 0
        sizes = {"forces": 0 if self.device.is_cuda else count, "sum_x": rk4, "sum_v": rk4, "v_p": stages, "v_q": rk4}
        for name, size in sizes.items():
            setattr(work, name, wp.zeros(size, dtype=types.vec3, device=self.device))
        for name in ("x_p", "x_q"):
            setattr(work, name, wp.zeros(rk4, dtype=types.vec4, device=self.device))
        work.factors = wp.zeros(
            rows * self.model.signal_count if features.actuated else 0, dtype=types.real, device=self.device
        )
        work.trouble = wp.full(1, -1, dtype=wp.int64, device=self.device)
        work.clock = wp.zeros(1, dtype=wp.int64, device=self.device)
        return work

    def _state_buffers(self) -> tuple[wp.array, wp.array]:
        types, count = self.model.types, self.model.mass_count
        return (
            wp.zeros(count, dtype=types.vec4, device=self.device),
            wp.zeros(count, dtype=types.vec3, device=self.device),
        )


def _guided(body: Any) -> np.ndarray:
    """Initial velocities, less what guides do not allow."""
    velocities, axes = body.velocities.copy(), body.guide_axes
    along = np.einsum("ij,ij->i", velocities, axes)[:, None] * axes
    velocities[body.guides == 1] = along[body.guides == 1]
    velocities[body.guides == 2] -= along[body.guides == 2]
    return velocities
