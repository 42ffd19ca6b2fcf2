"""Experiments with beds of grains: packing against friction, a ball dropped into a bed, collapsing columns, a silo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.options import Auto
from annelid.core.simulation import Simulation
from annelid.grains.filling import jittered_lattice
from annelid.scenes.column import Column
from annelid.scenes.drum import Drum
from annelid.scenes.hopper import Hopper
from annelid.shapes import Rigid, Sphere, Surface, box_walls, ground

RADIUS = 0.01
_SETTLE = 0.8  # time to come to rest after pouring [s]


# --- packing against friction ---


def packings(
    frictions: Sequence[float], *, side: int = 10, layers: int = 16, device: str | wp.Device, threads: int | None
) -> np.ndarray:
    """Packing of beds of equal spheres of several frictions, poured from a loose lattice, shape [frictions].

    Each has a world of its own, which repeats sideways after `side` + 0.5 diameters, so that it has no walls.
    """
    pitch = 2.1 * RADIUS
    spots = jittered_lattice((side, side, layers), pitch, jitter=0.09 * RADIUS, seed=3)
    count, worlds = len(spots), np.repeat(np.arange(len(frictions)), len(spots))
    bed = grains.Bed(
        np.tile(spots, (len(frictions), 1)), RADIUS, tuple(grains.Grain(friction=f) for f in frictions), kinds=worlds,
        velocities=np.tile(0.3 * np.random.default_rng(4).normal(size=(count, 3)), (len(frictions), 1)),
    )  # fmt: skip
    floors = [ground(friction=f, world=world) for world, f in enumerate(frictions)]
    period = (side * pitch, side * pitch, 0.0)
    simulation = grains.simulation(
        bed, obstacles=floors, world_of=worlds, period=period, device=device, threads=threads
    )
    simulation.run(_SETTLE)
    heights = simulation.solver.readout.positions(simulation.state)[:, 2].reshape(len(frictions), count)
    return np.array([_bulk(z, period[0] * period[1]) for z in heights])


def _bulk(heights: np.ndarray, area: float) -> float:
    """Part of the volume that is filled, three diameters away from floor and surface."""
    low, high = 6.0 * RADIUS, float(np.quantile(heights, 0.98)) - 6.0 * RADIUS
    a, b = np.clip(low - heights, -RADIUS, RADIUS), np.clip(high - heights, -RADIUS, RADIUS)
    volume = math.pi * (RADIUS**2 * (b - a) - (b**3 - a**3) / 3.0)
    return float(volume.sum()) / (area * (high - low))


# --- angle of repose ---


def reposes(
    materials: Sequence[grains.Grain], *, width: float = 32.0, seconds: float = 2.6, device: str | wp.Device,
    threads: int | None,
) -> np.ndarray:  # fmt: skip
    """Angles of repose of several materials [rad], shape [materials]: how far beds are tilted in slowly turning drums.

    Each has a drum of its own, `width` diameters wide and half full; the angle is that of the surface in the middle,
    the mean over the time after the bed has begun to run.
    """
    drum = Drum(radius=0.5 * width * 2.0 * RADIUS, length=12.0 * RADIUS, diameter=2.0 * RADIUS, filling=0.5,
                ratio=1.2, spin=0.5)  # fmt: skip
    bed, wall = drum.bed(), drum.wall()
    worlds = np.repeat(np.arange(len(materials)), len(bed))
    many = grains.Bed(
        np.tile(bed.positions, (len(materials), 1)), np.tile(bed.radii, len(materials)), tuple(materials), kinds=worlds
    )
    walls = [
        replace(wall, world=world, surface=Surface(friction=max(material.own_friction, 0.8), rolling=material.rolling))
        for world, material in enumerate(materials)
    ]
    simulation = grains.simulation(
        many, obstacles=walls, world_of=worlds, period=(0.0, drum.length, 0.0), device=device, threads=threads
    )
    angles: list[np.ndarray] = []

    def look(sim: Simulation[grains.Solver]) -> None:
        x = sim.solver.readout.positions(sim.state).reshape(len(materials), len(bed), 3)
        angles.append(np.array([_surface_slope(part, drum.radius) for part in x]))

    simulation.run(0.6 * seconds)
    simulation.observe(look, every=0.02)
    simulation.run(0.4 * seconds)
    return np.asarray(np.mean(angles, axis=0))


def _surface_slope(x: np.ndarray, radius: float) -> float:
    """Slope of the surface in the middle half of a drum [rad]: of the highest grains over each diameter."""
    columns = np.arange(-0.5 * radius, 0.5 * radius, 2.0 * RADIUS)
    tops = [np.quantile(x[np.abs(x[:, 0] - column - RADIUS) < RADIUS, 2], 0.97) for column in columns]
    return float(math.atan(-np.polyfit(columns, tops, 1)[0]))


# --- a ball dropped into a bed ---


@dataclass(frozen=True, eq=False)
class Drop:
    """A ball falls into a bed.

    Attributes:
        times: Moments [s], shape [t].
        heights: Lowest point of the ball above the floor [m], shape [t].
        speeds: Its speed [m/s], shape [t].
        missing: Momentum of bed and ball that gravity and walls do not account for [N s], shape [t].
        scale: Momentum of the ball when it hits the bed [N s].
        surface: Height of the surface of the bed [m].
    """

    times: np.ndarray
    heights: np.ndarray
    speeds: np.ndarray
    missing: np.ndarray
    scale: float
    surface: float


def dropped_ball(
    *, speed: float = 2.0, radius: float = 0.04, density: float = 2500.0, side: int = 12, layers: int = 10,
    seconds: float = 0.5,
    dt: float | Auto = "auto", device: str | wp.Device, threads: int | None,
) -> Drop:  # fmt: skip
    """Drop a ball into a settled bed in a box, and add up every impulse."""
    edge = 2.1 * RADIUS * side
    spots = jittered_lattice((side, side, layers), 2.1 * RADIUS, jitter=0.09 * RADIUS, seed=5)
    top = float(spots[:, 2].max()) + RADIUS
    walls = box_walls((0.0, 0.0, 0.0), (edge, edge, 1.0))
    ball = Rigid(
        Sphere(radius),
        position=(0.5 * edge, 0.5 * edge, top + radius + 0.15 * speed),
        motion="free",
        density=density,
        velocity=(0.0, 0.0, -speed),
        name="ball",
    )
    bed = grains.Bed(spots, RADIUS, grains.Grain(friction=0.5))
    simulation = grains.simulation(bed, obstacles=[*walls, ball], dt=dt, device=device, threads=threads)
    rows, impulse = [], np.zeros(3)
    mass = float(bed.masses.sum()) + ball.total_mass
    start = simulation.summary().momentum
    gravity = mass * np.asarray(simulation.solver.model.world.gravity)

    def look(sim: Simulation[grains.Solver]) -> None:
        nonlocal impulse
        readout, state, dt = sim.solver.readout, sim.state, sim.dt
        impulse = impulse + dt * (gravity - sum(readout.force(state, wall) for wall in walls))
        missing = readout.summary(state).momentum - start - impulse
        place, motion = readout.body_position(state, ball), readout.body_velocity(state, ball)
        rows.append((sim.time, place[2] - radius, np.linalg.norm(motion), np.abs(missing).max()))

    simulation.observe(look, every=simulation.dt)
    simulation.run(seconds)
    times, heights, speeds, missing = np.array(rows).T
    surface = float(np.quantile(simulation.solver.readout.positions(simulation.state)[:, 2], 0.95)) + RADIUS
    return Drop(times, heights, speeds, missing, ball.total_mass * speed, surface)


# --- columns and silos ---


@dataclass(frozen=True)
class Collapse:
    """What became of a column: aspect ratio as it stood, run-out and final height over the radius, slope [rad]."""

    aspect: float
    run_out: float
    height: float
    angle: float
    strays: int
    grains: int


def collapse(column: Column, *, device: str | wp.Device, threads: int | None) -> Collapse:
    """Let a column settle, lift its tube, and wait until the heap lies still."""
    simulation = column.build(device=str(device), threads=threads)
    simulation.run(column.pause)
    z = simulation.solver.readout.positions(simulation.state)[:, 2]
    standing = float(np.quantile(z, 0.995)) + 0.5 * column.diameter
    simulation.run(8.0 * math.sqrt(column.height / 9.81) + 0.1)
    found = column.deposit(simulation)
    radius = column.radius
    return Collapse(
        standing / radius, found.radius / radius - 1.0, found.height / radius, found.angle, found.strays, len(z)
    )


@dataclass(frozen=True)
class Outflow:
    """A silo that ran empty: rate and that of Beverloo [kg/s], and the slope of what stays in it [rad]."""

    opening: float
    rate: float
    law: float


def discharge(silo: Hopper, seconds: float, *, device: str | wp.Device, threads: int | None) -> Outflow:
    """Open a silo and watch it run."""
    simulation = silo.build(device=str(device), threads=threads)
    simulation.run(seconds)
    return Outflow(silo.opening, silo.outflow(simulation), silo.beverloo())
