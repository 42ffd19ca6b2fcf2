"""From what a .vxa file says to a robot and its surroundings, and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue, PartlyUsed
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.shapes import Obstacle, Plane
from annelid.voxels3d.files.formulas import Formula
from annelid.voxels3d.files.palette import paint_of
from annelid.voxels3d.files.parts import Parts, of_parts
from annelid.voxels3d.files.region_parts import regions_of, with_regions
from annelid.voxels3d.files.settings import Environment, Lattice, Simulator
from annelid.voxels3d.files.structure import Compression, Structure
from annelid.voxels3d.files.vxa import Vxa
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.stability import SAFE, recommended_step
from annelid.voxels3d.tables import compile_robot
from annelid.voxels3d.voxel import Voxel

_MOST_MATERIALS = 255  # a byte a cell

STOPS = {0: "nothing", 1: "steps", 2: "seconds", 3: "cycles"}
"""Kinds of stops that are understood, beside formulas."""


@dataclass(frozen=True, eq=False)
class Setup:
    """A robot of a file and the options of a simulation of it.

    Places are those of the original: the centre of cell (0, 0, 0) is at the origin.

    Attributes:
        vxa: What the file says.
        robot: The robot.
        paints: Number in the palette, from 0, of each material of the robot.
        dt: Time step [s].
    """

    vxa: Vxa
    robot: Robot
    paints: tuple[int, ...]
    dt: float

    def options(self) -> dict[str, Any]:
        """Options of `voxels3d.simulation`, but for device, threads, links and precision."""
        environment, half = self.vxa.environment, 0.5 * self.robot.side_length
        gravity = environment.gravity if environment.gravity_enabled else 0.0
        floor: list[Obstacle] = [Plane(point=(0.0, 0.0, -half))] if environment.floor else []
        return {
            "dt": self.dt, "gravity": (0.0, 0.0, gravity), "obstacles": floor, "positions": (-half, -half, -half),
            "force_field": _field(self.vxa.simulator),
            "collisions": "self" if _collides(self.vxa.simulator) else "none",
        }  # fmt: skip

    def marked(self, name: str) -> np.ndarray:
        """Which voxels are of a material that has a mark: "measured", "target", shape [voxels]."""
        marks = np.array([bool(vars(self.vxa.palette[number].mechanics)[name]) for number in self.paints])
        return np.asarray(marks[self.robot.material_of])


def setup_of(vxa: Vxa, *, parts: Parts = "refuse") -> Setup:
    """The robot of a file and how it is simulated; what cannot be simulated is named in a warning.

    Args:
        vxa: What the file says.
        parts: What becomes of several parts that share no face: "refuse" them, take the "largest", or "all", which
            touch each other where the file has collisions.
    """
    require_kind("what a robot is made of", vxa, Vxa, "a voxels3d.Vxa")
    numbers = vxa.structure.cells.astype(np.int32) - 1
    if not (numbers >= 0).any():
        raise FileFormatError(f"the robot {vxa.name} has no voxels: all of its cells are 0.")
    if numbers.max() >= len(vxa.palette):
        raise FileFormatError(
            f"the robot {vxa.name} refers to material {numbers.max() + 1}, but its palette has {len(vxa.palette)}."
        )
    numbers = of_parts(numbers, parts, vxa.name)
    used = np.unique(numbers[numbers >= 0])
    materials = tuple(vxa.palette[number].voxel(int(number) + 1, vxa.simulator) for number in used)
    grid = np.where(numbers >= 0, np.searchsorted(used, numbers), -1)
    try:
        robot = Robot(
            grid, materials, vxa.lattice.side_length, only_cools=_only_cools(vxa), **_actuation(vxa, numbers),
            stiffness=_stiffness(vxa, numbers), whole=parts != "all",
        )  # fmt: skip
        robot = with_regions(robot, vxa, [vxa.palette[number].mechanics.fixed for number in used])
    except InvalidValue as error:
        raise FileFormatError(f"the robot {vxa.name}: {error}") from None
    beyond = beyond_us(vxa, used)
    if beyond:
        warnings.warn(PartlyUsed(f"{vxa.name} asks for what is not simulated: {', '.join(beyond)}."), stacklevel=2)
    if not 0.0 < vxa.simulator.dt_fraction < np.inf:
        raise FileFormatError(f"DtFrac of {vxa.name} must be above 0, not {vxa.simulator.dt_fraction:g}.")
    dt = vxa.simulator.dt_fraction * recommended_step(compile_robot(robot))
    return Setup(vxa, robot, tuple(used.tolist()), dt)


def vxa_of(
    robot: Robot,
    *,
    seconds: float | None = None,
    stop: Formula | None = None,
    fitness: Formula | None = None,
    gravity: float = -9.81,
    floor: bool = True,
    compression: Compression = "ASCII_READABLE",
    name: str = "robot",
) -> Vxa:
    """What a .vxa file says of a robot; what it has no words for is refused.

    Args:
        robot: The robot.
        seconds: Time after which a run stops [s].
        stop: A formula that stops it once it is above 0, instead of `seconds`.
        fitness: What a run is worth.
        gravity: Acceleration along z [m/s²].
        floor: Whether there is a floor under the lowest cells.
        compression: How cells are written.
        name: Name of the robot.
    """
    if not isinstance(robot, Robot):
        raise InvalidValue(
            f"a .vxa file is made of a voxels3d.Robot, not of {robot!r:.60}; the first one of a simulation is "
            "simulation.solver.model.robots[0]."
        )
    if seconds is not None and not (is_number(seconds) and seconds > 0.0):
        raise InvalidValue(f"seconds after which a run stops must be above 0, not {seconds!r:.60}.")
    if not is_number(gravity):
        raise InvalidValue(f"gravity of a .vxa file must be a finite number [m/s²], not {gravity!r:.60}.")
    for what, formula in (("stop", stop), ("fitness", fitness)):
        require_kind(f"{what} of a .vxa file", formula, (Formula, NoneType), "a voxels3d.Formula or None")
    if len(robot.materials) > _MOST_MATERIALS:
        raise InvalidValue(f"a .vxa file has room for {_MOST_MATERIALS} materials, not for {len(robot.materials)}.")
    simulator = replace(
        _damping(robot.materials), fitness=fitness, stop=stop or (None if seconds is None else Formula.after(seconds)),
        volume_effects=any(material.poisson_ratio for material in robot.materials), expansion=not robot.only_cools,
        collisions=False, dt_fraction=SAFE,
    )  # fmt: skip
    wave, layers = _wave(robot)
    environment = Environment(gravity_enabled=gravity != 0.0, gravity=float(gravity), floor=floor, **wave)
    structure = Structure((robot.grid + 1).astype(np.uint8), compression, layers)
    palette = tuple(paint_of(material) for material in robot.materials)
    return Vxa(
        structure, palette, Lattice(side_length=robot.side_length), simulator, environment, regions_of(robot), name
    )


def beyond_us(vxa: Vxa, used: np.ndarray) -> list[str]:
    """Names of what a file asks for and is not simulated."""
    simulator, environment = vxa.simulator, vxa.environment
    found = {
        "EnableAttach": simulator.attach,
        "EnableDetach": simulator.detach,
        "EnableCilia": simulator.cilia,
        "EnableSignals": simulator.signals,
        "SecondaryExperiment": simulator.secondary,
        "FloorSlope": environment.slope != 0.0,
        "a lattice whose cells are no cubes in rows": not vxa.lattice.plain,
        "gravity, which GravEnabled 0 switches off here but not in voxcraft-sim": not environment.gravity_enabled
        and environment.gravity != 0.0,
        "a constant temperature (VaryTempEnabled 0)": environment.thermal
        and not environment.varying
        and environment.swing != 0.0,
        f"StopConditionType {simulator.stop_type}": simulator.stop is None and simulator.stop_type not in STOPS,
    }
    materials = [name for number in used for name in vxa.palette[number].beyond()]
    return [name for name, asked in found.items() if asked] + sorted(set(materials))


def _collides(simulator: Simulator) -> bool:
    """Whether voxels should collide: files of VoxCAD say one thing, those of voxcraft-sim another."""
    return simulator.collisions if simulator.self_collisions is None else simulator.self_collisions


def _only_cools(vxa: Vxa) -> bool:
    """voxcraft-sim cuts warm temperatures off unless it is told otherwise; VoxCAD, which writes TempAmp, never does."""
    grows = vxa.simulator.expansion
    return vxa.environment.summit is None if grows is None else not grows


def _actuation(vxa: Vxa, numbers: np.ndarray) -> dict[str, Any]:
    """Waves of cells: T = A·a·sin 2πf(t/P + φ), where layers may have a, f and φ of each cell."""
    environment, layers = vxa.environment, vxa.structure.layers
    if not (environment.thermal and environment.varying and environment.period > 0.0):
        return {}
    factor, speed = (layers[key][..., 0] if key in layers else np.ones(numbers.shape) for key in _FACTORS)
    phases = np.array([paint.mechanics.phase for paint in vxa.palette])[numbers]
    turn = layers["PhaseOffset"][..., 0] if "PhaseOffset" in layers else phases
    fixed = np.array([paint.mechanics.fixed for paint in vxa.palette])[numbers]
    amplitude = np.where(fixed | (speed == 0.0), 0.0, environment.swing * factor)
    turned = np.where(amplitude < 0.0, 0.5, 0.0)  # a negative wave is one half a cycle later
    return {"amplitude": np.abs(amplitude), "frequency": speed / environment.period, "phase": speed * turn + turned}


_FACTORS = ("Amplitude", "Frequency")


def _stiffness(vxa: Vxa, numbers: np.ndarray) -> Any:
    """Factors on the modulus of the material: the layer has moduli of cells [Pa]; 0 is that of the material."""
    if "Stiffness" not in vxa.structure.layers:
        return 1.0
    moduli = np.array([paint.mechanics.youngs_modulus for paint in vxa.palette])[numbers]
    given = vxa.structure.layers["Stiffness"][..., 0]
    return np.where(given > 0.0, given / np.where(moduli > 0.0, moduli, 1.0), 1.0)


def _field(simulator: Simulator) -> tuple[Formula, ...]:
    given = (simulator.force_x, simulator.force_y, simulator.force_z)
    if all(formula is None for formula in given):
        return ()
    return tuple(Formula((0.0,)) if formula is None else formula for formula in given)


def _damping(materials: tuple[Voxel, ...]) -> Simulator:
    """Damping, which a file has once for all materials."""
    found = {(m.internal_damping, m.collision_damping, m.global_damping) for m in materials}
    if len(found) > 1:
        raise InvalidValue("a .vxa file has one damping for all materials: give those of the robot the same.")
    bond, contact, slow = map(float, found.pop())
    return Simulator(bond_damping=bond, contact_damping=contact, slow_damping=slow)


def _wave(robot: Robot) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Options of the surroundings and layers that make the waves and moduli of a robot."""
    there = robot.grid >= 0
    if robot.ramp or robot.temperature[there].any():
        raise InvalidValue("a .vxa file has no words for the ramp and the temperature of a robot: leave them 0.")
    layers: dict[str, np.ndarray] = {}
    if (robot.stiffness[there] != 1.0).any():
        moduli = np.array([material.youngs_modulus for material in robot.materials])[robot.grid]
        layers["Stiffness"] = np.where(there, moduli * robot.stiffness, 0.0)[..., None]
    moved = there & (robot.amplitude != 0.0)
    if not moved.any():
        return {"thermal": False}, layers
    if (robot.frequency[moved] == 0.0).any():
        raise InvalidValue("a .vxa file has waves only, but some voxels of the robot obey commands: give a frequency.")
    amplitude, frequency = float(robot.amplitude[moved][0]), float(robot.frequency[moved][0])
    factors = {"Amplitude": robot.amplitude / amplitude, "Frequency": robot.frequency / frequency}
    for name, values in factors.items():
        if (values[there] != 1.0).any():
            layers[name] = np.where(there, values, 0.0)[..., None]
    speed = np.where(moved, factors["Frequency"], 1.0)
    layers["PhaseOffset"] = np.where(moved, robot.phase / speed, 0.0)[..., None]
    return {"thermal": True, "varying": True, "amplitude": amplitude, "period": 1.0 / frequency}, layers
