"""Everything in the library that reads files: a sample of each, and how it is read.

What is not here is read by the same code as something that is: replay buffers (archives), meshes of URDF robots and
of scenes (surface meshes), agents and the scale of their rewards (which need Stable-Baselines3 and are trusted).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

FUZZ = Path(__file__).parent
sys.path[:0] = [str(FUZZ), str(FUZZ.parent / "evolve")]

from mutations import Mutation, resealed_archive, resealed_recording  # noqa: E402


@dataclass(frozen=True)
class Reader:
    """A way to read a file.

    Attributes:
        suffix: How such files are called.
        make: Writes a sample to a path, and returns the function that reads a file like it.
        extra: Ways to damage it that plain bytes have not.
        costly: Whether making the sample compiles kernels; left out of the short form.
    """

    suffix: str
    make: Callable[[Path], Callable[[Path], Any]]
    extra: tuple[Mutation, ...] = ()
    costly: bool = False


def checkpoint(path: Path) -> Callable[[Path], Any]:
    """A body of springs that was edited: its network is in the file too."""
    from annelid import springs
    from annelid.core.recording.file_kinds import what_it_is
    from annelid.shapes import Box

    body = springs.lattice(Box((0.03, 0.02, 0.02)), 0.01, "pdms")
    simulation = springs.simulation(body, dt=2e-5, device="cpu", threads=1)
    simulation.step(3)
    with simulation.edit() as edit:
        edit.remove_springs([5, 6])
    simulation.step(2)
    simulation.save(path)

    def read(found: Path) -> None:
        what_it_is(found)
        simulation.load(found)

    return read


def worlds(path: Path) -> Callable[[Path], Any]:
    """Worlds of an environment."""
    from annelid import envs

    batch: Any = envs.make_worlds("annelid/VoxelLocomotion-v0", 2, device="cpu", threads=1, seconds=1.0)
    batch.restart(seeds=[3, 7])
    batch.save(path)
    return batch.load


def recording(path: Path) -> Callable[[Path], Any]:
    """Frames with all kinds of parts, events and two segments."""
    from annelid.core.recording import Recorder, Recording
    from annelid.core.recording.file_kinds import what_it_is
    from annelid.core.snapshot import Field, Lines, Mesh, Number, Plane, Snapshot, Spheres

    def moment(i: int) -> Snapshot:
        rng = np.random.default_rng(i)
        parts = (
            Mesh("body", rng.random((4, 3)), np.array([[0, 1, 2], [0, 2, 3]]), {"speed": Field(rng.random(4), "m/s")}),
            Spheres("masses", rng.random((3, 3)), rng.random(3), {"kind": Field(np.arange(3), labels=("a", "b", "c"))}),
            Lines("springs", rng.random((3, 3)), np.array([[0, 1], [1, 2]])),
            Plane("ground", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        )
        return Snapshot(0.1 * i, i, parts[: 2 + i % 3], {"energy": Number(0.1 * i, "J")})

    with Recorder(path, scene="fuzz", parameters={"a": 1.5}) as recorder:
        for i in (0, 1, 2, 3, 4):
            recorder.write(moment(i))
        recorder.event(0.3, "broken", "a spring")
        recorder.new_segment()
        recorder.write(moment(2))

    def read(found: Path) -> None:
        what_it_is(found)
        with Recording(found) as opened:
            for i in range(len(opened)):
                opened.frame(i)
            opened.numbers()

    return read


def _beam() -> Any:
    from annelid.shapes import tet_beam

    return tet_beam(1.0, 0.2, 0.1, cells=(2, 1, 1))


def tet_archive(path: Path) -> Callable[[Path], Any]:
    """What `TetMesh.save` writes."""
    _beam().save(path)
    return type(_beam()).load


def tet_file(file_format: str, **options: Any) -> Callable[[Path], Callable[[Path], Any]]:
    """A format that meshio writes."""

    def make(path: Path) -> Callable[[Path], Any]:
        import meshio

        mesh = _beam()
        tags = {"gmsh:physical": [np.arange(len(mesh.tetrahedra)) % 2 + 1]} if file_format == "gmsh22" else {}
        full = meshio.Mesh(mesh.nodes, [("tetra", mesh.tetrahedra)], cell_data=tags)
        meshio.write(path, full, file_format=file_format, **options)
        return lambda found: type(mesh).read(found)

    return make


def tet_written(path: Path) -> Callable[[Path], Any]:
    """What `TetMesh.write` writes, with named regions and groups."""
    mesh = _beam()
    regions, groups = np.arange(len(mesh.tetrahedra)) % 2 + 1, {"base": np.arange(4), "one": np.array([5])}
    type(mesh)(mesh.nodes, mesh.tetrahedra, regions=regions, groups=groups, region_names={2: "b"}).write(path)
    return type(mesh).read


def surface(kind: str) -> Callable[[Path], Callable[[Path], Any]]:
    """A surface mesh, which is repaired too."""

    def make(path: Path) -> Callable[[Path], Any]:
        import trimesh

        from annelid.shapes import Box, TriangleMesh
        from annelid.shapes.extrusion import joined

        mesh = joined([Box((1.0, 0.5, 0.2)).surface(), Box((0.1, 0.1, 0.1)).surface().moved((3.0, 0.0, 0.0))])
        if kind in ("stl", "obj", "ply"):
            mesh.write(path)
        else:
            full = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
            options = {"encoding": "ascii"} if kind == "ply ascii" else {}
            text = full.export(file_type={"stl ascii": "stl_ascii", "ply ascii": "ply"}[kind], **options)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

        def read(found: Path) -> None:
            from annelid.core.errors import AnnelidError

            TriangleMesh.read(found, repair=True)
            try:
                TriangleMesh.read(found).volume  # noqa: B018
            except AnnelidError as error:  # as it is it may be open
                if "not closed" not in str(error):
                    raise

        return read

    return make


def experiment(path: Path) -> Callable[[Path], Any]:
    """An experiment in TOML."""
    from annelid.commands.support.needs import require_packages
    from annelid.evolve.experiment import read_experiment

    path.write_text(
        'name = "walk"\nsummary = "x"\ngenerations = 20\nseed = 3\nrepetitions = 2\n\n[problem]\n'
        'name = "voxel-body"\n\n[searcher]\nname = "ea"\npopulation = 20\n'
    )
    read_experiment(path)

    def read(damaged: Path) -> Any:
        require_packages("evolve", [str(damaged)])
        return read_experiment(damaged)

    return read


def search(path: Path) -> Callable[[Path], Any]:
    """The checkpoint of a search."""
    from evolve_test_problems import BowlOptions

    from annelid.evolve import EA, Experiment, Run
    from annelid.evolve.executors.local import Local

    bowl = Experiment("bowl", BowlOptions(), EA(population=6), generations=3, seed=3, repetitions=2)

    def run() -> Run:
        problem = bowl.problem.build()
        return Run(bowl, problem, Local(problem))

    first = run()
    first.step()
    first.step()
    first.save(path)
    return lambda found: run().load(found)


def history(path: Path) -> Callable[[Path], Any]:
    """The course of a search."""
    from annelid.evolve.history import History, read_history

    course = History((3, 4))
    for i in range(5):
        course.append([{"evaluations": 10 * i, "best": 0.1 * i, "median": -1e-9} for _ in range(2)])
    course.write(path)
    return read_history


def episodes(path: Path) -> Callable[[Path], Any]:
    """The course of a training."""
    from annelid.envs.training.history import History

    course = History()
    for i in range(6):
        course.add(0.5 * i, 100 * i, 1.25 * i, 50)
    course.write(path)
    return History.read


def sand(path: Path) -> Callable[[Path], Any]:
    """A medium whose coefficients were fitted."""
    from annelid.shapes.resistive.media import MEDIA, read_medium, write_medium

    write_medium(path, MEDIA["poppy-close"])
    return read_medium


def robot(path: Path) -> Callable[[Path], Any]:
    """A voxel robot in JSON."""
    from annelid import control, voxels

    soft = voxels.Voxel.paper(frequency=5.0, scaffolding="EC")
    body = voxels.Robot.from_text("ss\nss", {"s": soft})
    body = body.with_controller(control.PhasedSines(np.array([0.0, 1.0, 2.0, 3.0]), frequency=-1.0))
    path.write_text(body.to_json())
    return lambda found: voxels.Robot.from_json(found.read_text(encoding="utf-8", errors="replace"))


def controller(path: Path) -> Callable[[Path], Any]:
    """The best network that a search has found."""
    from annelid.control import MLP, read_controller

    found = {"controller": MLP([0.5, -1.0, 0.25, 0.0, 1.0], hidden=(1,)).to_dict()}
    path.write_text(json.dumps({"experiment": "crawl", "generation": 3, "robots": [{"fitness": 1.0, "robot": found}]}))
    return read_controller


def urdf(path: Path) -> Callable[[Path], Any]:
    """An arm."""
    from annelid.envs.machines import Chain
    from annelid.shapes.articulated import read_urdf

    joints = "".join(
        f'<joint name="j{i}" type="{kind}"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0 0 0.3" '
        'rpy="0 0.1 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="10"/></joint>'
        for i, kind in enumerate(("revolute", "prismatic", "fixed", "continuous"))
    )
    links = "".join(
        f'<link name="l{i}"><inertial><mass value="1"/></inertial><collision><geometry><mesh filename="a.stl" scale='
        '"1 1 1"/></geometry></collision><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
        for i in range(5)
    )
    path.write_text(f'<?xml version="1.0"?><robot name="arm">{links}{joints}</robot>')

    def read(found: Path) -> None:
        arm = read_urdf(found)
        for link in arm.joints:
            Chain.to(arm, link)
        arm.frames(arm.values()[None])

    return read


def distances(path: Path) -> Callable[[Path], Any]:
    """Baked distances of the cache: what does not fit is not believed, and nobody is told."""
    from annelid.shapes import sdf_cache

    layout = sdf_cache._Layout((0.0, 0.0, 0.0), 0.1, (4, 5, 6))
    sdf_cache._keep(path, layout, np.linspace(-1.0, 1.0, 120, dtype=np.float32).reshape(4, 5, 6))
    return lambda found: sdf_cache._read(found, layout)


def plan(path: Path) -> Callable[[Path], Any]:
    """The plan of a training in JSON, which a resumed one must agree with."""
    from dataclasses import asdict

    from annelid.core.errors import FileFormatError, InvalidValue
    from annelid.envs.training import run

    ours = run.Plan("annelid/VoxelLocomotion-v0")
    path.write_text(json.dumps(asdict(ours)))
    training = object.__new__(run.Training)
    training.plan = ours

    def read(found: Path) -> None:
        training.folder = found.parent
        (found.parent / "training.json").write_bytes(found.read_bytes())
        try:
            training._require_same()
        except InvalidValue as error:
            raise FileFormatError(str(error)) from None

    return read


def fall(height: float) -> dict[str, float]:
    """What a sweep measures."""
    return {"time": (height / 4.905) ** 0.5}


def sweep_table(path: Path) -> Callable[[Path], Any]:
    """The table of a sweep, which is gone on with."""
    from annelid.core.sweep import sweep

    def read(found: Path) -> None:
        sweep(fall, {"height": [1.0, 2.0, 3.0]}, table=found, resume=True)

    read(path)
    return read


def measured_runs(path: Path) -> Callable[[Path], Any]:
    """Runs of a measured arm, as a study reads them."""
    from annelid.core.errors import FileFormatError, InvalidValue
    from annelid.studies.support.arm_tracks import read_steps

    names = [f"tip{marker}_d{axis}" for marker in (1, 2, 3) for axis in "xyz"]
    rows = [f"{mbar}," + ",".join(["0.0015"] * 9) for mbar in (50, 100, 150)]
    path.write_text("\n".join([",".join(["pressure_mbar", *names]), *rows]) + "\n")

    def read(found: Path) -> None:
        (found.parent / "static.csv").write_bytes(found.read_bytes())
        try:
            read_steps(found.parent)
        except InvalidValue as error:
            raise FileFormatError(str(error)) from None

    return read


def squeezes(path: Path) -> Callable[[Path], None]:
    """What a study of squeezes has kept, to go on from."""
    from annelid.studies.squeeze import KEPT, Squeeze, Squeezed

    path.write_text(json.dumps({"seed": 0, "squeezes": [asdict(Squeezed("jaws", 0))]}))

    def read(found: Path) -> None:
        folder = found.parent / f"{found.name}-kept"
        folder.mkdir(exist_ok=True)
        (folder / KEPT).write_bytes(found.read_bytes())
        Squeeze(folder=folder).known()

    return read


def study_result(path: Path) -> Callable[[Path], Any]:
    """What `annelid study` writes, as the atlas reads it."""
    from annelid.commands.support.atlas import atlas
    from annelid.commands.support.study_results import read_result
    from annelid.core.measurement import Measurement, Report
    from annelid.core.provenance import provenance
    from annelid.studies.registry import study_class, study_names

    rows = [Measurement("height", 1.0, "m", 1.1, 0.2, "Fig. 5"), Measurement("rate", float("nan"))]
    path.write_text(Report("energy", "cpu", 1.5, rows, provenance(study_class("energy")())).to_json())

    def read(found: Path) -> None:
        result = read_result(found)
        if result.report.name in study_names():
            atlas([result])

    return read


def tracks(path: Path) -> Callable[[Path], None]:
    from annelid.calibration.tracks import read_tracks
    from annelid.core.errors import FileFormatError, InvalidValue

    rows = [f"{0.01 * n:.2f},{0.1 * n},0,{-0.2 * n},1,2,3" for n in range(4)]
    path.write_text("\n".join(["t [s],a_x [mm],a_y [mm],a_z [mm],b_x,b_y,b_z", *rows]) + "\n")

    def read(found: Path) -> None:
        try:
            read_tracks(found)
        except InvalidValue as error:
            raise FileFormatError(str(error)) from None

    return read


def vxa(compression: Any) -> Callable[[Path], Callable[[Path], Any]]:
    """A voxel robot with formulas, layers and regions."""

    def make(path: Path) -> Callable[[Path], Any]:
        from annelid import voxels3d

        voxels3d.vxa_of(_voxels(), seconds=2.0, compression=compression).write(path)
        return lambda found: voxels3d.setup_of(voxels3d.Vxa.read(found))

    return make


def vxd(path: Path) -> Callable[[Path], Any]:
    """Changes of a voxel robot, on top of a base beside them."""
    from annelid import voxels3d

    base = path.parent / "base.vxa"
    voxels3d.vxa_of(_voxels(), seconds=2.0).write(base)
    voxels3d.Vxa.read(base).write(path)
    return lambda found: voxels3d.setup_of(voxels3d.Vxa.read(found, base=base))


def evogym_structure(path: Path) -> Callable[[Path], Any]:
    """A robot of EvoGym, with its connections."""
    from annelid.voxels import evogym

    np.savez(path, np.array([[3, 4], [1, 0]]), np.array([[0, 0], [1, 2]]))
    return evogym.read_structure


def evogym_world(path: Path) -> Callable[[Path], Any]:
    """A world of EvoGym."""
    from annelid.voxels import evogym

    near = {"0": [1], "1": [0, 2], "2": [1, 3], "3": [2]}
    ground = {"indices": [0, 1, 2, 3], "types": [5, 5, 5, 5], "neighbors": near}
    block = {"indices": [5, 6], "types": [2, 3], "neighbors": {"5": [6], "6": [5]}}
    values = {"grid_width": 4, "grid_height": 2, "objects": {"ground": ground, "block": block}}
    path.write_text(json.dumps(values), encoding="utf-8")
    return evogym.read_world


def voxelyze(path: Path) -> Callable[[Path], Any]:
    """Voxelyze's own JSON."""
    from dataclasses import replace

    from annelid import voxels3d

    voxels3d.write_json(replace(_voxels(), amplitude=0.0, stiffness=1.0), path)
    return voxels3d.read_json


