"""The contract of a scene: what every scene has, and the abilities that only some have.

A scene is a frozen dataclass of parameters that builds a simulation and judges how it went. Commands and viewers know
scenes by these protocols alone, and ask for an ability with `isinstance(scene, Adjustable)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation


class Parameters(Protocol):
    """A dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@runtime_checkable
class Buildable(Parameters, Protocol):
    """What a viewer asks of a scene."""

    def build(self, *, device: str | wp.Device = "auto", threads: int | None = None) -> Simulation[Any]:
        """The simulation at its beginning."""
        ...


@runtime_checkable
class Scene(Buildable, Protocol):
    """A ready robot or world.

    Attributes:
        name: Name on the command line.
        duration: Simulated time of a run [s] unless told otherwise.
    """

    name: ClassVar[str]
    duration: ClassVar[float]

    def measure(self, simulation: Simulation[Any]) -> list[Measurement]:
        """Results of a simulation of this scene at its end."""
        ...


@runtime_checkable
class Adjustable(Protocol):
    """A scene whose `live` parameters act while it runs."""

    def adjust(self, simulation: Simulation[Any], name: str, value: Any) -> None:
        """Change a parameter of a running simulation."""
        ...


@runtime_checkable
class Targeted(Protocol):
    """A scene with points that people move while it runs."""

    def targets(self, simulation: Simulation[Any]) -> Mapping[str, Sequence[float]]:
        """Places [m] by name."""
        ...

    def move_target(self, simulation: Simulation[Any], name: str, place: Sequence[float]) -> None:
        """Move a point to another place [m]."""
        ...


@runtime_checkable
class WithStatus(Protocol):
    """A scene that adds a sentence to the status of a viewer."""

    def status(self, simulation: Simulation[Any]) -> str:
        """What its robot has reached now."""
        ...


@runtime_checkable
class WithViewpoint(Protocol):
    """A scene that says where its pictures and videos are taken from."""

    def viewpoint(self, simulation: Simulation[Any]) -> tuple[Any, bool]:
        """A camera, or None to frame what there is, and whether it moves along with the robot."""
        ...


@runtime_checkable
class WithOutputs(Protocol):
    """A scene that writes files of its own at the end of a run."""

    def outputs(self, simulation: Simulation[Any], folder: Path) -> list[Path]:
        """Write them; returns the files that were written."""
        ...


@runtime_checkable
class FromFile(Parameters, Protocol):
    """A scene whose body is built from a primitive shape or a file, and can be worked on in the browser.

    Its simulations carry a workpiece: `simulation.attachments["workpiece"]`.

    Attributes:
        sizes: The parameters that each shape has.
    """

    sizes: ClassVar[dict[str, tuple[str, ...]]]

    @property
    def shape(self) -> str:
        """Name of the shape."""
        ...

    @property
    def pitch(self) -> float:
        """Distance of two masses [m]."""
        ...

    @property
    def material(self) -> str:
        """Name of the material."""
        ...

    def with_file(self, path: str) -> Self:
        """The same with the shape of a file, which is read now."""
        ...

    def about(self) -> str:
        """Size of the body in a few words."""
        ...


@runtime_checkable
class Paintable(Parameters, Protocol):
    """A scene whose body is painted in the browser, cell by cell.

    Its simulations carry what is painted on: `simulation.attachments["canvas"]`.
    """

    def canvas(self, *, device: str | wp.Device = "auto", threads: int | None = None) -> Any:
        """What is painted on, as it is at first."""
        ...


@runtime_checkable
class Own(Protocol):
    """A scene from a user's own file.

    Attributes:
        own_file: The file as a command takes it, without its folder: FILE.py or FILE.py:NAME.
    """

    own_file: ClassVar[str]
