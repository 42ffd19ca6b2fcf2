"""Checkpoints belong to one model: whatever the future depends on, changed once, has them refused.

Each model is a function of options, and a table of options that differ from its own, one at a time.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import Simulation, coupling, fem, grains, shapes, springs, voxels, voxels3d
from annelid.control import HostController, TimeFunctions
from annelid.core.errors import FileFormatError
from annelid.core.identity import _Known
from annelid.materials import material
from annelid.shapes.articulated.controls import joint_controls
from annelid.shapes.articulated.frames import frame_of
from annelid.shapes.articulated.tree import Joint, Link, LinkShape, RigidTree
from annelid.shapes.resistive.sinking import Sinking
from annelid.voxels3d.files.formulas import Formula

pytestmark = pytest.mark.filterwarnings("ignore")
SEEN_OF_EACH = 6  # changes that the suite tries of each model; all of them are 200 and more
GROUND = shapes.ground(friction=0.6)
HIGH = shapes.ground(friction=0.6, height=-0.01)


@wp.func
def breeze(time: Any, index: int, position: Any, velocity: Any, mass: Any) -> Any:
    return velocity * type(mass)(-0.1)


@wp.func
def wind(time: Any, index: int, position: Any, velocity: Any, mass: Any) -> Any:
    return velocity * type(mass)(-0.2)


def along(speed: float, *, turned: bool = False) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A path along x."""
    start = (0.3, 0.3, 0.3)

    def path(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = np.tile(start, (len(times), 1))
        places[:, 0 if not turned else 1] += speed * times
        return places, np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))

    return path


def own_ball(radius: float, raised: float) -> shapes.Shape:
    """A shape of one's own, whose distance is code."""

    class Own(shapes.Sphere):
        def signed_distance(self, points: Any) -> Any:
            return super().signed_distance(points) - raised

    return Own(radius)


def spring_model(
    *, wave: Any = (0.1, 1.0, 0.2), low: float = 0.8, body: Callable[[Any], Any] = lambda body: body, **options: Any
) -> Simulation[Any]:
    amplitude, frequency, delay = wave
    made = springs.block((3, 3, 3), 0.02, mass=1e-3, stiffness=50.0, damping=0.01)
    made.actuate(springs.wave(amplitude, frequency, np.full(3, delay)), np.arange(3))
    made.control("leg", np.arange(10, 14), low=low)
    made.group("top", lambda p: p[:, 2] > 0.03)
    made.push("top", (0.0, 0.0, -0.01)).guide(np.arange(3), "plane", "x")
    return springs.simulation(body(made), device="cpu", **{"obstacles": [GROUND], **options})


def doubled(name: str, rows: slice = slice(2)) -> Callable[[springs.Body], springs.Body]:
    """Some elements of an array of a body doubled, or set where they were 0 or infinite."""

    def change(body: springs.Body) -> springs.Body:
        values = getattr(body, name)
        values[rows] = np.where(np.isin(values[rows], [0, np.inf]), 1, 2 * values[rows])
        return body

    return change


