"""Laws that a user writes as a Warp function."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.materials.kernels.own_laws import OWN_CONSTANTS, Constants, invariant_probe, stretch_probe
from annelid.materials.laws import Law


@dataclass(frozen=True)
class OwnLaw(Law):
    """An energy of one's own: `energy(i1, i2, c)` of invariants, or `energy(stretches, c)` of a wp.vec3d of stretches.

    Its derivatives are found by differentiating the function; second ones are differences of exact first ones. It must
    be smooth, and for stretches symmetric in them.

    Attributes:
        energy: A `wp.func` in double precision that returns the energy of a unit of volume [J/m³]; `c` is a
            `materials.Constants`, the constants filled up with zeros.
        of: "invariants" or "stretches".
        values: Constants, at most eight.
        factor: What the energy is multiplied by.
    """

    energy: Any
    of: Literal["invariants", "stretches"] = "invariants"
    values: tuple[float, ...] = ()
    factor: float = field(default=1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.energy, wp.Function):
            raise InvalidValue(f"the energy of a law must be a wp.func, not {self.energy!r:.60}.")
        if self.of not in ("invariants", "stretches"):
            raise InvalidValue(f"of must be 'invariants' or 'stretches', not {self.of!r}.")
        self._require_arguments()
        if not isinstance(self.values, (tuple, list)):
            raise InvalidValue(f"values = {self.values!r:.60} of OwnLaw cannot be used; give numbers in brackets.")
        object.__setattr__(self, "values", tuple(self.values))
        if len(self.values) > OWN_CONSTANTS:
            raise InvalidValue(f"a law takes at most {OWN_CONSTANTS} constants, not {len(self.values)}.")
        self._require(factor=self.factor, **{f"values[{i}]": value for i, value in enumerate(self.values)})

    def _require_arguments(self) -> None:
        """Refuse a function that takes something else, before a kernel is made of it."""
        asked = [wp.vec3d, Constants] if self.of == "stretches" else [wp.float64, wp.float64, Constants]
        if list(self.energy.input_types.values()) != asked:
            takes = "(wp.vec3d, Constants)" if self.of == "stretches" else "(wp.float64, wp.float64, Constants)"
            raise InvalidValue(
                f"the energy {self.energy.key!r} of {self.of} must take {takes}, it takes "
                f"({', '.join(self.energy.input_types)}) of other types; annotate its arguments so."
            )

    @property
    def constants(self) -> tuple[float, ...]:
        """The constants, filled up with zeros."""
        return (*self.values, *[0.0] * (OWN_CONSTANTS - len(self.values)))

    def tensions(self, stretches: ArrayLike) -> np.ndarray:
        """Derivatives of the energy with respect to the stretches [Pa]."""
        rows = np.asarray(stretches, float)
        flat = wp.array(np.ascontiguousarray(rows.reshape(-1, 3)), dtype=wp.vec3d, device="cpu")
        found = wp.zeros(len(flat), dtype=wp.vec3d, device="cpu")
        wp.launch(self._probe, len(flat), [Constants(*self.constants), flat, found], device="cpu")
        return np.asarray(self.factor * found.numpy().reshape(rows.shape))

    def scaled(self, factor: float) -> Self:
        """That many times as stiff."""
        return replace(self, factor=factor * self.factor)

    @cached_property
    def _probe(self) -> Any:
        return (stretch_probe if self.of == "stretches" else invariant_probe)(self.energy)
