"""A mass-spring body: arrays on the host that can be copied, moved, combined and changed before they are simulated."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import warp as wp
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from annelid.core.arrays import as_numbers, as_truths
from annelid.core.controls import Control
from annelid.core.described import Described, extent, listed
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.memory import require_memory
from annelid.core.numbers import is_number
from annelid.core.options import Named, is_among, require_kind, require_word
from annelid.core.quantity import require_distinct
from annelid.core.sealed import Sealed
from annelid.core.unlikely import warn_of_angle
from annelid.shapes.values import as_vector, require_count
from annelid.springs.actuation import Signal
from annelid.springs.covering import Worn
from annelid.springs.kernels.commands import command_signal

Where = Callable[[np.ndarray], np.ndarray] | np.ndarray | str | None
"""Which masses: a function of positions [n, 3] -> bool [n], a mask or indices, the name of a group, or None for all."""

FREE, ON_LINE, ON_PLANE = 0, 1, 2


@dataclass(eq=False, repr=False)
class Body(Described, Named, Sealed):
    """Masses joined by springs.

    Attributes:
        positions: Positions [m], shape [n, 3].
        masses: Masses [kg], shape [n].
        springs: The two masses of each spring, shape [s, 2].
        rest_lengths: Rest lengths [m], shape [s].
        stiffness: Spring constants [N/m], shape [s].
        damping: Dashpot of each spring [N s/m], shape [s].
        diameters: Diameter of each spring seen as a round bar [m], 0 where it is none, shape [s].
        yield_strains: Strain at which each spring breaks, infinite where it does not, shape [s].
        spring_materials: Index of each spring's material in `materials`, shape [s].
        materials: Names of the materials.
        velocities: Velocities [m/s], shape [n, 3].
        forces: Constant external forces [N], shape [n, 3].
        fixed: Whether a mass keeps its velocity whatever acts on it, shape [n].
        guides: FREE, ON_LINE or ON_PLANE for each mass, shape [n].
        guide_axes: Direction of the line or normal of the plane, unit vectors, shape [n, 3].
        substeps: Smaller steps that a mass and its springs take inside a step, shape [n].
        volumes: Volume that each mass stands for [m³], 0 where unknown, shape [n].
        triangles: The surface between masses: mass indices, outward, shape [t, 3].
        coverings: Skins that masses carry, drawn instead of the triangles; a body from a mesh has that mesh.
        groups: Named sets of masses.
        signal_functions: Distinct actuation functions.
        signal_kinds: For each spring 0 (passive) or 1 + index of its function, shape [s].
        signal_parameters: The parameters of each spring's signal, shape [s, 4].
        controls: Channels that stretch springs by command; see `control`.
    """

    positions: Any
    masses: Any
    springs: Any
    rest_lengths: Any
    stiffness: Any
    damping: Any = None
    diameters: Any = None
    yield_strains: Any = None
    spring_materials: Any = None
    materials: tuple[str, ...] = ("default",)
    velocities: Any = None
    forces: Any = None
    fixed: Any = None
    guides: Any = None
    guide_axes: Any = None
    substeps: Any = None
    volumes: Any = None
    triangles: Any = None
    coverings: tuple[Worn, ...] = ()
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    signal_functions: tuple[wp.Function, ...] = ()
    signal_kinds: Any = None
    signal_parameters: Any = None
    controls: tuple[Control, ...] = ()

    def __post_init__(self) -> None:
        self.positions = _array(self.positions, float, 3)
        self.springs = _array(self.springs, np.int32, 2)
        self.substeps = 1 if self.substeps is None else self.substeps
        self.yield_strains = np.inf if self.yield_strains is None else self.yield_strains
        for name, (shape, kind) in self._shapes().items():
            setattr(self, name, _filled(name, getattr(self, name), shape, kind))
        self.triangles = np.zeros((0, 3), np.int32) if self.triangles is None else _array(self.triangles, np.int32, 3)
        self.validate()

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shape and type of what there is one of for each mass or spring."""
        count, links = len(self.positions), len(self.springs)
        return {
            "masses": ((count,), float),
            "rest_lengths": ((links,), float),
            "stiffness": ((links,), float),
            "damping": ((links,), float),
            "diameters": ((links,), float),
            "yield_strains": ((links,), float),
            "spring_materials": ((links,), np.int16),
            "velocities": ((count, 3), float),
            "forces": ((count, 3), float),
            "fixed": ((count,), bool),
            "guides": ((count,), np.int8),
            "guide_axes": ((count, 3), float),
            "substeps": ((count,), np.int32),
            "volumes": ((count,), float),
            "signal_kinds": ((links,), np.int16),
            "signal_parameters": ((links, 4), float),
        }

    @property
    def mass_count(self) -> int:
        """Number of masses."""
        return len(self.positions)

    @property
    def spring_count(self) -> int:
        """Number of springs."""
        return len(self.springs)

    def facts(self) -> dict[str, str]:
        """How many, how large and how heavy."""
        made = {"masses": str(self.mass_count), "springs": str(self.spring_count)}
        size = {"size": extent(*self.bounds()), "mass": f"{self.masses.sum():.4g} kg"} if self.mass_count else {}
        named = {"groups": listed(self.groups)} if self.groups else {}
        return {**made, **size, **named}

    @property
    def center_of_mass(self) -> np.ndarray:
        """Centre of mass [m], shape [3]."""
        return self.masses @ self.positions / self.masses.sum()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner [m], two arrays of shape [3]."""
        return self.positions.min(axis=0), self.positions.max(axis=0)

    def validate(self) -> None:
        """Refuse values that cannot be simulated, naming the first one."""
        for name, (shape, _) in self._shapes().items():
            if (given := np.shape(getattr(self, name))) != shape:
                raise InvalidValue(f"{name} has shape {list(given)}, expected {list(shape)}.")
        _require("position", np.isfinite(self.positions).all(axis=1), self.positions, "finite")
        _require("velocity", np.isfinite(self.velocities).all(axis=1), self.velocities, "finite")
        _require("external force of mass", np.isfinite(self.forces).all(axis=1), self.forces, "finite")
        _require(
            "mass", np.isfinite(self.masses) & (self.masses > 0.0), self.masses, "positive (fix a mass to hold it)"
        )
        _require(
            "stiffness of spring", np.isfinite(self.stiffness) & (self.stiffness >= 0.0), self.stiffness, "0 or more"
        )
        _require("damping of spring", np.isfinite(self.damping) & (self.damping >= 0.0), self.damping, "0 or more")
        _require("diameter of spring", np.isfinite(self.diameters) & (self.diameters >= 0), self.diameters, "0 or more")
        _require("yield strain of spring", self.yield_strains > 0.0, self.yield_strains, "positive")
        ends = self.springs
        inside = ((ends >= 0) & (ends < self.mass_count)).all(axis=1)
        _require("ends of spring", inside, ends, f"two of the {self.mass_count} masses")
        _require("ends of spring", ends[:, 0] != ends[:, 1], ends, "two different masses")
        good = np.isfinite(self.rest_lengths) & (self.rest_lengths > 0.0)
        _require("rest length of spring", good, self.rest_lengths, "positive")

    # --- copies that differ ---

    def copy(self) -> Body:
        """An independent copy."""
        twin = copy.copy(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                setattr(twin, f.name, value.copy())
        twin.groups = {name: indices.copy() for name, indices in self.groups.items()}
        return twin

    def moved(self, by: Sequence[float]) -> Body:
        """A copy shifted by a vector [m]."""
        twin = self.copy()
        twin.positions = twin.positions + np.array(as_vector("the shift of a body", by))
        return twin

    def rotated(self, axis: str | Sequence[float], angle: float, *, about: Sequence[float] | None = None) -> Body:
        """A copy turned around an axis by an angle [rad], about a point (the centre of mass by default)."""
        if not is_number(angle):
            raise InvalidValue(f"the angle of a rotation must be a finite number [rad], not {angle!r:.60}.")
        warn_of_angle("a rotation", angle, stacklevel=2)
        turn = Rotation.from_rotvec(angle * _unit("the axis of a rotation", axis))
        center = self._center("a rotation", about)
        twin = self.copy()
        twin.positions = turn.apply(self.positions - center) + center
        for name in ("velocities", "forces", "guide_axes"):
            setattr(twin, name, turn.apply(getattr(self, name)))
        return twin

    def scaled(self, factor: float, *, about: Sequence[float] | None = None) -> Body:
        """A copy of another size: lengths times `factor`, masses by its cube, stiffness and damping by `factor`."""
        if not is_number(factor) or factor <= 0.0:
            raise InvalidValue(f"the scale factor must be positive, not {factor!r:.60}.")
        center, factor = self._center("a change of size", about), float(factor)
        with np.errstate(over="ignore", under="ignore"):
            volume = np.float64(factor) ** 3
            made = np.concatenate([factor * self.rest_lengths, volume * self.masses])
        if not (np.isfinite(made) & (made > 0.0)).all():
            raise InvalidValue(f"a body {factor:.3g} times as large has lengths or masses that numbers cannot hold.")
        twin = self.copy()
        twin.positions = center + factor * (self.positions - center)
        twin.rest_lengths = factor * self.rest_lengths
        twin.diameters = factor * self.diameters
        twin.masses = volume * self.masses
        twin.volumes = volume * self.volumes
        twin.stiffness = factor * self.stiffness
        twin.damping = factor * self.damping
        return twin

    def _center(self, what: str, about: Sequence[float] | None) -> np.ndarray:
        return self.center_of_mass if about is None else np.array(as_vector(f"the middle of {what}", about))

    def __add__(self, other: Body) -> Body:
        return join([self, other])

    def linked(self, pairs: np.ndarray, *, stiffness: float | np.ndarray, diameters: float | np.ndarray = 0.0) -> Body:
        """A copy with more springs, at rest as they are, between pairs of masses, shape [k, 2].

        Args:
            pairs: Indices of the masses.
            stiffness: Spring constants [N/m].
            diameters: Diameters [m], for those that are round bars.
        """
        pairs = _array(pairs, np.int32, 2)
        lengths = np.linalg.norm(self.positions[pairs[:, 1]] - self.positions[pairs[:, 0]], axis=1)
        twin, more = self.copy(), len(pairs)
        constants = _filled("stiffness", stiffness, (more,), float)
        wide = _filled("diameters", diameters, (more,), float)
        twin.springs = np.concatenate([self.springs, pairs])
        twin.rest_lengths = np.concatenate([self.rest_lengths, lengths])
        twin.stiffness = np.concatenate([self.stiffness, constants])
        twin.diameters = np.concatenate([self.diameters, wide])
        twin.yield_strains = np.concatenate([self.yield_strains, np.full(more, np.inf)])
        for name in ("damping", "spring_materials", "signal_kinds", "signal_parameters"):
            old = getattr(self, name)
            setattr(twin, name, np.concatenate([old, np.zeros((more, *old.shape[1:]), old.dtype)]))
        twin.validate()
        return twin

    def near(self, radius: float, where: Where = None) -> np.ndarray:
        """Pairs of masses within a distance [m] of each other that belong to different parts, shape [k, 2].

        A part is a set of masses held together by springs.
        """
        chosen = self.indices(where)
        graph = sparse.coo_array(
            (np.ones(len(self.springs), bool), (self.springs[:, 0], self.springs[:, 1])), shape=(self.mass_count,) * 2
        )
        part = sparse.csgraph.connected_components(graph, directed=False)[1]
        if not (is_number(radius) and radius >= 0.0):
            raise InvalidValue(f"the radius around a mass must be 0 m or more, not {radius!r:.60}.")
        pairs = chosen[cKDTree(self.positions[chosen]).query_pairs(radius, output_type="ndarray").reshape(-1, 2)]
        return pairs[part[pairs[:, 0]] != part[pairs[:, 1]]]

    def replicated(self, offsets: np.ndarray) -> Body:
        """One body made of copies of this one, moved by each of the offsets [m], shape [m, 3]; groups are merged."""
        offsets = _array(offsets, float, 3)
        copies, count = len(offsets), self.mass_count
        needed = float(copies) * memory_of(count, self.spring_count)
        require_memory(f"a body of {copies} copies of {count} masses", needed, "make fewer copies")
        first = (np.arange(copies) * count).astype(np.int32)
        twin = copy.copy(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                setattr(twin, f.name, np.tile(value, (copies,) + (1,) * (value.ndim - 1)))
        twin.positions = (self.positions[None] + offsets[:, None]).reshape(-1, 3)
        twin.springs = (self.springs[None] + first[:, None, None]).reshape(-1, 2)
        twin.triangles = (self.triangles[None] + first[:, None, None]).reshape(-1, 3)
        twin.coverings = tuple(worn.shifted(n) for n in first.tolist() for worn in self.coverings)
        twin.groups = {name: (ids[None] + first[:, None]).ravel() for name, ids in self.groups.items()}
        return twin

    # --- groups and conditions ---

    def indices(self, where: Where) -> np.ndarray:
        """Indices of the masses that `where` names, shape [k]."""
        if where is None:
            return np.arange(self.mass_count)
        if isinstance(where, str):
            if where not in self.groups:
                raise UnknownName("group", where, self.groups)
            return self.groups[where]
        if not callable(where):
            return _chosen("mass", where, self.mass_count)
        found = _chosen("mass", where(self.positions), self.mass_count)
        if len(found) == 0:
            low, high = self.bounds()
            raise InvalidValue(
                f"the function that chooses masses finds none of the {self.mass_count} between {_place(low)} and "
                f"{_place(high)} m."
            )
        return found

    def springs_of(self, where: Where) -> np.ndarray:
        """Indices of the springs both of whose masses `where` names, shape [k]."""
        member = np.zeros(self.mass_count, bool)
        member[self.indices(where)] = True
        found = np.flatnonzero(member[self.springs].all(axis=1))
        if len(found) == 0 and (callable(where) or isinstance(where, str)):
            raise InvalidValue("no spring has both of its masses in the part that was chosen: choose a larger one.")
        return found

    def group(self, name: str, where: Where) -> Body:
        """Give a set of masses a name."""
        require_word("the name of a group", name)
        self.groups[name] = self.indices(where)
        return self

    def fix(self, where: Where = None) -> Body:
        """Hold masses where they are, or at their velocity if they have one."""
        self.fixed[self.indices(where)] = True
        return self

    def guide(self, where: Where, kind: Literal["line", "plane"], axis: str | Sequence[float]) -> Body:
        """Let masses move only along a line (direction `axis`) or in a plane (normal `axis`) through where they are."""
        if not is_among(kind, ("line", "plane")):
            raise InvalidValue(f"a guide is a 'line' or a 'plane', not {kind!r:.60}.")
        unit, chosen = _unit("the axis of a guide", axis), self.indices(where)
        self.guides[chosen] = ON_LINE if kind == "line" else ON_PLANE
        self.guide_axes[chosen] = unit
        return self

    def push(self, where: Where, force: Sequence[float]) -> Body:
        """Share an external force [N] equally among masses; it adds to what is there."""
        chosen = self.indices(where)
        if len(chosen) == 0:
            raise InvalidValue("no mass is where the force should act.")
        self.forces[chosen] += np.array(as_vector("the force on a body", force)) / len(chosen)
        return self

    def substep(self, where: Where, count: int) -> Body:
        """Let masses and the springs that hold them take smaller steps inside each step, for a stiff part of a body.

        Args:
            where: Which masses.
            count: How many smaller steps, rounded up to an even number; of several counts all such masses take the
                largest.
        """
        most = np.iinfo(np.int32).max
        self.substeps[self.indices(where)] = require_count("the number of smaller steps", count, least=1, most=most)
        return self

    def actuate(self, signal: Signal, springs: Where = None) -> Body:
        """Let a signal set the rest length of springs.

        Args:
            signal: The signal.
            springs: Which springs: a function of their midpoints [s, 3] -> bool [s], a mask, indices, the name of a
                group of masses that hold them, or None for all.
        """
        accepted = "springs.wave(...) or another springs.Signal, for which a function of your own needs @wp.func"
        require_kind("the signal", signal, Signal, accepted)
        chosen = self._springs(springs)
        if signal.function not in self.signal_functions:
            self.signal_functions = (*self.signal_functions, signal.function)
        self.signal_kinds[chosen] = 1 + self.signal_functions.index(signal.function)
        self.signal_parameters[chosen] = signal.table(len(chosen))
        return self

    def control(self, name: str, springs: Where = None, *, low: float = 0.8, high: float = 1.2) -> Body:
        """Let commands set the rest length of springs while they are simulated: `simulation.controls[name] = 1.1`.

        Args:
            name: Name of the channel.
            springs: Which springs, as for `actuate`.
            low: Smallest factor on the rest length.
            high: Largest factor on the rest length.
        """
        require_word("the name of a control", name)
        if not (is_number(low) and is_number(high) and 0.0 < low <= 1.0 <= high):
            raise InvalidValue(f"control {name!r} needs factors 0 < low ≤ 1 ≤ high, not {low} and {high}.")
        chosen = self._springs(springs)
        if len(chosen) == 0:
            raise InvalidValue(f"control {name!r} has no springs to stretch.")
        does = f"factor on the rest length of {len(chosen)} springs"
        self.controls = require_distinct([*self.controls, Control(name, low, high, 1.0, "", does)])
        return self.actuate(Signal(command_signal, (len(self.controls) - 1,)), chosen)

    def _springs(self, where: Where) -> np.ndarray:
        if where is None:
            return np.arange(self.spring_count)
        if isinstance(where, str):
            return self.springs_of(where)
        if not callable(where):
            return _chosen("spring", where, self.spring_count)
        found = _chosen("spring", where(self.positions[self.springs].mean(axis=1)), self.spring_count)
        if len(found) == 0:
            raise InvalidValue("the function that chooses springs by their midpoints finds none.")
        return found

    def distance_along(self, axis: str | Sequence[float]) -> np.ndarray:
        """For each spring, the distance [m] of its nearer mass from the body's end, along an axis (Titan, eq. 5)."""
        along = self.positions @ _unit("the axis of a distance", axis)
        return along[self.springs].min(axis=1) - along.min()


