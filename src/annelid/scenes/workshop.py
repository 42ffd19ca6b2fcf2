"""The workshop: a body of one's own, made of a primitive or of a file, that can be changed in the browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.scenes.scene import parameter
from annelid.scenes.support.workpiece import Workpiece
from annelid.shapes import Box, Capsule, Cylinder, Sphere, TriangleMesh, ground
from annelid.shapes.lattice import Solid


@dataclass(frozen=True)
class Workshop:
    """A body of your own shape and material; in the browser parts of it can be fixed, cut, painted, moved, pulled."""

    name: ClassVar[str] = "workshop"
    duration: ClassVar[float] = 1.0
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
    length: float = parameter(0.2, "Length of the shape", unit="m", range=(0.01, 1.0))
    width: float = parameter(0.04, "Width of a beam or box", unit="m", range=(0.01, 1.0))
    height: float = parameter(0.04, "Height of a beam or box", unit="m", range=(0.01, 1.0))
    radius: float = parameter(0.05, "Radius of a sphere, cylinder or capsule", unit="m", range=(0.01, 0.5))
    file: str = parameter("", "An STL, OBJ or PLY file, where the shape is a file")
    scale: float = parameter(1.0, "Length of the file's unit: 0.001 for millimetres", unit="m")
    repair: bool = parameter(False, "Close the surface of the file if it has holes")
    pitch: float = parameter(0.01, "Distance of two masses", unit="m", range=(0.002, 0.1))
    material: str = parameter("ecoflex-00-30", "Name of a material")
    drop: float = parameter(0.05, "Height above the ground at the beginning", unit="m", range=(0.0, 1.0))
    ground: bool = parameter(True, "Whether there is a ground")
    friction: float = parameter(0.8, "Coulomb friction of the ground", range=(0.0, 1.5), live=True)
    gravity: float = parameter(9.81, "Gravity", unit="m/s²", range=(0.0, 20.0), live=True)

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

    def with_file(self, path: str) -> Workshop:
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

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The body above the ground; the workpiece, which can be worked on, is attached to the simulation."""
        return Workpiece(self, device=device, threads=threads).build()

    def adjust(self, simulation: Simulation[springs.Solver], name: str, value: Any) -> None:
        """Change friction or gravity while it runs."""
        simulation.attachments["workpiece"].change(replace(self, **{name: value}))

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """Size of the body, and how far it came down."""
        model = simulation.solver.model
        fallen = model.body.center_of_mass - simulation.summary().center_of_mass
        return [
            Measurement("masses", float(model.body.mass_count)),
            Measurement("springs", float(model.spring_count)),
            Measurement("mass", float(model.body.masses.sum()), "kg"),
            Measurement("time-step", model.world.dt, "s"),
            Measurement("fall", float(fallen[2]), "m"),
        ]
