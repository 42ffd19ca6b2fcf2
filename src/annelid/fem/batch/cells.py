"""Cells of a mesh put together by their shape, so that a kernel of each shape has its places as constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.batch.alike import Alike, alike_cells
from annelid.fem.batch.faces import PressedFaces
from annelid.fem.hyperelastic import law_of, material_constants
from annelid.fem.kernels.batch_cells import FIRST, CellGroup, Shape
from annelid.fem.kernels.hyperelastic import FACTOR
from annelid.fem.kernels.hyperelastic import FIRST as FIRST_OF_LAW
from annelid.fem.shape_functions import point_gradients
from annelid.fem.solid import Solid
from annelid.materials.laws import Form

_FAR = 1e30
"""What stands for an infinite constant in single precision."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a solid on a device.

    Attributes:
        forms: Forms of the laws of the materials.
        shapes: Shape of each group.
        groups: The groups.
        counts: Number of cells of each.
        slots: Number of rows that cells leave forces in.
        slot_lists: For each node the first of its slots, [n + 1], and the first row of each, [s].
        node_lists: For each node the first of its cells, [n + 1], these, [k], and their parts of the volume around it.
    """

    forms: tuple[Form, ...]
    shapes: tuple[Shape, ...]
    groups: tuple[Any, ...]
    counts: tuple[int, ...]
    slots: int
    slot_lists: tuple[np.ndarray, np.ndarray]
    node_lists: tuple[np.ndarray, np.ndarray, np.ndarray]

    @property
    def count(self) -> int:
        """Number of cells."""
        return sum(self.counts)


def forms_of(solid: Solid) -> tuple[Form, ...]:
    """Forms of the laws of the materials of a solid."""
    return tuple(dict.fromkeys(law_of(material).form for material in solid.materials))


def cells_of(solid: Solid, faces: PressedFaces, device: wp.Device) -> Cells:
    """The cells of a solid; they take faces on which chambers press."""
    forms, shared = forms_of(solid), solid.shared_volumes()
    every = alike_cells(solid.elements, np.arange(len(solid.elements)) if shared is None else shared)
    constants = _constants(solid, forms, shared=shared is not None)
    groups, first, row = [], 0, 0
    nodes, rows, about = [], [], []
    for alike in every:
        geometry, volumes = _geometry(solid, alike)
        group = _group(alike, geometry, volumes, constants[solid.element_materials[alike.members[:, 0]]], device)
        group.first, group.slot = first, row
        bits, actors = faces.take(alike)
        group.faces = wp.array(bits, dtype=wp.int32, device=device)
        group.actors = wp.array(actors, dtype=wp.int32, device=device)
        groups.append(group)
        count, width = alike.nodes.shape
        nodes.append(alike.nodes.ravel())
        rows.append(row + 3 * np.arange(count * width))
        about.append(np.repeat(np.column_stack([first + np.arange(count), volumes]), width, axis=0))
        first, row = first + count, row + 3 * count * width
    slots, near = _lists(np.concatenate(nodes), np.concatenate(rows), np.concatenate(about), solid.node_count)
    shapes, counts = tuple(each.shape for each in every), tuple(len(each.nodes) for each in every)
    return Cells(forms, shapes, tuple(groups), counts, row, slots, near)


def _geometry(solid: Solid, alike: Alike) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the tetrahedra of each cell, shape [c, t, GEOMETRY], and volumes of the cells [m³], shape [c]."""
    gradients, volumes = point_gradients(solid.nodes, solid.elements)
    turned = np.take_along_axis(gradients[alike.members, 0], alike.corners[..., None], axis=2)
    own = volumes[alike.members, 0]
    numbers = np.concatenate([turned[:, :, 1:].reshape(*own.shape, 9), own[..., None]], axis=2)
    used = alike.members >= 0
    return np.where(used[..., None], numbers, 0.0), np.where(used, own, 0.0).sum(axis=1)


def _lists(
    nodes: np.ndarray, rows: np.ndarray, about: np.ndarray, count: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Slots of each node and cells around it, see `Cells`, from node, row, cell and its volume of each slot."""
    used = np.flatnonzero(nodes >= 0)
    order = used[np.argsort(nodes[used], kind="stable")]
    first = np.searchsorted(nodes[order], np.arange(count + 1)).astype(np.int32)
    total = np.bincount(nodes[order], about[order, 1], count)
    shares = (about[order, 1] / total[nodes[order]]).astype(np.float32)
    return (first, rows[order].astype(np.int32)), (first, about[order, 0].astype(np.int32), shares)


def _group(alike: Alike, geometry: np.ndarray, volumes: np.ndarray, constants: np.ndarray, device: wp.Device) -> Any:
    filled = np.where(alike.nodes >= 0, alike.nodes, alike.nodes[:, :1])  # what fills up is read and not used
    places = alike.places if alike.shape.places is None else np.zeros((1, 1))
    group: Any = CellGroup()
    group.nodes = wp.array(np.ascontiguousarray(filled, np.int32), dtype=wp.int32, device=device)
    group.places = wp.array(places.reshape(len(places), -1).astype(np.int32), dtype=wp.int32, device=device)
    for name, values in (("geometry", geometry.reshape(len(geometry), -1)), ("constants", constants)):
        setattr(group, name, wp.array(np.ascontiguousarray(values, np.float32), dtype=wp.float32, device=device))
    group.volumes = wp.array(volumes.astype(np.float32), dtype=wp.float32, device=device)
    return group


def _constants(solid: Solid, forms: tuple[Form, ...], *, shared: bool) -> np.ndarray:
    """Constants of each material in the order of the kernels, shape [m, columns]."""
    table, _ = material_constants(solid.materials, shared=shared)
    rows = np.zeros((len(table), FIRST + 1 + max(form.count for form in forms)))
    rows[:, :FIRST] = table[:, FACTOR, None] * table[:, 1:FIRST_OF_LAW]
    for row, law in zip(rows, map(law_of, solid.materials), strict=True):
        row[FIRST] = forms.index(law.form)
        row[FIRST + 1 : FIRST + 1 + law.form.count] = np.minimum(law.constants, _FAR)
    return rows
