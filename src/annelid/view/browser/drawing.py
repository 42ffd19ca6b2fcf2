"""Snapshots in a viser scene: one simulation, or many side by side, with one colour scale for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid.core.snapshot import Field, Mesh, Plane, Snapshot
from annelid.view.browser.drawers import Drawer, ShadowDrawer, make_drawer
from annelid.view.colors import Scale, merged, scale_for


class Drawing:
    """Draws snapshots; what stays the same from one to the next is not sent again.

    Attributes:
        scale: What the colours mean now, or None.
        follow: Keep the middle of the scene in place.
    """

    def __init__(self, server: Any) -> None:
        self.scale: Scale | None = None
        self._seen: list[Field] = []
        self.follow = False
        self._server = server
        self._root = server.scene.add_frame("/all", show_axes=False)
        self._drawers: dict[str, tuple[type, Drawer]] = {}
        self._shadows: dict[str, ShadowDrawer] = {}
        self._worlds: list[Any] = []
        self._start = np.zeros(3)
        self._span = 1.0

    @property
    def offset(self) -> np.ndarray:
        """By how much everything is moved to keep its middle in place [m], shape [3]."""
        return np.array(self._root.position, float)

    def show(self, there: bool) -> None:
        """Show everything, or nothing of it while something else is drawn in its place."""
        self._root.visible = there

    def arrange(self, snapshots: Sequence[Snapshot], names: Sequence[str] = ()) -> None:
        """Begin anew: lay the simulations out in a grid, with names beside them if there are several."""
        for world in self._worlds:
            world.remove()  # and all that stands in it
        self._drawers, self._shadows, self._worlds = {}, {}, []
        self.scale = None
        self._start = _middle(snapshots[0])
        low, high = self.extent(snapshots)
        self._span = float((high - low).max())
        places = grid_places(snapshots)
        for i, place in enumerate(places):
            self._worlds.append(self._server.scene.add_frame(f"/all/{i}", show_axes=False, position=place))
            if len(places) > 1 and names:
                low, high = snapshots[i].bounds()
                above = (*(0.5 * (low + high))[:2], high[2] + 0.15 * float(np.max(high - low)))
                self._server.scene.add_label(f"/all/{i}/name", names[i], position=above)

    def extent(self, snapshots: Sequence[Snapshot]) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner of everything, as arranged [m]."""
        corners = [np.array(s.bounds()) + p for s, p in zip(snapshots, grid_places(snapshots), strict=True)]
        return np.min([c[0] for c in corners], axis=0), np.max([c[1] for c in corners], axis=0)

    def draw(self, snapshots: Sequence[Snapshot], field: str | None) -> None:
        """Show the simulations as they are now."""
        self._rescale(snapshots, field)
        drawn = set()
        with self._server.atomic():
            for world, snapshot in enumerate(snapshots):
                for part in snapshot.parts:
                    if isinstance(part, Plane) and world > 0:
                        continue  # it has no end: one is enough
                    path = f"/all/{world}/{part.name.replace('/', '_')}"
                    drawn.add(path)
                    self._drawer(path, part).draw(part, self.scale)
                self._cast_shadows(world, snapshot)
            for path in set(self._drawers) - drawn:
                self._drawers.pop(path)[1].remove()
            self._keep_in_place(snapshots)

    def _cast_shadows(self, world: int, snapshot: Snapshot) -> None:
        """Shadows of the surfaces on the first plane that faces up."""
        ground = next((p for p in snapshot.parts if isinstance(p, Plane) and p.normal[2] > 0.5), None)
        meshes = {f"/all/{world}/shadow-{p.name.replace('/', '_')}": p for p in snapshot.parts if isinstance(p, Mesh)}
        mine = [path for path in self._shadows if path.startswith(f"/all/{world}/")]
        for path in [path for path in mine if ground is None or path not in meshes]:
            self._shadows.pop(path).remove()
        if ground is None:
            return
        for path, part in meshes.items():
            if path not in self._shadows:
                self._shadows[path] = ShadowDrawer(self._server.scene, path)
            self._shadows[path].draw(part, ground)

    def _drawer(self, path: str, part: Any) -> Drawer:
        known = self._drawers.get(path)
        if known is None or known[0] is not type(part):
            if known is not None:
                known[1].remove()
            known = self._drawers[path] = (type(part), make_drawer(self._server.scene, path, part, self._span))
        return known[1]

    def _rescale(self, snapshots: Sequence[Snapshot], field: str | None) -> None:
        """Widen the scale to hold the new values; it never narrows while it is shown, so colours stay comparable."""
        fields = _fields(snapshots, field)
        if field is None or not fields:
            self.scale = None
            return
        if self.scale is None or self.scale.name != field:
            self._seen = []
        self._seen = [merged([*self._seen, *fields])]
        self.scale = scale_for(field, self._seen)

    def _keep_in_place(self, snapshots: Sequence[Snapshot]) -> None:
        away = self._start - _middle(snapshots[0]) if self.follow else np.zeros(3)
        self._root.position = (float(away[0]), float(away[1]), 0.0)


def _middle(snapshot: Snapshot) -> np.ndarray:
    """Middle of the surfaces, or of everything if there are none [m]."""
    surfaces = tuple(part for part in snapshot.parts if isinstance(part, Mesh))
    return np.mean(Snapshot(0.0, parts=surfaces or snapshot.parts).bounds(), axis=0)


def grid_places(snapshots: Sequence[Snapshot]) -> list[tuple[float, float, float]]:
    """Places of the simulations beside each other in a square grid [m]."""
    if not snapshots:
        return []
    sizes = np.array([high - low for low, high in (s.bounds() for s in snapshots)])
    gap = 1.4 * sizes.max(axis=0) + 1e-3
    # Long bodies stand side by side rather than one behind the other.
    columns = max(1, min(len(snapshots), round(np.sqrt(len(snapshots) * gap[1] / gap[0])) or 1))
    return [((i % columns) * float(gap[0]), (i // columns) * float(gap[1]), 0.0) for i in range(len(snapshots))]


def _fields(snapshots: Sequence[Snapshot], name: str | None) -> list[Field]:
    parts = [part for s in snapshots for part in s.parts if not isinstance(part, Plane)]
    return [part.fields[name] for part in parts if name in part.fields] if name is not None else []
