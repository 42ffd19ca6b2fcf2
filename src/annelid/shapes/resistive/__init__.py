"""Ground that resists like sand, without grains: resistive force theory, media, and what an obstacle of it is."""

from typing import TYPE_CHECKING

from annelid.core.lazy import offered, public

if TYPE_CHECKING:
    from annelid.shapes.resistive.falling import Fall, fall
    from annelid.shapes.resistive.law import friction_angle_of, plane_stress, resistance_of, space_stress
    from annelid.shapes.resistive.rigid import Resisted, resisted
    from annelid.shapes.resistive.sinking import simulation
else:  # shapes import modules of this package, which these import
    __getattr__ = offered(
        __name__,
        {
            "falling": ["Fall", "fall"],
            "law": ["friction_angle_of", "plane_stress", "resistance_of", "space_stress"],
            "rigid": ["Resisted", "resisted"],
            "sinking": ["simulation"],
        },
    )

__all__ = [
    "Fall",
    "Resisted",
    "fall",
    "friction_angle_of",
    "plane_stress",
    "resistance_of",
    "resisted",
    "simulation",
    "space_stress",
]

__dir__ = public(__name__)
