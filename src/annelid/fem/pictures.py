"""Snapshots of a solid: its boundary coloured by what it does, its reinforcement, its loads and what holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.elements import picked_points
from annelid.core.scenery import Moving
from annelid.core.snapshot import Field, Lines, Look, Mesh, Number, Snapshot, Spheres
from annelid.fem.kernels.parameters import STIFFNESS
from annelid.fem.kernels.stress import distances, node_means
from annelid.fem.model import Model
from annelid.fem.readout import Readout
from annelid.fem.state import State
from annelid.shapes.tet.topology import flat_triangles

_LOAD = (0.80, 0.25, 0.20)
_HELD = (0.20, 0.30, 0.55)
_THREAD = (0.15, 0.15, 0.18)
_UNITS = {"displacement": "m", "von-mises": "Pa", "strain": "", "speed": "m/s", "contact": "N", "material": ""}


class Painter:
    """Makes snapshots of one model.

    Args:
        model: The model.
        readout: What reads its states.
        dt: Time step [s].
    """

    def __init__(self, model: Model, readout: Readout, dt: float) -> None:
        self.model, self._readout, self._dt = model, readout, dt
        solid = model.solid
        faces = solid.boundary
        flat = flat_triangles(faces)
        skin, corners = np.unique(flat, return_inverse=True)
        self._triangles = corners.reshape(-1, 3).astype(np.int32)
        self._skin = self._indices(skin)
        self._materials = _node_materials(model)[skin]
        elements = solid.elements[model.tetrahedra.point_elements]
        order = np.argsort(elements.ravel(), kind="stable")
        self._first = self._indices(np.searchsorted(elements.ravel()[order], np.arange(model.node_count + 1)))
        self._entries = self._indices(order // elements.shape[1])
        self._values = wp.zeros(model.tetrahedra.point_count, dtype=wp.float64, device=model.device)
        size = float(np.ptp(solid.nodes, axis=0).max())
        self._arrow, self._dot = 0.15 * size, 0.006 * size

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        touched = ("contact",) if self._readout.touches else ()
        many = ("material",) if len(self.model.solid.materials) > 1 else ()
        return ("displacement", "von-mises", "strain", "speed", *touched, *many)

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for: the surface, held nodes as spheres, loads as lines; reinforcement is always there."""
        look.require_known(self.fields)
        parts: list[Any] = []
        if look.surface:
            parts.append(self._surface(state, look))
        if look.spheres and self.model.solid.held.any():
            parts.append(self._holds(state))
        if look.lines and self.model.dead_loads.any():
            parts.append(self._loads(state))
        parts += self._reinforcement(state)
        step = int(state.clock.numpy()[0])
        numbers = self._numbers(state) if look.numbers else {}
        return Snapshot(step * self._dt, step, tuple(parts), numbers)

    def surface(self, worlds: int) -> Moving:
        """The boundary as cameras and lidars see it, in so many worlds."""
        shifts = self.model.node_count * np.arange(worlds)[:, None]
        every = self._indices((self._skin.numpy() + shifts).ravel())
        solid = Mesh("solid", np.zeros((len(self._skin), 3)), self._triangles)
        return Moving(solid, lambda state: self._picked(every, state))

    def _picked(self, nodes: wp.array[Any], state: Any) -> wp.array[Any]:
        """Where nodes are [m], in single precision."""
        return picked_points(state.positions, nodes)

    def stress(self, state: Any) -> np.ndarray:
        """Von Mises stress of each integration point [Pa], shape [p]."""
        self._evaluate_stress(state)
        return np.asarray(self._values.numpy())

    def _surface(self, state: Any, look: Look) -> Mesh:
        vertices, fields = self._picked(self._skin, state), {}
        for name in look.fields:
            labels = tuple(m.name for m in self.model.solid.materials) if name == "material" else ()
            fields[name] = Field(self._host(self._field(state, name), look), _UNITS[name], labels=labels)
        return Mesh("solid", self._host(vertices, look), self._triangles, fields)

    def _field(self, state: Any, name: str) -> Any:
        if name == "material":
            return self._materials
        if name == "contact":
            return self._readout.contact_sizes(state)[self._skin.numpy()].astype(np.float32)
        model = self.model
        values = wp.zeros(len(self._skin), dtype=wp.float32, device=model.device)
        if name in ("von-mises", "strain"):
            if name == "von-mises":
                self._evaluate_stress(state)
            else:
                model.tetrahedra.strains(state.positions, self._values)
            lists = [self._skin, self._first, self._entries, model.tetrahedra.volumes, self._values]
            wp.launch(node_means, len(values), [*lists, values], device=model.device)
        elif name == "displacement":
            wp.launch(distances, len(values), [self._skin, state.positions, model.rest, values], device=model.device)
        elif isinstance(state, State) and len(state.velocities):
            still = model.vectors()
            wp.launch(distances, len(values), [self._skin, state.velocities, still, values], device=model.device)
        return values

    def _evaluate_stress(self, state: Any) -> None:
        tetrahedra = self.model.tetrahedra
        if isinstance(state, State):
            tetrahedra.pass_time(0.0, state.history)
        tetrahedra.evaluate(state.positions, tangent=False)
        tetrahedra.rest()
        tetrahedra.von_mises(STIFFNESS, state.variation.values, self._values)

    def _holds(self, state: Any) -> Spheres:
        chosen = np.flatnonzero(self.model.solid.held.any(axis=1))
        return Spheres("held", state.positions.numpy()[chosen].astype(np.float32), self._dot, color=_HELD)

    def _loads(self, state: Any) -> Lines:
        """Forces other than weight, the largest as long as a part of the solid."""
        loads = self.model.dead_loads
        sizes = np.linalg.norm(loads, axis=1)
        chosen = np.flatnonzero(sizes > 1e-6 * sizes.max())
        ends = state.positions.numpy()[chosen]
        begins = ends - loads[chosen] * (self._arrow / sizes.max())
        segments = np.arange(2 * len(chosen), dtype=np.int32).reshape(2, -1).T
        points = np.concatenate([begins, ends]).astype(np.float32)
        return Lines("loads", points, np.ascontiguousarray(segments), color=_LOAD)

    def _reinforcement(self, state: Any) -> list[Lines]:
        """Threads, alike ones under one name, and what fabrics cover."""
        positions, parts = state.positions.numpy(), []
        for number, each in enumerate(self.model.solid.threads):
            name = f"{each.thread.name}-{number + 1}"
            points = each.places(positions).astype(np.float32)
            parts.append(Lines(name, points, each.segments.astype(np.int32), color=_THREAD))
        for number, sheet in enumerate(self.model.solid.fabrics):
            nodes, sides = np.unique(sheet.outline, return_inverse=True)
            points, segments = positions[nodes].astype(np.float32), sides.reshape(-1, 2).astype(np.int32)
            parts.append(Lines(f"{sheet.fabric.name}-outline-{number + 1}", points, segments, color=_THREAD))
        return parts

    def _numbers(self, state: Any) -> dict[str, Number]:
        moved = np.linalg.norm(state.positions.numpy() - self.model.solid.nodes, axis=1)
        elastic = Number(self._readout.elastic(state), "J")
        return {"largest-displacement": Number(float(moved.max()), "m"), "elastic-energy": elastic}

    def _host(self, values: Any, look: Look) -> Any:
        return values.numpy() if look.host and isinstance(values, wp.array) else values

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device=self.model.device)


def _node_materials(model: Model) -> np.ndarray:
    """A material of each node: that of the last tetrahedron that has it, shape [n]."""
    solid = model.solid
    materials = np.zeros(solid.node_count, np.float32)
    materials[solid.elements] = solid.element_materials[:, None]
    return materials
