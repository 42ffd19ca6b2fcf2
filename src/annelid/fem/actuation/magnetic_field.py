"""Magnetic fields that act on magnetised parts of a solid: a torque, and in a field with a gradient a force.

The remanent magnetisation M of a hard magnet turns and stretches with the solid: F M, with the deformation gradient F.
In a field B the energy is -∫ F M · B over the volume at rest (Zhao, Kim, Cabrera, Zhang and Diani, Mechanics of
hard-magnetic soft materials, J. Mech. Phys. Solids 124, 2019). The field is as if the solid were not there, and a part
does not magnetise another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import warp as wp
from numpy.typing import ArrayLike
from scipy import sparse

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.replay import Replays, Stage
from annelid.fem.actuation.actuator import FREE, Actuator, Drive, require_direction
from annelid.fem.actuation.limits import Limits, Span
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.actuation import aim_elements, pull_elements, sum_stroke
from annelid.fem.shape_functions import point_gradients, rule, values
from annelid.fem.solid import Solid
from annelid.shapes.tet.quadratic import QuadraticTetMesh

_DEGREE = 3
"""Degree of F and of places in a 10-node tetrahedron together."""
_LOOSE = 1e-9  # of the largest component of a gradient


@dataclass(frozen=True, kw_only=True, repr=False)
class MagneticField(Actuator):
    """A magnetic field of coils or a magnet far away, which acts on magnetised parts of the solid.

    For a field that turns, give one for each axis. Where a field varies in space, B(x) = B (b + G x) with the
    field B that is commanded, the direction b and the gradient G.

    Attributes:
        magnetisation: Remanent magnetisation at rest [A/m], which is the remanence over μ₀: one vector for all of the
            solid, one for each tetrahedron, shape [t, 3], or a function of the middles of tetrahedra at rest [m],
            shape [t, 3], that returns them. 0 where nothing is magnetised.
        direction: Direction of the field at the origin; its length does not matter.
        field: Limits of the field at the origin [T], or the field at which it is held.
        field_rate: Largest change of the field in a second [T/s].
        gradient: Change of the field with place, as a part of the field at the origin [1/m], shape [3, 3]: symmetric
            with a trace of 0, as a field in air has to be; None for a uniform field.
    """

    effort_name: ClassVar[str] = "field"
    effort_unit: ClassVar[str] = "T"
    stroke_name: ClassVar[str] = "moment"
    stroke_unit: ClassVar[str] = "A m²"

    magnetisation: ArrayLike | Callable[[np.ndarray], ArrayLike]
    direction: Sequence[float]
    field: Span = FREE
    field_rate: float = math.inf
    gradient: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_direction(self.direction, self.name)
        self.rise()

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of the field; its moment has none."""
        return self._limits(self.field, self.field_rate, FREE, math.inf)

    def rise(self) -> np.ndarray:
        """The gradient, shape [3, 3]; 0 for a uniform field."""
        if self.gradient is None:
            return np.zeros((3, 3))
        given = as_numbers(f"gradient of {self.name}", self.gradient)
        if given.shape != (3, 3) or not np.isfinite(given).all():
            raise InvalidValue(f"gradient of {self.name} must be finite numbers of shape [3, 3], not {given.shape}.")
        slack = _LOOSE * np.abs(given).max()
        if np.abs(given - given.T).max() > slack or abs(np.trace(given)) > slack:
            raise InvalidValue(
                f"gradient of {self.name} must be symmetric with a trace of 0, as that of every field in air; its "
                f"trace is {np.trace(given):.4g} 1/m and its largest asymmetry {np.abs(given - given.T).max():.4g} 1/m."
            )
        return given

    def magnetised(self, solid: Solid) -> np.ndarray:
        """Magnetisation of each tetrahedron of a solid [A/m], shape [t, 3]."""
        shape, given = (len(solid.elements), 3), self.magnetisation
        made = given(solid.nodes[solid.elements[:, :4]].mean(axis=1)) if callable(given) else given
        found = as_numbers(f"magnetisation of {self.name}", made)
        if found.shape not in ((3,), shape) or not np.isfinite(found).all():
            raise InvalidValue(
                f"magnetisation of {self.name} must be three finite numbers [A/m], or those of each of the {shape[0]} "
                f"tetrahedra, shape {list(shape)}, not of shape {list(found.shape)}."
            )
        if not found.any():
            raise InvalidValue(f"{self.name} acts on nothing: its magnetisation is 0 everywhere; give some A/m.")
        return np.broadcast_to(found, shape)

    def refined(self, mesh: QuadraticTetMesh) -> Self:
        """The same; what is given for each tetrahedron holds for the finer ones that it is divided into."""
        if callable(self.magnetisation):
            return self
        given = as_numbers(f"magnetisation of {self.name}", self.magnetisation)
        parts = len(mesh.tetrahedra) // len(given) if given.ndim == 2 else 1
        return replace(self, magnetisation=np.repeat(given, parts, axis=0)) if parts > 1 else self

    def drive(self, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
        """The field on a device."""
        return MagneticDrive(self, solid, device)


class MagneticDrive(Drive, ElementSet):
    """A field and the tetrahedra that are magnetised. Only a gradient makes forces change with the nodes."""

    def __init__(self, actuator: MagneticField, solid: Solid, device: wp.Device) -> None:
        moments, rise = actuator.magnetised(solid), actuator.rise()
        chosen = moments.any(axis=1)
        elements = solid.elements[chosen]
        ElementSet.__init__(self, elements, device, tangent=bool(rise.any()))
        self.actuator = actuator
        pulls, couplings = _integrals(solid.nodes, elements, moments[chosen])
        couplings = couplings if rise.any() else couplings[:, :, :0]
        even = pulls[:, :, None] * require_direction(actuator.direction, actuator.name)
        self._elements = [
            wp.array(self.nodes, dtype=wp.int32, device=device),
            wp.array(even, dtype=wp.vec3d, device=device),
            wp.array(couplings, dtype=wp.float64, device=device),
            wp.mat33d(*rise.ravel().tolist()),
        ]
        self._own, self._shares = _summed(elements, even)
        own = wp.array(self._own, dtype=wp.int32, device=device)
        shares = wp.array(self._shares, dtype=wp.vec3d, device=device)
        table = _table(elements, couplings, self._own)
        near = [wp.array(part, dtype=wp.int32, device=device) for part in (table.indptr, self._own[table.indices])]
        factors = wp.array(table.data, dtype=wp.float64, device=device)
        self._aim = [*near, factors, shares, own, self._elements[-1]]
        slopes = self._shares + (table @ solid.nodes[self._own]) @ rise
        at_rest = 0.5 * float((solid.nodes[self._own] * (self._shares + slopes)).sum())
        self._sum = [shares, own, wp.float64(at_rest)]
        self._field, self._pull = wp.zeros(1, dtype=wp.float64, device=device), Replays(device, kept=8)

    def exert(self, effort: float) -> None:
        """Have this field at the origin [T]."""
        self._field.fill_(effort)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and, in a field with a gradient, the tangent at these positions."""
        self._pull.run(lambda: self._stages(tangent, positions), positions, name=tangent)

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """Growth of the magnetic moment along the field, and its slope."""
        return [
            Stage(aim_elements, len(self._own), [*self._aim, column, positions, directions]),
            Stage(sum_stroke, None, [*self._sum, column, positions, directions, strokes]),
        ]

    def _stages(self, wanted: bool, positions: wp.array[Any]) -> list[Stage]:
        state = [self._field, positions, self.energy, self.forces, self.tangent]
        wants = int(wanted and self.has_tangent)
        return [Stage(pull_elements, self.element_count, [*self._elements, wants, *state])]

    def refused_in_batches(self) -> str | None:
        """A gradient, by which forces change with the nodes."""
        why = f"the field of {self.actuator.name} has a gradient, which only worlds one by one know: leave it out"
        return why if self.has_tangent else None

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Its forces on nodes for a field of 1 T."""
        return self._own, self._shares

    def no_gradient_by(self) -> dict[str, str]:
        """Nodes, with which the magnetised volume would change."""
        return {"nodes": f"the magnetised volume of {self.actuator.name} would change with them, too"}


def _integrals(rest: np.ndarray, elements: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∫ M·∇Nₐ [A m], shape [t, s], and ∫ (M·∇Nₐ) N_b, made symmetric and twice as large [A m], shape [t, s, s]."""
    gradients, volumes = point_gradients(rest, elements, _DEGREE)
    slopes = np.einsum("tqsi,ti,tq->tqs", gradients, moments, volumes)
    products = np.einsum("tqa,qb->tab", slopes, values(elements.shape[1], rule(_DEGREE)[0]))
    return slopes.sum(axis=1), products + products.transpose(0, 2, 1)


def _summed(elements: np.ndarray, even: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of some elements, ascending, [k], and what these say of each, summed, [k, 3]."""
    own, places = np.unique(elements, return_inverse=True)
    sums = [np.bincount(places.ravel(), even[:, :, axis].ravel(), len(own)) for axis in range(3)]
    return own, np.column_stack(sums)


def _table(elements: np.ndarray, couplings: np.ndarray, own: np.ndarray) -> sparse.csr_array:
    """Couplings of pairs of nodes, shape [k, k], of places among these nodes."""
    places = np.searchsorted(own, elements)
    rows, columns = np.broadcast_arrays(places[:, :, None], places[:, None, :])
    width = couplings.shape[2]
    pairs = rows[:, :, :width].ravel(), columns[:, :, :width].ravel()
    return sparse.csr_array(sparse.coo_array((couplings.ravel(), pairs), shape=(len(own), len(own))))
