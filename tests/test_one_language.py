"""One language for six kinds of physics: the script of the documentation, with only the line that builds differing."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast, get_origin, get_type_hints

import numpy as np
import pytest
import trimesh

from annelid import coupling, fem, grains, robots, shapes, springs, voxels, voxels3d
from annelid.core.errors import FileFormatError, InvalidValue, UnknownName
from annelid.core.recording import Recorder
from annelid.core.snapshot import Look, Spheres
from annelid.core.summary import Summary
from annelid.view.files.export import export
from annelid.view.files.parts import finite_parts, index_of, points_of

PHYSICS: dict[str, ModuleType] = {
    "springs": springs, "grains": grains, "voxels": voxels, "voxels3d": voxels3d, "fem": fem, "coupling": coupling,
}  # fmt: skip
PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "core.md").read_text(encoding="utf-8")


def _lines_that_build() -> dict[str, str]:
    """The table of the page: physics and the line that builds it."""
    return dict(re.findall(r"^\| (\w+) \| `(\w+\.simulation\(.*\))` \|$", PAGE, re.MULTILINE))


def _script() -> str:
    """The script of the page, which all physics share."""
    (script,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def build()" in block]
    return str(script)


def test_every_physics_chooses_its_time_step() -> None:
    solid = fem.Solid(shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30")
    robot = voxels.Robot.from_text("o")
    assert fem.simulation(solid, dt="auto", device="cpu").dt == fem.World(dt=0.01).step == fem.World().step
    assert voxels.simulation(robot, dt="auto", device="cpu").dt == voxels.World().step == 1.0 / 60.0
    with pytest.raises(InvalidValue, match="dt of a simulation of voxels must be .* or 'auto', not 'fast'"):
        voxels.World(dt=cast(float, "fast"))


def test_the_table_names_every_physics() -> None:
    assert set(_lines_that_build()) == set(PHYSICS)


@pytest.mark.parametrize("physics", PHYSICS)
def test_the_same_twelve_lines(physics: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build, run, read positions and energies, save, load, run, picture."""
    monkeypatch.chdir(tmp_path)
    lines = _lines_that_build()
    assert lines["springs"] in _script()
    script = _script().replace(lines["springs"], lines[physics])
    names: dict[str, Any] = {**PHYSICS, "robots": robots}
    exec(compile(script, f"docs/reference/core.md ({physics})", "exec"), names)
    simulation, summary = names["simulation"], names["summary"]
    assert simulation.solver.physics == physics
    positions, velocities = simulation.positions(), simulation.velocities()
    assert positions.ndim == 2
    assert positions.shape == velocities.shape == (len(positions), 3)
    assert np.isfinite(positions).all()
    assert np.isfinite(velocities).all()
    assert isinstance(summary, Summary)
    assert summary.kinetic > 0.0
    assert summary.mass > 0.0
    assert (tmp_path / "body.png").stat().st_size > 1000
    exported_and_read(simulation, tmp_path)


def exported_and_read(simulation: Any, folder: Path) -> None:
    """A frame of all kinds of parts, recorded and exported, comes back as arrays and as a scene of another program."""
    shot = simulation.snapshot(Look(spheres=True, lines=True))
    with Recorder(folder / "run.rec") as recorder:
        recorder.write(shot)
    found = np.load(export(folder / "run.rec", folder / "run.npz"))
    drawn = set(trimesh.load_scene(export(folder / "run.rec", folder / "run.glb")).graph.nodes)
    parts = finite_parts(shot)
    assert parts
    for part in parts:
        np.testing.assert_allclose(found[f"{part.name}/positions"][0], points_of(part), atol=1e-6)
        assert part.name in drawn or not len(points_of(part) if isinstance(part, Spheres) else index_of(part))