def _voxels() -> Any:
    from annelid import voxels3d

    numbers = np.arange(24).reshape(4, 3, 2) % 3
    numbers[:, 0], numbers[:, :, 1] = 1, 2
    kinds = (voxels3d.Voxel(), voxels3d.Voxel(curve=((0.01, 1e4), (0.2, 2e4))))
    made = voxels3d.Robot.from_array(
        numbers, kinds, amplitude=10.0, frequency=4.0, phase=numbers * 0.25, stiffness=1.0 + numbers
    )
    return made.fix(lambda x, y, z: x == 0).push(lambda x, y, z: x == 3, (0.0, 0.0, 0.1))


def voxel_history(path: Path) -> Callable[[Path], Any]:
    """A history of voxcraft-sim."""
    from annelid import voxels3d

    setting, entry = "{{{setting}}}", "1.0,2.0,3.0,45.0,0.10,0.20,0.30,-0.5,-0.5,-0.5,0.5,0.5,0.5,1,0.0,;"
    color = f"{setting}<matcolor><id>1</id><r>0.10</r><g>0.20</g><b>0.30</b><a>1.00</a></matcolor>"
    frame = f"<<<Step17 Time:0.0031>>>{3 * entry}<<<>>>|[[[17]]]0.1,0.2,0.3,0.4,0.5,0.6,;[[[]]]"
    path.write_text("\n".join([f"{setting}<rescale>0.001</rescale>", color, *[frame] * 4]) + "\n")
    return voxels3d.read_history


