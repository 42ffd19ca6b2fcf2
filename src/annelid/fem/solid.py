"""A deformable solid: tetrahedra, materials, what holds it and what pulls at it; arrays on the host."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from annelid.core.arrays import as_numbers
from annelid.core.described import Described, extent, listed
from annelid.core.distinct import distinct_rows
from annelid.core.errors import InvalidMesh, InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import is_among, require_kind, require_word, spelled_out
from annelid.core.sealed import Sealed
from annelid.core.unlikely import warn_of_density, warn_of_holding_all, warn_of_matter, warn_of_size
from annelid.fem.carried import WHOSE, Carried
from annelid.fem.cells import merged
from annelid.fem.mesh import Mesh, WithBoundary, WithCells, WithNames, WithRegions
from annelid.fem.reinforcing.fabrics import Fabric, LaidFabric, covered
from annelid.fem.reinforcing.threads import LaidThread, Thread, laid
from annelid.fem.selection import Where as Where
from annelid.fem.selection import selected
from annelid.fem.shape_functions import integrals, point_gradients
from annelid.fem.strains import largest_strains
from annelid.materials import Material
from annelid.materials import material as preset
from annelid.shapes.path import Path, followed
from annelid.shapes.surface import Surface

MaterialLike = str | Material
Volume = Literal["auto", "mean", "plain"]
"""Whose change of volume counts: that of each tetrahedron, or one for those of a cell."""

_PROPERTIES = (
    "density", "youngs_modulus", "poisson_ratio", "yield_strain", "damping", "shear_modulus", "bulk_modulus",
)  # fmt: skip
"""Numbers that every material has."""

_NEARLY_INCOMPRESSIBLE = 0.4
"""Poisson's ratio above which linear tetrahedra lock unless several share one change of volume."""


