"""Cantilevers: their theory, and the experiment of Cronos, sec. Results: load the tip, damp, release, watch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from scipy.optimize import brentq

from annelid import springs
from annelid.core.simulation import Simulation
from annelid.materials import Material

DAMPING_PER_STEP = 1.0e-4
"""Part of the velocity that is lost in a step while the beam settles (Cronos: 0.01 %)."""
SETTLING = 0.5
"""Time for which the loaded beam is damped [s]."""
FREE = 1.0
"""Time for which it then vibrates freely [s]."""
SAMPLE = 1.0e-3
"""Time between two records [s]."""

_ROOT = 1.8751040687119611  # of cos x cosh x = -1
_LATTICE_POISSON = 0.25


@dataclass(frozen=True)
class Cantilever:
    """A beam along x, held at x = 0, that bends in z.

    Attributes:
        material: Material.
        length: Length [m], a whole number of cells.
        height: Height [m], along z.
        cells: Cells along the height; they are cubes.
        width_cells: Cells along the width, y.
    """

    material: Material
    length: float
    height: float
    cells: int
    width_cells: int

    @property
    def pitch(self) -> float:
        """Edge of a cell [m]."""
        return self.height / self.cells

    @property
    def width(self) -> float:
        """Width [m]."""
        return self.width_cells * self.pitch

    @property
    def slenderness(self) -> float:
        """Length over height."""
        return self.length / self.height

    @property
    def label(self) -> str:
        """Length, width and height [mm]."""
        return "x".join(f"{1e3 * size:.4g}" for size in (self.length, self.width, self.height))

    @property
    def bending_stiffness(self) -> float:
        """E I [N m²]."""
        return self.material.youngs_modulus * self.width * self.height**3 / 12

    def body(self) -> springs.Body:
        """The beam as a lattice, with the group "tip"."""
        body = springs.beam(self.length, self.width, self.height, self.pitch, self.material)
        body.fix(lambda p: p[:, 0] < 0.5 * self.pitch)
        return body.group("tip", lambda p: p[:, 0] > self.length - 0.5 * self.pitch)

    def load_for(self, deflection: float) -> float:
        """Force at the tip [N] for a deflection [m]."""
        return 3 * self.bending_stiffness * deflection / self.length**3

    def euler_bernoulli(self) -> float:
        """First natural frequency [Hz] of a thin beam; Cronos prints the formula with a stray g."""
        inertia = self.material.density * self.width * self.height * self.length**4
        return _ROOT**2 / (2 * math.pi) * math.sqrt(self.bending_stiffness / inertia)

    def timoshenko(self) -> float:
        """First natural frequency [Hz] with shear and rotary inertia (Huang, J. Appl. Mech. 28 (1961) 579).

        Poisson's ratio is that of an isotropic network of springs, 1/4; the shear coefficient is Cowper's.
        """
        nu = _LATTICE_POISSON
        rotary = (self.height / self.length) ** 2 / 12
        shear = rotary * 2 * (1 + nu) / (10 * (1 + nu) / (12 + 11 * nu))

        def determinant(b: float) -> float:
            root = math.sqrt((rotary - shear) ** 2 + 4 / b**2)
            alpha = math.sqrt((root - rotary - shear) / 2)
            beta = math.sqrt((root + rotary + shear) / 2)
            first = 2 + (b**2 * (rotary - shear) ** 2 + 2) * math.cosh(b * alpha) * math.cos(b * beta)
            factor = b * (rotary + shear) / math.sqrt(1 - b**2 * rotary * shear)
            return first - factor * math.sinh(b * alpha) * math.sin(b * beta)

        solution = float(brentq(determinant, 0.3 * _ROOT**2, 1.01 * _ROOT**2))
        return self.euler_bernoulli() * solution / _ROOT**2


@dataclass(frozen=True, eq=False)
class Vibration:
    """What was recorded.

    Attributes:
        times: Moments after the release [s], shape [t].
        tips: Mean displacement of each beam's tip along z [m], shape [t, beams].
        dt: Time step [s].
    """

    times: np.ndarray
    tips: np.ndarray
    dt: float


def whole_steps(
    body: springs.Body, device: wp.Device, *, safety: float = 0.9, every: float = SAMPLE, **world: Any
) -> float:
    """A stable time step [s] of which a whole number fits between two records."""
    stable = springs.Model(body, springs.World(**world), device).stable_step()
    return every / math.ceil(every / (safety * stable))


def settled(body: springs.Body, device: wp.Device, threads: int | None, **world: Any) -> springs.Body:
    """The body in the state that it has after the damped time, its forces taken away."""
    damping = DAMPING_PER_STEP / world["dt"]
    simulation = springs.simulation(body, device=device, threads=threads, velocity_damping=damping, **world)
    simulation.run(SETTLING)
    return in_state(body, simulation)


def in_state(body: springs.Body, simulation: Simulation[springs.Solver]) -> springs.Body:
    """A copy of a body, without forces, in the state that a simulation of it is in."""
    twin = body.copy()
    twin.positions = simulation.state.positions.numpy()[:, :3].astype(float)
    twin.velocities = simulation.state.velocities.numpy().astype(float)
    twin.forces[:] = 0.0
    return twin


def watch(
    simulation: Simulation[springs.Solver], read: Callable[[np.ndarray], Any], seconds: float, every: float = SAMPLE
) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and what `read(positions)` says at each of them while the simulation runs on."""
    rows = [read(simulation.state.positions.numpy())]
    simulation.observe(lambda s: rows.append(read(s.state.positions.numpy())), every=every)
    simulation.run(seconds)
    return every * np.arange(len(rows)), np.array(rows)


def vibrate(
    beams: Sequence[Cantilever], integrator: str, device: wp.Device, threads: int | None, *, deflection: float = 1e-3
) -> Vibration:
    """Load, damp, release and record beams of one pitch, all in one simulation.

    Args:
        beams: The beams.
        integrator: Name of the integrator.
        device: Warp device.
        threads: CPU threads.
        deflection: Deflection of the tip under its load, as a part of the length.
    """
    bodies = [beam.body() for beam in beams]
    for beam, body in zip(beams, bodies, strict=True):
        body.push("tip", (0.0, 0.0, -beam.load_for(deflection * beam.length)))
    firsts = np.cumsum([0, *(body.mass_count for body in bodies)])
    tips = [first + body.groups["tip"] for first, body in zip(firsts, bodies, strict=False)]
    whole = springs.join(bodies)
    world: dict[str, Any] = {"integrator": integrator, "precision": "float64", "gravity": (0.0, 0.0, 0.0)}
    world["dt"] = whole_steps(whole, device, **world)
    released = settled(whole, device, threads, **world)
    simulation = springs.simulation(released, device=device, threads=threads, **world)
    rest = np.array([whole.positions[tip, 2].mean() for tip in tips])
    times, heights = watch(simulation, lambda p: [float(p[tip, 2].mean()) for tip in tips], FREE)
    return Vibration(times, heights - rest, world["dt"])