SPRINGS: dict[str, dict[str, Any]] = {
    "amplitude": {"wave": (0.2, 1.0, 0.2)},
    "frequency": {"wave": (0.1, 2.0, 0.2)},
    "delay": {"wave": (0.1, 1.0, 0.3)},
    **{
        name: {"body": doubled(name)}
        for name in (
            "masses", "rest_lengths", "stiffness", "damping", "yield_strains", "velocities", "forces", "positions",
            "volumes", "diameters", "signal_parameters",
        )
    },
    "control": {"low": 0.7},
    "guide": {"body": lambda b: b.guide(np.arange(3), "plane", "y")},
    "line": {"body": lambda b: b.guide(np.arange(3), "line", "x")},
    "push": {"body": lambda b: b.push(np.arange(2), (0.0, 0.0, 1.0))},
    "fix": {"body": lambda b: b.fix(np.arange(2))},
    "substep": {"body": lambda b: b.substep(np.arange(4), 4)},
    "another control": {"body": lambda b: b.control("arm", np.arange(20, 24))},
    "group": {"body": lambda b: b.group("low", np.arange(3))},
    **{
        f"{name} {value!r:.20}": {name: value}
        for name, value in [
            ("integrator", "verlet"), ("precision", "float64"), ("gravity", (0.0, 0.0, -1.6)),
            ("velocity_damping", 0.1),
            ("drag", 0.1), ("obstacles", []), ("obstacles", [HIGH]),
            ("obstacles", [GROUND, shapes.Plane(normal=(1.0, 0.0, 0.0))]),
            ("obstacles", [shapes.ground(friction=0.7)]),
            ("obstacles", [shapes.ground(friction=0.6, restitution=0.3)]),
            ("obstacles", [shapes.Rigid(shapes.Plane(), shapes.Surface(friction=0.6, stiffness=7.0))]),
            ("collisions", [springs.Collide("top", "top")]), ("prepare", ("damping",)), ("forces", [breeze]),
            ("forces", [wind]), ("forces", [breeze, wind]), ("dashpots", "growing"), ("worlds", 2), ("dt", 5e-5),
        ]
    },
}  # fmt: skip


def ball(**options: Any) -> shapes.Rigid:
    given = {"motion": "driven", "position": (0.3, 0.3, 0.3), "velocity": (0.1, 0.0, 0.0), "name": "ball", **options}
    return shapes.Rigid(shapes.Sphere(0.04), **given)


def grain_model(
    *, bed: Callable[[grains.Bed], grains.Bed] = lambda bed: bed, material: grains.Grain | None = None, **options: Any
) -> Simulation[Any]:
    rows = grains.jittered_lattice((4, 4, 2), 0.021, corner=(0.0, 0.0, 0.02))
    made = bed(grains.Bed(rows, 0.01, material or grains.Grain(friction=0.5)))
    return grains.simulation(made, device="cpu", **{"obstacles": [GROUND, ball()], **options})


GRAINS: dict[str, dict[str, Any]] = {
    **{
        f"grain {name}": {"material": replace(grains.Grain(friction=0.5), **{name: value})}
        for name, value in [
            ("friction", 0.6), ("restitution", 0.3), ("rolling", 0.1), ("cohesion", 1e-4), ("density", 2000.0),
        ]
    },
    "radii": {"bed": lambda b: grains.Bed(b.positions, 0.0101, b.materials)},
    "positions": {"bed": lambda b: b.moved((0.0, 0.0, 1e-4))},
    "velocities": {"bed": lambda b: b.copy(velocities=np.full((len(b), 3), 0.1))},
    "spins": {"bed": lambda b: b.copy(spins=np.full((len(b), 3), 0.1))},
    **{
        f"{name} {number}": {name: value}
        for number, (name, value) in enumerate([
            ("gravity", (0.0, 0.0, -1.6)), ("method", "hertz"), ("iterations", 3), ("tolerance", 1e-3),
            ("converge", True),
            ("softness", 0.2), ("correction", 0.02), ("skin", 0.3), ("period", (1.0, 0.0, 0.0)),
            ("too_fast", "stop"), ("contact_step", 1e-3), ("worlds", 2),
            ("dt", 1e-4), ("obstacles", [GROUND]), ("obstacles", [HIGH, ball()]), ("obstacles", [ball(), GROUND]),
            ("controls", [grains.velocity_control("push", "ball", "x", low=-1.0, high=1.0)]),
        ])
    },
    **{
        f"ball {name} {number}": {"obstacles": [GROUND, ball(**{name: value})]}
        for number, (name, value) in enumerate([
            ("position", (0.3, 0.3, 0.31)), ("rotation", (1.0, 0.0, 0.0, 0.0)), ("velocity", (0.2, 0.0, 0.0)),
            ("spin", (0.2, 0.0, 0.0)), ("motion", "fixed"), ("motion", "free"), ("motion", along(0.1)),
            ("motion", along(0.2)), ("motion", along(0.1, turned=True)), ("surface", shapes.Surface(friction=0.9)),
        ])
    },
    **{
        f"own shape {radius} {raised}": {
            "obstacles": [GROUND, shapes.Rigid(own_ball(radius, raised), position=(0.3, 0.3, 0.3), cells=8)]
        }
        for radius, raised in [(0.05, 0.0), (0.06, 0.0), (0.05, 0.01)]
    },
}  # fmt: skip


