"""Named experiments: those of Medvet et al., sec. 3, as they set them; body and brain together; a worm of springs."""

from __future__ import annotations

from typing import Literal

from annelid.evolve.age_fitness import AgeFitness
from annelid.evolve.ea import EA
from annelid.evolve.experiment import Experiment
from annelid.evolve.problems.spring_worm import SpringWorm
from annelid.evolve.problems.voxel_body import VoxelBody
from annelid.evolve.problems.voxel_body_3d import VoxelBody3d
from annelid.evolve.problems.voxel_body_and_brain import VoxelBodyAndBrain
from annelid.evolve.problems.voxel_controller import VoxelController

Shape = Literal["worm", "biped", "tripod"]
Controller = Literal["phases", "sensing"]

SHAPES: dict[Shape, int] = {"worm": 4, "biped": 4, "tripod": 5}
"""Lengths of the three shapes of sec. 3.3."""

CONTROLLERS: tuple[Controller, ...] = ("phases", "sensing")
"""What moves them."""


def body_5x5() -> Experiment:
    """Bodies of four materials in a grid of 5x5 (2D-VSR-Sim, sec. 3.1)."""
    return _body("body-5x5", 5)


def body_10x10() -> Experiment:
    """Bodies of four materials in a grid of 10x10 (2D-VSR-Sim, sec. 3.1)."""
    return _body("body-10x10", 10)


def evolution() -> Experiment:
    """Phases of the voxels of a body of 11x4 (2D-VSR-Sim, sec. 3.2)."""
    return Experiment("evolution", VoxelController(controller="phases"), summary=_summary(evolution))


def development() -> Experiment:
    """Phases that drift over a lifetime, body of 11x4 (2D-VSR-Sim, sec. 3.2)."""
    return Experiment("development", VoxelController(controller="development"), summary=_summary(development))


def phases_worm() -> Experiment:
    """Phases of a worm of 4x1 voxels (2D-VSR-Sim, sec. 3.3)."""
    return shape_experiment("worm", "phases")


def phases_biped() -> Experiment:
    """Phases of a biped of 4x2 cells (2D-VSR-Sim, sec. 3.3)."""
    return shape_experiment("biped", "phases")


def phases_tripod() -> Experiment:
    """Phases of a tripod of 5x2 cells (2D-VSR-Sim, sec. 3.3)."""
    return shape_experiment("tripod", "phases")


def sensing_worm() -> Experiment:
    """A sensing network for a worm of 4x1 voxels (2D-VSR-Sim, sec. 3.3)."""
    return shape_experiment("worm", "sensing")


def sensing_biped() -> Experiment:
    """A sensing network for a biped of 4x2 cells (2D-VSR-Sim, sec. 3.3)."""
    return shape_experiment("biped", "sensing")


def sensing_tripod() -> Experiment:
    """A sensing network for a tripod of 5x2 cells (2D-VSR-Sim, sec. 3.3)."""
    return shape_experiment("tripod", "sensing")


def brain_5x5() -> Experiment:
    """Phases of the voxels of a full body of 5x5, all of them active."""
    options = VoxelController(width=5, height=5, controller="phases")
    return Experiment("brain-5x5", options, summary=_summary(brain_5x5))


def body_and_brain() -> Experiment:
    """Bodies of three materials in a grid of 5x5 together with the phases of their active voxels."""
    return Experiment("body-and-brain", VoxelBodyAndBrain(), summary=_summary(body_and_brain))


def body_3d() -> Experiment:
    """Bodies of soft, stiff and muscle voxels in 6x6x6 cells, told by networks of patterns (after evosoro)."""
    return _body_3d("body-3d", "cppn", _summary(body_3d))


def body_3d_direct() -> Experiment:
    """Bodies of soft, stiff and muscle voxels in 6x6x6 cells, told cell by cell."""
    return _body_3d("body-3d-direct", "direct", _summary(body_3d_direct))


def spring_worm() -> Experiment:
    """The wave of a worm of springs: amplitude, frequency and offset slope, for speed."""
    searcher = EA(population=16, tournament=4)
    return Experiment("spring-worm", SpringWorm(), searcher, generations=15, summary=_summary(spring_worm))


def shape_experiment(shape: Shape, controller: Controller) -> Experiment:
    """Controllers of one kind for one of the three shapes."""
    options = VoxelController(body=shape, width=SHAPES[shape], height=1, controller=controller)
    about = "phases" if controller == "phases" else "sensing networks"
    return Experiment(f"{controller}-{shape}", options, summary=f"{about} of a {shape}")


def _body_3d(name: str, encoding: Literal["cppn", "direct"], about: str) -> Experiment:
    searcher = AgeFitness(population=40)
    return Experiment(name, VoxelBody3d(encoding=encoding), searcher, generations=150, summary=about)


def _body(name: str, size: int) -> Experiment:
    about = f"bodies of four materials in a grid of {size}x{size}"
    return Experiment(name, VoxelBody(width=size, height=size), summary=about)


def _summary(made: object) -> str:
    return (made.__doc__ or "").strip().rstrip(".")