def memory_of(masses: float, springs: float) -> float:
    """Memory that a body takes while it is built and compiled [B], about; measured."""
    return 200.0 * masses + 140.0 * springs


def join(bodies: Iterable[Body]) -> Body:
    """One body made of several, not attached to each other; groups of one name are merged."""
    require_kind("bodies to join", bodies, Iterable, "a list of springs.Body")
    parts = list(bodies)
    for part in parts:
        require_kind("what a body is joined with", part, Body, "a springs.Body")
    if not parts:
        raise InvalidValue("there is no body to join.")
    first = np.concatenate([[0], np.cumsum([part.mass_count for part in parts])])
    functions = tuple(dict.fromkeys(f for part in parts for f in part.signal_functions))
    names = tuple(dict.fromkeys(name for part in parts for name in part.materials))
    whole = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Body) if f.name in _ARRAYS}
    for name in ("springs", "triangles"):
        whole[name] = np.concatenate([getattr(p, name) + n for p, n in zip(parts, first, strict=False)])
    whole["spring_materials"] = np.concatenate([_renumbered(p.materials, names)[p.spring_materials] for p in parts])
    kinds = [np.append(0, 1 + _renumbered(p.signal_functions, functions))[p.signal_kinds] for p in parts]
    whole["signal_kinds"] = np.concatenate(kinds)
    groups: dict[str, np.ndarray] = {}
    for part, begin in zip(parts, first, strict=False):
        for name, ids in part.groups.items():
            groups[name] = np.concatenate([groups.get(name, np.zeros(0, np.int64)), ids + begin])
    coverings = tuple(worn.shifted(int(n)) for p, n in zip(parts, first, strict=False) for worn in p.coverings)
    controls = require_distinct(dict.fromkeys(control for part in parts for control in part.controls))
    whole["signal_parameters"] = np.concatenate([_with_channels(part, controls) for part in parts])
    return Body(
        **whole, materials=names, signal_functions=functions, groups=groups, coverings=coverings, controls=controls
    )