class Solid(Described, Sealed):
    """A deformable solid.

    Args:
        mesh: Tetrahedra: `shapes.TetMesh`, or what its `quadratic()` makes; anything with nodes [n, 3] and tetrahedra
            [t, 4] or [t, 10], and perhaps regions [t], cells [t] and boundary().
        material: A material or its name for all of it, or one for each region: a mapping from numbers, or from names
            that the mesh gives regions, or a sequence.
        volume: "mean" gives the tetrahedra of a cell one change of volume, the remedy against volumetric locking;
            "plain" leaves every integration point its own. "auto" takes the mean for linear tetrahedra of a material
            with a Poisson's ratio above 0.4.
        surface: How its surface responds to contact; a friction that is not given is 0.5.

    Attributes:
        nodes: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        materials: Materials.
        element_materials: Index of each tetrahedron's material, shape [t].
        held: Components of nodes that do not move freely, shape [n, 3].
        offsets: How far held components are displaced [m], shape [n, 3].
        carried: Held components that follow paths.
        forces: Forces on the nodes that keep their direction [N], shape [n, 3].
        payload: Mass that hangs on each node besides that of the solid [kg], shape [n].
        groups: Named sets of nodes, those of the mesh among them.
        threads: Threads that reinforce it, as they lie in its tetrahedra.
        fabrics: Fabrics that reinforce its surface, as they lie on its faces.
    """

    @spelled_out("a solid")
    def __init__(
        self,
        mesh: Mesh,
        material: MaterialLike | Mapping[int, MaterialLike] | Mapping[str, MaterialLike] | Sequence[MaterialLike],
        *,
        volume: Volume = "auto",
        surface: Surface | None = None,
    ) -> None:
        self.mesh, self.surface = mesh, Surface() if surface is None else surface
        if not isinstance(self.surface, Surface):
            raise InvalidValue(f"surface of a solid must be a Surface, such as Surface(friction=0.8), not {surface!r}.")
        if not isinstance(mesh, Mesh):
            raise InvalidMesh(
                f"a solid is made of tetrahedra, not of {type(mesh).__name__}; give a TetMesh, as shapes.tet_beam and "
                "shapes.tet_fill make one, or anything with nodes and tetrahedra."
            )
        self.nodes = np.array(mesh.nodes, float)
        self.elements = np.array(mesh.tetrahedra, np.int32)
        _require_sound(self.nodes, self.elements)
        if isinstance(mesh, WithBoundary):
            mesh.boundary()  # refuses tetrahedra that are there twice or overlap, which would resist and weigh twice
        warn_of_size("the solid", float(np.ptp(self.nodes, axis=0).max()), stacklevel=4)
        one = np.zeros(len(self.elements), np.int32)
        self.regions = np.asarray(mesh.regions) if isinstance(mesh, WithRegions) else one
        names = mesh.region_names if isinstance(mesh, WithNames) else {}
        self.materials, self.element_materials = _materials(material, self.regions, names)
        for each in self.materials:
            warn_of_matter(each.name, each.density, each.youngs_modulus, stacklevel=4)
        own = float((self.element_volumes * self.property_of("density")).sum())
        remedy = "give the density of its material in kg/m³"
        warn_of_density("the solid", own, float(self.element_volumes.sum()), remedy, stacklevel=4)
        if volume not in ("auto", "mean", "plain"):
            raise InvalidValue(f"volume must be 'auto', 'mean' or 'plain', not {volume!r}.")
        self.volume = volume
        shape = self.nodes.shape
        self.held, self.offsets, self.forces = np.zeros(shape, bool), np.zeros(shape), np.zeros(shape)
        self.payload = np.zeros(len(self.nodes))
        self.carried: tuple[Carried, ...] = ()
        self.groups: dict[str, np.ndarray] = dict(mesh.groups) if isinstance(mesh, WithNames) else {}
        self.threads: tuple[LaidThread, ...] = ()
        self.fabrics: tuple[LaidFabric, ...] = ()

    mesh_error: ClassVar[Callable[..., Any]]
    """About how far its equilibrium is from the right one because its mesh is coarse; defined in `annelid.fem`."""

    def facts(self) -> dict[str, str]:
        """How many, how large and of what."""
        counts = {"nodes": str(self.node_count), "tetrahedra": str(len(self.elements))}
        size = {"size": extent(self.nodes.min(axis=0), self.nodes.max(axis=0)), "mass": f"{self.mass:.4g} kg"}
        named = {"groups": listed(self.groups)} if self.groups else {}
        sewn = {"threads": str(sum(len(each.thread.path) for each in self.threads))} if self.threads else {}
        laid_on = {"fabrics": ", ".join(each.in_words() for each in self.fabrics)} if self.fabrics else {}
        return {**counts, **size, **named, **sewn, **laid_on}

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def element_volumes(self) -> np.ndarray:
        """Volume of each tetrahedron [m³], shape [t]."""
        return np.asarray(point_gradients(self.nodes, self.elements)[1].sum(axis=1))

    @property
    def mass(self) -> float:
        """Mass of it all, with what hangs on it [kg]."""
        return float((self.element_volumes * self.property_of("density")).sum() + self.payload.sum())

    def strains(self, positions: ArrayLike) -> np.ndarray:
        """Largest principal strain in each tetrahedron, the stretch less 1: what `measured_to` of a material limits.

        Args:
            positions: Positions of the nodes [m], shape [n, 3], such as `equilibrium` returns.
        """
        placed = as_numbers("positions", positions)
        if placed.shape != self.nodes.shape:
            raise InvalidValue(f"positions must have the shape {self.nodes.shape} of the nodes, not {placed.shape}.")
        return largest_strains(self.nodes, self.elements, placed)

    def property_of(self, name: str) -> np.ndarray:
        """A number of each tetrahedron's material, such as a modulus, shape [t]."""
        if not is_among(name, _PROPERTIES):
            raise UnknownName("property of a material", name, _PROPERTIES)
        return np.array([getattr(m, name) for m in self.materials])[self.element_materials]

    @property
    def hyperelastic(self) -> bool:
        """Whether a material has a law for large strains, or relaxes; those without a law are neo-Hookean then."""
        return any(material.law is not None or material.prony for material in self.materials)

    @property
    def moduli(self) -> tuple[np.ndarray, np.ndarray]:
        """Shear modulus μ and Lamé's first parameter λ of each tetrahedron [Pa], shape [t] each."""
        shear, bulk = self.property_of("shear_modulus"), self.property_of("bulk_modulus")
        return shear, bulk - 2.0 / 3.0 * shear

    def weights(self) -> np.ndarray:
        """Mass with which gravity pulls at each node [kg], shape [n]; below 0 at corners of 10-node tetrahedra."""
        masses = self.element_shares * self.property_of("density")[:, None]
        return np.bincount(self.elements.ravel(), masses.ravel(), self.node_count) + self.payload

    @cached_property
    def element_shares(self) -> np.ndarray:
        """How much of each tetrahedron its nodes carry [m³], shape [t, s]: each part of a simulation asks for it."""
        return integrals(self.nodes, self.elements)

    def shared_volumes(self) -> np.ndarray | None:
        """Cell of each tetrahedron, shape [t], where several share changes of volume; None where none do."""
        linear = self.elements.shape[1] == 4 or self.hyperelastic
        plain = not linear or self.property_of("poisson_ratio").max() <= _NEARLY_INCOMPRESSIBLE
        if self.volume == "plain" or (self.volume == "auto" and plain):
            return None
        if not linear:  # the four points of an element are enough of a cell
            return np.arange(len(self.elements))
        cells = self.mesh.cells if isinstance(self.mesh, WithCells) else None
        if cells is None:
            return merged(self.nodes, self.elements[:, :4], self.element_materials)
        pairs = np.column_stack([cells, self.element_materials])
        return distinct_rows(pairs, return_inverse=True)[1].reshape(-1)

    # --- what holds and pulls ---

    def indices(self, where: Where) -> np.ndarray:
        """Indices of the nodes that `where` names."""
        return selected(where, self.nodes, self.groups)

    def group(self, name: str, where: Where) -> Solid:
        """Give a set of nodes a name."""
        require_word("the name of a group", name)
        self.groups[name] = self._some(where, "be named")
        return self

    def fix(self, where: Where, *, axes: str = "xyz", motion: Path | None = None) -> Solid:
        """Hold nodes where they are, or along some axes only; or carry them as one rigid body.

        Args:
            where: Which nodes.
            axes: Components that are held: some of "xyz".
            motion: A path, as that of a `Rigid`: place and turn of a body that carries the nodes, from where they rest.
        """
        before = self.held.all()
        self.displace(where, (0.0, 0.0, 0.0), axes=axes)
        if self.held.all() and not before:
            warn_of_holding_all(self.node_count, float(np.ptp(self.nodes, axis=0).max()), stacklevel=2)
        if motion is not None:
            self.carried += (_carried(self.indices(where), _axes(axes), motion),)
        return self

    def displace(self, where: Where, offset: ArrayLike, *, axes: str = "xyz") -> Solid:
        """Hold nodes away from where they rest: an offset [m] of shape [3] or [k, 3], along some axes only."""
        chosen, columns = self._some(where, "be held"), _axes(axes)
        offsets = _vectors("an offset", offset, len(chosen))
        self.held[np.ix_(chosen, columns)] = True
        self.offsets[np.ix_(chosen, columns)] = offsets[:, columns]
        self.carried = tuple(left for one in self.carried for left in one.without(chosen, columns))
        return self

    def push(self, where: Where, force: ArrayLike) -> Solid:
        """Share a force [N] equally among nodes; it adds to what is there. For a face, see `pull`."""
        chosen = self._some(where, "be pushed")
        self.forces[chosen] += _vectors("a force", force, 1) / len(chosen)
        return self

    def hang(self, where: Where, mass: float) -> Solid:
        """Hang a mass [kg] on nodes, shared equally: it weighs, and it must be moved."""
        chosen = self._some(where, "carry a mass")
        if not (is_number(mass) and mass >= 0.0):
            raise InvalidValue(f"a mass that hangs on a solid must be 0 kg or more, not {mass!r}.")
        self.payload[chosen] += mass / len(chosen)
        return self

    def pull(self, where: Where, force: ArrayLike) -> Solid:
        """Share a force [N] evenly over the boundary faces all of whose nodes are chosen; it adds to what is there."""
        faces = self._faces(where, "be pulled")
        if len(faces) == 0:
            raise InvalidValue("no boundary face lies where the force should act; choose all nodes of a face, or push.")
        a, b, c = (self.nodes[faces[:, i]] for i in range(3))
        areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        # A uniform load acts on the middles of the sides alone of a quadratic triangle.
        corners = faces if faces.shape[1] == 3 else faces[:, 3:]
        shares = np.bincount(corners.ravel(), np.repeat(areas / 3.0, 3), self.node_count) / areas.sum()
        self.forces += shares[:, None] * _vectors("a force", force, 1)
        return self

    def reinforce(self, *parts: Thread | Fabric) -> Solid:
        """Bond threads and fabrics to it, beside those that it has; a path that leaves the body is refused."""
        for part in parts:
            if isinstance(part, Thread):
                self.threads += (laid(part, self.nodes, self.elements, self.boundary),)
            elif isinstance(part, Fabric):
                self.fabrics += (covered(part, self.nodes, self._faces(part.where, f"be covered by {part.name}")),)
            else:
                kind = type(part).__name__
                raise InvalidValue(f"a solid is reinforced by a fem.Thread or a fem.Fabric, not by {kind}.")
        return self

    def release(self) -> Solid:
        """Take away all forces, holds, offsets and motions of holds."""
        self.carried = ()
        self.held[:], self.offsets[:], self.forces[:] = False, 0.0, 0.0
        return self

    def copy(self) -> Solid:
        """A copy whose holds and forces can be changed apart."""
        twin = copy.copy(self)
        twin.held, twin.offsets, twin.forces = self.held.copy(), self.offsets.copy(), self.forces.copy()
        twin.payload = self.payload.copy()
        twin.groups = dict(self.groups)
        return twin

    @cached_property
    def boundary(self) -> np.ndarray:
        """Boundary faces, outward: nodes of shape [k, 3], or [k, 6] with the middles of sides 01, 12, 20."""
        if not isinstance(self.mesh, WithBoundary):
            raise InvalidMesh("the mesh of the solid does not know its surface; give one that has boundary().")
        return np.asarray(self.mesh.boundary(), np.int32)

    def require_held(self) -> None:
        """Refuse a solid that could move without deforming: its static problem is singular."""
        for part in self._parts():
            free = 6 - np.linalg.matrix_rank(_rigid_motions(self.nodes[part])[self.held[part].ravel()], tol=1e-6)
            if free:
                whole = len(part) == self.node_count
                what = "the solid" if whole else f"the part of the solid with node {part[0]}"
                raise InvalidValue(
                    f"the static problem is singular: {what} can still move in {free} of 6 ways without deforming; "
                    "fix at least three of its nodes that are not on one line, or simulate its motion."
                )

    def _parts(self) -> list[np.ndarray]:
        """Nodes of each connected part."""
        first, rest = self.elements[:, :1], self.elements[:, 1:]
        pairs = np.broadcast_to(first, rest.shape).ravel(), rest.ravel()
        graph = sparse.coo_array((np.ones(rest.size, np.int8), pairs), shape=(self.node_count, self.node_count))
        count, part = connected_components(graph, directed=False)
        return [np.flatnonzero(part == number) for number in range(count)]

    def _faces(self, where: Where, purpose: str) -> np.ndarray:
        """Boundary faces all of whose nodes are chosen."""
        inside = np.zeros(self.node_count, bool)
        inside[self._some(where, purpose)] = True
        return self.boundary[inside[self.boundary].all(axis=1)]

    def _some(self, where: Where, purpose: str) -> np.ndarray:
        chosen = self.indices(where)
        if len(chosen) == 0:
            low, high = self.nodes.min(axis=0), self.nodes.max(axis=0)
            raise InvalidValue(f"there is no node to {purpose}; the solid lies between {low} and {high} m.")
        return chosen


