"""Snapshots of a mass-spring state: its surface, masses, springs, obstacles and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.snapshot import Field, Lines, Look, Mesh, Number, Plane, Snapshot, Spheres
from annelid.shapes import HeightField, Rigid, Sphere
from annelid.shapes import Plane as PlaneGeometry
from annelid.shapes.resistive.pictures import sand_parts
from annelid.springs.model import Model
from annelid.springs.obstacles import Contact
from annelid.springs.readout import Readout
from annelid.springs.surface import Surface

_OBSTACLE = (0.72, 0.72, 0.74)
_UNITS = {"strain": "", "stress": "Pa", "actuation": "", "speed": "m/s", "material": ""}


class Painter:
    """Makes snapshots of one model.

    Args:
        model: The model.
        readout: What reads its states.

    Attributes:
        radius: Of the balls that masses are drawn as [m].
    """

    def __init__(self, model: Model, readout: Readout) -> None:
        self.model, self.readout = model, readout
        self.radius = 0.15 * float(np.median(model.body.rest_lengths)) if model.body.spring_count else 0.01
        self._surface = Surface(model, readout)
        self._follow_network()

    def _follow_network(self) -> None:
        """Work out what is drawn: again whenever edits have changed the network."""
        network = self.model.network
        self._segments = network.ends[network.live_springs()]
        self._surface.follow()
        alive = np.flatnonzero(network.masses.alive[: network.masses.used]).astype(np.int32)
        self._all = self.readout.device_array(alive, wp.int32)
        numbers = np.zeros(network.masses.used, np.int32)
        numbers[alive] = np.arange(len(alive))
        self._segments = numbers[self._segments]

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        body = self.model.body
        offered = {
            "strain": True,
            "speed": True,
            "stress": bool((body.volumes > 0.0).all()),
            "actuation": self.model.features.actuated,
            "material": len(body.materials) > 1,
        }
        return tuple(name for name, there in offered.items() if there)

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for."""
        look.require_known(self.fields)
        if self.readout.refresh():
            self._follow_network()
        step = int(state.clock.numpy()[0])
        parts = self.obstacles(state)
        surface = look.surface and self._surface.exists()
        if surface:
            parts.append(self._body(state, look))
        if look.spheres or (look.surface and not surface and not look.lines):
            fields = self._fields(state, look, self._all)
            parts.append(
                Spheres("masses", self._host(self.readout.points(state, self._all), look), self.radius, fields)
            )
        if look.lines:
            parts.append(self._lines(state, look))
        numbers = self._numbers(state) if look.numbers else {}
        return Snapshot(step * self.model.dt, step, tuple(parts), numbers)

    def _body(self, state: Any, look: Look) -> Mesh:
        surface = self._surface
        fields = {name: self._field(name, surface.field(state, name), look) for name in look.fields}
        return Mesh("body", self._host(surface.points(state), look), surface.triangles, fields)

    def _lines(self, state: Any, look: Look) -> Lines:
        points = self._host(self.readout.points(state, self._all), look)
        fields = {}
        if "strain" in look.fields:
            fields["strain"] = Field(self._host(self.readout.spring_strains(state), look))
        if "material" in look.fields:
            fields["material"] = Field(self._spring_materials(), labels=self.model.body.materials)
        return Lines("springs", points, self._segments, fields)

    def _spring_materials(self) -> np.ndarray:
        """Material of each live spring; springs that edits have added count as the first."""
        network, first = self.model.network, self.model.body.spring_materials
        materials = np.zeros(network.springs.used)
        materials[: len(first)] = first
        return materials[network.live_springs()]

    def _fields(self, state: Any, look: Look, chosen: wp.array[Any]) -> dict[str, Field]:
        """The fields asked for, computed for the masses that are drawn and no others."""
        return {name: self._field(name, self.readout.mass_field(state, name, chosen), look) for name in look.fields}

    def _field(self, name: str, values: wp.array[Any], look: Look) -> Field:
        labels = self.model.body.materials if name == "material" else ()
        return Field(self._host(values, look), _UNITS[name], labels=labels)

    def obstacles(self, state: Any) -> list[Any]:
        """Those that are drawn, as they are in the first world of a state."""
        return [*self.sand(), *(self.part(contact, self.placed(contact, state)) for contact in self.shown)]

    def placed(self, contact: Contact, state: Any, world: int = 0) -> Rigid:
        """An obstacle as it is in a world of a state."""
        if contact.rigid.moves == "fixed":
            return contact.rigid
        return self.readout.placed(state, contact.rigid, world)

    def sand(self) -> list[Plane]:
        """The surface of ground that resists, where there is some and it is drawn."""
        return sand_parts(self.model.world.sand)

    @property
    def shown(self) -> list[Contact]:
        """Obstacles that are drawn."""
        return [one for one in self.model.world.contacts if one.function is None and not one.rigid.hidden]

    def part(self, contact: Contact, placed: Rigid | None = None) -> Plane | Spheres | Mesh:
        """One of them, as it was built, or where it is."""
        return _part(self.model.world.contacts.index(contact), placed or contact.rigid)

    def _numbers(self, state: Any) -> dict[str, Number]:
        return self.readout.summary(state).numbers("elastic", "kinetic", "gravitational")

    @staticmethod
    def _host(values: wp.array[Any], look: Look) -> Any:
        return values.numpy() if look.host else values


def _part(number: int, rigid: Rigid) -> Plane | Spheres | Mesh:
    """An obstacle to draw."""
    where = None if isinstance(rigid.geometry, HeightField) else rigid.where
    if isinstance(where, PlaneGeometry):
        return Plane(_name(rigid, "plane", number), where.point, where.normal)
    if isinstance(where, Sphere):
        return Spheres(_name(rigid, "sphere", number), np.array([where.center]), where.radius)
    return Mesh(_name(rigid, "obstacle", number), *rigid.picture, color=rigid.color or _OBSTACLE)


def _name(rigid: Rigid, kind: str, number: int) -> str:
    return f"{rigid.name or kind}-{number}"
