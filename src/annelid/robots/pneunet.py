"""A pneu-net: chambers in a row over a sheet that does not stretch; air bends it towards the sheet (Mosadegh 2014)."""

from __future__ import annotations

from typing import Any

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.options import spelled_out
from annelid.materials import Material
from annelid.robots.finger import finger_mesh
from annelid.shapes.values import require_positive


@spelled_out("a pneu-net")
def pneunet(
    *,
    chambers: int = 8,
    length: float = 0.1,
    width: float = 0.02,
    height: float = 0.018,
    wall: float = 2e-3,
    floor: float = 3e-3,
    groove: float = 2e-3,
    sheet: tuple[float, float] = (1e9, 1e-4),
    silicone: str | Material = "dragon-skin-20/ogden",
    pressure: float = 40e3,
    resolution: int = 1,
    device: Any = "auto",
    threads: int | None = None,
) -> fem.Robot:
    """The pneu-net along x, held at x = 0, its sheet below at z = 0; actuator "air", effector "tip".

    Args:
        chambers: Number of chambers.
        length: Along x [m].
        width: Along y [m].
        height: Along z [m].
        wall: Thickness of all walls but the floor [m].
        floor: Thickness of the floor [m].
        groove: Gap between two chambers [m]; 0 leaves one wall between them.
        sheet: Young's modulus [Pa] and thickness [m] of the sheet.
        silicone: Material of the rest.
        pressure: Highest pressure [Pa].
        resolution: Cells through a wall.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    width, height = require_positive("width", width), require_positive("height", height)
    mesh = finger_mesh(
        length=length, width=width, height=height, chambers=chambers, wall=wall, floor=floor, groove=groove,
        channel=(0.3 * width, 0.2 * height), arch=0.0, resolution=resolution,
    )  # fmt: skip
    solid = fem.Solid(mesh, silicone).fix(lambda p: p[:, 0] < 1e-9)
    if not isinstance(sheet, (tuple, list)) or len(sheet) != 2:
        raise InvalidValue(f"sheet = {sheet!r} cannot be used; give its modulus [Pa] and its thickness [m].")
    modulus, thickness = sheet
    solid.reinforce(fem.Fabric(lambda p: p[:, 2] < 1e-9, modulus=modulus, thickness=thickness, name="sheet"))
    air = fem.Pneumatic(name="air", pressure=(0.0, pressure))
    tip = fem.Point(name="tip", at=(length, 0.0, 0.5 * floor))
    return fem.Robot(solid, [air], [tip], device=device, threads=threads)
