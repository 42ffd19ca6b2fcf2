"""Solids as volume cells with all that they feel, in VTU files for ParaView: of an equilibrium, or of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.files import as_path
from annelid.core.numbers import is_whole
from annelid.core.simulation import Simulation
from annelid.core.vtu import Arrays, require_vtu, write_grid, write_list
from annelid.fem.elements import ElementSet
from annelid.fem.mesh import WithNames
from annelid.fem.model import Model
from annelid.fem.parameters import varied_worlds
from annelid.fem.readout import Readout
from annelid.fem.robots.solver import RobotSolver
from annelid.fem.solid import Solid
from annelid.fem.solver import Solver
from annelid.fem.state import State
from annelid.shapes.tet.contents import Contents
from annelid.shapes.tet.exchange import grid_cells, label_arrays, name_arrays


def write_vtu(
    path: str | os.PathLike[str],
    body: Solid | Simulation[Any],
    positions: ArrayLike | None = None,
    *,
    world: int = 0,
) -> Path:
    """Write a solid as it is deformed: its tetrahedra, not only its surface.

    Fields of nodes: `displacement` [m], `velocity` [m/s] of a simulation, `force` [N], which is all that the material
    does not exert itself (loads, weight, contact, what holds them, less inertia), `contact` [N] where it touches, and
    each group (1 for its nodes). Fields of cells: `stress`, the Cauchy stress [Pa], and `strain`, the left stretch less
    1, as tensors of nine components, `von-mises` [Pa], `region` and `material`.

    Args:
        path: The file, FILE.vtu.
        body: The solid, or a simulation of one as it stands.
        positions: Positions of the nodes of a solid [m], shape [n, 3], as `equilibrium` returns them; None: at rest.
        world: Which world of a simulation.

    Returns:
        The file that was written.
    """
    path = require_vtu(as_path(path), ".vtu")
    if isinstance(body, Simulation):
        if positions is not None:
            raise InvalidValue("a simulation has positions of its own; give write_vtu the solid, or no positions.")
        with body.gate, body._march.undisturbed():
            _write_state(path, body, world)
    elif isinstance(body, Solid):
        placed = body.nodes if positions is None else as_numbers("positions", positions)
        if placed.shape != body.nodes.shape or not np.isfinite(placed).all():
            raise InvalidValue(f"positions must be finite numbers of the shape {body.nodes.shape} of the nodes.")
        _write(path, Model(_loose(body), device="cpu"), placed, None, 0.0, {})
    else:
        raise InvalidValue(f"what is written is a fem.Solid or a simulation of one, not a {type(body).__name__}.")
    return path


class VtuSeries:
    """Frames of a run as volume cells: `simulation.observe(fem.VtuSeries("run.pvd"), every=0.02)`.

    Each call writes a file to the folder NAME.frames, see `write_vtu`, and the list of all, which ParaView opens.

    Args:
        path: The list, FILE.pvd.
        world: Which world of the simulation.
    """

    def __init__(self, path: str | os.PathLike[str], *, world: int = 0) -> None:
        self._path, self._world = require_vtu(as_path(path), ".pvd"), world
        self._frames: list[tuple[float, str]] = []

    def __call__(self, simulation: Simulation[Any]) -> None:
        """Write the simulation as it stands, once at a time."""
        if self._frames and self._frames[-1][0] == simulation.time:
            return  # Ctrl-C has come between the frame and the count of it
        name = f"{self._path.stem}.frames/frame_{len(self._frames):04d}.vtu"
        write_vtu(self._path.parent / name, simulation, world=self._world)
        self._frames.append((simulation.time, name))
        write_list(self._path, self._frames)


def _loose(solid: Solid) -> Solid:
    """The solid without holds: stresses do not depend on them, and a model refuses one that is held everywhere."""
    copy = solid.copy()
    copy.held[:] = False
    return copy


def _write_state(path: Path, simulation: Simulation[Any], world: int) -> None:
    solver, count = simulation.solver, simulation.solver.worlds
    if not isinstance(solver, Solver | RobotSolver):
        raise InvalidValue(
            f"a simulation of {simulation._package} has no solid of finite elements to write; `annelid export` writes "
            "recordings of it as surfaces."
        )
    if not (is_whole(world, 0) and world < count):
        raise InvalidValue(f"world must be one of the {count} worlds, counted from 0, not {world!r}.")
    state, model, readout = solver.world(simulation.state, world), solver.model, solver.readout
    arrays = {}
    if isinstance(readout, Readout):
        arrays["velocity"] = readout.velocities(state)
        if readout.touches:
            arrays["contact"] = readout.contact_forces(state).sum(axis=1) + readout.own_forces(state)
    stiffer = varied_worlds(simulation.state.variation, count, model.gravity)[world].stiffness
    _write(path, model, np.array(state.positions.numpy(), float), state, simulation.time, arrays, stiffer)


def _write(
    path: Path, model: Model, positions: np.ndarray, state: Any, time: float, arrays: Arrays, stiffer: float = 1.0
) -> None:
    """Write the solid of a model at these positions [m], in a state or, without one, as after a very long time."""
    solid = model.solid
    names = dict(solid.mesh.region_names) if isinstance(solid.mesh, WithNames) else {}
    contents = Contents(positions, solid.elements, solid.regions, names, solid.groups)
    stress, strain, force = _felt(model, positions, state)
    deviator = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
    points, cells = label_arrays(contents)
    write_grid(
        path,
        positions,
        [grid_cells(contents)],
        point_arrays={"displacement": positions - solid.nodes, **arrays, "force": stiffer * force, **points},
        cell_arrays={
            "stress": stiffer * stress.reshape(-1, 9),
            "strain": strain.reshape(-1, 9),
            "von-mises": stiffer * np.sqrt(1.5 * (deviator**2).sum(axis=(1, 2))),
            **cells,
            "material": solid.element_materials.astype("<i4"),
        },
        whole_arrays={"TimeValue": np.array([time]), **name_arrays(contents)},
    )


def _felt(model: Model, positions: np.ndarray, state: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cauchy stress [Pa] and left stretch less 1 of each tetrahedron, [t, 3, 3], and force on each node [N], [n, 3]."""
    tetrahedra, placed = model.tetrahedra, model.vectors(positions)
    if isinstance(state, State):
        tetrahedra.pass_time(0.0, state.history)
    for each in (tetrahedra, *model.reinforcement):
        each.evaluate(placed, tangent=False)
    tetrahedra.rest()
    force = -np.sum([_nodal(each, model.node_count) for each in (tetrahedra, *model.reinforcement)], axis=0)
    gradients = tetrahedra.gradients.numpy()
    deformations = np.einsum("psi,psj->pij", positions[tetrahedra.point_nodes], gradients)
    swollen = np.linalg.det(deformations)
    stress = tetrahedra.nominal_stresses() @ np.swapaxes(deformations, 1, 2) / swollen[:, None, None]
    squares, axes = np.linalg.eigh(deformations @ np.swapaxes(deformations, 1, 2))
    stretch = (axes * np.sqrt(np.maximum(squares, 0.0))[:, None, :]) @ np.swapaxes(axes, 1, 2)
    owners, count = tetrahedra.point_elements, len(model.solid.elements)
    stress = _means(0.5 * (stress + np.swapaxes(stress, 1, 2)), owners, tetrahedra.point_volumes * swollen, count)
    return stress, _means(stretch - np.eye(3), owners, tetrahedra.point_volumes, count), force


def _nodal(each: ElementSet, count: int) -> np.ndarray:
    """Force of a set of elements on each node [N], shape [n, 3]."""
    used = each.nodes >= 0
    rows, forces = each.nodes[used], each.forces.numpy()[used]
    return np.stack([np.bincount(rows, forces[:, k], count) for k in range(3)], axis=1)


def _means(values: np.ndarray, owners: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Means over the points of each tetrahedron, by weight; values [p, 3, 3]."""
    total = np.zeros((count, 3, 3))
    np.add.at(total, owners, weights[:, None, None] * values)
    return total / np.bincount(owners, weights, count)[:, None, None]
