"""How time passes for a solid in motion: which integrators there are, and over what time their equations go."""

from __future__ import annotations

from typing import Literal

from annelid.core.errors import UnknownName

Integrator = Literal["backward-euler", "midpoint", "linearly-implicit"]
"""How steps of a solid in motion are computed."""

_STAGES: dict[str, float] = {"backward-euler": 1.0, "midpoint": 0.25, "linearly-implicit": 1.0}


def stage_of(integrator: str) -> float:
    """Part of a step over which each of its equations goes; unknown integrators are refused."""
    if not isinstance(integrator, str) or integrator not in _STAGES:
        raise UnknownName("integrator of a solid", integrator, _STAGES)
    return _STAGES[integrator]