def _require_sound(nodes: np.ndarray, elements: np.ndarray) -> None:
    if nodes.ndim != 2 or nodes.shape[1] != 3 or not np.isfinite(nodes).all():
        raise InvalidMesh("the nodes of a solid must be finite numbers of shape [n, 3].")
    if elements.ndim != 2 or elements.shape[1] not in (4, 10) or len(elements) == 0:
        raise InvalidMesh(f"tetrahedra must have 4 or 10 nodes each, shape [t, 4] or [t, 10], not {elements.shape}.")
    if elements.min() < 0 or elements.max() >= len(nodes):
        raise InvalidMesh(f"a tetrahedron names node {elements.max()}, but there are nodes 0 to {len(nodes) - 1} only.")
    idle = np.setdiff1d(np.arange(len(nodes)), elements)
    if len(idle):
        raise InvalidMesh(f"{len(idle)} nodes belong to no tetrahedron, the first is node {idle[0]}; drop them.")
    with np.errstate(all="ignore"):
        volumes = _volumes(nodes, elements)
    bad = np.flatnonzero(~(volumes > 0.0).all(axis=1))
    if len(bad):
        raise InvalidMesh(
            f"{len(bad)} of {len(elements)} tetrahedra are inverted or flat, the first is number {bad[0]}; "
            "TetMesh.repaired turns inverted ones."
        )


