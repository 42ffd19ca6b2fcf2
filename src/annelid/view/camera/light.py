"""The light of a picture: a sun with soft or hard shadows, a sky, and the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Color
from annelid.view.camera.kernels.shading import Sky
from annelid.view.camera.kernels.softening import RIM
from annelid.view.colors import decode

_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


@dataclass(frozen=True)
class Light:
    """One sun, one sky. Strengths are factors on a surface's colour: sun plus ambient of about 1 shows it as it is.

    Attributes:
        sun: Direction towards the sun.
        up: Direction of the zenith.
        strength: Light of the sun on a surface that faces it.
        zenith_strength: Light of the sky on a surface that faces up.
        ground_strength: Light from below on a surface that faces down.
        shadow_rays: Rays towards the sun for each point: 0 no shadows, 1 hard, more soft.
        sun_radius: Angular radius of the sun, for soft shadows [rad].
        zenith: Background colour above.
        horizon: Background colour at the horizon and below.
    """

    sun: tuple[float, float, float] = (-0.50, -0.82, 1.10)
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    strength: float = 0.70
    zenith_strength: float = 0.50
    ground_strength: float = 0.36
    shadow_rays: int = 1
    sun_radius: float = 0.04
    zenith: Color = (0.86, 0.90, 0.94)
    horizon: Color = (0.965, 0.97, 0.975)

    def __post_init__(self) -> None:
        if self.shadow_rays < 0:
            raise InvalidValue(f"shadow_rays {self.shadow_rays} must be 0 (no shadows), 1 (hard) or more (soft).")
        if not (np.linalg.norm(self.sun) > 0.0 and np.linalg.norm(self.up) > 0.0):
            raise InvalidValue(f"sun {self.sun} and up {self.up} must be directions, not zero.")

    def sky(self, device: Any) -> Any:
        """The light as kernels on a device take it."""
        sky: Any = Sky()
        sky.sun = wp.vec3(*_unit(self.sun))
        sky.shadows = int(self.shadow_rays > 0)
        rays = self._rays()
        sky.rays = wp.array(rays.astype(np.float32), dtype=wp.vec3, device=device)
        sky.spread = float(np.abs(rays - _unit(self.sun)).max(initial=0.0))
        sky.up = wp.vec3(*_unit(self.up))
        # A warm sun and a cool sky: shadows look like shade, not like soot.
        sky.sun_light = self.strength * wp.vec3(1.02, 1.0, 0.96)
        sky.zenith_light = self.zenith_strength * wp.vec3(0.96, 1.0, 1.05)
        sky.ground_light = self.ground_strength * wp.vec3(1.03, 1.0, 0.96)
        sky.zenith, sky.horizon = (wp.vec3(*decode(np.asarray(c))) for c in (self.zenith, self.horizon))
        return sky

    def _rays(self) -> np.ndarray:
        """Unit vectors to points of the sun's disc, rim first, then a sunflower inside; none for a hard shadow."""
        sun = _unit(self.sun)
        if self.shadow_rays <= 1:
            return np.zeros((0, 3))
        side = _unit(np.cross(sun, np.eye(3)[np.argmin(np.abs(sun))]))
        rim, inside = min(int(RIM), self.shadow_rays), np.arange(max(self.shadow_rays - int(RIM), 0))
        angle = np.concatenate([np.arange(rim) * 2.0 * np.pi / rim, _GOLDEN_ANGLE * inside])
        reach = np.concatenate([np.ones(rim), 0.88 * np.sqrt((inside + 0.5) / max(len(inside), 1))])
        disc = np.outer(reach * np.cos(angle), side) + np.outer(reach * np.sin(angle), np.cross(sun, side))
        rays = sun + np.tan(self.sun_radius) * disc
        return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))


def _unit(vector: Any) -> np.ndarray:
    return np.asarray(vector, dtype=np.float64) / np.linalg.norm(vector)
