"""Points against rigid things: outer nodes of a solid, and points of free bodies. Nodes are one more element set."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.core.state import overwrite
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.contact import Points, follow_points, free_parts, keep_stretches, point_gaps, touch_points
from annelid.fem.kernels.few_points import follow_tangents


class PointContacts(ElementSet):
    """Contact of points with obstacles: one element a point, so that no matrix grows.

    Friction has a limit and a plane, which follow from how hard a pair presses and where. Both lag behind, `follow`
    takes them from where points are: so the tangent is symmetric and there is an energy.

    Args:
        numbers: Which of all positions the points are, shape [k].
        count: Number of all positions.
        forms: The obstacles, see `kernels.obstacles`.
        frictions: Coulomb coefficients of the pairs, shape [k, o].
        reach: Gap at which contact begins [m].
        skins: Gap that is kept beside [m], shape [k] or one for all.
        owners: Obstacle that a point belongs to, shape [k]; None where they belong to none.
        device: Where it is computed.

    Attributes:
        pair_forces: Force of each pair on its point [N], vec3d of shape [k · o].
        points: What the points are to the kernels, see `kernels.contact`.
        frictions: Coulomb coefficients of the pairs as they are now, on the host, shape [k · o].
        pair_tangents: How it resists motion of the point [N/m], mat33d of shape [k · o].
        strengths: How hard each pair pressed where friction was followed last [N], float64 of shape [k · o].
        normals: Normals there, vec3d of shape [k · o].
        stretches: Stretches of the springs of friction when the step began [m], vec3d of shape [k · o].
        starts: Where all positions were then [m], vec3d.
    """

    def __init__(
        self,
        numbers: np.ndarray,
        count: int,
        forms: Any,
        frictions: np.ndarray,
        *,
        reach: float,
        skins: Any,
        owners: np.ndarray | None = None,
        device: wp.Device,
    ) -> None:
        super().__init__(np.asarray(numbers)[:, None], device)
        self.forms, self.reach = forms, reach
        self.size = len(numbers), len(forms.kinds)
        self.points: Any = Points()
        self.points.numbers = wp.array(numbers, dtype=wp.int32, device=device)
        own = np.full(len(numbers), -1) if owners is None else owners
        self.points.owners = wp.array(own, dtype=wp.int32, device=device)
        gaps = np.broadcast_to(np.asarray(skins, float), len(numbers))
        self.points.skins = wp.array(np.ascontiguousarray(gaps), dtype=wp.float64, device=device)
        self._built = np.ravel(np.asarray(frictions, float))
        self.frictions = self._built.copy()
        self.points.frictions = wp.array(self.frictions, dtype=wp.float64, device=device)
        self.points.reach = wp.float64(reach)
        pairs = self.size[0] * self.size[1]
        self.strengths = wp.zeros(pairs, dtype=wp.float64, device=device)
        self.normals, self.stretches = (wp.zeros(pairs, dtype=wp.vec3d, device=device) for _ in range(2))
        self.pair_forces = wp.zeros(pairs, dtype=wp.vec3d, device=device)
        self.pair_tangents = wp.zeros(pairs, dtype=wp.mat33d, device=device)
        self.starts = wp.zeros(count, dtype=wp.vec3d, device=device)
        self._parts = wp.zeros(len(numbers), dtype=wp.float64, device=device)
        self._part_of = Mirror(self._parts)
        self._gaps = wp.zeros(self.size, dtype=wp.float64, device=device)
        self._launcher = Launcher(device)

    def scale_friction(self, factor: float) -> None:
        """Let Coulomb coefficients be so many times what they were built with."""
        self.frictions[:] = factor * self._built
        overwrite(self.points.frictions, self.frictions)

    def begin(self, begin: Any, now: Any, stretches: wp.array[Any], positions: wp.array[Any]) -> None:
        """Start a step: where obstacles were and, in arrays that are written to, are; stretches; where points are."""
        self._begin, self._now = begin, now
        wp.copy(self.stretches, stretches)
        wp.copy(self.starts, positions)

    def follow(self, positions: wp.array[Any]) -> None:
        """Take the limits and planes of friction from where points are."""
        inputs = [self.points, self.forms, self._now, positions]
        self._launcher.launch(follow_points, self.size, [*inputs, self.strengths, self.normals])

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of push and friction."""
        inputs = [int(tangent), self.points, self.forms]
        lagging = [self._begin, self._now, self.starts, self.stretches, self.strengths, self.normals]
        outputs = [self.energy, self.forces, self.tangent, self.pair_forces, self.pair_tangents]
        self._launcher.launch(touch_points, self.element_count, [*inputs, *lagging, positions, *outputs])

    def follow_tangents(self, positions: wp.array[Any], out: wp.array[Any]) -> None:
        """How points resist as evaluated last [N/m], mat33d of shape [p], with friction that follows the push."""
        lagging = [self._begin, self._now, self.starts, self.stretches, self.strengths, self.normals]
        inputs = [self.points, self.forms, *lagging, positions, self.tangent]
        self._launcher.launch(follow_tangents, self.element_count, [*inputs, out])

    def end(self, positions: wp.array[Any], stretches: wp.array[Any], forces: wp.array[Any]) -> None:
        """End a step: what friction keeps, and the forces, into arrays of a state."""
        self.follow(positions)
        self.evaluate(positions, tangent=False)
        wp.copy(forces, self.pair_forces)
        fixed = [self.points, self.forms, self._begin, self._now, self.starts, self.strengths, self.normals]
        self._launcher.launch(keep_stretches, self.size, [*fixed, positions, self.stretches])
        wp.copy(stretches, self.stretches)

    def free_part(self, positions: wp.array[Any], step: wp.array[Any], begin: Any, end: Any) -> float:
        """Part of a step of points and obstacles on which no gap falls below a tenth of itself, at most 1."""
        inputs = [self.points, self.forms, begin, end, positions, step]
        self._launcher.launch(free_parts, self.element_count, [*inputs, self._parts])
        return float(self._part_of.read().min(initial=1.0))

    def gaps(self, positions: wp.array[Any], poses: Any) -> np.ndarray:
        """Gaps of all pairs [m], shape [k, o]; infinite where a point belongs to the obstacle."""
        inputs = [self.points, self.forms, poses, positions]
        wp.launch(point_gaps, self.size, inputs, [self._gaps], device=self.device)
        return np.asarray(self._gaps.numpy())
