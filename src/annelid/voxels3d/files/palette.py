"""A material of the palette of a .vxc file, and the material of voxels that it stands for."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import Any

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.voxels3d.files.settings import Simulator
from annelid.voxels3d.files.tags import Reading, tag, told, write_tagged
from annelid.voxels3d.voxel import Voxel

LINEAR, FAILING, BILINEAR, MEASURED = range(4)
"""Models of materials."""

GREY = (0.5, 0.5, 0.5)
"""The colour of materials that have none of their own."""

_FACTORS = {"Sticky": "sticky", "Cilia": "cilia", "isPaceMaker": "pacemaker"}
_LATER = ("removed_after", "expands_after", "cilia_after")


@dataclass(frozen=True, kw_only=True)
class Colors:
    """Name and colour of a material."""

    kind: int = tag("MatType", 0)
    name: str = tag("Name", "")
    red: float = tag("Display/Red", 0.5)
    green: float = tag("Display/Green", 0.5)
    blue: float = tag("Display/Blue", 0.5)
    alpha: float = tag("Display/Alpha", 1.0)


@dataclass(frozen=True, kw_only=True)
class Mechanics:
    """What a material does; moduli and stresses [Pa], density [kg/m³], times [s]."""

    model: int = tag("MatModel", LINEAR)
    youngs_modulus: float = tag("Elastic_Mod", 0.0)
    plastic_modulus: float = tag("Plastic_Mod", 0.0)
    yield_stress: float = tag("Yield_Stress", 0.0)
    fail_model: int = tag("FailModel", 0)
    failure_stress: float = tag("Fail_Stress", 0.0)
    failure_strain: float = tag("Fail_Strain", 0.0)
    density: float = tag("Density", 0.0)
    poisson_ratio: float = tag("Poissons_Ratio", 0.0)
    expansion: float = tag("CTE", 0.0)
    static_friction: float = tag("uStatic", 0.0)
    kinetic_friction: float = tag("uDynamic", 0.0)
    phase: float = tag("MaterialTempPhase", 0.0)
    measured: bool = tag("isMeasured", True)
    target: bool = tag("isTarget", False)
    fixed: bool = tag("Fixed", False)
    sticky: bool = tag("Sticky", False)
    cilia: float = tag("Cilia", 0.0)
    pacemaker: bool = tag("isPaceMaker", False)
    pacemaker_period: float = tag("PaceMakerPeriod", 0.0)
    signal_decay: float = tag("signalValueDecay", 0.9)
    signal_delay: float = tag("signalTimeDelay", 0.03)
    inactive_period: float = tag("inactivePeriod", 0.03)
    removed_after: float = tag("RemoveFromSimulationAfterThisManySeconds", 0.0)
    expands_after: float = tag("TurnOnThermalExpansionAfterThisManySeconds", 0.0)
    cilia_after: float = tag("TurnOnCiliaAfterThisManySeconds", 0.0)


@dataclass(frozen=True, kw_only=True)
class Paint:
    """A material of the palette.

    Attributes:
        colors: Name and colour.
        mechanics: What it does.
        curve: Points (strain, stress [Pa]) of a measured one.
    """

    colors: Colors = Colors()
    mechanics: Mechanics = Mechanics()
    curve: tuple[tuple[float, float], ...] = ()

    def voxel(self, number: int, simulator: Simulator) -> Voxel:
        """The material of voxels; `number` is its place in the palette, from 1, for messages."""
        its, colors = self.mechanics, self.colors
        shown = (colors.red, colors.green, colors.blue)
        values: dict[str, Any] = {
            "youngs_modulus": its.youngs_modulus, "density": its.density, "expansion": its.expansion,
            "poisson_ratio": its.poisson_ratio if simulator.volume_effects else 0.0,
            "static_friction": its.static_friction, "kinetic_friction": its.kinetic_friction,
            "internal_damping": simulator.bond_damping, "global_damping": simulator.slow_damping,
            "collision_damping": simulator.contact_damping, "name": colors.name,
            "color": None if shown == GREY else shown,
        }  # fmt: skip
        if its.model == MEASURED:
            values["curve"] = tuple(point for point in self.curve if point != (0.0, 0.0))
        if its.model == BILINEAR:
            values |= {"plastic_modulus": its.plastic_modulus, "yield_stress": its.yield_stress}
        if its.model != LINEAR and its.failure_stress > 0.0:
            values["failure_stress"] = its.failure_stress
        try:
            return Voxel(**values)
        except InvalidValue as error:
            raise FileFormatError(f"material {number} of the palette: {error}") from None

    def beyond(self) -> list[str]:
        """Names of what it asks for and voxels cannot do."""
        its = self.mechanics
        found = [name for name, attribute in _FACTORS.items() if vars(its)[attribute]]
        if any(vars(its)[name] > 0.0 for name in _LATER):
            found.append("what is removed or switched on after some seconds")
        if its.fail_model or its.failure_strain > 0.0:
            found.append("FailModel and Fail_Strain")
        return found


def paint_of(voxel: Voxel) -> Paint:
    """A material of voxels as one of the palette; its damping is the simulator's."""
    red, green, blue = GREY if voxel.color is None else tuple(map(float, voxel.color[:3]))
    linear = LINEAR if voxel.failure_stress is None else FAILING
    model = MEASURED if voxel.curve else BILINEAR if voxel.plastic_modulus is not None else linear
    its = Mechanics(
        model=model, youngs_modulus=float(voxel.youngs_modulus), plastic_modulus=float(voxel.plastic_modulus or 0.0),
        yield_stress=float(voxel.yield_stress or 0.0), failure_stress=float(voxel.failure_stress or 0.0),
        density=float(voxel.density), poisson_ratio=float(voxel.poisson_ratio), expansion=float(voxel.expansion),
        static_friction=abs(voxel.frictions[0]), kinetic_friction=abs(voxel.frictions[1]),
    )  # fmt: skip
    name = "".join(letter for letter in voxel.name if letter.isprintable()).strip()
    return Paint(colors=Colors(name=name, red=red, green=green, blue=blue), mechanics=its, curve=voxel.curve)


