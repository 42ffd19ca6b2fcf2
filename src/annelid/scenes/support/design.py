"""The design of a body of one's own: shape, pitch, material and surroundings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, parameter
from annelid.shapes import Box, Capsule, Cylinder, Sphere, TriangleMesh, ground
from annelid.shapes.lattice import Solid


@dataclass(frozen=True)
class Design(Checked):
    """What a workpiece is made from."""

    sizes: ClassVar[dict[str, tuple[str, ...]]] = {
        "beam": ("length", "width", "height"),
        "box": ("length", "width", "height"),
        "sphere": ("radius",),
        "cylinder": ("radius", "length"),
        "capsule": ("radius", "length"),
        "file": ("scale", "repair"),
    }
    """The parameters that each shape has."""

    shape: Literal["beam", "box", "sphere", "cylinder", "capsule", "file"] = parameter("beam", "Shape of the body")
    length: float = parameter(0.2, "Length of the shape", unit="m", range=(0.01, 1.0), limits=(1e-4, 1e3))
    width: float = parameter(0.04, "Width of a beam or box", unit="m", range=(0.01, 1.0), limits=(1e-4, 1e3))
    height: float = parameter(0.04, "Height of a beam or box", unit="m", range=(0.01, 1.0), limits=(1e-4, 1e3))
    radius: float = parameter(
        0.05, "Radius of a sphere, cylinder or capsule", unit="m", range=(0.01, 0.5), limits=(1e-4, 1e3)
    )
    file: str = parameter("", "An STL, OBJ or PLY file, where the shape is a file")
    scale: float = parameter(1.0, "Length of the file's unit: 0.001 for millimetres", unit="m", limits=(1e-9, 1e6))
    repair: bool = parameter(False, "Close the surface of the file if it has holes")
    pitch: float = parameter(0.01, "Distance of two masses", unit="m", range=(0.002, 0.1), limits=(1e-5, 100.0))
    material: str = parameter("ecoflex-00-30", "Name of a material")
    drop: float = parameter(
        0.05, "Height above the ground at the beginning", unit="m", range=(0.0, 1.0), limits=(0.0, 1e3)
    )
    ground: bool = parameter(True, "Whether there is a ground")
    friction: float = parameter(0.8, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0), live=True)
    gravity: float = parameter(9.81, "Gravity", unit="m/s²", range=(0.0, 20.0), limits=(0.0, 1e3), live=True)

    def solid(self) -> Solid:
        """The shape, wherever it lies."""
        if self.shape in ("beam", "box"):
            return Box((self.length, self.width, self.height))
        if self.shape == "sphere":
            return Sphere(self.radius)
        if self.shape == "cylinder":
            return Cylinder(self.radius, self.length, axis="z")
        if self.shape == "capsule":
            return Capsule(self.radius, self.length, axis="x")
        if not self.file:
            raise InvalidValue("no file was given: choose an STL, OBJ or PLY file, or another shape.")
        return TriangleMesh.read(self.file, scale=self.scale, repair=self.repair).require_closed()

    def with_file(self, path: str) -> Self:
        """The same with the shape of a file, which is read now to tell at once what is wrong with it."""
        changed = replace(self, shape="file", file=path)
        changed.solid()
        return changed

    def about(self) -> str:
        """Size of the body and number of cells it will have at most, in a few words."""
        low, high = self.solid().bounds()
        size = " × ".join(f"{s:.3g}" for s in high - low)
        cells = " × ".join(str(max(1, round(float(s) / self.pitch))) for s in high - low) if self.pitch > 0.0 else "?"
        return f"{size} m, {cells} cells"

    def world(self, contact_stiffness: float) -> dict[str, Any]:
        """Gravity and the ground, whose contacts have this stiffness [N/m]."""
        plane = ground(self.friction, stiffness=contact_stiffness, restitution=0.2)
        return {"gravity": (0.0, 0.0, -self.gravity), "obstacles": [plane] if self.ground else []}
