"""Horizontal sections of a container, and the area of discs that lies in them, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.values import Floats


class Section(Protocol):
    """A part of the plane about the origin."""

    @property
    def area(self) -> float:
        """Area [m^2]."""

    def holds(self, points: Floats, radii: Floats) -> NDArray[np.bool_]:
        """Whether a sphere lies wholly within, shape [n]."""

    def areas(self, x: Floats, y: Floats, radius: Floats) -> Floats:
        """Area of discs within [m^2]."""


@dataclass(frozen=True, eq=False)
class Rectangle:
    """A rectangle about the origin, given by half its sides [m]."""

    half: Floats

    @property
    def area(self) -> float:
        """Area [m^2]."""
        return 4.0 * float(self.half[0] * self.half[1])

    def holds(self, points: Floats, radii: Floats) -> NDArray[np.bool_]:
        """Whether a sphere lies wholly within, shape [n]."""
        return np.asarray((np.abs(points[:, :2]) <= self.half - radii[:, None]).all(axis=1))

    def areas(self, x: Floats, y: Floats, radius: Floats) -> Floats:
        """Area of discs within [m^2]."""
        r = np.maximum(radius, 1e-300)
        left, right = (-self.half[0] - x) / r, (self.half[0] - x) / r
        front, back = (-self.half[1] - y) / r, (self.half[1] - y) / r
        corners = _quadrant(right, back) - _quadrant(left, back) - _quadrant(right, front) + _quadrant(left, front)
        return np.asarray(corners * radius**2)


@dataclass(frozen=True, eq=False)
class Disc:
    """A disc about the origin, given by its radius [m]."""

    radius: float

    @property
    def area(self) -> float:
        """Area [m^2]."""
        return float(np.pi * self.radius**2)

    def holds(self, points: Floats, radii: Floats) -> NDArray[np.bool_]:
        """Whether a sphere lies wholly within, shape [n]."""
        return np.asarray(np.hypot(points[:, 0], points[:, 1]) <= self.radius - radii)

    def areas(self, x: Floats, y: Floats, radius: Floats) -> Floats:
        """Area of discs within [m^2]: the lens of two circles."""
        big, small = self.radius, np.maximum(radius, 1e-300)
        apart = np.clip(np.hypot(x, y), np.abs(big - small), big + small)
        apart = np.maximum(apart, 1e-300)
        first = np.arccos(np.clip((apart**2 + small**2 - big**2) / (2 * apart * small), -1.0, 1.0))
        second = np.arccos(np.clip((apart**2 + big**2 - small**2) / (2 * apart * big), -1.0, 1.0))
        kite = (small + big - apart) * (apart + small - big) * (apart - small + big) * (apart + small + big)
        return np.asarray(small**2 * first + big**2 * second - 0.5 * np.sqrt(np.maximum(kite, 0.0)))


def _quadrant(x: Floats, y: Floats) -> Floats:
    """Area of the part of the unit disc to the left of x and below y: ∫ (s + clip(y, −s, s)) dx with s = √(1 − x²)."""
    x, y = np.clip(x, -1.0, 1.0), np.clip(y, -1.0, 1.0)
    edge = np.sqrt(1.0 - y * y)
    outer = 1.0 + np.sign(y)
    middle = np.clip(x, -edge, edge)
    left = outer * (_under_arc(np.minimum(x, -edge)) + np.pi / 4.0)
    right = outer * (_under_arc(np.maximum(x, edge)) - _under_arc(edge))
    return np.asarray(left + y * (middle + edge) + _under_arc(middle) + _under_arc(edge) + right)


def _under_arc(x: Floats) -> Floats:
    """∫ √(1 − x²) dx from 0."""
    return np.asarray(0.5 * (x * np.sqrt(np.maximum(1.0 - x * x, 0.0)) + np.arcsin(x)))