def read_paint(reading: Reading, element: ElementTree.Element, number: int) -> Paint:
    """A material of the palette from its element."""
    where = f"material {number}"
    inner = reading.find(element, "Mechanical")
    mechanics = reading.tagged(Mechanics, inner, where)
    if not LINEAR <= mechanics.model <= MEASURED:
        raise FileFormatError(f"MatModel of {where} of {reading.name} must be 0, 1, 2 or 3, not {mechanics.model}.")
    curve = _curve(reading, inner, where) if mechanics.model == MEASURED else ()
    return Paint(colors=reading.tagged(Colors, element, where), mechanics=mechanics, curve=curve)


def write_paint(paint: Paint, parent: ElementTree.Element, number: int) -> None:
    """Add a material to the palette."""
    element = ElementTree.SubElement(parent, "Material", ID=str(number))
    write_tagged(paint.colors, element)
    inner = ElementTree.SubElement(element, "Mechanical")
    write_tagged(paint.mechanics, inner)
    if paint.mechanics.model == MEASURED:
        data = ElementTree.SubElement(inner, "SSData")
        ElementTree.SubElement(data, "NumDataPts").text = str(len(paint.curve))
        for name, column in (("Strain", 0), ("Stress", 1)):
            numbers = ElementTree.SubElement(data, f"{name}Data")
            for point in paint.curve:
                ElementTree.SubElement(numbers, name).text = told(point[column])


def _curve(reading: Reading, inner: ElementTree.Element | None, where: str) -> tuple[tuple[float, float], ...]:
    data = None if inner is None else reading.find(inner, "SSData")
    if data is None:
        raise FileFormatError(f"{where} of {reading.name} has MatModel 3, but no SSData with its curve.")
    columns = []
    reading.find(data, "NumDataPts")
    for name in ("Strain", "Stress"):
        found = reading.find(data, f"{name}Data")
        numbers = [] if found is None else found.findall(name)
        reading.used.update(numbers)
        columns.append([reading.number((one.text or "").strip(), f"{where}/{name}") for one in numbers])
    if len(columns[0]) != len(columns[1]) or not columns[0]:
        raise FileFormatError(
            f"the curve of {where} of {reading.name} has {len(columns[0])} strains and {len(columns[1])} stresses: "
            "it needs as many of both, one at least."
        )
    return tuple(zip(*columns, strict=True))
