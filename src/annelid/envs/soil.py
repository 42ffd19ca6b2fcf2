"""Soil of many worlds in one simulation of grains: settled once, and seen by cameras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Graphs
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Mesh, Plane, Snapshot, Spheres
from annelid.envs.kernels import soil as kernels
from annelid.grains import Bed, BodyControl, Model, Solver, World
from annelid.grains.kernels.readout import unsort
from annelid.grains.rigid import Solid, Wall
from annelid.grains.start import on_purpose
from annelid.shapes import Obstacle
from annelid.view.camera.stage import Stage

_ROOM = (32, 8)  # neighbours and bodies that lists have room for from the beginning: they need not grow in an episode
_SAND = (0.80, 0.66, 0.45)


def settled(bed: Bed, bodies: Sequence[Obstacle], world: World, seconds: float, device: wp.Device) -> Bed:
    """The bed after it came to rest, on its own."""
    worlds = np.zeros(len(bed), np.int32)
    with on_purpose():  # machines stand in their soil
        model = Model(bed, world=replace(world, obstacles=bodies), world_of=worlds, overlapping="push", device=device)
    solver = Solver(model, threads=None)
    state = solver.initial_state()
    solver.advance(state, max(1, round(seconds / solver.dt)))
    return bed.copy(positions=solver.readout.positions(state))


def soil_simulation(
    bed: Bed, bodies: Sequence[Obstacle], world: World, controls: Sequence[BodyControl], *,
    worlds: int, device: Any, threads: int | None,
) -> Simulation[Solver]:  # fmt: skip
    """Equal beds at rest with equal bodies, side by side.

    Args:
        bed: The grains of a world, at rest.
        bodies: What they touch.
        world: Gravity, time step and method.
        controls: Channels of the bodies.
        worlds: Number of worlds.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """
    world = replace(world, obstacles=bodies, controls=controls)
    model = Model(bed, world=world, worlds=worlds, overlapping="allow", device=device)
    simulation = Simulation(Solver(model, threads=threads))
    simulation.solver.reserve(simulation.state, *_ROOM)
    return simulation


class Soil:
    """The grains and bodies of many worlds, as cameras and rewards look at them.

    Args:
        simulation: The simulation.

    Attributes:
        points: Centres of the grains in the order of the bed, world by world [m], shape [worlds * grains].
        grains: Grains of a world.
        bodies: Bodies of a world.
    """

    def __init__(self, simulation: Simulation[Solver]) -> None:
        self.model, self.state = simulation.solver.model, simulation.state
        self.count, self.device = self.model.world_count, self.model.device
        self.grains, self.bodies = self.model.count // self.count, len(self.model.bodies) // self.count
        self.points = wp.zeros(self.model.count, dtype=wp.vec3, device=self.device)
        self._shown = [n for n in range(self.bodies) if isinstance(self.model.bodies[n], Solid)]
        self._vertices = self._local_vertices()
        self._placed = wp.zeros(len(self._vertices), dtype=wp.vec3, device=self.device)
        self.stage: Stage | None = None
        self._graphs = Graphs(self.device, kept=1)

    def gather(self) -> None:
        """Bring `points` up to date."""
        state = self.state
        wp.launch(unsort, self.model.count, [state.names, state.positions], [self.points], device=self.device)

    def look(self) -> Stage:
        """The geometry of all worlds as it is now, on the device, ready for cameras that see depth."""
        state, count = self.state, self.count
        self.gather()
        inputs = [self._owners, self._vertices, state.places, state.turns]
        wp.launch(kernels.place_vertices, len(self._vertices), inputs, [self._placed], device=self.device)
        if self.stage is None:
            self._snapshots = [self._snapshot(world) for world in range(count)]
            self.stage = Stage(self._snapshots, device=self.device)
        else:
            self.stage.move(self._placed, self.points, shaded=False)
        return self.stage

    def photograph(self, *cameras: Callable[[Stage], None]) -> None:
        """Look, and let cameras take their images; out of a graph on CUDA, where launches would take longer than work.

        Args:
            cameras: What takes an image of the stage, on the device alone; the same ones each time.
        """

        def work() -> None:
            stage = self.look()
            for take in cameras:
                take(stage)

        if self.device.is_cpu or self.stage is None:
            work()
        else:
            state = self.state
            seen = (state.names, state.positions, state.places, state.turns)
            self._graphs.run(tuple(array.ptr for array in seen), work)

    def snapshot(self, world: int) -> Snapshot:
        """A picture of one world, on the host, which stays as it is when the world goes on."""
        self.look()
        parts = []
        for part in self._snapshots[world].parts:
            if isinstance(part, Mesh):
                part = Mesh(part.name, part.vertices.numpy().copy(), part.triangles, color=part.color)
            elif isinstance(part, Spheres):
                part = Spheres(part.name, part.centers.numpy().copy(), part.radii, color=part.color)
            elif isinstance(part, Plane) and part.normal[2] != 1.0:
                continue  # walls would hide what is behind them
            parts.append(part)
        return Snapshot(0.0, 0, tuple(parts))

    def _snapshot(self, world: int) -> Snapshot:
        """Parts of one world; their arrays stay on the device and change in place."""
        first = world * self.bodies
        parts: list[Any] = []
        at = world * sum(len(self._rigid(n).surface_mesh[0]) for n in self._shown)
        for number in self._shown:
            body = self._rigid(number)
            vertices, triangles = body.surface_mesh
            span = slice(at, at + len(vertices))
            parts.append(Mesh(f"body-{number}", self._placed[span], triangles.astype(np.int32), color=body.color))
            at = span.stop
        for number in range(self.bodies):
            wall = self.model.bodies[first + number]
            if isinstance(wall, Wall):
                parts.append(Plane(f"wall-{number}", wall.point, wall.normal))
        span = slice(world * self.grains, (world + 1) * self.grains)
        parts.append(Spheres("grains", self.points[span], float(self.model.bed.radii[0]), color=_SAND))
        return Snapshot(0.0, 0, tuple(parts))

    def _rigid(self, number: int) -> Solid:
        body = self.model.bodies[number]
        assert isinstance(body, Solid)
        return body

    def _local_vertices(self) -> wp.array[Any]:
        """Vertices of all shown bodies in their frames [m], world by world, and whose they are."""
        meshes = [self._rigid(n).surface_mesh[0] for n in self._shown]
        lengths = [len(mesh) for mesh in meshes]
        owners = np.repeat(np.array(self._shown, int), lengths)
        every = (owners + self.bodies * np.arange(self.count)[:, None]).ravel()
        local = np.tile(np.concatenate([np.zeros((0, 3)), *meshes]), (self.count, 1))
        self._owners = wp.array(every.astype(np.int32), dtype=wp.int32, device=self.device)
        return wp.array(local.astype(np.float32), dtype=wp.vec3, device=self.device)
