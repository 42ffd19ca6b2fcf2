"""Materials: density, elasticity at small and at large strains, yield and damping, each preset with its source.

How a material becomes spring constants, masses or element stiffness is the business of the physics packages.
"""

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.lazy import public
from annelid.materials.laws import Gent, Law, MooneyRivlin, NeoHooke, Ogden, Yeoh
from annelid.materials.lookup import matching, material, names
from annelid.materials.material import Material
from annelid.materials.own_laws import OwnLaw
from annelid.materials.prony import loss_factor, steady_loss

__all__ = [
    "Gent",
    "Law",
    "Material",
    "MooneyRivlin",
    "NeoHooke",
    "Ogden",
    "OwnLaw",
    "Yeoh",
    "loss_factor",
    "matching",
    "material",
    "names",
    "steady_loss",
]

__dir__ = public(__name__)
