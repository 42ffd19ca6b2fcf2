"""Laws whose energy a user writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.materials.laws import Form, Law, Of


@dataclass(frozen=True)
class OwnLaw(Law):
    """An energy of one's own: `energy(i1, i2, c)` of invariants, or `energy(stretches, c)` of three stretches.

    It must be smooth, and for stretches symmetric in them.

    Attributes:
        energy: A function that returns the energy of a unit of volume [J/m³], written with NumPy's log, exp, sqrt,
            minimum, maximum and where; `c` are the constants.
        of: "invariants" or "stretches".
        values: Constants.
        factor: What the energy is multiplied by.
    """

    moduli = ("factor",)

    energy: Callable[..., Any]
    of: Of = "invariants"
    values: tuple[float, ...] = ()
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.of not in ("invariants", "stretches"):
            raise InvalidValue(f"of must be 'invariants' or 'stretches', not {self.of!r}.")
        if not isinstance(self.values, (tuple, list)):
            raise InvalidValue(f"values = {self.values!r:.60} of OwnLaw cannot be used; give numbers in brackets.")
        object.__setattr__(self, "values", tuple(self.values))
        self._require_energy()
        self._require(factor=self.factor, **{f"values[{i}]": value for i, value in enumerate(self.values)})

    def _require_energy(self) -> None:
        """Refuse a function that takes something else, or does what cannot be differentiated."""
        takes = "(i1, i2, c)" if self.of == "invariants" else "(stretches, c)"
        try:
            _ = self.form.slopes
        except (TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
            raise InvalidValue(
                f"the energy of {self.of} must be a plain function of {takes} that is written with NumPy: {error}"
            ) from None

    @property
    def form(self) -> Form:
        """What it is apart from its constants."""
        return _form(self.energy, self.of, len(self.constants))

    @property
    def constants(self) -> tuple[float, ...]:
        """The values, and the factor."""
        return (*self.values, self.factor)


@cache
def _form(energy: Callable[..., Any], of: Of, count: int) -> Form:
    def scaled(*given: Any) -> Any:
        *variables, constants = given
        return constants[-1] * energy(*variables, constants[:-1])

    return Form(scaled, of, count)
