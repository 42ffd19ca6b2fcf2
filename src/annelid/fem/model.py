"""A solid compiled for a device: its elements, loads and unknowns, and the solver of its linear systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.identity import identity, settings_of
from annelid.core.options import require_kind
from annelid.core.replay import Crew
from annelid.fem.assembly import Assembly
from annelid.fem.carried import anchors
from annelid.fem.corotational import Corotational
from annelid.fem.elements import ElementSet
from annelid.fem.hyperelastic import Hyperelastic
from annelid.fem.linalg.unknowns import LinearSolver, Unknowns
from annelid.fem.linear_choice import Linear, linear_solver
from annelid.fem.loads import Loads
from annelid.fem.measured import MeasuredRange
from annelid.fem.parameters import Varied
from annelid.fem.reinforcing.fabric_elements import Fabrics
from annelid.fem.reinforcing.sets import Reinforcement
from annelid.fem.reinforcing.thread_elements import Threads
from annelid.fem.solid import Solid
from annelid.fem.tetrahedra import Tetrahedra
from annelid.fem.world import World

_STIFFEST = 1e9
"""Stiffness of a reinforcement, of the mean one of the elements, beyond which their forces are lost in its rounding."""


class Model:
    """A solid on a device.

    Args:
        solid: The solid; what is changed in it afterwards is not seen here.
        world: What surrounds it and how time passes; gravity and nothing else unless told.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        extras: More element sets that act on its nodes: fluids in cavities, contacts...; they live on the same device.
        linear: How linear systems are solved: "direct" factors every matrix; "kept" is for large solids in motion
            that touch, see `contact.kept_newton`; "auto" is "direct", and "kept" for those of them in `simulation`.
        like: A model of the same mesh, holds and kinds of element sets, whose order of elimination serves here too.

    Attributes:
        anchors: Where held components belong, but for offsets [m], shape [n]: at rest, or where paths and slides
            carry them.
        tetrahedra: The elements of the solid.
        reinforcement: Threads and fabrics that it has, if any.
        assembly: The sum of all element sets.
        loads: Forces on the nodes that keep their direction, weight included [N], vec3d of shape [n].
        weights: Mass with which gravity pulls at each node [kg], shape [n].
        load_scale: Root mean square of their components [N].
        pull: Gravity of the world that is stepped [m/s²], shape [3].
        stiffness_scale: Mean stiffness of the elements [N/m].
        unknowns: The free components of the nodes.
        linear: Solver of the linear systems.
        measured: Warns of strains beyond the range in which materials were measured.
    """

    def __init__(
        self,
        solid: Solid,
        world: World | None = None,
        device: str | wp.Device = "auto",
        *,
        threads: int | None = None,
        extras: Sequence[ElementSet] = (),
        linear: Linear = "auto",
        like: Model | None = None,
    ) -> None:
        require_kind("the body of a model", solid, Solid, "a fem.Solid")
        self.solid, self.world = solid, world or World()
        self._built = identity(solid, settings_of(self.world, but=["dt"]), linear)
        self.device = choose_device(device)
        self.crew = Crew(self.device, threads)
        self.gravity = _gravity(self.world.gravity)
        self.extras = tuple(extras)
        for extra in self.extras:
            require_kind("an extra of a solid", extra, ElementSet, "a fem.ElementSet")
            if extra.device != self.device:
                raise InvalidValue(f"an element set is on {extra.device}, the solid on {self.device}; use one device.")
        if solid.held.all():
            raise InvalidValue("every node of the solid is held, so that nothing can move; hold fewer of them.")
        shear, lame = solid.moduli
        self.tetrahedra = _tetrahedra(solid, self.crew)
        self.measured = MeasuredRange(solid, self.device)
        self.reinforcement = _reinforcement(solid, self.crew)
        self.assembly = Assembly(solid.node_count, [self.tetrahedra, *self.reinforcement, *self.extras], self.crew)
        self._energies: wp.array[Any] | None = None
        self.rest = self.vectors(solid.nodes)
        self.anchors = self.vectors(solid.nodes) if solid.carried else self.rest
        self._carried_to = solid.nodes
        self.offsets = self.vectors(solid.offsets)
        self.held = wp.array((solid.held @ np.array([1, 2, 4])).astype(np.int32), dtype=wp.int32, device=self.device)
        self.dead_loads = solid.forces.copy()
        self.weights = solid.weights()
        self.loads = self.vectors()
        self._load()
        edges = np.cbrt(solid.element_volumes)
        self._own_stiffness = self.stiffness_scale = float(np.mean((2.0 * shear + lame) * edges))
        _require_comparable(solid, self.stiffness_scale)
        self.unknowns: Unknowns = self._unknowns() if like is None else like.unknowns
        self.linear: LinearSolver = linear_solver(linear, self.unknowns, self.assembly, self.tetrahedra)

    def _unknowns(self) -> Unknowns:
        return Unknowns(self.assembly.pattern, self.solid.nodes, self.solid.held, self.crew)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.solid.node_count

    @property
    def stiffest(self) -> float:
        """Mean stiffness of the elements, or that of the stiffest reinforcement where this is more [N/m]."""
        return max(self.stiffness_scale, *(each.stiffest for each in self.reinforcement), 0.0)

    @property
    def relaxes(self) -> bool:
        """Whether a material has a Prony series."""
        return any(material.prony for material in self.solid.materials)

    @property
    def rounding(self) -> float:
        """Energy below which differences between energies of the elements are rounding at small strains [J]."""
        return 1e-15 * float(self.solid.moduli[0] @ self.solid.element_volumes)

    def set_forces(self, forces: ArrayLike) -> None:
        """Replace the forces on the nodes, weight aside [N], shape [n, 3]."""
        array = np.asarray(forces, float)
        if array.shape != (self.node_count, 3) or not np.isfinite(array).all():
            raise InvalidValue(f"forces must be finite numbers of shape [{self.node_count}, 3].")
        self.dead_loads = array.copy()
        self._load()

    def set_gravity(self, gravity: ArrayLike) -> None:
        """Replace the acceleration of gravity [m/s²]."""
        self.gravity = _gravity(gravity)
        self._load()

    def set_offsets(self, offsets: ArrayLike) -> None:
        """Replace how far held components are displaced [m], shape [n, 3]."""
        array = np.asarray(offsets, float)
        if array.shape != (self.node_count, 3) or not np.isfinite(array).all():
            raise InvalidValue(f"offsets must be finite numbers of shape [{self.node_count}, 3].")
        self.offsets.assign(array)

    def carry(self, time: float) -> None:
        """Have held components where their paths lead at a time [s]."""
        if self.solid.carried:
            self._carried_to = anchors(self.solid.nodes, self.solid.carried, time)
            self.anchors.assign(self._carried_to)

    def slide(self, slides: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Have held nodes, shape [k], away from there, each by a shift [m] of shape [3]; several add up."""
        if self.anchors is self.rest:
            self.anchors = self.vectors(self.solid.nodes)
        places = self._carried_to.copy()
        for nodes, shift in slides:
            places[nodes] += shift
        self.anchors.assign(places)

    def vary(self, varied: Varied | None) -> None:
        """Have the pull, the densities and the moduli of a world, until None makes them the model's own again."""
        self.pull = self.gravity if varied is None else np.array(varied.pull)
        stiffer = 1.0 if varied is None else varied.stiffness
        self.tetrahedra.stiffen(stiffer)
        for each in self.reinforcement:
            each.stiffen(stiffer)
        self.stiffness_scale = stiffer * self._own_stiffness
        self._pulls.vary(varied)
        self.load_scale = self._pulls.scale

    def vectors(self, values: np.ndarray | None = None) -> wp.array[Any]:
        """Nodal vectors on the device, vec3d of shape [n]; zeros unless values of shape [n, 3] are given."""
        if values is None:
            return wp.zeros(self.node_count, dtype=wp.vec3d, device=self.device)
        return wp.array(np.ascontiguousarray(values, float), dtype=wp.vec3d, device=self.device)

    def elastic_energies(self, positions: wp.array[Any]) -> wp.array[Any]:
        """Energy of each cell, then of each part of reinforcements [J], float64; the next call overwrites it."""
        self.tetrahedra.evaluate(positions, tangent=False)
        if not self.reinforcement:
            return self.tetrahedra.energy
        for layer in self.reinforcement:
            layer.evaluate(positions, tangent=False)
        sets: tuple[ElementSet, ...] = (self.tetrahedra, *self.reinforcement)
        first = 0
        if self._energies is None:
            count = sum(each.element_count for each in sets)
            self._energies = wp.zeros(count, dtype=wp.float64, device=self.device)
        for each in sets:
            wp.copy(self._energies, each.energy, dest_offset=first)
            first += each.element_count
        return self._energies

    def fingerprint(self) -> str:
        """Identity of the solid and its world as they were built, and of its loads and offsets as they are now."""
        return identity(self._built, self.gravity, self.dead_loads, self.offsets)

    def _load(self) -> None:
        self.pull = self.gravity
        self._pulls = Loads(self.dead_loads, self.weights, self.gravity, self.loads, self.crew)
        self.load_scale = self._pulls.scale