READERS = {
    "vxa": Reader(".vxa", vxa("ASCII_READABLE")),
    "vxa-zlib": Reader(".vxa", vxa("ZLIB")),
    "vxd": Reader(".vxd", vxd),
    "voxelyze": Reader(".json", voxelyze),
    "evogym-structure": Reader(".npz", evogym_structure),
    "evogym-world": Reader(".json", evogym_world),
    "study-result": Reader(".json", study_result),
    "voxel-history": Reader(".history", voxel_history),
    "checkpoint": Reader(".npz", checkpoint, (resealed_archive,), costly=True),
    "worlds": Reader(".npz", worlds, (resealed_archive,), costly=True),
    "recording": Reader(".rec", recording, (resealed_recording,)),
    "tet-archive": Reader(".npz", tet_archive, (resealed_archive,)),
    "msh-2-text": Reader(".msh", tet_file("gmsh22", binary=False)),
    "msh-2": Reader(".msh", tet_file("gmsh22", binary=True)),
    "msh-4-text": Reader(".msh", tet_file("gmsh", binary=False)),
    "msh-4": Reader(".msh", tet_file("gmsh", binary=True)),
    "own-msh": Reader(".msh", tet_written),
    "own-inp": Reader(".inp", tet_written),
    "vtk-text": Reader(".vtk", tet_file("vtk", binary=False)),
    "vtk-4": Reader(".vtk", tet_file("vtk42", binary=True)),
    "vtk": Reader(".vtk", tet_file("vtk", binary=True)),
    "vtu": Reader(".vtu", tet_file("vtu")),
    "vtu-text": Reader(".vtu", tet_file("vtu", binary=False)),
    "stl": Reader(".stl", surface("stl")),
    "stl-text": Reader(".stl", surface("stl ascii")),
    "obj": Reader(".obj", surface("obj")),
    "ply": Reader(".ply", surface("ply")),
    "ply-text": Reader(".ply", surface("ply ascii")),
    "experiment": Reader(".toml", experiment),
    "search": Reader(".npz", search, (resealed_archive,)),
    "history": Reader(".csv", history),
    "episodes": Reader(".csv", episodes),
    "robot": Reader(".json", robot),
    "sand": Reader(".json", sand),
    "controller": Reader(".json", controller),
    "urdf": Reader(".urdf", urdf),
    "distances": Reader(".sdf", distances),
    "plan": Reader(".json", plan),
    "measured-runs": Reader(".csv", measured_runs),
    "sweep": Reader(".csv", sweep_table),
    "tracks": Reader(".csv", tracks),
    "squeezes": Reader(".json", squeezes),
}
