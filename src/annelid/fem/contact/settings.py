"""How solids touch: settings that follow from mesh and material unless they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.fem.contact.candidates import pieces_of
from annelid.fem.contact.surface import edges_of, outer_faces
from annelid.fem.solid import Solid

REACH = 0.25
"""Of the mean outer edge: gap at which contact begins."""
STIFFNESS = 10.0
"""Of Young's modulus times the mean outer edge: spring of a contact."""


@documented
@dataclass(frozen=True, kw_only=True)
class Contact(Checked):
    """How a solid touches."""

    of_what: ClassVar[str] = "a contact"

    reach: float | None = parameter(
        None,
        "Gap at which contact begins [m]; None takes a quarter of the mean edge of the outer surface. What rests "
        "on the ground stands off by a little less.",
        unit="m",
        above=0.0,
    )
    stiffness: float | None = parameter(
        None,
        "Force over depth of one node within the reach [N/m]; None takes ten times Young's modulus times the mean "
        "edge.",
        unit="N/m",
        above=0.0,
    )
    skin: float = parameter(0.0, "Gap that is kept beside all this [m].", unit="m", least=0.0)
    itself: bool | None = parameter(
        None,
        "Whether the surface touches itself, walls of chambers and one piece of the mesh another included; None says "
        "so where the mesh has several pieces.",
    )
    overlapping: Literal["refuse", "push"] = parameter(
        "refuse",
        "What to do with a solid that nothing holds and that starts deep in an obstacle, or with such a free "
        'body: "refuse" it, or "push" it out as a whole, with a warning that tells how far.',
    )

    def of(self, solid: Solid) -> Contact:
        """The same with numbers where there were none; a reach or skin of another unit is refused."""
        edge, size = mean_edge(solid), float(np.ptp(solid.nodes, axis=0).max())
        for name in ("reach", "skin"):
            value = getattr(self, name)
            if value is not None and value >= size:
                raise InvalidValue(
                    f"{name} of a contact = {value:g} m is more than the whole solid, {size:.3g} m: give it in metres, "
                    f"{'about ' if name == 'reach' else 'less than '}{REACH * edge:.2g} m for this mesh."
                )
        return Contact(
            reach=REACH * edge if self.reach is None else self.reach,
            stiffness=STIFFNESS * edge * _modulus(solid) if self.stiffness is None else self.stiffness,
            skin=self.skin,
            itself=self.touches_itself(solid),
            overlapping=self.overlapping,
        )

    def touches_itself(self, solid: Solid) -> bool:
        """Whether the surface of a solid touches itself."""
        return bool(pieces_of(solid.elements, solid.node_count).max() > 0) if self.itself is None else self.itself


def mean_edge(solid: Solid) -> float:
    """Mean length of the edges of the outer surface at rest [m]."""
    edges = edges_of(outer_faces(solid))
    return float(np.linalg.norm(solid.nodes[edges[:, 0]] - solid.nodes[edges[:, 1]], axis=1).mean())


def _modulus(solid: Solid) -> float:
    """Mean Young's modulus of its elements by volume [Pa]."""
    shear, lame = solid.moduli
    young = shear * (3.0 * lame + 2.0 * shear) / (lame + shear)
    return float(np.average(young, weights=solid.element_volumes))