@pytest.mark.parametrize("physics", PHYSICS)
def test_every_option_is_spelled_out(physics: str) -> None:
    """Help and editors show all options; each of the world's is one of them, with the same default."""
    module = PHYSICS[physics]
    parameters = inspect.signature(module.simulation).parameters
    assert not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values())
    for field in dataclasses.fields(module.World):
        assert field.name in parameters, f"{physics}.World.{field.name}"
        assert parameters[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[field.name].annotation != inspect.Parameter.empty
        if field.default is not dataclasses.MISSING:
            assert parameters[field.name].default == field.default
    assert {"dt", "gravity", "obstacles", "device", "threads"} <= set(parameters)
    documented = inspect.getdoc(module.simulation) or ""
    for name in parameters:
        assert re.search(rf"^ +{name}: ", documented, re.MULTILINE), f"{physics}.simulation: {name}"


@pytest.mark.parametrize("physics", [name for name in PHYSICS if hasattr(PHYSICS[name], "Options")])
def test_options_keep_the_limits_and_words_that_they_declare(physics: str) -> None:
    options = PHYSICS[physics].Options
    kinds = get_type_hints(options)
    for field in dataclasses.fields(options):
        low, high = field.metadata["limits"] or (None, None)
        wrong = [] if low is None else [low - 1.0, float("nan"), *([low] if field.metadata["above"] else [])]
        wrong += [] if high in (None, float("inf")) else [high + 1]
        wrong += ["neither"] if wrong or kinds[field.name] is bool or get_origin(kinds[field.name]) is Literal else []
        for value in wrong:
            with pytest.raises(InvalidValue, match=rf"^{field.name} of a simulation of .* must be .*, not ") as caught:
                options(**{field.name: value})
            assert str(caught.value).count(". ") == 0
        assert field.metadata["help"].strip().endswith(".") or field.metadata["help"].endswith("]"), field.name


@pytest.mark.parametrize("physics", PHYSICS)
@pytest.mark.parametrize(("wrong", "right"), [("gravty", "gravity"), ("obstacle", "obstacles"), ("time_step", "dt")])
def test_a_misspelt_option_gets_the_nearest_name(physics: str, wrong: str, right: str) -> None:
    line = _lines_that_build()[physics]
    with pytest.raises(UnknownName) as caught:
        eval(f"{line[:-1]}, {wrong}=1)", {**PHYSICS, "shapes": shapes, "robots": robots})
    assert wrong in str(caught.value)
    assert right in str(caught.value)


WRONG = {
    "gravity": [9.81, (0.0, 0.0), (0.0, 0.0, float("nan")), "down"],
    "dt": [0.0, -1e-3, float("nan"), float("inf"), "short"],
    "threads": [0, -1, 1.5, "two"],
    "obstacles": [3, "ground", shapes.Plane(), [3], ["ground"]],
}


@pytest.mark.parametrize("physics", PHYSICS)
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_option_is_refused_in_one_sentence(physics: str, name: str, value: Any) -> None:
    line = re.sub(r", dt=[^,)]+", "", _lines_that_build()[physics])
    names = {**PHYSICS, "shapes": shapes, "robots": robots, "wanted": value}
    with pytest.raises(InvalidValue, match=name.rstrip("s")) as caught:
        eval(f"{line[:-1]}, {name}=wanted)", names)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("physics", PHYSICS)
@pytest.mark.parametrize("wrong", ["worm", 3, None, "another physics"])
def test_another_body_is_refused_in_one_sentence(physics: str, wrong: Any) -> None:
    other = grains.Bed([[0.0, 0.0, 1.0]], 0.01) if physics != "grains" else springs.block((2, 2, 2))
    body: Any = other if wrong == "another physics" else wrong
    with pytest.raises(InvalidValue, match="must be"):
        PHYSICS[physics].simulation(*([body, other] if physics == "coupling" else [body]))


@pytest.mark.parametrize("physics", PHYSICS)
def test_a_checkpoint_of_another_world_is_refused(physics: str, tmp_path: Path) -> None:
    line, names = _lines_that_build()[physics], {**PHYSICS, "shapes": shapes, "robots": robots}
    eval(line, names).save(tmp_path / "here.npz")
    moon = eval(f"{line[:-1]}, gravity=(0.0, 0.0, -1.6))", names)
    before = moon.state_hash()
    with pytest.raises(FileFormatError, match="another model"):
        moon.load(tmp_path / "here.npz")
    assert moon.state_hash() == before