def _tetrahedra(solid: Solid, crew: Crew) -> Tetrahedra:
    """The elements of a solid: co-rotational ones, unless a material has a law for large strains."""
    cells = solid.shared_volumes()
    if solid.hyperelastic:
        return Hyperelastic(solid.nodes, solid.elements, solid.materials, solid.element_materials, crew, cells=cells)
    return Corotational(solid.nodes, solid.elements, *solid.moduli, crew, cells=cells)


def _reinforcement(solid: Solid, crew: Crew) -> tuple[Reinforcement, ...]:
    threads = (Threads(solid.threads, crew),) if solid.threads else ()
    fabrics = (Fabrics(solid.fabrics, crew),) if solid.fabrics else ()
    return (*threads, *fabrics)


def _require_comparable(solid: Solid, own: float) -> None:
    """Refuse reinforcement beside which the forces of the solid, and its loads, would be lost in rounding."""
    threads = [(each.thread.name, each.stiffest) for each in solid.threads]
    for name, stiffness in (*threads, *((each.fabric.name, each.stiffest) for each in solid.fabrics)):
        ratio = stiffness / own
        if not ratio <= _STIFFEST:
            raise InvalidValue(
                f"{name} is {ratio:.2g} times as stiff as the elements that it reinforces, whose forces would be lost "
                f"in rounding: make it at least {ratio / _STIFFEST:.2g} times softer; what stretches by less than a "
                "thousandth is as good as inextensible."
            )


def _gravity(gravity: ArrayLike) -> np.ndarray:
    array: Any = np.asarray(gravity, float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidValue(f"gravity must be three finite numbers [m/s²], not {gravity!r}.")
    return array
