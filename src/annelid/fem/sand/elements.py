"""The outer nodes of a solid in ground that resists, as elements of its assembly; see `kernels.resisting`."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.replay import Launcher
from annelid.fem.contact.surface import outer_faces, outer_nodes
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.resisting import keep, look_around, pull
from annelid.fem.sand.state import SunkIn
from annelid.fem.solid import Solid
from annelid.shapes.resistive.among import require_above, require_no_hollows
from annelid.shapes.resistive.facets import by_direction
from annelid.shapes.resistive.ground import ResistiveGround

_GIVE = 1e-3  # way after which the ground resists in full, of the depth


class Sand(ElementSet):
    """Outer nodes of a solid in ground that resists.

    Args:
        solid: The solid.
        ground: The ground.
        dt: Time step [s].
        device: Where it is computed.
    """

    def __init__(self, solid: Solid, ground: ResistiveGround, dt: float, device: wp.Device) -> None:
        require_no_hollows(ground, "solids")
        outer, faces = outer_nodes(solid), outer_faces(solid)
        require_above(ground, solid.nodes[outer, 2], "outer nodes of the solid")
        super().__init__(outer[:, None], device)
        self.ground, self._dt = ground, dt
        self._numbers = ground.numbers(wp.float64)
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        owners, facets, ends = by_direction(solid.nodes, faces)
        mine = np.isin(owners, outer)
        owners, facets, ends = owners[mine], facets[mine], ends[mine]
        first = np.append(np.searchsorted(owners, outer), len(owners)).astype(np.int32)
        self._facets = [
            wp.array(first, dtype=wp.int32, device=device),
            wp.array(facets.astype(np.int32), dtype=wp.int32, device=device),
            wp.array(ends, dtype=wp.bool, device=device),
            wp.array(faces, dtype=wp.vec3i, device=device),
        ]
        sizes = np.linalg.norm(np.cross(*np.diff(solid.nodes[faces], axis=1).swapaxes(0, 1)), axis=1) / 6.0
        areas = np.bincount(owners, sizes[facets], minlength=solid.node_count)[outer]
        stiffnesses = ground.of.flat(ground.law) / _GIVE * areas
        self._stiffnesses = wp.array(stiffnesses, dtype=wp.float64, device=device)
        count = len(outer)
        self._stretches, self._aside = (wp.zeros(count, dtype=wp.vec3d, device=device) for _ in range(2))
        self._limits = wp.zeros(count, dtype=wp.float64, device=device)
        self._starts = wp.zeros(solid.node_count, dtype=wp.vec3d, device=device)
        self._launcher = Launcher(device)

    def first_state(self) -> SunkIn:
        """Of one world: nothing is held yet."""
        return SunkIn(stretches=wp.zeros_like(self._stretches), forces=wp.zeros_like(self._stretches))

    def begin(self, sunk: SunkIn, starts: wp.array[Any]) -> None:
        """Start a step from a state, whose nodes are at `starts` [m], vec3d of shape [n]."""
        wp.copy(self._stretches, sunk.stretches)
        wp.copy(self._starts, starts)

    def look(self, positions: wp.array[Any]) -> None:
        """Look up what the ground does to nodes that get from their starts to these positions within the step."""
        fixed = [self._numbers, self._nodes, *self._facets, self._stiffnesses]
        state = [self._starts, positions, self._stretches, self._limits, self._aside]
        self._launcher.launch(look_around, self.element_count, [wp.float64(self._dt), *fixed, *state])

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of the springs that slide in the ground."""
        now = [self._starts, self._stretches, self._limits, self._aside, positions]
        found = [self.energy, self.forces, self.tangent]
        self._launcher.launch(pull, self.element_count, [self._nodes, self._stiffnesses, int(tangent), *now, *found])

    def end(self, sunk: SunkIn, positions: wp.array[Any]) -> None:
        """End the step at these positions [m], vec3d of shape [n]."""
        now = [self._starts, self._limits, self._aside, positions, sunk.stretches, sunk.forces]
        self._launcher.launch(keep, self.element_count, [self._nodes, self._stiffnesses, *now])


def require_motion(ground: ResistiveGround | None, *, dynamic: bool, integrator: str) -> None:
    """Refuse ground that resists motion below a solid that has none, or by a rule that looks within steps."""
    if ground is None:
        return
    if not dynamic:
        raise InvalidValue(
            "a ResistiveGround resists motion, and a solid without inertia goes from equilibrium to equilibrium: use "
            "fem.simulation with dynamic=True."
        )
    if integrator != "backward-euler":
        raise InvalidValue(
            f"integrator={integrator!r} cannot step a solid in a ResistiveGround yet: use 'backward-euler'."
        )
