"""How worlds are stepped together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from annelid.core.parameters import Checked, documented, parameter
from annelid.fem.kernels.batch_woodbury import MOST

Product = Literal["auto", "torch", "tiles"]


@documented
@dataclass(frozen=True, kw_only=True)
class Together(Checked):
    """How worlds are stepped together. Numbers of iterations are fixed on CUDA, where worlds that have arrived rest.

    `together=True` takes more of them where obstacles are about, and more again where some of these are free.
    """

    of_what: ClassVar[str] = "fem.Together"

    newtons: int = parameter(3, "Iterations of Newton's method in a step.", limits=(1, 1000))
    gradients: int = parameter(12, "Iterations of conjugate gradients in each of them, at most.", limits=(1, 1000))
    contacts: int = parameter(
        MOST,
        "Nodes of a world whose contacts what leads conjugate gradients takes in, from 0 to 16: it costs a "
        "product with some rows of the inverse, and saves iterations.",
        limits=(0, MOST),
    )
    rough: float = parameter(
        3e-3, "Part of its residual at which the first system of a step is solved [-].", limits=(0.0, 0.99)
    )
    fine: float = parameter(
        1e-4, "Part of the first residual of a step at which that step is solved [-].", limits=(0.0, 0.99)
    )
    product: Product = parameter(
        "auto",
        'What multiplies with the shared inverse on CUDA: "torch", which is cuBLAS in TF32 by way of PyTorch; '
        '"tiles", which is Warp alone and has the same bits for any number of worlds; "auto" takes PyTorch where '
        "it is installed.",
    )
