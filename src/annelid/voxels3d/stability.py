"""The longest time step with which links are stable, and the one that is recommended."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.voxels3d.tables import Shape

SAFE = 0.75
"""Part of the recommended step that is taken by default; with 0.9, blocks of 12³ that swell on a floor diverge."""

# A box of links vibrates at up to 3.6 times the frequency of one, and its damping is 8.8 times that of one: a mode is
# stable while (ω dt)² + 2 γ dt < 4. In units of the recommended step a: 0.327 a² + 2.8 ζ a < 4.
_SQUARE, _LINEAR = 0.327, 2.8
_BEYOND = 1.25  # what still runs in some bodies, and is not refused


def recommended_step(shape: Shape) -> float:
    """1/(2π ω) of the fastest link of a robot [s]; of a voxel without links, that of its contacts."""
    s, voxels, links = shape.robot.side_length, shape.voxel_rows, shape.link_rows
    if len(links["axial"]) == 0:
        fastest = np.sqrt(0.5 * voxels["press"] / voxels["mass"]).max()
    else:
        first, axis = np.nonzero(shape.row_of_link >= 0)
        rows = shape.row_of_link[first, axis]
        masses = voxels["mass"][shape.row_of_voxel]
        least = np.minimum(masses[first], masses[shape.next[first, axis]])
        stiff = np.where(links["poisson"] > 0.0, links["hat"], links["modulus"])[rows] * s
        fastest = np.sqrt(stiff / least).max()
    return float(1.0 / (2.0 * math.pi * fastest))


def longest_step(shape: Shape) -> float:
    """The longest step that is not refused [s]."""
    damping = max(material.internal_damping for material in shape.robot.materials)
    root = math.sqrt((_LINEAR * damping) ** 2 + 16.0 * _SQUARE)
    return _BEYOND * recommended_step(shape) * (root - _LINEAR * damping) / (2.0 * _SQUARE)


def chosen_step(dt: float | str, shapes: Sequence[Shape]) -> float:
    """The step that all robots take [s]; one that is too long for some is refused."""
    if isinstance(dt, str):
        return SAFE * min(recommended_step(shape) for shape in shapes)
    longest = min(longest_step(shape) for shape in shapes)
    if dt > longest:
        raise InvalidValue(
            f"dt = {dt:g} s is above {longest:.3g} s, where the stiffest links become unstable: use dt='auto', "
            f"{SAFE * min(recommended_step(shape) for shape in shapes):.3g} s here, or softer or heavier voxels."
        )
    return dt
