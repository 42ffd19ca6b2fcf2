"""What the bridges to PyTorch and JAX share: motions there and back in terms of arrays on the host, and loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annelid.core.described import Described
from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.core.rollout import Rollout
from annelid.core.track import PARTS, Track

Policy = Callable[[float, Any, Any], Any]
"""From the time [s], positions and velocities, shape [worlds, things, 3], to commands, shape [worlds, controls]."""


class Bridge(Described, ABC):
    """A rollout that another library differentiates.

    Args:
        rollout: The rollout; the bridge has it for itself.
    """

    def __init__(self, rollout: Rollout) -> None:
        require_kind("what a bridge leads to", rollout, Rollout, "a Rollout")
        self.rollout = rollout

    def facts(self) -> Mapping[str, str]:
        """Those of the rollout."""
        return self.rollout.facts()

    @abstractmethod
    def __call__(self, *, after: int = 0, **parameters: Any) -> tuple[Any, Any]:
        """Positions and velocities at the looks, each of shape [looks, worlds, things, 3].

        Args:
            after: Steps since the state of the simulation at which the motion begins; see `Rollout.forward`.
            parameters: Parameters of the rollout by name.
        """

    def steer(self, policy: Policy, intervals: int, **parameters: Any) -> tuple[Any, Any]:
        """A motion of several intervals, each as long as the rollout, before each of which a policy gives commands.

        Gradients go through the physics and through what the policy makes of what it sees.

        Args:
            policy: From the time [s] since the beginning, positions and velocities, each of shape [worlds, things, 3],
                to commands in the units of the channels, shape [worlds, controls] or [controls].
            intervals: Number of intervals.
            parameters: Other parameters of the rollout by name; positions and velocities are those of the beginning.

        Returns:
            Positions and velocities at all looks, each of shape [intervals · looks, worlds, things, 3].
        """
        rollout = self.rollout
        if "controls" in parameters:
            raise InvalidValue("the policy gives the controls: leave controls out of the parameters.")
        if isinstance(intervals, bool) or not isinstance(intervals, int | np.integer) or intervals < 1:
            raise InvalidValue(f"the intervals of a loop must be a whole number of 1 or more, not {intervals!r:.40}.")
        if rollout.plan.looks[-1] != rollout.steps:
            raise InvalidValue(
                f"the last look of a rollout in a loop must be its last step, {rollout.steps}, not "
                f"{int(rollout.plan.looks[-1])}: the next interval begins with what is seen there."
            )
        here = [parameters.pop(name, None) for name in PARTS]
        here = [self._begin(name) if given is None else given for name, given in zip(PARTS, here, strict=True)]
        seen: list[tuple[Any, Any]] = []
        for interval in range(intervals):
            after = interval * rollout.steps
            said = self._commands(policy(after * rollout.dt, *here))
            state = dict(zip(PARTS, here, strict=True))
            seen.append(self(after=after, controls=said, **state, **parameters))
            here = [part[-1] for part in seen[-1]]
        return self._joined([one for one, _ in seen]), self._joined([one for _, one in seen])

    def _commands(self, said: Any) -> Any:
        """What a policy said as a table of one interval."""
        worlds, _, controls = self.rollout.value("controls").shape
        said = np.asarray(said, float) if isinstance(said, list | tuple) else said
        shape = tuple(np.shape(said))
        if controls and shape not in ((worlds, controls), (controls,)):
            raise InvalidValue(
                f"the policy must return commands of shape [{worlds}, {controls}], worlds and controls, not "
                f"{list(shape)}."
            )
        return said[:, None] if len(shape) == 2 else said

    @abstractmethod
    def _begin(self, name: str) -> Any:
        """Positions or velocities of the simulation, shape [worlds, things, 3]."""

    @abstractmethod
    def _joined(self, parts: list[Any]) -> Any:
        """Arrays one after the other."""

    # --- there and back ---

    def _there(self, given: Mapping[str, Any], after: int) -> tuple[int, Track]:
        """Run the motion; its number and its track."""
        track = self.rollout.forward(given, after=after)
        return self.rollout.number, track

    def _back(
        self, number: int, given: Mapping[str, Any], after: int, seeds: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Rates by what the motion of a number was given; it is run again where another one has been run since."""
        if self.rollout.number != number:
            self.rollout.forward(given, after=after)
        return self.rollout.backward(seeds)