def _volumes(nodes: np.ndarray, elements: np.ndarray) -> np.ndarray:
    try:
        return point_gradients(nodes, elements)[1]
    except np.linalg.LinAlgError:  # exactly flat ones have no inverse
        a, b, c, d = (nodes[elements[:, i]] for i in range(4))
        return np.einsum("ti,ti->t", np.cross(b - a, c - a), d - a)[:, None]


def _materials(
    given: MaterialLike | Mapping[int, MaterialLike] | Mapping[str, MaterialLike] | Sequence[MaterialLike],
    regions: np.ndarray,
    names: Mapping[int, str],
) -> tuple[tuple[Material, ...], np.ndarray]:
    """Materials, and the index of each tetrahedron's."""
    if isinstance(given, (str, Material)):
        return (preset(given),), np.zeros(len(regions), np.int32)
    if not isinstance(given, (Mapping, Sequence)):
        raise InvalidValue(
            f"a solid needs a material, its name, or one for each region, not {given!r:.80}; Material.hyperelastic "
            "makes one of a law."
        )
    by_name = {name: number for number, name in names.items()}
    pairs: dict[int, MaterialLike] = {}
    for key, each in given.items() if isinstance(given, Mapping) else enumerate(given):
        if isinstance(key, str) and key not in by_name:
            raise UnknownName("region of the mesh", key, by_name)
        pairs[by_name[key] if isinstance(key, str) else key] = each
    numbers, index = np.unique(regions, return_inverse=True)
    missing = [int(number) for number in numbers if number not in pairs]
    if missing:
        needed = [names.get(int(number), int(number)) for number in numbers]
        raise InvalidValue(
            f"region {names.get(missing[0], missing[0])!r} of the mesh has no material; give one for each of {needed}."
        )
    return tuple(preset(pairs[int(number)]) for number in numbers), index.reshape(-1).astype(np.int32)