def _with_channels(part: Body, controls: Sequence[Control]) -> np.ndarray:
    """Parameters of the signals of a part, its channels numbered as in the whole."""
    parameters = part.signal_parameters.copy()
    if part.controls:
        commanded = part.signal_kinds == 1 + part.signal_functions.index(command_signal)
        parameters[commanded, 0] = _renumbered(part.controls, controls)[parameters[commanded, 0].astype(int)]
    return parameters


_ARRAYS = {f.name for f in fields(Body)} - {"materials", "groups", "signal_functions", "coverings", "controls"}


def _unit(what: str, axis: str | Sequence[float]) -> np.ndarray:
    """The direction of a vector, which must have one, or of 'x', 'y' or 'z'."""
    try:
        vector = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) and len(axis) == 1 else np.asarray(axis, float)
    except (TypeError, ValueError, OverflowError):
        vector = np.zeros(0)
    length = np.linalg.norm(vector)
    if vector.shape != (3,) or not (np.isfinite(length) and length > 0.0):
        raise InvalidValue(f"{what} must be 'x', 'y', 'z' or three finite numbers, not all zero, not {axis!r:.60}.")
    return vector / length


def _chosen(what: str, where: object, count: int) -> np.ndarray:
    """Indices from a mask or from indices, checked."""
    try:
        values = np.asarray(where)
    except ValueError:
        raise InvalidValue(f"choose by a mask or by whole numbers, not by {where!r:.60}.") from None
    if values.dtype == bool:
        if values.shape != (count,):
            raise InvalidValue(f"a mask must have one value a {what}, shape [{count}], not {list(values.shape)}.")
        return np.flatnonzero(values)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise InvalidValue(f"choose by a mask or by whole numbers, not by {values.dtype}{list(values.shape)}.")
    outside = (values < -count) | (values >= count)
    if outside.any():
        raise InvalidValue(f"there is no {what} {values[outside][0]}: there are {count}.")
    return values.astype(np.int64)


