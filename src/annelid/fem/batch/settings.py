"""How worlds are stepped together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named
from annelid.fem.kernels.batch_woodbury import MOST

Product = Literal["auto", "torch", "tiles"]


@dataclass(frozen=True, kw_only=True)
class Together(Named):
    """How worlds are stepped together. Numbers of iterations are fixed on CUDA, where worlds that have arrived rest.

    `together=True` takes more of them where obstacles are about, and more again where some of these are free.

    Attributes:
        newtons: Iterations of Newton's method in a step.
        gradients: Iterations of conjugate gradients in each of them, at most.
        rough: Part of its residual at which the first system of a step is solved [-].
        contacts: Nodes of a world whose contacts what leads conjugate gradients takes in, from 0 to 16: it costs
            a product with some rows of the inverse, and saves iterations.
        fine: Part of the first residual of a step at which that step is solved [-].
        product: What multiplies with the shared inverse on CUDA: "torch", which is cuBLAS in TF32 by way of PyTorch;
            "tiles", which is Warp alone and has the same bits for any number of worlds; "auto" takes PyTorch where it
            is installed.
    """

    newtons: int = 3
    gradients: int = 12
    contacts: int = MOST
    rough: float = 3e-3
    fine: float = 1e-4
    product: Product = "auto"

    def __post_init__(self) -> None:
        for name in ("newtons", "gradients"):
            value = vars(self)[name]
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
                raise InvalidValue(f"{name} must be a whole number from 1 to 1000, not {value!r}.")
        if isinstance(self.contacts, bool) or not isinstance(self.contacts, int) or not 0 <= self.contacts <= MOST:
            raise InvalidValue(f"contacts must be a whole number from 0 to {MOST}, not {self.contacts!r}.")
        for name in ("rough", "fine"):
            value = vars(self)[name]
            if not (is_number(value) and 0.0 <= value < 1.0):
                raise InvalidValue(f"{name} must be a part of the residual, from 0 to below 1, not {value!r}.")
        if self.product not in ("auto", "torch", "tiles"):
            raise InvalidValue(f"product must be 'auto', 'torch' or 'tiles', not {self.product!r}.")
