"""Bodies of springs that nothing holds, and that do not fall."""

from __future__ import annotations

from typing import Any

from annelid import springs
from annelid.core.simulation import Simulation


def floating(body: springs.Body, **options: Any) -> Simulation[springs.Solver]:
    """A simulation of a body without gravity; for options see `springs.simulation`."""
    return springs.simulation(body, gravity=(0.0, 0.0, 0.0), **options)
