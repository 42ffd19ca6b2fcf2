"""Actuators of a batch: lists of what touches each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.actuation.actuator import Drive
from annelid.fem.actuation.channels import Channels
from annelid.fem.actuation.slide import SlideDrive
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.kernels.batch_actors import Actors, Features
from annelid.fem.kernels.batch_nodes import Slides
from annelid.fem.kernels.batch_worlds import Limits

_Lists = tuple[np.ndarray, np.ndarray, np.ndarray]


class ActorLists:
    """What actuators do to nodes, on a device.

    Args:
        drives: The actuators.
        channels: Their channels.
        left: For each of them triangles of its chamber whose tangent cells do not know.
        node_count: Number of nodes of the solid.
        device: Where it is computed.

    Attributes:
        features: Which kinds there are.
        densities: Of the liquid in each, 0 where there is none [kg/m³].
        actors: The lists.
        bending: Lists of those whose tangent nodes have to sum.
        limits: How commands become efforts.
        liquids: For each actuator the first of its nodes, [k + 1], these, its density and its datum.
        heavy: Whether there are liquids with weight.
        slides: Holds that are moved.
    """

    def __init__(
        self,
        drives: Sequence[Drive],
        channels: Channels,
        left: Sequence[np.ndarray],
        node_count: int,
        device: wp.Device,
    ) -> None:
        self._device, self._node_count = device, node_count
        corners, kept = _corners([drive.triangles() for drive in drives]), _corners(left)
        ends, points = _ends(drives), _points(drives)
        pressed = len(kept[0]) < len(corners[0])
        self.features = Features(pressed=pressed, bend=bool(len(kept[0]) or len(ends[0])), points=bool(len(points[0])))
        fluids = [drive.fluid for drive in drives]
        self.heavy = any(fluid is not None for fluid in fluids)
        self.densities = self._floats([fluid.density if fluid else 0.0 for fluid in fluids])
        self.actors, self.bending = (self._made_actors(some, ends, points) for some in (corners, kept))
        self.limits = self._made_limits(drives, channels)
        self.liquids = self._made_liquids(drives, fluids)
        self.slides = self._made_slides(drives, node_count)

    def _made_actors(self, corners: _Lists, ends: _Lists, points: _Lists) -> Any:
        actors: Any = Actors()
        actors.densities = self.densities
        lists = (("corner_first", corners), ("end_first", ends), ("point_first", points))
        kinds = (("corners", wp.vec3i), ("ends", wp.vec2i), ("points", wp.int32))
        for (first, found), (name, kind) in zip(lists, kinds, strict=True):
            nodes, values, more = found
            order = np.argsort(nodes, kind="stable")
            begin = np.searchsorted(nodes[order], np.arange(self._node_count + 1)).astype(np.int32)
            setattr(actors, first, wp.array(begin, dtype=wp.int32, device=self._device))
            setattr(actors, name, wp.array(values[order].astype(np.int32), dtype=kind, device=self._device))
            if name != "corners":
                vectors = wp.array(more[order].astype(np.float32), dtype=wp.vec3, device=self._device)
                setattr(actors, "anchors" if name == "ends" else "shares", vectors)
        return actors

    def _made_limits(self, drives: Sequence[Drive], channels: Channels) -> Any:
        limits, count = Limits(), len(drives)  # type: Any, int
        numbers, spans = np.full(count, -1, np.int32), np.zeros((3, count))
        for place, channel in enumerate(channels.every):
            numbers[channel.number] = place
            spans[:, channel.number] = channel.limits.low, channel.limits.high, channel.limits.rate
        limits.channels = wp.array(numbers, dtype=wp.int32, device=self._device)
        for name, row in zip(("lows", "highs", "rates"), spans, strict=True):
            setattr(limits, name, wp.array(row, dtype=wp.float64, device=self._device))
        limits.count = len(channels.every)
        return limits

    def _made_liquids(self, drives: Sequence[Drive], fluids: Sequence[Fluid | None]) -> list[Any]:
        nodes = [np.unique(drive.triangles()) for drive in drives]
        first = np.cumsum([0, *map(len, nodes)])
        every = np.concatenate([np.zeros(0, np.int64), *nodes])
        heights = [np.nan if fluid is None or fluid.datum is None else fluid.datum for fluid in fluids]
        return [self._integers(first), self._integers(every), self.densities, self._floats(heights)]

    def _made_slides(self, drives: Sequence[Drive], node_count: int) -> Any:
        moved = [(number, drive) for number, drive in enumerate(drives) if isinstance(drive, SlideDrive)]
        on, ways = np.zeros((len(moved), node_count), np.int32), np.zeros((len(moved), 3))
        for row, (_, drive) in enumerate(moved):
            on[row, drive.nodes], ways[row] = 1, drive.way
        slides: Any = Slides()
        slides.numbers, slides.actuators = self._integers([number for number, _ in moved]), len(drives)
        slides.ways = wp.array(ways, dtype=wp.vec3d, device=self._device)
        slides.on = wp.array(on, dtype=wp.int32, device=self._device)
        return slides

    def _integers(self, values: Any) -> wp.array[Any]:
        return wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=self._device)

    def _floats(self, values: Any) -> wp.array[Any]:
        return wp.array(np.asarray(values, np.float32), dtype=wp.float32, device=self._device)


def _corners(every: Sequence[np.ndarray]) -> _Lists:
    """Node, (next corner, the one after it, actuator) of each corner of triangles of each actuator."""
    nodes: list[Any] = [np.zeros(0, np.int64)]
    values: list[Any] = [np.zeros((0, 3), np.int64)]
    for number, triangles in enumerate(every):
        for k in range(3):
            nodes.append(triangles[:, k])
            others = triangles[:, (k + 1) % 3], triangles[:, (k + 2) % 3]
            values.append(np.column_stack([*others, np.full(len(triangles), number)]))
    return np.concatenate(nodes), np.concatenate(values), np.zeros(0)


def _ends(drives: Sequence[Drive]) -> _Lists:
    """Node, (node at the other end, actuator) and place of the other end of each end of a segment of a cable."""
    nodes, values, places = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)], [np.zeros((0, 3))]
    for number, drive in enumerate(drives):
        points, anchors = drive.segments()
        for here, there in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
            own = points[here] >= 0
            nodes.append(points[here][own])
            values.append(np.column_stack([points[there][own], np.full(own.sum(), number)]))
            places.append(anchors[there][own])
    return np.concatenate(nodes), np.concatenate(values), np.concatenate(places)


def _points(drives: Sequence[Drive]) -> _Lists:
    """Node, actuator and share of each node on which an actuator acts with a force that stays."""
    nodes, values, shares = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for number, drive in enumerate(drives):
        own, share = drive.shares()
        nodes.append(own)
        values.append(np.full(len(own), number))
        shares.append(share)
    return np.concatenate(nodes), np.concatenate(values), np.concatenate(shares)