def _carried(nodes: np.ndarray, columns: np.ndarray, motion: Path) -> Carried:
    if not callable(motion):
        raise InvalidValue(
            f"the motion of a hold must be a path, a function of times that gives positions and quaternions, not "
            f"{motion!r}: see shapes.Path."
        )
    followed(motion, np.zeros(1), WHOSE)  # refuses what gives no places and turns
    return Carried(nodes, columns, motion)


def require_solid(body: object) -> None:
    """Refuse what is no solid; several of them are one of joined meshes."""
    if isinstance(body, list | tuple) and body and all(isinstance(each, Solid) for each in body):
        raise InvalidValue(
            f"a simulation is of one fem.Solid, not of a list of {len(body)}: where they are to touch, join their "
            "meshes, fem.Solid(one.mesh + other.mesh, material); where they are worlds of their own, worlds= makes "
            "copies of one mesh, and each other mesh needs a simulation of its own."
        )
    require_kind("the body", body, Solid, "a fem.Solid")


def _axes(axes: str) -> np.ndarray:
    if not isinstance(axes, str) or not axes or set(axes) - set("xyz"):
        raise InvalidValue(f"axes must be some of 'x', 'y', 'z', such as 'xz', not {axes!r}.")
    return np.array(sorted({"xyz".index(axis) for axis in axes}))


def _vectors(name: str, value: ArrayLike, count: int) -> np.ndarray:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    if array.shape not in ((3,), (count, 3)) or not np.isfinite(array).all():
        raise InvalidValue(f"{name} must be three finite numbers, not {value!r}.")
    return np.broadcast_to(array, (count, 3))


def _rigid_motions(points: np.ndarray) -> np.ndarray:
    """Displacements of the six motions without deformation, in units of the size, shape [3n, 6]."""
    arms = points - points.mean(axis=0)
    arms = arms / max(float(np.abs(arms).max()), 1e-300)
    turns = np.stack([np.cross(axis, arms) for axis in np.eye(3)], axis=2)
    shifts = np.broadcast_to(np.eye(3), (len(points), 3, 3))
    return np.concatenate([shifts, turns], axis=2).reshape(-1, 6)
