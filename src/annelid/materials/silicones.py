"""Silicones for large strains: constants of laws that were fitted to measured curves, and how far those reach.

The curves are those of the Soft Robotics Materials Database (L. Marechal, L. Lindenroth), which is under the ODbL 1.0,
its contents under the DbCL 1.0. Here are the constants of our own fits only, with that attribution; no curve is here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, get_args

from annelid.materials.laws import Law, NeoHooke, Ogden, Yeoh
from annelid.materials.material import Material

LawName = Literal["ogden", "yeoh", "neo-hooke", "ogden-corrected"]
DEFAULT_LAW: LawName = "ogden"
"""Stable at any strain in every mode, and nearly as close to the curves as any other."""

_KPA = 1e3
_SMALL = 0.5
"""Strain to which the neo-Hookean constants were fitted."""
_USUAL_DENSITY = 1070.0
"""That of unfilled platinum silicones, within 30 kg/m^3."""
_SOURCE = (
    "Our fit to the Soft Robotics Materials Database (L. Marechal, L. Lindenroth; doi 10.1089/soro.2019.0115; ODbL "
    "1.0, contents DbCL 1.0): the first pull of a specimen to failure at 0.23 /s"
)
_APPARENT = (
    "Strains are as published and hold the stretch of the specimen's shoulders: a casting may be 1.7 times as stiff."
)
_CORRECTED = (
    "The stretch of the specimen's shoulders, which published strains hold, was taken out by a one-dimensional "
    "estimate; at small strains that curve has a modulus of {} kPa, which this law does not hit."
)


@dataclass(frozen=True)
class Silicone:
    """What was fitted to the curve of one silicone; stresses are in kPa here, as in the source.

    Attributes:
        name: Short name, which a slash and the name of a law make the name of a material.
        title: Name by which it is sold.
        density: Density that the maker states, second-hand [kg/m^3]; None where none could be read.
        breaks: Apparent strain at which it broke [-].
        fitted_to: Largest apparent strain of the fits of Yeoh and Ogden [-].
        neo_hooke: mu [kPa], and R² of the fit.
        yeoh: C1, C2 and C3 [kPa], and R².
        ogden: mu [kPa] and alpha, and R².
        corrected: mu [kPa] and alpha of Ogden's law where the shoulders are taken out, R², the largest strain of that
            fit, the one at which it broke, and Young's modulus of the curve at small strains [kPa]; None where it was
            not done.
    """

    name: str
    title: str
    density: float | None
    breaks: float
    fitted_to: float
    neo_hooke: tuple[float, float]
    yeoh: tuple[float, float, float, float]
    ogden: tuple[float, float, float]
    corrected: tuple[float, float, float, float, float, float] | None = None

    @property
    def laws(self) -> tuple[LawName, ...]:
        """Names of the laws that it has, the default first."""
        return tuple(law for law in get_args(LawName) if law != "ogden-corrected" or self.corrected is not None)

    def material(self, law: LawName = DEFAULT_LAW) -> Material:
        """The material with one of its laws."""
        return _made(self, law)

    def fit(self, law: LawName) -> tuple[Law, float, float, float]:
        """One of its laws, R² of the fit, the largest strain of the fit, and the strain at which it broke."""
        if law == "yeoh":
            c1, c2, c3, quality = self.yeoh
            return Yeoh(_KPA * c1, _KPA * c2, _KPA * c3), quality, self.fitted_to, self.breaks
        if law == "neo-hooke":
            shear, quality = self.neo_hooke
            return NeoHooke(_KPA * shear), quality, _SMALL, self.breaks
        if law == "ogden-corrected" and self.corrected is not None:
            mu, alpha, quality, farthest, breaks, _ = self.corrected
            return Ogden(((_KPA * mu, alpha),)), quality, farthest, breaks
        mu, alpha, quality = self.ogden
        return Ogden(((_KPA * mu, alpha),)), quality, self.fitted_to, self.breaks


@functools.cache
def _made(silicone: Silicone, name: LawName) -> Material:
    law, quality, farthest, breaks = silicone.fit(name)
    corrected = silicone.corrected if name == "ogden-corrected" else None
    strains = _APPARENT if corrected is None else _CORRECTED.format(f"{corrected[-1]:g}")
    maker = "estimates, density within 30 kg/m^3" if silicone.density is None else "estimates, density is the maker's"
    return Material.hyperelastic(
        f"{silicone.name}/{name}",
        law,
        density=silicone.density or _USUAL_DENSITY,
        yield_strain=breaks,
        damping=0.05,
        measured_to=farthest,
        source=(
            f"{silicone.title}. {_SOURCE}, fitted up to a strain of {farthest:g}, R² {quality:.4g}. {strains} "
            f"Poisson's ratio and damping (loss factor 0.1, as a beam of Dragon Skin 10 had at 8 Hz) are {maker}."
        ),
    )


# fmt: off
SILICONES: tuple[Silicone, ...] = (
    Silicone("ecoflex-00-10", "Ecoflex 00-10", 1040.0, 17.1, 3.0, (7.4, 0.943),
             (3.605, 0.1379, -0.0001887, 0.9996), (3.953, 2.909, 0.9982), (5.66, 3.40, 0.999, 3.0, 9.0, 34.0)),
    Silicone("ecoflex-00-30", "Ecoflex 00-30", 1070.0, 16.1, 3.0, (15.2, 0.985),
             (7.83, 0.1034, -0.0008065, 0.9997), (12.28, 2.351, 0.9994), (9.29, 3.16, 0.997, 3.0, 8.0, 69.6)),
    Silicone("ecoflex-00-35", "Ecoflex 00-35 FAST", None, 6.2, 3.0, (27.1, 0.985),
             (13.47, 0.5787, -0.007582, 0.9999), (17.08, 2.763, 0.9998), (17.3, 3.52, 1.0, 3.0, 3.2, 124.0)),
    Silicone("ecoflex-00-50", "Ecoflex 00-50", 1070.0, 16.4, 3.0, (20.9, 0.977),
             (10.67, 0.2606, -0.003248, 0.9998), (15.32, 2.516, 0.9997), (14.7, 3.18, 1.0, 3.0, 8.4, 95.8)),
    Silicone("dragon-skin-fx-pro-slacker", "Dragon Skin FX Pro Slacker", None, 18.2, 3.0, (2.82, 0.856),
             (1.335, 0.006704, 0.0002411, 0.9976), (2.103, 2.299, 0.9960)),
    Silicone("dragon-skin-fx-pro", "Dragon Skin FX Pro", None, 16.5, 3.0, (29.3, 0.983),
             (15.2, 0.6759, -0.01025, 0.9998), (19.81, 2.739, 1.0), (26.3, 3.18, 1.0, 3.0, 8.7, 135.0)),
    Silicone("dragon-skin-10", "Dragon Skin 10 MEDIUM", 1070.0, 10.4, 3.0, (46.4, 0.981),
             (27.95, 1.576, -0.02341, 0.9973), (34.77, 2.858, 0.9979), (75.9, 2.80, 0.997, 3.0, 6.0, 219.0)),
    Silicone("dragon-skin-20", "Dragon Skin 20", 1080.0, 9.2, 3.0, (130.0, 0.971),
             (76.51, 4.096, -0.06111, 0.9987), (95.91, 2.833, 0.9992), (195.0, 2.85, 0.997, 3.0, 5.2, 620.0)),
    Silicone("dragon-skin-30", "Dragon Skin 30", 1080.0, 7.1, 3.0, (192.0, 0.989),
             (109.7, 4.691, -0.07152, 0.9985), (144.8, 2.716, 0.9990), (264.0, 2.77, 0.998, 3.0, 4.0, 889.0)),
    Silicone("platsil-gel-10", "PlatSil Gel 10", None, 10.6, 3.0, (58.8, 0.977),
             (35.58, 1.671, -0.02523, 0.9982), (45.92, 2.765, 0.9989), (87.5, 2.81, 0.998, 3.0, 6.1, 277.0)),
    Silicone("mold-star-16", "Mold Star 16 FAST", None, 8.2, 3.0, (86.5, 0.994),
             (42.48, 2.845, -0.04168, 0.9999), (50.43, 2.963, 1.0), (104.0, 3.08, 0.995, 3.0, 4.6, 396.0)),
    Silicone("mold-star-20t", "Mold Star 20T", None, 8.1, 3.0, (114.0, 0.978),
             (56.24, 3.316, -0.04905, 0.9999), (68.68, 2.890, 0.9999), (126.0, 3.08, 0.998, 3.0, 4.6, 514.0)),
    Silicone("rebound-25", "Rebound 25", None, 6.3, 3.0, (103.0, 0.992),
             (55.18, 3.255, -0.04816, 0.9994), (67.61, 2.888, 0.9997), (122.0, 3.08, 0.999, 3.0, 3.4, 475.0)),
    Silicone("body-double-silk", "BodyDouble SILK", None, 5.9, 3.0, (120.0, 0.976),
             (67.29, 0.2732, -0.003384, 0.9987), (124.5, 2.109, 0.9989), (145.0, 2.35, 0.998, 3.0, 3.4, 563.0)),
    Silicone("psycho-paint", "Psycho Paint", None, 6.9, 3.0, (122.0, 0.981),
             (61.18, 2.983, -0.04487, 0.9999), (78.08, 2.786, 0.9999)),
    Silicone("soloplast-150318", "SOLOPLAST 150318", None, 7.4, 3.0, (68.6, 0.940),
             (34.85, 1.536, -0.01381, 0.9998), (41.09, 2.855, 0.9995)),
    Silicone("wagnersil-20-nf", "WAGNERSIL 20 NF", None, 3.3, 3.0, (121.0, 0.986),
             (71.81, 5.504, -0.07996, 0.9985), (84.24, 3.029, 0.9986)),
    Silicone("sorta-clear-40", "SortaClear 40", None, 5.1, 3.0, (285.0, 0.999),
             (137.3, 6.446, -0.0973, 1.0), (176.7, 2.767, 0.9999), (321.0, 2.88, 0.993, 2.8, 2.8, 1290.0)),
    Silicone("rtv615", "RTV615", None, 1.9, 1.9, (351.0, 0.995),
             (163.2, 13.86, 0.939, 1.0), (116.9, 3.825, 0.9969), (77.1, 6.20, 0.993, 1.0, 1.0, 1610.0)),
)
# fmt: on
"""The silicones, in the order of the database."""
