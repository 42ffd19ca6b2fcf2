"""Worlds that differ take turns on one model: it becomes that of a world while this is stepped, and its own again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from annelid.core.variation import Variation
from annelid.fem.actuation.actuator import Drive
from annelid.fem.contact.contacts import Contacts
from annelid.fem.dynamics import Inertia
from annelid.fem.model import Model
from annelid.fem.parameters import Varied, alike, require_effect, varied_worlds


class Adjustment:
    """Makes a model that of a world.

    Arrays keep their places, so that nothing is compiled, recorded or ordered anew. The host is told eight numbers of
    the world when its turn comes, because it decides there when forces are small; nothing else leaves the device.

    Args:
        model: The model.
        drives: Actuators that act on it, in which liquids may have weight.
        inertia: Its inertia, if it is in motion.
        contacts: What it touches, if friction and masses of bodies may differ.
    """

    def __init__(
        self,
        model: Model,
        drives: Sequence[Drive] = (),
        inertia: Inertia | None = None,
        contacts: Contacts | None = None,
    ) -> None:
        self._model, self._drives, self._inertia = model, tuple(drives), inertia
        self._contacts = contacts

    @contextmanager
    def of(self, variation: Variation) -> Iterator[None]:
        """While this lasts, the model has the parameters of one world."""
        (varied,) = varied_worlds(variation, 1, self._model.gravity)
        if varied == alike(self._model.gravity):
            yield
            return
        self._vary(varied)
        try:
            yield
        finally:
            self._vary(None)

    def require(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse values that would change nothing where something is expected to."""
        weightless = tuple(drive.actuator.name for drive in self._drives if drive.weightless)
        require_effect(ranges, velocity_damping=self._model.world.velocity_damping, weightless=weightless)

    def _vary(self, varied: Varied | None) -> None:
        self._model.vary(varied)
        if self._inertia is not None:
            self._inertia.vary(varied)
        for drive in self._drives:
            drive.vary(varied)
        if self._contacts is not None:
            self._contacts.vary(*((1.0, 1.0) if varied is None else (varied.friction, varied.body_mass)))
