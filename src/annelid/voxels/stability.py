"""Substeps with which voxels are stable, and what limits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.stability import Cause, StepReport
from annelid.voxels.kernels import layout as columns
from annelid.voxels.material import Voxel


def stable_substeps(material: Voxel, dt: float, *, quicker: float = 1.0, slower: float = 1.0) -> int:
    """Substeps that keep voxels of a material stable under any control.

    The highest frequency of a body stays under 1.78 times that of its springs; at that frequency and damping the
    longest stable substep is known, and a third is kept in hand for large deformation. Factors on the frequency and on
    the damping time make voxels `quicker` and `slower`.
    """
    fast = 1.78 * material.spin_rate * quicker
    ratio = 0.5 * material.damping_time(dt) * slower * fast
    longest = 2.0 * (np.sqrt(ratio**2 + 1.0) - ratio)
    count = 1.28 * dt * fast / longest
    if not count <= columns.MOST_SUBSTEPS:
        raise InvalidValue(
            f"a time step of {dt:.3g} s would take {count:.3g} substeps, more than {columns.MOST_SUBSTEPS}: take a "
            "shorter dt, such as 1/60 s."
        )
    return max(4, int(np.ceil(count)))


def explain_step(dt: float, given: int | None, usual: float, kinds: Sequence[Voxel]) -> StepReport:
    """What limits the substeps of voxels of these kinds.

    Args:
        dt: Time step [s].
        given: Substeps that were asked for.
        usual: Time step that is usual [s].
        kinds: The materials.
    """

    def substep(step: float, materials: Sequence[Voxel]) -> float:
        return step / max((stable_substeps(material, step) for material in materials), default=1)

    causes = []
    for number, material in enumerate(kinds):
        for name in ("frequency", "damping_ratio"):
            value = vars(material)[name]
            softer = [replace(one, **{name: 0.5 * value}) if one is material else one for one in kinds]
            causes.append(
                Cause(f"{name} {value:.3g} of material {number}", "", f"a lower {name}", substep(usual, softer))
            )
    auto = substep(usual, kinds)
    taken = dt / given if given else substep(dt, kinds)
    rule = f"a step of {dt:.3g} s is divided into {round(dt / taken)} substeps, as the stiffest voxels need, 4 at least"
    return StepReport.of(taken, auto, rule, causes)
