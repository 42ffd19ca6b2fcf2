"""Inverse control: which efforts bring the effectors of a soft robot to their targets, step by step.

A pass condenses the robot where it stands, chooses a change of efforts within all limits by a small quadratic program,
and moves the robot accordingly (Rodríguez et al., sec. II). The efforts are solved for as increments; what the
linearisation left out of balance is corrected at once with the stiffness at hand, so that the robot is where its
efforts hold it. A pass that would lead nowhere is shortened.

A step takes as many passes as it needs: chambers without hoops act with the square of the pressure, so that what one
linearisation foresees need not come true. It ends where the targets are near, or as near as was foreseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.described import Described
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_whole
from annelid.core.options import require_kind, spelled_out
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.state import new_state, overwrite
from annelid.fem.linalg.unknowns import NotPositiveDefinite
from annelid.fem.newton import NoEquilibrium, Settings
from annelid.fem.robots.active import active_limits, in_words
from annelid.fem.robots.balancer import Balancer
from annelid.fem.robots.choice import Choice, Chooser, Situation
from annelid.fem.robots.condense import Condenser
from annelid.fem.robots.elsewhere import go_elsewhere
from annelid.fem.robots.forward import Forward, Posture
from annelid.fem.robots.led import CHEAP
from annelid.fem.robots.memory import ControlMemory
from annelid.fem.robots.passes import PASSES, Found, foreseen, missed, near_enough, stands, within_reach
from annelid.fem.robots.pushing import Pushing
from annelid.fem.robots.qp import NoSolution, require_optimiser
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.steps import REACHED, Step
from annelid.fem.robots.touching import TouchingRobot

_SMALLEST_SHARE = 1 / 64
_DOUBT, _DOUBTED = 5e-4, 3.5e-5  # of the size, and [m]: error of what old stiffnesses foresee, the smaller of them
_LEAST_DOUBT = 1.5e-4  # of the size, but not less than this
_LARGE = 1500  # nodes
_LATER, _SOONER = 5, 4  # steps for which a stiffness serves, and those for which it does where it had to be mended
_BRIEF = 1e-3  # of the size: a step so short that nothing needs to be corrected
_CLOSE = 7e-5  # of the size: a correction after which an old stiffness leaves nothing that matters
_CLOSE_IF_BRIEF = 1.5e-4  # the same after a brief step, since the next one balances what is left before it adds its own
_CORRECTIONS = 12  # at most, of a large robot
_ASTRAY, _ASTRAY_IF_FAR = 2.0, 0.75  # of a move: a correction as large as that leads nowhere
_LEADS_ON, _GROWN = 0.5, 2.0  # of the correction before the last, and of the last: a larger one leads nowhere soon
_NEARLY = 3.0  # of `settled`: after a correction so small another one takes less than Newton's method
_FAR = 1e-2  # of the size: a move so long that it is made in parts where corrections lead nowhere
_STILL_ENOUGH = 0.3  # of `settled`: a step of Newton's method that is the last one
_MARGIN = 2.0  # of a correction: most that those after it move an effector
_SHORT = 2e-2  # of the size: most that is asked of old sensitivities in one pass
_STILL = 1e-6  # of the size: a step that leads no nearer to its targets than this is not taken
_PATIENCE = 3  # passes that all lead farther, after which no other follows unless they come back
_COMING = 0.7  # of the distance after the pass before: they do
_UNHURRIED = (
    10.0  # of `energy`: weight of the work of changes of efforts, so that those that reach the same change slowly
)
_STANDING = 1e-3  # the same where contacts open and close with them [-]
_ITERATIONS = 40  # at most, where contacts or held actuators find their own forces: a robot may slide off a ball


@documented
@dataclass(frozen=True)
class InverseSettings(Checked):
    """How inverse control works."""

    of_what: ClassVar[str] = "inverse control"

    dt: float = parameter(1.0 / 60.0, "Time that a step stands for [s], for limits on rates.", unit="s", above=0.0)
    energy: float = parameter(
        1e-6,
        "Weight of the work of the actuators against the distance of the effectors [-]: chooses among efforts "
        "that reach the same, to which they go over some ten steps.",
        above=0.0,
    )
    reach: float = parameter(
        0.1, "Farthest that effectors are asked to go in one step, as a part of the robot's size.", above=0.0
    )
    corrections: int = parameter(4, "Most corrections after a step.", least=0)
    settled: float = parameter(
        1e-4, "A correction that moves no node farther is the last one, as a part of the robot's size.", above=0.0
    )
    refresh: int | None = parameter(
        None,
        "Steps for which a stiffness and what was found with it serve, while new ones are made in the background; "
        "None chooses 1, or for more than 1,500 nodes on the CPU 5, and 4 where they had to be mended.",
        least=1,
    )


@dataclass(frozen=True, eq=False)
class _Aim:
    """What a pass is to do.

    Attributes:
        goals: Where the sums of the effectors are to be [m].
        enough: Distance from there at which no further pass follows [m].
        share: Part of a change that is tried first.
        last: Whether no further pass follows in any case.
        thoroughly: Whether Newton's method balances it, with a stiffness of its own in every iteration.
    """

    goals: np.ndarray
    enough: float
    share: float
    last: bool
    thoroughly: bool = False


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a pass does.

    Attributes:
        pairs: Obstacle and outer node of each contact that takes part, shape [c, 2].
        choice: How efforts change.
        foreseen: Weighted distance of all effectors from their goals that this leads to, to first order [m].
    """

    pairs: np.ndarray
    choice: Choice
    foreseen: float


