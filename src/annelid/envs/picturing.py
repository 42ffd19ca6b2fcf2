"""Pictures of worlds for `render`, made by the ray-cast camera."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.options import is_among
from annelid.envs.worlds import Worlds
from annelid.view.picture import Painter


def require_mode(mode: str | None) -> str | None:
    """Refuse render modes other than pictures."""
    if not is_among(mode, (None, "rgb_array")):
        raise InvalidValue(f"render_mode must be 'rgb_array' or None, not {mode!r}.")
    return mode


class Photographer:
    """Takes pictures of the worlds of a batch.

    Args:
        worlds: The batch.
        size: Width and height [pixels].
    """

    def __init__(self, worlds: Worlds, size: tuple[int, int] = (480, 320)) -> None:
        self.worlds, self.size = worlds, size
        self._painters: dict[int, Painter] = {}

    def picture(self, world: int) -> np.ndarray:
        """A picture of one world, shape [height, width, 3], uint8."""
        if world not in self._painters:
            self._painters[world] = Painter(
                size=self.size, samples=1, follow=self.worlds.followed, camera=self.worlds.camera, name=None,
                legend=False, device=self.worlds.device,
            )  # fmt: skip
        return self._painters[world].paint(self.worlds.snapshot(world))
