"""The list of studies. Studies are imported only when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annelid.core.listing import listed

if TYPE_CHECKING:
    from annelid.studies.study import Study

STUDIES = {
    "beam-frequency": ("annelid.studies.beam_frequency", "BeamFrequency"),
    "natural-frequency": ("annelid.studies.natural_frequency", "NaturalFrequency"),
    "energy": ("annelid.studies.energy", "Energy"),
    "cylinder": ("annelid.studies.cylinder", "Cylinder"),
    "throughput": ("annelid.studies.throughput", "Throughput"),
    "lattices": ("annelid.studies.lattices", "Lattices"),
    "materials": ("annelid.studies.materials", "Materials"),
    "fluid-weight": ("annelid.studies.fluid_weight", "FluidWeight"),
    "fem-accuracy": ("annelid.studies.fem_accuracy", "FemAccuracy"),
    "measured-beam": ("annelid.studies.measured_beam", "MeasuredBeam"),
    "measured-arm": ("annelid.studies.measured_arm", "MeasuredArm"),
    "identify-springs": ("annelid.studies.identify_springs", "IdentifySprings"),
    "identify-solid": ("annelid.studies.identify_solid", "IdentifySolid"),
    "gait": ("annelid.studies.gait", "Gait"),
    "throw": ("annelid.studies.throw", "Throw"),
    "shape": ("annelid.studies.shape", "Shape"),
    "random-robots": ("annelid.studies.random_robots", "RandomRobots"),
    "random-pushes": ("annelid.studies.random_pushes", "RandomPushes"),
    "voxel-cantilever": ("annelid.studies.voxel_cantilever", "VoxelCantilever"),
    "evolve-body": ("annelid.studies.evolve_body", "EvolveBody"),
    "evolve-development": ("annelid.studies.evolve_development", "EvolveDevelopment"),
    "evolve-sensing": ("annelid.studies.evolve_sensing", "EvolveSensing"),
    "evolve-body-and-brain": ("annelid.studies.evolve_body_and_brain", "EvolveBodyAndBrain"),
    "evolve-3d": ("annelid.studies.evolve_3d", "EvolveBodies3d"),
    "codesign": ("annelid.studies.codesign", "Codesign"),
    "locomotion-on-sand": ("annelid.studies.locomotion_on_sand", "LocomotionOnSand"),
    "squeeze": ("annelid.studies.squeeze", "Squeeze"),
    "sand-impact": ("annelid.studies.sand_impact", "SandImpact"),
    "sand-rft": ("annelid.studies.sand_rft", "SandRft"),
    "sand-steps": ("annelid.studies.sand_steps", "SandSteps"),
    "sand-strength": ("annelid.studies.sand_strength", "SandStrength"),
    "grains-physics": ("annelid.studies.grains_physics", "GrainsPhysics"),
}


def study_names() -> list[str]:
    """Names of all studies."""
    return sorted(STUDIES)


def study_class(name: str) -> type[Study]:
    """The class of a study by its name."""
    found: type[Study] = listed("study", name, STUDIES)
    return found


def studies() -> dict[str, type[Study]]:
    """All studies by name."""
    return {name: study_class(name) for name in study_names()}
