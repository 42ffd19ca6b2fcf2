"""Anderson's acceleration of iterations that an old factor leads.

Steps that an old factor finds fall off by about the same part from one to the next. How they did so on the last few
ways tells how the factor is off along these: the combination of the last steps that would have left the least is taken
as the next one (Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12, 1965; Walker and Ni 2011).
Vectors stay on the device; the host reads their products, once a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.fem.kernels.acceleration import KEPT, Shares, combine, dot_changes, note_difference, take_better
from annelid.fem.kernels.motion import largest, largest_of

_LONGEST = 3.0  # of the step that is made better: a longer one is not believed
_RIDGE = 1e-12  # of the mean square of differences, so that those that are nearly alike do no harm
_PARTS = 256  # of each sum


class Anderson:
    """Makes steps better by what became of those before.

    Args:
        count: Number of nodes.
        device: Where they are.

    Attributes:
        plain: The last step that was made better, as it was found [m], vec3d of shape [n].
    """

    def __init__(self, count: int, device: wp.Device) -> None:
        self._count, self._launcher = count, Launcher(device)
        self._last, self.plain, self._better = (wp.zeros(count, dtype=wp.vec3d, device=device) for _ in range(3))
        self._last_step = wp.zeros(count, dtype=wp.vec3d, device=device)
        self._ways, self._changes = (wp.zeros((KEPT, count), dtype=wp.vec3d, device=device) for _ in range(2))
        self._sums = wp.zeros((2, KEPT, _PARTS), dtype=wp.float64, device=device)
        self._sizes = wp.zeros(2, dtype=wp.float64, device=device)
        self._parts = wp.zeros(_PARTS, dtype=wp.float64, device=device)
        self._taken = wp.zeros(1, dtype=wp.int32, device=device)
        self._products = Mirror(self._sums)
        self._gram = np.zeros((KEPT, KEPT))
        self.forget()

    def forget(self) -> None:
        """Know of no steps, because others will follow."""
        self._seen = 0

    @property
    def taken(self) -> bool:
        """Whether the last step that was to be made better is another one now; waits for the device."""
        return bool(self._taken.numpy()[0])

    def improve(self, here: wp.array[Any], step: wp.array[Any]) -> bool:
        """Make a step that was found here better, in place, both [m], vec3d of shape [n]; False where none can be."""
        slot, self._seen = (self._seen - 1) % KEPT, self._seen + 1
        known = [here, step, self._last, self._last_step, self._ways, self._changes]
        self._launcher.launch(note_difference, self._count, [slot, *known])
        used = min(self._seen - 1, KEPT)
        if not used:  # the first one had none before it
            return False
        self._launcher.launch(dot_changes, (KEPT, _PARTS), [slot, step, self._changes, self._sums])
        own, along = self._products.read().sum(axis=2)
        self._gram[slot, :used] = self._gram[:used, slot] = own[:used]
        gram = self._gram[:used, :used]
        ridge = _RIDGE * np.trace(gram) / used * np.eye(used)
        shares = Shares(*np.pad(np.linalg.solve(gram + ridge, along[:used]), (0, KEPT - used)).tolist())
        self._launcher.launch(combine, self._count, [used, shares, step, self._ways, self._changes, self._better])
        for place, vectors in enumerate((self._better, step)):
            self._launcher.launch(largest, _PARTS, [self._count, vectors, self._parts])
            self._launcher.launch(largest_of, 1, [place, self._parts, self._sizes])
        moved = [self._sizes, self._better, step, self.plain, self._taken]
        self._launcher.launch(take_better, self._count, [wp.float64(_LONGEST), *moved])
        return True
