"""Searchers of other packages behind the contract of this one: larger is better, all chance from one seed."""

from typing import TYPE_CHECKING

from annelid.core.lazy import offered, public

if TYPE_CHECKING:
    from annelid.evolve.adapters.cma_es import CmaEs
    from annelid.evolve.adapters.multi_objective import Nsga2
    from annelid.evolve.adapters.quality_diversity import MapElites
else:  # each needs a package of its own
    __getattr__ = offered(
        __name__,
        {
            "cma_es": ["CmaEs"],
            "multi_objective": ["Nsga2"],
            "quality_diversity": ["MapElites"],
        },
    )

__all__ = [
    "CmaEs",
    "MapElites",
    "Nsga2",
]

__dir__ = public(__name__)
