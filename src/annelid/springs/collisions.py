"""Bodies that touch each other, and themselves: which groups do, how, and which masses can.

The masses of a surface are spheres. They are pushed apart by a spring and a dashpot and rub with Coulomb friction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import require_kind, require_word
from annelid.core.parameters import Checked, documented, parameter
from annelid.springs.body import Body

EVERYTHING = "all"
"""Name of the group of all surface masses."""

_MOST_GROUPS = 62
_TIE = 1.0e-6  # neighbours at just the distance of contact, up to rounding, count as close


@documented
@dataclass(frozen=True)
class Collide(Checked):
    """Two groups of masses, or one with itself, that touch each other."""

    of_what: ClassVar[str] = "a collision"

    first: str = parameter(MISSING, 'Name of a group, or "all" for every surface mass.')
    second: str = parameter(MISSING, "Name of the other group, or of the same one.")
    friction: float = parameter(0.5, "Coulomb coefficient.", least=0.0)
    restitution: float = parameter(0.5, "Speed after a bounce over the speed before it, 0 to 1.", limits=(0.0, 1.0))
    stiffness: float | None = parameter(
        None,
        "Force per depth of a pair of masses [N/m]; None is as stiff as the time step allows.",
        unit="N/m",
        above=0.0,
    )
    radius: float | None = parameter(
        None, "Radius of the spheres [m]; None takes that of each mass (`contact_radii`).", unit="m", above=0.0
    )
    itself: bool = parameter(True, "Whether masses of one connected piece touch each other.")

    def __post_init__(self) -> None:
        require_word("the first group of a collision", self.first)
        require_word("the second group of a collision", self.second)
        super().__post_init__()


def contact_radii(body: Body) -> np.ndarray:
    """Radius of each mass as a sphere [m], shape [n]; 0 for masses inside, which touch nothing.

    The spheres close the surface with room for it to stretch: a mass has 1/√8 of the longest edge among its triangles,
    which is half the pitch of a cubic lattice. In a piece without triangles it has half of its shortest spring.
    """
    require_kind("the body", body, Body, "a springs.Body")
    radii = np.zeros(body.mass_count)
    corners = body.positions[body.triangles]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    np.maximum.at(radii, body.triangles, edges.max(axis=1, initial=0.0)[:, None] / math.sqrt(8.0))
    pieces = pieces_of(body)
    bare = ~np.isin(pieces, pieces[body.triangles.ravel()])
    shortest = np.full(body.mass_count, np.inf)
    np.minimum.at(shortest, body.springs, body.rest_lengths[:, None])
    radii[bare & np.isfinite(shortest)] = 0.5 * shortest[bare & np.isfinite(shortest)]
    return radii


@dataclass(frozen=True, eq=False)
class Pairing:
    """Which masses may touch which.

    Attributes:
        masses: The masses that may touch anything, ascending, shape [m].
        kinds: Kind of each mass, 0 for those that touch nothing, shape [n].
        table: Rule of each pair of kinds, -1 for none, shape [k, k].
        radii: Radius of each mass [m], shape [n].
        pieces: Connected piece of each mass, shape [n].
        apart_first: Where the masses begin in `apart` that each of `masses` never touches, shape [m + 1].
        apart: Masses of the same piece that are joined to it or too close to it in the shape as built.
        shortest: Smallest distance of contact of two kinds, by their typical masses [m].
        longest: Largest distance of contact of two masses [m].
        overlaps: How deep each mass begins inside one of another piece [m], 0 for most, shape [n].
    """

    masses: np.ndarray
    kinds: np.ndarray
    table: np.ndarray
    radii: np.ndarray
    pieces: np.ndarray
    apart_first: np.ndarray
    apart: np.ndarray
    shortest: float
    longest: float
    overlaps: np.ndarray

    def repeated(self, worlds: int) -> Pairing:
        """The same of several worlds, one after the other, whose masses never meet."""
        each, pairs = len(self.kinds), len(self.apart)

        def numbered(values: np.ndarray, step: int) -> np.ndarray:
            return (values[None] + step * np.arange(worlds, dtype=values.dtype)[:, None]).ravel()

        return replace(
            self,
            masses=numbered(self.masses, each),
            kinds=np.tile(self.kinds, worlds),
            radii=np.tile(self.radii, worlds),
            pieces=np.tile(self.pieces, worlds),
            apart_first=np.append(numbered(self.apart_first[:-1], pairs), worlds * pairs).astype(np.int32),
            apart=numbered(self.apart, each),
            overlaps=np.tile(self.overlaps, worlds),
        )


def pairing(body: Body, rules: Sequence[Collide]) -> Pairing:
    """Work out which masses of a body may touch; where several rules name a pair, the last one holds."""
    pieces, radii = pieces_of(body), contact_radii(body)
    surface = (radii > 0.0) | ~np.isin(pieces, pieces[body.triangles.ravel()])
    kinds, table = _kinds(body, rules, surface)
    masses = np.flatnonzero(kinds > 0)
    shortest, longest = _distances(rules, kinds, table, radii)
    near, depths = np.zeros((0, 2), np.int64), np.zeros(0)
    itself = any(rule.itself for rule in rules)
    if itself or pieces.any():
        near, depths = _touching(body, rules, masses, kinds, table, radii, longest)
    same = pieces[near[:, 0]] == pieces[near[:, 1]]
    first, apart = _apart(body, masses, kinds, near[same], itself=itself)
    overlaps = _overlaps(body, near[~same], depths[~same])
    return Pairing(masses, kinds, table, radii, pieces, first, apart, shortest, longest, overlaps)


def pieces_of(body: Body) -> np.ndarray:
    """Connected piece of each mass, shape [n]."""
    ends, count = body.springs, body.mass_count
    graph = sparse.coo_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1])


def _members(body: Body, name: str) -> np.ndarray:
    """Whether each mass belongs to a group, shape [n]."""
    if name == EVERYTHING:
        return np.ones(body.mass_count, bool)
    if name not in body.groups:
        raise UnknownName("group", name, [*body.groups, EVERYTHING])
    inside = np.zeros(body.mass_count, bool)
    inside[body.groups[name]] = True
    return inside


def _kinds(body: Body, rules: Sequence[Collide], surface: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masses with the same memberships are of one kind: kind of each mass, and the rule of each pair of kinds."""
    names = list(dict.fromkeys(name for rule in rules for name in (rule.first, rule.second)))
    if len(names) > _MOST_GROUPS:
        raise InvalidValue(f"collisions can name at most {_MOST_GROUPS} groups, not {len(names)}.")
    codes = np.zeros(body.mass_count, np.int64)
    for bit, name in enumerate(names):
        codes |= _members(body, name).astype(np.int64) << bit
    codes[~surface] = 0
    distinct, kinds = np.unique(np.append(0, codes), return_inverse=True)
    inside = [(distinct >> names.index(name) & 1).astype(bool) for name in names]
    table = np.full((len(distinct), len(distinct)), -1, np.int32)
    for index, rule in enumerate(rules):
        pair = np.outer(inside[names.index(rule.first)], inside[names.index(rule.second)])
        table[pair | pair.T] = index
    kinds = kinds.ravel()[1:].astype(np.int32)
    alone = np.asarray((table < 0).all(axis=1))
    kinds[alone[kinds]] = 0
    return kinds, table


