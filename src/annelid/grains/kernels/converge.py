"""Steps that are solved: sweeps over all contacts go on until none changes a velocity any more.

A plain sweep carries a blow from a grain to its neighbours, so that one sweep a step lets a heavy body sink while the
bed learns of it. Such sweeps contract by rates between a/(a + 1) and 1, with a set by the softness of contacts; those
that know this range converge in the root of the sweeps that plain ones take (Chebyshev's semi-iteration). With F(l) a
plain sweep from impulses l, and P the clip to what pushes and rubs,

    l[k+1] = P(l[k-1] + w[k] (l[k] + over (F(l[k]) - l[k]) - l[k-1])),    w[1] = 1, w[2] = 1 / (1 - s/2),
                                                                         w[k+1] = 1 / (1 - s w[k] / 4).

A step begins with a plain sweep, as if it were the only one; where that changes no velocity by more than the tolerance
it is, so that a bed at rest costs one sweep. Worlds are solved by themselves: one that is done waits for the others.
"""

import warp as wp

from annelid.grains.kernels.layout import DONE, HALTED, RESIDUAL, Bodies, Lists, Moment, Parameters
from annelid.grains.kernels.maxima import highest, largest
from annelid.grains.kernels.simd4 import with_last
from annelid.grains.kernels.sums import ContactSum

wp.set_module_options({"enable_backward": False})


BEGINS = -1
"""Number of the plain sweep that a step begins with; those that may follow it in pairs are counted from 0."""


def sweep_weights(spread: float, most: int) -> list[float]:
    """Weights of the sweeps after the first, of which there are so many with it at most."""
    weights = [1.0]
    while len(weights) < most - 1:
        last = 2.0 if len(weights) == 1 else weights[-1]
        weights.append(1.0 / (1.0 - 0.25 * spread * last))
    return weights


@wp.func
def goes_on(world: int, moment: Moment, parameters: Parameters, lists: Lists) -> bool:
    """Whether a world takes part in a sweep; it does in both of a pair or in neither.

    No pair that was left out has changed anything, so that none follows it.
    """
    needed = bool(True)
    if moment.sweep >= 0:
        needed = lists.changes[moment.sweep // 2 * parameters.worlds + world] > parameters.tolerance
    return needed


@wp.func
def close_step(world: int, most: int, parameters: Parameters, lists: Lists):
    """Note how well a world was solved and in how many sweeps, and make room for the next step."""
    change = lists.changes[world]
    sweeps = int(1)
    for pair in range((most - 1) // 2):
        place = (pair + 1) * parameters.worlds + world
        if lists.changes[place - parameters.worlds] > parameters.tolerance:
            change = lists.changes[place]
            sweeps += 2
        lists.changes[place - parameters.worlds] = 0.0
    lists.changes[(most - 1) // 2 * parameters.worlds + world] = 0.0
    highest(lists.reach, wp.static(RESIDUAL), change)
    largest(lists.active, 1, sweeps)


@wp.func
def as_expected(total: ContactSum) -> ContactSum:
    """The sums with what is expected in place of what was: sweeps that follow the first one go on from there."""
    out = ContactSum()
    out.impulse = with_last(total.predicted, total.impulse[3])
    out.angular = with_last(total.predicted_angular, total.angular[3])
    out.predicted = total.predicted
    out.predicted_angular = total.predicted_angular
    return out


@wp.func
def judge(world: int, change: float, moment: Moment, parameters: Parameters, lists: Lists):
    """Note what a sweep changed in a world, and whether the next pair has to follow; of a pair the second is judged."""
    if moment.sweep % 2 != 0:
        pair = (moment.sweep + 1) // 2
        highest(lists.changes, pair * parameters.worlds + world, change)
        if change > parameters.tolerance:
            lists.asked[pair] = 1


@wp.func
def more_follow(moment: Moment, parameters: Parameters, lists: Lists) -> bool:
    """Whether some world takes part in the sweep after this one; there are no more than `moment.most`, in pairs."""
    after = Moment()
    after.sweep = moment.sweep + 1
    going = bool(False)
    if moment.sweep + 3 < moment.most or moment.sweep % 2 == 0:
        for w in range(parameters.worlds):
            if goes_on(w, after, parameters, lists):
                going = True
    return going


@wp.func
def note_beginning(thread: int, moment: Moment, parameters: Parameters, lists: Lists):
    """What one thread notes as a step begins (CUDA)."""
    if thread == 0 and lists.flags[wp.static(HALTED)] == 0:
        lists.flags[wp.static(DONE)] = moment.step + 1
        lists.reach[wp.static(RESIDUAL)] = 0.0
        lists.active[1] = 0


@wp.func
def world_of_point(p: int, bodies: Bodies) -> int:
    """World of the body that a point belongs to."""
    return bodies.forms[int(bodies.points[p][3])].world


@wp.func
def in_pair(number: int, lists: Lists) -> int:
    """Number of a sweep that is the first (0) or the second (1) of the pair that is taken now."""
    now = number
    if number >= 0:
        now = 2 * lists.pair[0] + number
    return now


@wp.kernel(module="unique", enable_backward=False)
def next_pair(most: int, lists: Lists):
    """Ask whether another pair of sweeps follows the one before."""
    pair = lists.pair[0] + 1
    lists.pair[0] = pair
    lists.asked[0] = 0
    if pair < (most - 1) // 2:
        lists.asked[0] = lists.asked[pair]