def sine(rate: float, phase: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: np.sin(rate * times + phase)


def voxel_model(
    *, grid: str = "oo\noo", material: dict[str, Any] | None = None, wave: float = 1.0,
    robot: Callable[[Any], Any] = lambda r: r, **options: Any,
) -> Simulation[Any]:  # fmt: skip
    made = voxels.Robot.from_text(grid, voxels.Voxel(**(material or {})))
    made = made.with_controller(TimeFunctions([sine(wave, phase) for phase in range(made.voxel_count)]))
    return voxels.simulation([robot(made)], device="cpu", **{"obstacles": [voxels.terrain("flat")], **options})


VOXELS: dict[str, dict[str, Any]] = {
    "grid": {"grid": "oo\no-"},
    "wave": {"wave": 1.1},
    **{
        f"material {name}": {"material": {name: value}}
        for name, value in [
            ("side_length", 3.1), ("mass_ratio", 0.31), ("linear_damping", 1.1), ("angular_damping", 1.1),
            ("mass", 1.1),
            ("friction", 90.0), ("restitution", 0.2), ("frequency", 9.0), ("damping_ratio", 0.4),
            ("max_area_change", 0.3),
            ("scaffolding", "EIX"), ("ropes", None), ("actuation", "force"), ("lengths", "linear"),
        ]
    },
    "fix": {"robot": lambda r: replace(r, fixed=np.arange(16).reshape(2, 2, 4) == 0)},
    "load": {"robot": lambda r: r.push(np.full((2, 2, 4, 2), 1.0))},
    "seed": {"robot": lambda r: replace(r, seed=1)},
    **{
        f"{name} {number}": {name: value}
        for number, (name, value) in enumerate([
            ("dt", 1 / 50), ("control_interval", 2), ("precision", "float64"), ("gravity", (0.0, 0.0, -1.6)),
            ("substeps", 7),
            ("obstacles", [voxels.terrain("hilly-1-10-0")]),
            ("obstacles", [voxels.terrain("flat"), voxels.Box(size=(1.0, 1.0), position=(9.0, 3.0))]),
            ("work", True), ("watch", True), ("positions", [[1.0, 2.0]]), ("worlds", 2),
        ])
    },
}  # fmt: skip


def voxel3d_model(*, material: dict[str, Any] | None = None, **options: Any) -> Simulation[Any]:
    own = {name: options.pop(name) for name in list(options) if name in voxels3d.Robot.__dataclass_fields__}
    given = {"grid": np.zeros((3, 2, 2), int), "amplitude": 5.0, "frequency": 4.0, **own}
    made = voxels3d.Robot(materials=(voxels3d.Voxel(**(material or {})),), **given)
    robot = options.pop("robot", lambda r: r)(made)
    return voxels3d.simulation([robot], device="cpu", **{"obstacles": [GROUND], **options})


VOXELS3D: dict[str, dict[str, Any]] = {
    **{
        f"material {name}": {"material": {name: value}}
        for name, value in [
            ("youngs_modulus", 1.1e5), ("density", 1100.0), ("poisson_ratio", 0.2), ("expansion", 0.02),
            ("static_friction", 0.9),
            ("kinetic_friction", 0.4), ("internal_damping", 0.9), ("global_damping", 0.02), ("collision_damping", 0.7),
            ("failure_stress", 1e5),
        ]
    },
    **{
        name: {name: value}
        for name, value in [
            ("side_length", 0.011), ("amplitude", 6.0), ("frequency", 5.0), ("phase", 0.1), ("temperature", 1.0),
            ("stiffness", 1.1), ("ramp", 0.1), ("only_cools", True),
        ]
    },
    "grid": {"grid": np.zeros((3, 2, 3), int)},
    "fix": {"robot": lambda r: r.fix(lambda x, y, z: x == 0)},
    "push": {"robot": lambda r: r.push(lambda x, y, z: x == 0, (0.0, 0.0, 0.1))},
    **{
        f"{name} {number}": {name: value}
        for number, (name, value) in enumerate([
            ("dt", 1e-5), ("precision", "float64"), ("gravity", (0.0, 0.0, -1.6)), ("obstacles", [HIGH]),
            ("links", "compatible"),
            ("collisions", "self"), ("fluid", 1.0), ("positions", (0.0, 0.0, 0.1)), ("worlds", 2),
            ("force_field", [Formula((1e-3,)), Formula((0.0,)), Formula(("x",))]),
        ])
    },
}  # fmt: skip


def finger(**changed: Any) -> fem.Solid:
    made = fem.Solid(shapes.tet_beam(0.06, 0.02, 0.02, cells=(3, 1, 1)), replace(material("ecoflex-00-30"), **changed))
    return made.fix(lambda p: p[:, 0] < 1e-9)  # fmt: skip


def cable(**options: Any) -> fem.Cable:
    return fem.Cable(**{"name": "cable", "through": [15, 11, 3], "tension": (0.0, 1.0), **options})


def solid_model(
    *, solid: Callable[[fem.Solid], fem.Solid] = lambda s: s, material: dict[str, Any] | None = None, **options: Any
) -> Simulation[Any]:
    given = {"actuators": [cable()], "dt": 0.01, **options}
    return fem.simulation(solid(finger(**(material or {}))), device="cpu", **given)


SKIN = material("dragon-skin-10")
TIP = 12  # number of a node
SOLIDS: dict[str, dict[str, Any]] = {
    **{
        f"material {name}": {"material": {name: value}}
        for name, value in [("density", 1100.0), ("youngs_modulus", 8e4), ("poisson_ratio", 0.45)]
    },
    "law": {"material": {name: getattr(SKIN, name) for name in ("law", "youngs_modulus", "poisson_ratio")}},
    "fix": {"solid": lambda s: s.fix(lambda p: p[:, 0] > 0.05, axes="y")},
    "displace": {"solid": lambda s: s.displace(lambda p: p[:, 0] < 1e-9, (0.0, 0.0, 1e-3))},
    "motion": {"solid": lambda s: s.fix(lambda p: p[:, 0] < 1e-9, motion=along(0.1))},
    "another motion": {"solid": lambda s: s.fix(lambda p: p[:, 0] < 1e-9, motion=along(0.2))},
    "push": {"solid": lambda s: s.push(lambda p: p[:, 0] > 0.05, (0.0, 0.0, 0.1))},
    "hang": {"solid": lambda s: s.hang(lambda p: p[:, 0] > 0.05, 0.01)},
    **{
        f"{name} {number}": {name: value}
        for number, (name, value) in enumerate([
            ("actuators", []), ("actuators", [cable(tension=(0.0, 2.0))]), ("actuators", [cable(tension_rate=1.0)]),
            ("actuators", [cable(name="rope")]), ("actuators", [cable(through=[14, 10, 2])]),
            ("actuators", [fem.PointForce(name="cable", at=TIP, direction=(0.0, 0.0, 1.0), force=(0.0, 1.0))]),
            ("actuators", [fem.PointForce(name="cable", at=TIP, direction=(0.0, 1.0, 1.0), force=(0.0, 1.0))]),
            ("dt", 0.005), ("dynamic", False), ("integrator", "midpoint"), ("gravity", (0.0, 0.0, -1.6)),
            ("velocity_damping", 0.1), ("ramp", 0.1), ("obstacles", [shapes.ground(height=-0.1)]),
            ("obstacles", [shapes.ground(friction=0.9, height=-0.1)]), ("worlds", 2), ("linear", "kept"),
            ("settings", fem.Settings(1e-5)), ("contact", fem.Contact(itself=False)),
        ])
    },
}  # fmt: skip


def robot_model(
    *, script: Any = lambda time: {"cable": 0.1 * time}, gravity: Any = (0.0, 0.0, -9.81), effector: Any = TIP,
    inverse: bool = False, obstacles: Any = (), **options: Any,
) -> Simulation[Any]:  # fmt: skip
    actuators = [cable(**{name: options.pop(name) for name in ("tension", "tension_rate", "pull") if name in options})]
    robot = fem.Robot(
        finger(), actuators, [fem.Point(name="tip", at=effector)], gravity=gravity, obstacles=obstacles, device="cpu"
    )
    if inverse:
        return fem.inverse_simulation(robot, **options)
    return fem.forward_simulation(robot, script, **options)


ROBOTS: dict[str, dict[str, Any]] = {
    **{
        f"{name} {number}": {name: value}
        for number, (name, value) in enumerate([
            ("script", None), ("script", lambda time: {"cable": 0.2 * time}), ("gravity", (0.0, 0.0, -1.6)),
            ("effector", 13), ("inverse", True), ("tension", (0.0, 2.0)), ("tension_rate", 2.0),
            ("pull", (0.0, 0.01)), ("dt", 0.04), ("obstacles", [shapes.ground(height=-0.1)]), ("worlds", 2),
        ])
    },
    "strokes": {"script": None, "strokes": ["cable"], "pull": (0.0, 0.01)},
    "energy": {"inverse": True, "energy": 1e-3},
    "targets": {"inverse": True, "script": lambda time: {"tip": (0.06, -0.01, -0.01 + time)}},
}  # fmt: skip


def coupled_model(
    *, body: Any = None, friction: float = 0.5, material: float = 0.5, bed: Any = None, **options: Any
) -> Simulation[Any]:  # fmt: skip
    soft = (
        springs.block((3, 3, 3), 0.02, mass=1e-3, stiffness=100.0).moved((0.0, 0.0, 0.05)) if body is None else body()
    )
    made = (
        grains.Bed(grains.jittered_lattice((4, 4, 2), 0.021), 0.01, grains.Grain(friction=material))
        if bed is None
        else bed()
    )
    given = {"obstacles": [shapes.ground(friction=friction, height=-0.02)], **options}
    return coupling.simulation(soft, made, device="cpu", **given)  # fmt: skip


def soft_block(**options: Any) -> springs.Body:
    return springs.block((3, 3, 3), 0.02, **{"mass": 1e-3, "stiffness": 100.0, **options}).moved((0.0, 0.0, 0.05))


COUPLED: dict[str, dict[str, Any]] = {
    "stiffness": {"body": lambda: soft_block(stiffness=110.0)},
    "control": {"body": lambda: soft_block().control("leg", np.arange(4))},
    "wave": {"body": lambda: soft_block().actuate(springs.wave(0.1, 1.0, np.zeros(4)), np.arange(4))},
    **{
        f"{name} {number}": {name: value}
        for number, (name, value) in enumerate([
            ("friction", 0.6), ("material", 0.6), ("gravity", (0.0, 0.0, -1.6)), ("dt", 1e-4), ("spring_dt", 5e-5),
            ("springs", {"velocity_damping": 0.1}), ("springs", {"integrator": "verlet"}),
            ("grains", {"softness": 0.2}),
            ("skin", shapes.Surface(friction=0.9)), ("worlds", 2),
            ("obstacles", [shapes.ground(height=-0.02), ball()]),
            ("obstacles", [shapes.ground(height=-0.02), ball(motion=along(0.1))]),
            ("obstacles", [shapes.ground(height=-0.02), ball(motion=along(0.2))]),
        ])
    },
}  # fmt: skip


def arm(reach: float = 0.1) -> RigidTree:
    """A mast with a boom that turns."""
    boom = LinkShape(shapes.Capsule(0.01, reach), frame_of((0.0, 0.0, 0.2)))
    links = {"mast": Link("mast"), "boom": Link("boom", (boom,))}
    return RigidTree(
        "arm", links, {"boom": Joint("turn", "revolute", "mast", "boom", np.eye(4), np.array([0.0, 0.0, 1.0]))}
    )


def machine_model(
    *, fastest: float = 1.0, every: float = 0.005, reach: float = 0.1, begin: float = 0.0, **options: Any
) -> Simulation[Any]:  # fmt: skip
    """Grains beside an arm whose joint is a control."""
    tree, bed = arm(reach), grains.Bed(grains.jittered_lattice((4, 4, 2), 0.021, corner=(0.0, 0.0, 0.02)), 0.01)
    given: dict[str, Any] = {
        "obstacles": [GROUND, *tree.bodies([begin], motion="driven")],
        "controls": joint_controls(tree, [begin], fastest=fastest, every=every),
    }
    return grains.simulation(bed, device="cpu", **given, **options)


MACHINES: dict[str, dict[str, Any]] = {
    "fastest": {"fastest": 2.0}, "every": {"every": 0.01}, "reach": {"reach": 0.11}, "begin": {"begin": 0.1},
    "gravity": {"gravity": (0.0, 0.0, -1.6)},
}  # fmt: skip


def sinking_model(
    *, medium: float = 1.0, dt: float = 1e-4, gravity: Any = (0.0, 0.0, -9.81), **body: Any
) -> Simulation[Any]:
    ground = shapes.ResistiveGround("poppy-loose", inertia=medium)
    given = {"motion": "free", "position": (0.0, 0.0, 0.06), **body}
    return Simulation(
        Sinking(ground, [shapes.Rigid(shapes.Box((0.05, 0.05, 0.05)), **given)], dt=dt, gravity=gravity, device="cpu")
    )


SINKING: dict[str, dict[str, Any]] = {
    "medium": {"medium": 1.1}, "dt": {"dt": 2e-4}, "gravity": {"gravity": (0.0, 0.0, -1.6)},
    "density": {"density": 900.0},
    "position": {"position": (0.0, 0.0, 0.07)}, "velocity": {"velocity": (0.0, 0.0, -1.0)},
    "spin": {"spin": (0.0, 0.0, 1.0)},
}  # fmt: skip


MODELS: dict[str, tuple[Callable[..., Simulation[Any]], dict[str, dict[str, Any]]]] = {
    "springs": (spring_model, SPRINGS), "grains": (grain_model, GRAINS), "voxels": (voxel_model, VOXELS),
    "voxels3d": (voxel3d_model, VOXELS3D), "solids": (solid_model, SOLIDS), "robots": (robot_model, ROBOTS),
    "coupled": (coupled_model, COUPLED), "machines": (machine_model, MACHINES), "sinking": (sinking_model, SINKING),
}  # fmt: skip


def accepted(kind: str, changes: list[str], folder: Path) -> list[str]:
    """Changes of a model after which it takes the checkpoint of the model as it was."""
    build, known = MODELS[kind]
    path = folder / f"{kind}.npz"
    build().save(path)
    found = []
    for change in changes:
        other = build(**known[change])
        before = other.state_hash()
        try:
            other.load(path)
        except FileFormatError:
            assert other.state_hash() == before
        else:
            found.append(change)
    return found


def test_there_are_two_hundred_unlike_models() -> None:
    assert sum(len(changes) for _, changes in MODELS.values()) >= 200


@pytest.mark.parametrize("kind", MODELS)
def test_the_checkpoint_of_a_model_that_differs_in_one_thing_is_refused(kind: str, tmp_path: Path) -> None:
    known = sorted(MODELS[kind][1])
    chosen = random.Random(zlib.crc32(kind.encode())).sample(known, min(SEEN_OF_EACH, len(known)))
    assert accepted(kind, chosen, tmp_path) == []


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_model_takes_its_checkpoint_again(kind: str, tmp_path: Path) -> None:
    build = MODELS[kind][0]
    first = build()
    first.step(2)
    first.save(tmp_path / "first.npz")
    again = build()
    again.load(tmp_path / "first.npz")
    assert again.state_hash() == first.state_hash()


# --- what a model was made of, changed afterwards ---


def springs_of(stiffness: np.ndarray) -> Simulation[Any]:
    body = springs.block((3, 3, 3), 0.02, mass=1e-3)
    body.stiffness = stiffness
    return springs.simulation(body, device="cpu")


def grains_of(radii: np.ndarray) -> Simulation[Any]:
    bed = grains.Bed(grains.jittered_lattice((4, 4, 2), 0.021), 0.01)
    bed.radii = radii
    return grains.simulation(bed, overlapping="allow", device="cpu")


def cubes_of(**options: Any) -> Simulation[Any]:
    return voxels3d.simulation([voxels3d.Robot(np.zeros((3, 2, 2), int), **options)], device="cpu")


MADE_OF: dict[str, tuple[Callable[[np.ndarray], Simulation[Any]], np.ndarray]] = {
    "springs": (springs_of, np.full(springs.block((3, 3, 3), 0.02, mass=1e-3).spring_count, 50.0)),
    "grains": (grains_of, np.full(32, 0.01)),
    "fixed masses": (lambda of: voxel_model(robot=lambda r: replace(r, fixed=of)), np.zeros((2, 2, 4), bool)),
    "loads": (lambda of: voxel_model(robot=lambda r: r.push(of)), np.ones((2, 2, 4, 2))),
    "voxels3d": (lambda of: cubes_of(amplitude=of), np.ones((3, 2, 2))),
    "holds": (lambda of: cubes_of(holds=[voxels3d.Hold(of)]), np.arange(4)),
    "pushes": (lambda of: cubes_of(pushes=[voxels3d.Push(of, (0.0, 0.0, 0.1))]), np.arange(4)),
}


@pytest.mark.parametrize("kind", MADE_OF)
def test_a_model_is_what_it_was_built_of(kind: str) -> None:
    build, array = MADE_OF[kind]
    built, other, given = build(array), build(array + array.dtype.type(1)), array.copy()
    changed = build(given)
    given += given.dtype.type(1)
    assert changed.solver.fingerprint() == built.solver.fingerprint() != other.solver.fingerprint()


@pytest.mark.parametrize("kind", ["springs", "grains", "fixed masses", "voxels3d"])
def test_arrays_count_only_when_a_fingerprint_is_wanted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    whole = _Known._of_array

    def noted(self: _Known, array: Any) -> bytes:
        seen.append(array.size)
        return whole(self, array)

    monkeypatch.setattr(_Known, "_of_array", noted)
    build, array = MADE_OF[kind]
    made = build(array)
    assert max(seen, default=0) < array.size
    made.solver.fingerprint()
    assert max(seen) >= array.size


def test_a_controller_that_remembers_its_calls_is_no_other_one_afterwards(tmp_path: Path) -> None:
    def remembering() -> Simulation[Any]:
        times: list[float] = []

        def act(time: float, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
            times.append(time)
            return np.zeros((len(inputs), 4))

        return voxel_model(robot=lambda r: r.with_controller(HostController(act)))

    first = remembering()
    first.step(6)
    first.save(tmp_path / "first.npz")
    again = remembering()
    again.load(tmp_path / "first.npz")
    assert again.state_hash() == first.state_hash()