def _distances(
    rules: Sequence[Collide], kinds: np.ndarray, table: np.ndarray, radii: np.ndarray
) -> tuple[float, float]:
    """Smallest typical and largest distance of contact [m]."""
    there = [radii[kinds == kind] for kind in range(len(table))]
    shortest, longest = np.inf, 0.0
    for p, q in zip(*np.nonzero(table >= 0), strict=True):
        if len(there[p]) == 0 or len(there[q]) == 0:
            continue
        radius = rules[table[p, q]].radius
        if radius is None and min(there[p].min(), there[q].min()) == 0.0:
            raise InvalidValue("masses without springs have no radius of their own: give the collision a radius.")
        typical = np.median(there[p]) + np.median(there[q]) if radius is None else 2.0 * radius
        shortest = min(shortest, float(typical))
        longest = max(longest, float(there[p].max() + there[q].max()) if radius is None else 2.0 * radius)
    if longest == 0.0:
        raise InvalidValue("no surface mass belongs to groups that collide: name groups with masses at the surface.")
    return shortest, longest


def _touching(
    body: Body,
    rules: Sequence[Collide],
    masses: np.ndarray,
    kinds: np.ndarray,
    table: np.ndarray,
    radii: np.ndarray,
    longest: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of masses with a rule that touch in the shape as built, shape [k, 2], and how deep [m], shape [k]."""
    near = masses[cKDTree(body.positions[masses]).query_pairs(longest * (1.0 + _TIE), output_type="ndarray")]
    own = np.array([0.0 if rule.radius is None else 2.0 * rule.radius for rule in rules])
    rule = table[kinds[near[:, 0]], kinds[near[:, 1]]]
    reach = np.where((rule >= 0) & (own[rule] > 0.0), own[rule], radii[near].sum(axis=1))
    distance = np.linalg.norm(body.positions[near[:, 1]] - body.positions[near[:, 0]], axis=1)
    touching = (rule >= 0) & (distance <= reach * (1.0 + _TIE))
    return near[touching], np.maximum(reach - distance, 0.0)[touching]


def _apart(
    body: Body, masses: np.ndarray, kinds: np.ndarray, near: np.ndarray, *, itself: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of one piece that never touch, by mass: where each mass's begin, and the other masses.

    Args:
        body: The body.
        masses: Masses that may touch anything.
        kinds: Kind of each mass.
        near: Pairs of one piece that touch in the shape as built.
        itself: Whether masses of one piece may touch at all.
    """
    if not itself:
        return np.zeros(len(masses) + 1, np.int32), np.zeros(0, np.int32)
    joined = body.springs[(kinds[body.springs] > 0).all(axis=1)]
    both = np.concatenate([near, joined]).astype(np.int64)
    both = np.concatenate([both, both[:, ::-1]])
    keys = np.unique(both[:, 0] * body.mass_count + both[:, 1])
    counts = np.bincount(keys // body.mass_count, minlength=body.mass_count)[masses]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), (keys % body.mass_count).astype(np.int32)


def _overlaps(body: Body, pairs: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """How deep each mass begins inside one of another piece [m], shape [n]; two that are fixed push nobody."""
    found = np.zeros(body.mass_count)
    pushed = ~body.fixed[pairs].all(axis=1)
    np.maximum.at(found, pairs[pushed], depths[pushed, None])
    return found
