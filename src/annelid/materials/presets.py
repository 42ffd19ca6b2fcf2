"""The presets for small strains, each with the source of its figures."""

from __future__ import annotations

from annelid.materials.material import Material

PRESETS: tuple[Material, ...] = (
    Material(
        name="ecoflex-00-30",
        density=1070.0,
        youngs_modulus=69e3,
        poisson_ratio=0.49,
        yield_strain=9.0,
        damping=0.05,
        source=(
            "Smooth-On technical bulletin, Ecoflex series: specific gravity 1.07, 100 % modulus 10 psi (a secant; "
            "published initial moduli spread from half to twice that), elongation at break 900 %. Poisson's ratio "
            "(nearly incompressible) and damping (loss factor about 0.1, as soft silicones have) are estimates."
        ),
    ),
    Material(
        name="dragon-skin-30",
        density=1080.0,
        youngs_modulus=593e3,
        poisson_ratio=0.49,
        yield_strain=3.64,
        damping=0.05,
        source=(
            "Smooth-On technical bulletin, Dragon Skin series: specific gravity 1.08, 100 % modulus 86 psi (a "
            "secant), elongation at break 364 %. Poisson's ratio (nearly incompressible) and damping (loss factor "
            "about 0.1) are estimates."
        ),
    ),
    Material(
        name="pdms",
        density=1030.0,
        youngs_modulus=1.32e6,
        poisson_ratio=0.49,
        yield_strain=1.0,
        damping=0.03,
        source=(
            "Sylgard 184, mixed 10:1. Johnston et al., J. Micromech. Microeng. 24 (2014) 035017: 1.32 MPa cured "
            "at 25 C, up to 2.97 MPa cured at 200 C. Dow data sheet: specific gravity 1.03, elongation at break "
            "about 100 %. Poisson's ratio and damping (loss factor about 0.06) are estimates."
        ),
    ),
    Material(
        name="silicone-marchal",
        density=1070.0,
        youngs_modulus=60e3,
        poisson_ratio=0.49,
        yield_strain=1.0,
        damping=0.05,
        source=(
            "The silicone cylinder of Marchal et al., Towards a Framework for Assessing Deformable Models in "
            "Medical Simulation (ISBMS 2008): density, Young's modulus and Poisson's ratio. Yield strain and "
            "damping are estimates for soft silicone."
        ),
    ),
    Material(
        name="tpu",
        density=1190.0,
        youngs_modulus=12e6,
        poisson_ratio=0.48,
        yield_strain=0.65,
        damping=0.07,
        source=(
            "NinjaTek data sheet, NinjaFlex 85A: specific gravity 1.19, tensile modulus 12 MPa, elongation at "
            "yield 65 %. Poisson's ratio and damping (loss factor about 0.14) are estimates; harder grades are up "
            "to ten times stiffer."
        ),
    ),
    Material(
        name="nylon",
        density=1140.0,
        youngs_modulus=3.1e9,
        poisson_ratio=0.41,
        yield_strain=0.045,
        damping=0.01,
        source=(
            "DuPont data sheet, Zytel 101L (polyamide 66), dry as moulded at 23 C: density, tensile modulus, "
            "Poisson's ratio, yield strain 4.5 %. Conditioned at 50 % humidity it is about half as stiff. Damping "
            "is an estimate (loss factor about 0.02 dry)."
        ),
    ),
    Material(
        name="nylon-titan",
        density=1140.0,
        youngs_modulus=4.56e9,
        poisson_ratio=0.41,
        yield_strain=0.045,
        damping=0.01,
        source=(
            "Young's modulus of the worked example of Austin et al. (Titan), sec. III-E: a bar 1 cm long and 1 mm "
            "thick has 3.58e5 N/m. All other figures as in the preset 'nylon'."
        ),
    ),
    Material(
        name="pla",
        density=1240.0,
        youngs_modulus=3.6e9,
        poisson_ratio=0.36,
        yield_strain=0.0167,
        damping=0.01,
        source=(
            "NatureWorks data sheet, Ingeo 4043D: specific gravity 1.24, tensile modulus 3.6 GPa, tensile yield "
            "strength 60 MPa, which gives the yield strain 60 MPa / 3.6 GPa. Poisson's ratio and damping (loss "
            "factor about 0.02) are estimates; printed parts are softer and weaker across the layers."
        ),
    ),
    Material(
        name="steel",
        density=7850.0,
        youngs_modulus=210e9,
        poisson_ratio=0.3,
        yield_strain=0.00112,
        damping=0.0005,
        source=(
            "Structural steel S235. EN 1993-1-1, 3.2.6: E = 210 GPa, nu = 0.3; yield strength 235 MPa, which "
            "gives the yield strain 235 MPa / 210 GPa; nominal density 7850 kg/m^3. Damping is the order of "
            "magnitude of the loss factor of unjointed steel, 1e-3, halved."
        ),
    ),
)
"""Materials that are known at small strains; those for large ones are in `silicones`."""
