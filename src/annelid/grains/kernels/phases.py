"""What a step of grains does, in which order: phases, which a team of CPU threads and the launches on CUDA both follow.

A phase does one thing with each row, each point or each body, of which none waits for another. Phases that sweep over
contacts come in the order rows, points, bodies: rows and points read how bodies move, and bodies sum what both found.
`team` has a team go through phases, `program` makes kernels of them and `launches` launches these. A new phase is a
function and a line here.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.bodies import point_contacts
from annelid.grains.kernels.commands import mat43
from annelid.grains.kernels.converge import (
    BEGINS,
    as_expected,
    close_step,
    goes_on,
    judge,
    note_beginning,
    world_of_point,
)
from annelid.grains.kernels.hertz import hertz_bodies, hertz_pairs
from annelid.grains.kernels.layout import (
    ALL,
    CHANGES,
    DONE,
    HALTED,
    Bodies,
    Features,
    Grains,
    Lists,
    Moment,
    Parameters,
    world_of,
)
from annelid.grains.kernels.maxima import highest
from annelid.grains.kernels.motion import finish, foresee
from annelid.grains.kernels.pairs import pair_impulses
from annelid.grains.kernels.paper import paper_pairs
from annelid.grains.kernels.rigid_motion import foresee_body, move_told_body
from annelid.grains.kernels.sums import ContactSum, added
from annelid.grains.kernels.touch import body_impulses

wp.set_module_options({"enable_backward": False})

ROWS, POINTS, BODIES = "rows", "points", "bodies"


@dataclass(frozen=True)
class Phase:
    """What a step does with all rows, points or bodies, before it goes on.

    Attributes:
        over: Which of them.
        act: What is done with one. Of rows `(i, lane, lanes, moment, parameters, grains, lists, bodies, grains_out)`,
            of points `(p, moment, parameters, lists, bodies)`, of bodies `(b, moment, told, sums, parameters, lists,
            bodies)`, see `commands.given_to` and `bodies.body_total`.
        takes: A function `(world, moment, parameters, lists) -> bool`: whether a world takes part.
        sweeps: Whether it improves impulses of rows, or has bodies sum them; else they are as the last sweep left them.
        hands_on: Whether it brings rows to another buffer, so that those of steps that are skipped are copied (CUDA).
        note: What threads that have rows do besides, `(thread, moment, parameters, lists)` (CUDA).
    """

    over: str
    act: wp.Function
    takes: wp.Function
    sweeps: bool = True
    hands_on: bool = False
    note: wp.Function | None = None


@dataclass(frozen=True)
class Step:
    """The phases of a step.

    Attributes:
        begin: Those of its first sweep.
        follow: Those of each sweep after that.
        end: Those after the last sweep.
    """

    begin: tuple[Phase, ...]
    follow: tuple[Phase, ...]
    end: tuple[Phase, ...] = ()

    @property
    def all(self) -> tuple[Phase, ...]:
        """Each of them once."""
        return tuple(dict.fromkeys((*self.begin, *self.follow, *self.end)))


@once
def step_of(features: Features, *, rows: int = ALL, lazy: bool = False) -> Step:
    """The phases of a step, for some rows.

    Where it is `lazy`, the first sweep of steps that converge leaves open what rows bring to the second: most steps
    have none.
    """
    if not features.converging:
        sweep = _present(
            features,
            Phase(ROWS, _sweep(features, rows), _all_worlds, hands_on=True, note=_note_sweep(features)),
            Phase(POINTS, _press(features), _all_worlds),
            Phase(BODIES, _follow_or_move(features), _all_worlds),
        )
        return Step(sweep, sweep)
    points, bodies = Phase(POINTS, _press(features), goes_on), Phase(BODIES, _expect(features), goes_on)
    plain, blended = (_solving_sweep(features, rows, blended=later, lazy=lazy) for later in (False, True))
    first = Phase(ROWS, plain, goes_on, hands_on=True, note=note_beginning)
    complete = Phase(ROWS, _complete(features), _all_worlds, sweeps=False, hands_on=True, note=_note_end)
    move = Phase(BODIES, _follow_or_move(features), _all_worlds, sweeps=False)
    return Step(
        _present(features, first, points, bodies),
        _present(features, Phase(ROWS, blended, goes_on), points, bodies),
        _present(features, complete, move),
    )


def _present(features: Features, *phases: Phase) -> tuple[Phase, ...]:
    """Those of some phases that a model has something for."""
    there = {ROWS: True, POINTS: features.points, BODIES: features.tracked}
    return tuple(phase for phase in phases if there[phase.over])


@wp.func
def _all_worlds(world: int, moment: Moment, parameters: Parameters, lists: Lists) -> bool:
    return True


# --- rows ---


@once
def grain_impulses(features: Features, *, blended: bool = False, rows: int = ALL) -> wp.Function:
    """A function `(i, lane, lanes, sweeps, final, ...) -> ContactSum`: all contacts of a grain, by the method.

    Of blended sweeps, see `kernels.converge`, none is final, and that number says which one it is.
    """
    with_bodies, paper = bool(features.kinds) and features.method != "paper", features.method == "paper"
    if features.method == "nonsmooth":
        pairs = pair_impulses(features, blended=blended, rows=rows)
        touch = body_impulses(features, blended=blended) if with_bodies else None
    else:
        pairs = (hertz_pairs if features.method == "hertz" else paper_pairs)(features)
        touch = hertz_bodies(features) if with_bodies else None

    @wp.func
    def impulses(
        i: int, lane: int, lanes: int, sweeps: int, final: int, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies,
    ) -> ContactSum:  # fmt: skip
        total = ContactSum()
        if wp.static(paper):
            if lane == 0:
                total = pairs(i, sweeps, parameters, grains, lists, bodies)
        else:
            total = pairs(i, lane, lanes, final, parameters, grains, lists)
        if wp.static(with_bodies):
            if lane == 0 and lists.counts[i][1] > 0:
                total = added(total, touch(i, final, parameters, grains, lists, bodies))
        return total

    return impulses


@once
def _sweep(features: Features, rows: int) -> wp.Function:
    """One of a number of sweeps over the contacts of a grain; the last one moves it."""
    impulses, complete, look_ahead = grain_impulses(features, rows=rows), finish(features), foresee(features)
    tolerant = features.tolerant

    @wp.func
    def act(
        i: int, lane: int, lanes: int, moment: Moment, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        total = impulses(i, lane, lanes, moment.most, moment.final, parameters, grains, lists, bodies)
        if lane == 0:
            if wp.static(tolerant):
                highest(lists.reach, wp.static(CHANGES) + moment.turn % 3, total.angular[3])
            if moment.final == 1:
                complete(i, moment.step, total, parameters, grains, lists, grains_out)
            else:
                look_ahead(i, total, parameters, grains, grains_out)

    return act


@once
def _solving_sweep(features: Features, rows: int, *, blended: bool, lazy: bool) -> wp.Function:
    """A sweep over the contacts of a grain in a step that converges, the plain or another one."""
    impulses = grain_impulses(features, blended=blended, rows=rows)
    look_ahead, world, waits = foresee(features), world_of(features), lazy and not blended

    @wp.func
    def act(
        i: int, lane: int, lanes: int, moment: Moment, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        final = int(1)
        if wp.static(blended):
            final = moment.sweep
        total = impulses(i, lane, lanes, 1, final, parameters, grains, lists, bodies)
        if lane == 0:
            judge(world(i, grains), total.angular[3], moment, parameters, lists)
            lists.totals[i] = total
            if wp.static(not waits):
                look_ahead(i, as_expected(total), parameters, grains, grains_out)

    return act


@once
def _complete(features: Features) -> wp.Function:
    """Move a grain by what the last sweep has found."""
    complete = finish(features)

    @wp.func
    def act(
        i: int, lane: int, lanes: int, moment: Moment, parameters: Parameters, grains: Grains, lists: Lists,
        bodies: Bodies, grains_out: Grains,
    ):  # fmt: skip
        complete(i, moment.step, lists.totals[i], parameters, grains, lists, grains_out)

    return act


@once
def _note_sweep(features: Features) -> wp.Function:
    """Note which step is taken, and make room for the largest change in the next sweep."""
    tolerant = features.tolerant

    @wp.func
    def note(thread: int, moment: Moment, parameters: Parameters, lists: Lists):
        if thread == 0:
            if wp.static(tolerant):
                lists.reach[wp.static(CHANGES) + (moment.turn + 1) % 3] = 0.0
            if lists.flags[wp.static(HALTED)] == 0:
                lists.flags[wp.static(DONE)] = moment.step + 1

    return note


@wp.func
def _note_end(thread: int, moment: Moment, parameters: Parameters, lists: Lists):
    """Note how well worlds were solved, and ask for no sweeps of the next step."""
    if lists.flags[wp.static(HALTED)] == 0:
        if thread == 0:
            lists.pair[0] = 0
        for pair in range(thread, lists.asked.shape[0], parameters.count):
            lists.asked[pair] = 0
        for w in range(thread, parameters.worlds, parameters.count):
            close_step(w, moment.most, parameters, lists)


# --- points and bodies ---


@once
def _press(features: Features) -> Any:
    """Improve the impulses on a point by other bodies."""
    press, converging = point_contacts(features) if features.points else None, features.converging
    if press is None:
        return _all_worlds

    @wp.func
    def act(p: int, moment: Moment, parameters: Parameters, lists: Lists, bodies: Bodies):
        if wp.static(converging):
            change = press(p, wp.where(moment.sweep == wp.static(BEGINS), 1, 0), parameters, lists, bodies)
            judge(world_of_point(p, bodies), change, moment, parameters, lists)
        else:
            press(p, moment.final, parameters, lists, bodies)

    return act


@once
def _follow_or_move(features: Features) -> wp.Function:
    """Move a body by a step after the last sweep, or predict what it would do before that."""
    expect, move = foresee_body(features), move_told_body(features)

    @wp.func
    def act(
        b: int, moment: Moment, told: mat43, sums: ContactSum, parameters: Parameters, lists: Lists, bodies: Bodies
    ):  # fmt: skip
        if moment.final == 1:
            move(b, moment.step, told, sums, parameters, lists, bodies)
        else:
            expect(b, moment.step, sums, parameters, lists, bodies)

    return act


@once
def _expect(features: Features) -> wp.Function:
    """Predict what a body would do after a sweep of a step that converges."""
    expect = foresee_body(features)

    @wp.func
    def act(
        b: int, moment: Moment, told: mat43, sums: ContactSum, parameters: Parameters, lists: Lists, bodies: Bodies
    ):  # fmt: skip
        expect(b, moment.step, as_expected(sums), parameters, lists, bodies)

    return act