Sink = Callable[[Step], None]
"""What takes the steps of a control: a stream to a file, a pump."""


class Inverse(Described):
    """Controls a robot.

    Args:
        robot: The robot; it is brought to rest, and moved by every step.
        settings: How.
        sinks: Called with every step, such as streams to files, or what drives a pump.
        settle: Whether the robot is brought to rest first; else it must be near an equilibrium.
    """

    @spelled_out("inverse control", **{"fem.InverseSettings, as settings=": InverseSettings})
    def __init__(
        self,
        robot: Robot,
        settings: InverseSettings | None = None,
        *,
        sinks: Iterable[Sink] = (),
        settle: bool = True,
    ) -> None:
        require_kind("what is controlled", robot, Robot, "a fem.Robot")
        if not robot.effectors.effectors:
            raise InvalidValue("the robot has no effector, so there is nothing to bring to a target; give it one.")
        if not robot.drives:
            raise InvalidValue("the robot has no actuator, so there is nothing to move it with; give it one.")
        require_optimiser()
        require_kind("settings", settings, (InverseSettings, NoneType), "fem.InverseSettings or None")
        self.robot, self.settings = robot, settings or InverseSettings()
        self.sinks = _callable(sinks)
        touching = None if robot.touched is None else TouchingRobot(robot)
        self.condenser = Condenser(
            robot, refresh=self._refresh(), sooner=self.settings.refresh or _SOONER,
            linear=None if touching is None else touching.linear, accelerated=self._large,
        )  # fmt: skip
        self.forward = Forward(robot, condenser=self.condenser, touching=touching)
        iterations, still = 25 if self.condenser.lagged else 15, _STILL_ENOUGH * self.settings.settled
        balance = Settings(tolerance=1e-5, iterations=iterations, still=still)
        self._balancer = Balancer(robot.model, balance)
        self._balancer.linear = self.condenser.led()
        standing = _UNHURRIED * self.settings.energy if touching is None else _STANDING
        self.chooser = Chooser(robot, self.settings.energy, standing=standing)
        reach = self.settings.reach * robot.size
        self._pushing = None if touching is None else Pushing(touching, self.condenser, self.chooser, reach=reach)
        self._slack = self._tolerated()
        self._begun: tuple[np.ndarray, np.ndarray] | None = None
        self._snapped = False  # whether Newton's method has moved the robot in the pass at hand
        self.number = 0
        if settle:
            self.forward.settle()
        if self._pushing is None:
            self._rehearse()

    def facts(self) -> Mapping[str, str]:
        """The robot."""
        return {"of": repr(self.robot)}

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("fem.Inverse cannot be copied or pickled: copy the robot, or clone a fem.inverse_simulation.")

    def _rehearse(self) -> None:
        """Let the first step find kernels loaded, graphs captured and a factor made; the robot stays where it is."""
        stood = Posture.of(self.robot)
        with suppress(NotPositiveDefinite):  # the first step tells
            self.condenser.rehearse()
        stood.restore(self.robot)

    def step(self, targets: Mapping[str, Any] | Any) -> Step:
        """Go towards the targets once.

        Args:
            targets: Target of each effector by name, or that of the only one.

        Raises:
            NoSolution: Limits exclude every solution; it says which.
            NoEquilibrium: No part of the step leads to an equilibrium. In either case the robot stays where it was.
        """
        return self.step_to(self.robot.effectors.goals(targets))

    def step_to(self, goals: np.ndarray) -> Step:
        """Go once towards where the sums of the effectors are to be [m], shape [p, 3]; see `step`."""
        before = Posture.of(self.robot)
        try:
            found = self._nearer(goals, before) if self._pushing is None else self._push(self._pushing, goals)
        except BaseException:
            before.restore(self.robot)
            raise
        result = self._result(goals, found)
        self.number += 1
        for sink in self.sinks:
            sink(result)
        return result

    def reach(self, targets: Mapping[str, Any] | Any, *, iterations: int = 50) -> Step:
        """Take steps towards fixed targets until they are reached or the robot comes no nearer; the last step.

        Where efforts at their limits are in the way, larger changes of them are tried once: a robot may first respond
        the other way round.
        """
        if not is_whole(iterations, 1):
            raise InvalidValue(f"iterations = {iterations!r:.60} cannot be used; give a whole number of 1 or more.")
        result = self._steps_towards(targets, iterations)
        lonely = self._pushing is None and not self.robot.constrained
        if result.reached or not result.active or not lonely:
            return result
        if not go_elsewhere(self.forward, self.robot.effectors.goals(targets)):
            return result
        self.condenser.outdate()
        return self._steps_towards(targets, iterations)

    def _steps_towards(self, targets: Mapping[str, Any] | Any, iterations: int) -> Step:
        best = np.inf
        waited = 0
        for _ in range(iterations):
            result = self.step(targets)
            waited = waited + 1 if result.distance > 0.999 * best else 0
            best = min(best, result.distance)
            if result.distance < 0.01 * REACHED or (waited > 2 and result.moved < 1e-5 * self.robot.size):
                break
        return result

    def follow(self, trajectory: Iterable[Mapping[str, Any] | Any]) -> Iterator[Step]:
        """A step for each target of a trajectory."""
        if isinstance(trajectory, str) or not isinstance(trajectory, Iterable):
            raise InvalidValue(
                "a trajectory must be a list of targets, such as path.steps(3e-4) of a fem.Path, not "
                f"{trajectory!r:.60}."
            )
        return (self.step(targets) for targets in trajectory)

    # --- what states hold ---

    def memory(self) -> ControlMemory:
        """What the control carries from one step to the next, before the first."""
        counts = {"chooser": 1, "dual": 0}
        return new_state(ControlMemory, counts, self.robot.device, stiffness=self.condenser.memory())

    def remember(self, memory: ControlMemory) -> None:
        """Write what the control carries to the next step into a memory."""
        overwrite(memory.damping, [self.chooser.damping])
        if len(memory.duals) == len(self.chooser.duals):
            overwrite(memory.duals, self.chooser.duals)
        else:
            memory.duals = wp.array(self.chooser.duals, dtype=wp.float64, device=self.robot.device)
        self.condenser.remember(memory.stiffness)

    def recall(self, memory: ControlMemory) -> None:
        """Go on as the control did that wrote this memory."""
        self.chooser.damping, self.chooser.duals = float(memory.damping.numpy()[0]), memory.duals.numpy().copy()
        self.condenser.recall(memory.stiffness)

    # --- how it is set up ---

    def _tolerated(self) -> float:
        """How far beyond what was foreseen a pass may lead before another one follows [m].

        Old stiffnesses foresee less well, and weights that columns find are those of the step before.
        """
        size = self.robot.size
        if self.condenser.lagged:
            return max(min(_DOUBT * size, _DOUBTED), _LEAST_DOUBT * size)
        return (1e-4 if any(drive.columns == 2 for drive in self.robot.drives) else 1e-5) * size

    def _refresh(self) -> int:
        """Contacts and held actuators need a stiffness of their own in every iteration."""
        robot, wanted = self.robot, self.settings.refresh
        if robot.device.is_cuda or robot.constrained or robot.touched is not None:
            return 1
        return wanted if wanted is not None else (_LATER if self._large else 1)

    @property
    def _large(self) -> bool:
        """Whether a factor takes much longer than a correction with it."""
        return self.robot.model.node_count > _LARGE

    @property
    def _patient(self) -> bool:
        """Whether corrections go on while they lead somewhere, before the robot is balanced by Newton's method."""
        return self.condenser.lagged or (self._large and not self.robot.constrained)

    @property
    def _doubtful(self) -> bool:
        """Whether the responses at hand are old."""
        return self.condenser.lagged and not self.condenser.refined

    # --- one step ---

    def _nearer(self, goals: np.ndarray, before: Posture) -> Found:
        """Pass by pass, until the targets are near or as near as was foreseen; the robot stays at the best place.

        That may be where it stood: a robot that comes no nearer to what it cannot reach does not change its efforts.
        """
        self._begun = None
        first, here, best = missed(self.robot, goals), before, None
        enough, share = near_enough(self.robot), 1.0
        may_stay, there = False, first
        for number in range(PASSES):
            aim = _Aim(goals, enough, share, last=number + 1 == PASSES)
            try:
                found = self._first(aim, here) if number == 0 else self._go(aim, here, again=True)
            except (NoEquilibrium, NoSolution, NotPositiveDefinite):
                if best is None:
                    raise
                break
            if number == 0:
                may_stay = stands(self.robot, self._condensed, before, self._slack)
            before_this, there, share = there, found.missed, found.share
            farther = there > (first if best is None else best.missed) + self._slack
            if best is None or there < best.missed:
                best = found
            far = self.condenser.lagged and found.moved > _SHORT * self.robot.size  # foreseen from elsewhere
            worse = may_stay and best.missed > first + _STILL * self.robot.size
            astray = worse and there > _COMING * before_this
            if there <= enough or (share == 1.0 and not far and not worse and there <= found.foreseen + self._slack):
                self.chooser.relax()
                break
            if astray and number + 1 >= _PATIENCE:
                break
            if farther or astray:  # a change that is best to first order may be too large to be true
                self.chooser.damp()
            here, share = found.posture, min(4.0 * share, 1.0)
        assert best is not None
        if may_stay and best.missed > max(first - _STILL * self.robot.size, enough):
            self.chooser.rest()
            best = replace(best, missed=first, posture=before, moved=0.0)
        if best is not found:
            best.posture.restore(self.robot)
        return replace(best, passes=number + 1)

    def _look_again(self) -> None:
        """See how the robot responds where it stands now. Where it would snap from there, it does so first."""
        if not self._patient:
            self.condenser.look_again()
            return
        try:
            self.condenser.look_again(shifted=False)
        except NotPositiveDefinite:
            self._newton()
            self.condenser.begin_again()

    def _push(self, pushing: Pushing, goals: np.ndarray) -> Found:
        """The same for a robot that touches with friction."""
        self.robot.time = self.number * self.settings.dt
        return pushing.nearer(goals, self.settings.dt)

    def _first(self, aim: _Aim, before: Posture) -> Found:
        """The first pass; a robot that was far from balance, as after a change of its parameters, is balanced first."""
        try:
            return self._go(aim, before, again=False)
        except (NoEquilibrium, NotPositiveDefinite):
            if not self.condenser.lagged:
                raise
        before.restore(self.robot)
        self.forward.settle()
        self.condenser.outdate()
        return self._go(aim, Posture.of(self.robot), again=False)

    def _go(self, aim: _Aim, before: Posture, *, again: bool) -> Found:
        """Choose and move; more contacts are watched, or the pass is shortened, until it leads to an equilibrium.

        Args:
            aim: Where to, and how far at most.
            before: Where the robot stands.
            again: Whether it has moved in this step already.
        """
        self.forward.forget()
        share, look, plan = aim.share, self._look_again if again else self.condenser.assemble, None
        thoroughly = self._snapped = False
        while share >= _SMALLEST_SHARE:
            if plan is None:
                plan = self._planned(look, aim.goals)
                before = Posture.of(self.robot) if self._snapped else before
            enough = max(aim.enough, plan.foreseen + self._slack)
            moved, balanced = self._move(plan, share, replace(aim, enough=enough, thoroughly=thoroughly))
            if balanced and not self.forward.penetrating(plan.pairs):
                there, posture = missed(self.robot, aim.goals), Posture.of(self.robot)
                return Found(there, plan.foreseen, posture, plan.choice, plan.pairs, share, moved)
            before.restore(self.robot)
            if not self._patient:
                plan, share = None, share * (1.0 if balanced else 0.5)
            elif self._doubtful and not self.condenser.of_now:
                # old responses ask for too much; those of now may ask for what can be done
                plan, look = None, self._look_again
            elif share == 1.0 and not again and moved > _FAR * self.robot.size:  # too far to be foreseen
                share = 0.25
            elif not thoroughly:  # parts of it may snap
                thoroughly = True
            else:
                share, plan, look, thoroughly = 0.25 * share, None, self.condenser.begin_again, False
        raise NoEquilibrium(
            "no part of the step leads to an equilibrium: the robot would collapse; it stays in the last one; "
            "lower the limits of its actuators, or move the target away.",
            fraction=0.0,
            residual=float("nan"),
        )

    def _planned(self, look: Callable[[], None], goals: np.ndarray) -> _Plan:
        """What to do where the robot stands, after a look at how it responds there."""
        look()
        pairs = self.forward.touching()
        choice = self._choose(pairs, goals)
        return _Plan(pairs, choice, foreseen(self.robot, self._condensed, goals, choice.change))

    def _choose(self, pairs: np.ndarray, goals: np.ndarray) -> Choice:
        condensed = self._condensed = self.condenser.condense(pairs)
        most = (min(self.settings.reach, _SHORT) if self._doubtful else self.settings.reach) * self.robot.size
        nearer = within_reach(condensed.places, goals, self.robot, most)
        if self._begun is None:
            self._begun = self.robot.efforts.copy(), condensed.strokes.copy()
        situation = Situation(self.robot, condensed, self.forward.forces(pairs), self.settings.dt, self._begun)
        return self.chooser.choose(situation, nearer)

    def _move(self, plan: _Plan, share: float, aim: _Aim) -> tuple[float, bool]:
        """Move by a part of what is planned and balance the forces; the largest move [m], and whether they balance."""
        robot, change = self.robot, plan.choice.change
        moved = self.condenser.apply(change, share)
        if not np.isfinite(moved) or moved > 4.0 * self.settings.reach * robot.size:
            return moved, False
        self.forward.take(plan.pairs, share * change, clip=True)
        balanced = self._balance_constrained(moved) if self.robot.constrained else self._balance(moved, aim)
        return moved, balanced

    def _balance(self, moved: float, aim: _Aim) -> bool:
        """Correct with the stiffness at hand while that helps, else by Newton's method.

        The step that follows a short one balances what is left.
        """
        brief = moved < _BRIEF * self.robot.size
        if aim.thoroughly:
            return self._newton()
        if self.condenser.lagged:
            least, close = (1, _CLOSE_IF_BRIEF) if brief else (2, _CLOSE)
            return self._balance_roughly(aim, self._astray(moved), least=least, close=close)
        settled, last = self.settings.settled * self.robot.size, moved
        if brief:
            return True
        if self._patient:
            return self._balance_freshly(aim, moved)
        for _ in range(self.settings.corrections):
            if last < settled:
                return True
            left = self.condenser.correct()
            if not left < 0.5 * last:
                return self._newton()
            self.condenser.accept_correction()
            last = left
        return last < settled or self._newton()

    def _astray(self, moved: float) -> float:
        """A correction that leads nowhere after a move, rather than to a balance [m]."""
        far, brief = _FAR * self.robot.size, _BRIEF * self.robot.size
        return _ASTRAY_IF_FAR * moved if moved > far else _ASTRAY * max(moved, brief)

    def _balance_roughly(self, aim: _Aim, most: float, *, least: int, close: float) -> bool:
        """Correct with the stiffness at hand, so often or more, until no node moves by more than a part of the size.

        A pass that has missed clearly is not the last one, and the next one corrects as well. Corrections
        larger than `most` [m] lead nowhere.
        """
        last = np.inf
        for count in range(1, _CORRECTIONS + 1):
            left = self.condenser.correct()
            if not left < most:
                return False
            self.condenser.accept_correction()
            if count >= least and left < close * self.robot.size:
                return True
            ends = count > least and left < last and not aim.last
            if ends and missed(self.robot, aim.goals) > aim.enough + _MARGIN * left:
                return True
            most, last = min(most, 4.0 * left), left
        return False

    def _balance_freshly(self, aim: _Aim, moved: float) -> bool:
        """Correct with the stiffness with which the pass began while that leads on, else by Newton's method from there.

        That stiffness is exact: a correction as large as the move, or one that two others have not halved, tells
        that the robot is not linear here, and many more would follow.
        """
        size, before = self.robot.size, [_ASTRAY_IF_FAR / _LEADS_ON * moved, _ASTRAY_IF_FAR / _GROWN * moved]
        for count in range(1, _CORRECTIONS + 1):
            left = self.condenser.correct()
            if not left < _GROWN * before[-1]:
                near = count > 1 or moved < _FAR * size or self.robot.model.node_count < CHEAP
                return near and self._newton()
            self.condenser.accept_correction()
            if left < self.settings.settled * size:
                return True
            ends = count > 1 and left < before[-1] and not aim.last
            if ends and missed(self.robot, aim.goals) > aim.enough + _MARGIN * left:
                return True
            if not left < max(_LEADS_ON * before[-2], _NEARLY * self.settings.settled * size):
                return self._newton()
            before.append(left)
        return self._newton()

    def _newton(self) -> bool:
        self._snapped = True
        self.robot.weigh()
        return self._balancer.settle(self.robot.positions).done

    def _balance_constrained(self, moved: float) -> bool:
        """Contacts and held actuators find new forces too, so that each correction is an iteration of its own."""
        settled, last = self.settings.settled * self.robot.size, moved
        for _ in range(_ITERATIONS):
            if last < settled:
                return True
            try:
                last = self.forward.iterate()
            except (NotPositiveDefinite, NoSolution):
                return False
            if not np.isfinite(last):
                return False
        return last < settled

    def _result(self, goals: np.ndarray, found: Found) -> Step:
        robot, choice = self.robot, found.choice
        strokes, places = robot.aim(), robot.places()
        rows = robot.effectors
        active = active_limits(robot, choice.solution.active, found.pairs, strokes)
        return Step(
            number=self.number,
            time=(self.number + 1) * self.settings.dt,
            efforts=dict(zip(robot.names, robot.efforts.tolist(), strict=True)),
            strokes=dict(zip(robot.names, strokes.tolist(), strict=True)),
            places={e.name: places[rows.first[i] : rows.first[i + 1]] for i, e in enumerate(rows.effectors)},
            distances=rows.distances(places, goals),
            active=in_words(robot, active),
            active_numbers=active,
            optimality=choice.solution.optimality,
            contacts=robot.pressing,
            share=found.share,
            moved=found.moved,
            passes=found.passes,
        )


def _callable(sinks: Iterable[Sink]) -> list[Sink]:
    """What takes the steps, as a list; what cannot be called with a step is refused before the first one."""
    require_kind("sinks", sinks, Iterable, "a list of streams or functions that take a step")
    found = list(sinks)
    for sink in found:
        if not callable(sink):
            raise InvalidValue(f"a sink must be a stream or a function that takes a step, not {sink!r:.60}.")
    return found
