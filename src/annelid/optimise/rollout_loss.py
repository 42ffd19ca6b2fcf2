"""A loss of a motion as descents take it: values and gradients of parameters by name, in one world or in many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.options import require_kind
from annelid.core.rollout import Loss, Rollout, as_loss, require_pair, require_values
from annelid.optimise.sensitivity import Sensitivity, sensitivity


class RolloutLoss:
    """The loss of a rollout as a function of parameters by name.

    Motions that diverge, and losses that are not finite, are infinite and have no gradient, world by world, so that a
    trial that goes too far does not end a search.

    Args:
        rollout: The motion. With several worlds, parameters have a leading axis of worlds, and so have losses and
            gradients.
        loss: What is lost, as `Rollout.gradient` takes it.
    """

    def __init__(self, rollout: Rollout, loss: Loss | wp.Function) -> None:
        require_kind("what a loss is of", rollout, Rollout, "a Rollout")
        self.rollout, self._loss = rollout, as_loss(loss)

    def __call__(self, parameters: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Losses, one number or one a world, and gradients in the shapes of the parameters."""
        found = self._looked(parameters)
        if found is None:
            return self._lost(), {name: np.zeros(np.shape(given)) for name, given in parameters.items()}
        losses, seeds, finite = found
        rates = self.rollout.backward(seeds)
        for values in rates.values():
            values[~np.isfinite(values)] = 0.0
        shaped = {name: np.reshape(rates[name], np.shape(given)) for name, given in parameters.items()}
        return np.where(finite, losses, np.inf), shaped

    def value(self, parameters: Mapping[str, Any]) -> np.ndarray:
        """Losses alone, one number or one a world."""
        found = self._looked(parameters)
        return self._lost() if found is None else np.where(found[2], found[0], np.inf)

    def sensitivity(self, parameters: Mapping[str, Any]) -> Sensitivity:
        """How the motion depends on its beginning; warns where that grows."""
        return sensitivity(self.rollout, {name: self._full(name, given) for name, given in parameters.items()})

    def _lost(self) -> np.ndarray:
        return np.full(self.rollout.worlds, np.inf) if self.rollout.worlds > 1 else np.array(np.inf)

    def _looked(self, parameters: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray] | None:
        """Losses, their rates by the track, and which are finite; None where nothing is left of the motion."""
        try:
            track = self.rollout.forward({name: self._full(name, given) for name, given in parameters.items()})
        except SimulationDiverged:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            value, rates = require_pair(self._loss(track))
        losses = require_values(value, self.rollout.worlds)
        if self.rollout.worlds == 1:
            losses = losses.reshape(())
        parts = rates if isinstance(rates, Mapping) else {"positions": rates}
        seeds = {name: np.array(track.full(name, _on_host(part))) for name, part in parts.items()}
        finite = np.isfinite(losses)
        for part in seeds.values():
            finite = finite & np.isfinite(part).all(axis=(0, 2, 3) if losses.ndim else None)
        for part in seeds.values():
            part[:, ~finite if losses.ndim else np.full(self.rollout.worlds, not finite)] = 0.0
        return losses, seeds, finite

    def _full(self, name: str, given: Any) -> np.ndarray:
        """A parameter with its axis of worlds in front of the axes that it leaves out."""
        values = np.asarray(given, float)
        worlds = self.rollout.worlds
        if worlds == 1:
            return values
        if values.ndim == 0 or values.shape[0] not in (1, worlds):
            raise InvalidValue(
                f"parameter {name!r} has shape {list(values.shape)}, and the rollout has {worlds} worlds: give it a "
                f"leading axis of {worlds}, or minimise with starts={worlds}."
            )
        missing = self.rollout.value(name).ndim - values.ndim
        return values.reshape((values.shape[0], *(1,) * missing, *values.shape[1:]))


def _on_host(part: Any) -> np.ndarray:
    return np.asarray(part.numpy() if isinstance(part, wp.array) else part, float)