def _place(point: np.ndarray) -> str:
    return f"({', '.join(f'{x:.4g}' for x in point)})"


def _renumbered(old: Sequence[object], new: Sequence[object]) -> np.ndarray:
    return np.array([new.index(item) for item in old], np.int16)


def _array(values: object, kind: type, width: int) -> np.ndarray:
    array = as_numbers("rows of a body", values, None)
    if array.size == 0:
        return np.zeros((0, width), kind)
    if array.ndim != 2 or array.shape[1] != width:
        raise InvalidValue(f"expected an array of shape [n, {width}], not {list(array.shape)}.")
    with np.errstate(invalid="ignore"):
        converted = array.astype(kind)
    if kind is np.int32 and not np.array_equal(converted, array):  # fractions, and indices that do not fit
        bad = int(np.flatnonzero((converted != array).any(axis=1))[0])
        raise InvalidValue(f"ends of spring {bad} are {array[bad].tolist()}: they must be indices of masses.")
    return converted


def _filled(name: str, values: object, shape: tuple[int, ...], kind: type) -> np.ndarray:
    """The values broadcast to the shape; zeros where none are given."""
    if values is None:
        return np.zeros(shape, kind)
    given_numbers = as_truths(name, values) if kind is bool else as_numbers(name, values, kind)
    try:
        return np.array(np.broadcast_to(given_numbers, shape), kind)
    except ValueError:
        given = list(given_numbers.shape)
        raise InvalidValue(f"{name} has shape {given}, expected {list(shape)} or one value for all.") from None


def _require(what: str, good: Any, values: np.ndarray, accepted: str) -> None:
    if not good.all():
        first = int(np.flatnonzero(~good)[0])
        raise InvalidValue(f"{what} {first} is {np.round(values[first], 9)}: it must be {accepted}.")
