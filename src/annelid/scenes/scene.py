"""What a scene is: a frozen dataclass of parameters that builds a simulation and judges how it went."""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation


@runtime_checkable
class Scene(Protocol):
    """A ready robot or world.

    Attributes:
        name: Name on the command line.
        duration: Default simulated time of a run [s].
    """

    name: ClassVar[str]
    duration: ClassVar[float]

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[Any]:
        """The simulation at its beginning."""
        ...

    def measure(self, simulation: Simulation[Any]) -> list[Measurement]:
        """Results of a simulation of this scene at its end."""
        ...


def parameter(
    default: Any, help: str, *, unit: str = "", range: tuple[float, float] | None = None, live: bool = False
) -> Any:
    """A parameter of a scene, with what the command line and the viewer need to know of it.

    Args:
        default: Its default.
        help: One line that explains it.
        unit: Its unit.
        range: Ends of its slider.
        live: Whether `adjust(simulation, name, value)` of the scene can change it while it runs.
    """
    text = f"{help} [{unit}]" if unit else help
    return field(default=default, metadata={"help": text, "unit": unit, "range": range, "live": live})


def parameters(scene: type) -> tuple[Field[Any], ...]:
    """The parameters of a scene class."""
    return tuple(f for f in fields(scene) if f.default is not MISSING)
