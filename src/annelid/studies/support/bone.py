"""A closed surface for the study of lattices: something like a thigh bone, made from a formula."""

from __future__ import annotations

import numpy as np

from annelid.shapes import TriangleMesh
from annelid.studies.support.tubes import tube


def bone(length: float = 0.4, *, around: int = 64, along: int = 120) -> TriangleMesh:
    """A bone along z from z = 0: a slender shaft, a head that leans to one side, and two knobs at the other end.

    Args:
        length: Length [m].
        around: Vertices around it.
        along: Rings of vertices along it.
    """
    part = (1 - np.cos(np.linspace(0.0, np.pi, along + 2)[1:-1])) / 2  # rings crowd at the ends, which are round
    turn = 2 * np.pi * np.arange(around) / around
    shaft = 0.033 + 0.004 * np.cos(2 * np.pi * part)
    knobs = 0.062 * np.exp(-((part / 0.12) ** 2))
    head = 0.05 * np.exp(-(((1 - part) / 0.10) ** 2))
    closing = np.sqrt(1 - np.clip(np.abs(2 * part - 1) - 0.86, 0.0, None) ** 2 / 0.14**2)
    radius = closing[:, None] * (
        shaft[:, None] + knobs[:, None] * (0.6 + 0.4 * np.cos(turn) ** 2) + head[:, None] * (0.8 + 0.2 * np.cos(turn))
    )
    center = 0.06 * np.exp(-(((1 - part) / 0.12) ** 2)) + 0.02 * np.sin(np.pi * part)
    rings = np.stack(
        [
            center[:, None] + radius * np.cos(turn),
            radius * np.sin(turn),
            np.repeat(part[:, None], around, axis=1),
        ],
        axis=2,
    )
    first, last = np.array([center[0], 0.0, 0.0]), np.array([center[-1], 0.0, 1.0])
    return tube(length * rings, length * first, length * last)
