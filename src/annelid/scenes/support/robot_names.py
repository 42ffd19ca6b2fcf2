"""How files of voxel robots are called, which is asked before anything of voxels is imported."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = (".vxa", ".vxd", ".vxc")
"""How names of files of voxel robots end."""


def is_robot_file(given: str) -> bool:
    """Whether a name on the command line means a file of a voxel robot."""
    return Path(given).suffix.lower() in SUFFIXES
