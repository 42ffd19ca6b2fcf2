"""The launches of a batch of steps on CUDA, captured once into a graph and replayed."""

from __future__ import annotations

from functools import partial
from typing import Any

import warp as wp

from annelid.core.replay import Graphs
from annelid.grains.kernels import bodies as body_programs
from annelid.grains.kernels import cells as cell_programs
from annelid.grains.kernels import converge as solving
from annelid.grains.kernels import program as programs
from annelid.grains.kernels import touched as touched_programs
from annelid.grains.kernels.layout import HALTED, INTERIOR, NEAR_BOUNDARY, STALE, Moment
from annelid.grains.kernels.near_boundary import note_near_boundary
from annelid.grains.kernels.phases import BODIES, POINTS, Phase, Step, step_of
from annelid.grains.kernels.program import finish_batch, hand_on_all
from annelid.grains.kernels.worlds import call_worlds
from annelid.grains.model import PATIENCE, Model
from annelid.grains.workspace import Workspace

_SWEEP_BLOCK = 64
_LIST_LANES, _LIST_LANES_AMONG_GUESTS = 4, 8  # threads that share a grain when lists are made
_BLOCK = 128
_LANES_NEAR_BOUNDARY = 8  # threads that share a row beside guests
_GRAINS_NEAR_BOUNDARY = 1024  # that have threads of their own there; more of them take turns
_NOTING_LANES = 4
_POINT_BLOCK = 32


def moment_of(step: int, sweep: int, turn: int, most: int, final: int) -> Any:
    """Where a phase stands, see `kernels.layout.Moment`."""
    moment: Any = Moment()
    moment.step, moment.sweep, moment.turn, moment.most, moment.final = step, sweep, turn, most, final
    return moment


class Launches:
    """Enqueues batches of steps of a model.

    Args:
        model: The model.
        work: The structures that its kernels work on.

    Attributes:
        companion: Who follows each step; see `Solver.accompany`.
        around: What is called before and after steps that are taken without a break, if anything.
        begun: Step at which each world began.
        phases: Remainders of these steps by PATIENCE, ascending.
    """

    def __init__(self, model: Model, work: Workspace) -> None:
        self.model, self.device, self._work = model, model.device, work
        self.here, self.there, self.old = work.here, work.there, work.old
        self.lists, self.kept, self.bodies = work.lists, work.kept, work.bodies
        self._graphs = Graphs(self.device)
        self._side_stream = wp.Stream(self.device)
        self._divided = model.features.guests and model.features.method == "nonsmooth"
        self._loaded = False
        self.companion: Any = None
        self.around: tuple[Any, Any] = (None, None)
        self.begun: wp.array[Any] | None = None
        self.phases: tuple[int, ...] = (0,)

    @property
    def _list_lanes(self) -> int:
        """Threads that share a grain when lists are made: some have very many guests around."""
        return _LIST_LANES_AMONG_GUESTS if self.model.features.guests else _LIST_LANES

    @property
    def _takes_turns(self) -> bool:
        """Whether worlds began at different times, so that lists of each are looked at in steps of their own."""
        return len(self.phases) > 1

    def forget(self) -> None:
        """Arrays have moved or other kernels are used: what was captured is of no use."""
        self._graphs.clear()
        self._loaded = False

    def run(self, steps: int, batch: int, clock: int) -> None:
        """Take up to `steps` steps in batches of at most `batch`; fewer where something does not fit.

        Lists of a world are looked at in steps that are multiples of PATIENCE since its beginning, however steps are
        divided into batches: what comes out must not depend on that.
        """
        if not self._loaded:  # kernels cannot be loaded during capture
            for kernel, block in self._kernels():
                kernel.module.load(self.device, block_dim=block)
            self._loaded = True
        assert self._work.rows is not None
        self._graphs.run("begin", self._begin_run, loaded=True)
        try:
            while steps > 0:  # powers of two that begin at multiples of themselves keep graphs few
                phase = clock % PATIENCE
                aligned = phase & -phase or batch
                count = 1 << (min(steps, aligned, batch).bit_length() - 1)
                looked_at = tuple(step for step in range(count) if (phase + step) % PATIENCE in self.phases)
                key = count, looked_at, self._takes_turns
                self._graphs.run(key, partial(self._enqueue, count, looked_at), loaded=True)
                steps, clock = steps - count, clock + count
        finally:  # or a run that is interrupted would leave grains with lists of earlier ones
            self._work.rows.fold()

    def _begin_run(self) -> None:
        """Bring lists to where steps work on them."""
        assert self._work.rows is not None
        self._work.rows.unfold()
        if self._divided:
            self._divide()

    def make_lists(self) -> None:
        """Make lists that are called stale at once, rather than in the next step in which they are looked at."""
        assert self._work.rows is not None
        self._work.rows.unfold()
        try:
            self._refresh(self.here)
        finally:
            self._work.rows.fold()

    def _kernels(self) -> list[tuple[wp.Kernel, int]]:
        features = self.model.features
        used = [(finish_batch, 1)]
        used += [kernel for phase in self._step.all for kernel in self._kernels_of(phase)]
        used += [(solving.next_pair, 1)] if features.converging else []
        used += [(note_near_boundary, _BLOCK)] if self._divided else []
        used += [(hand_on_all, _BLOCK)] if self.companion is not None else []
        used += [(kernel, _BLOCK) for kernel in programs.refresh_kernels(features, self._list_lanes)]
        used += [(programs.list_bodies_kernel(features), _BLOCK)] if features.kinds else []
        used += [(call_worlds, _BLOCK)] if features.worlds else []
        used += [(cell_programs.count_grains, _BLOCK), (cell_programs.scan_spans, cell_programs.SCAN_BLOCK)]
        if features.tracked:
            used += [(touched_programs.count_chunks, _BLOCK)]
            used += [(touched_programs.scan_chunk_counts, touched_programs.SCAN_BLOCK)]
            used += [(body_programs.note_speeds, _BLOCK)]
        return used

    def _kernels_of(self, phase: Phase) -> list[tuple[wp.Kernel, int]]:
        """Kernels of a phase and the threads of their blocks."""
        features = self.model.features
        if phase.over == POINTS:
            return [(programs.point_kernel(features, phase), _POINT_BLOCK)]
        if phase.over == BODIES:
            return [(kernel, body_programs.BODY_BLOCK) for kernel in programs.body_kernels(features, phase)]
        if self._divided and phase.sweeps:
            return [(kernel, _SWEEP_BLOCK) for kernel in self._divided_kernels(phase)]
        return [(programs.row_kernel(features, phase), _SWEEP_BLOCK if phase.sweeps else _BLOCK)]

    # --- phases of a step, see `kernels.phases` ---

    @property
    def _step(self) -> Step:
        return step_of(self.model.features)

    def _run_phases(self, phases: tuple[Phase, ...], moment: Any, before: Any, after: Any) -> None:
        """Launch phases one after the other; those over rows read one buffer and write another."""
        for phase in phases:
            if phase.over == POINTS:
                inputs = [moment, self.model.parameters, self.lists, self.bodies]
                kernel = programs.point_kernel(self.model.features, phase)
                self._launch(kernel, len(self.bodies.points), inputs, block=_POINT_BLOCK)
            elif phase.over == BODIES:
                self._run_over_bodies(phase, moment)
            else:
                self._run_over_rows(phase, moment, before, after)

    def _run_over_rows(self, phase: Phase, moment: Any, before: Any, after: Any) -> None:
        inputs = [moment, self.model.parameters, before, self.lists, self.bodies, after]
        if self._divided and phase.sweeps:
            interior, near_boundary = self._divided_kernels(phase)
            if moment.sweep != self._first:  # with which these rows have gone ahead
                self._launch_interior(interior, inputs)
            threads = _LANES_NEAR_BOUNDARY * (self.model.guests + _GRAINS_NEAR_BOUNDARY)
            self._launch(near_boundary, threads, [threads, *inputs], block=_SWEEP_BLOCK)
            wp.get_stream(self.device).wait_stream(self._side_stream)
        else:
            kernel = programs.row_kernel(self.model.features, phase)
            block = _SWEEP_BLOCK if phase.sweeps else _BLOCK
            self._launch(kernel, self.model.count, inputs, block=block)

    def _run_over_bodies(self, phase: Phase, moment: Any) -> None:
        bodies, features, block = self.bodies, self.model.features, body_programs.BODY_BLOCK
        inputs = [moment, self.model.parameters, self.lists, bodies]
        add, act, add_and_act = programs.body_kernels(features, phase)
        # Sums over points look at where other bodies are, so that none may move meanwhile.
        if phase.sweeps and bodies.parts == 1 and (features.converging or not features.points):
            self._launch(add_and_act, bodies.count * block, inputs, block=block)
            return
        if phase.sweeps:
            self._launch(add, bodies.count * bodies.parts * block, inputs, block=block)
        self._launch(act, bodies.count, inputs, block=block)

    def _take_step(self, step: int, turn: int) -> None:
        """One step, with its first sweep from the buffer of this turn."""
        pair, phases, most = (self.here, self.there), self._step, self.model.sweeps
        first = self._first
        for sweep in range(max(self._turns, 1)):
            before, after = pair[(turn + sweep) % 2], pair[1 - (turn + sweep) % 2]
            moment = self._moment(step, turn, sweep)
            self._run_phases(phases.follow if sweep else phases.begin, moment, before, after)
        if self.model.features.converging and most > 2:
            wp.capture_while(self.lists.asked[0:1], while_body=self._go_on, step=step)
        if phases.end:
            self._run_phases(phases.end, moment_of(step, first, 0, most, 1), self.there, self.here)

    def _moment(self, step: int, turn: int, sweep: int) -> Any:
        """A sweep of a step whose first has this turn."""
        plain = not self.model.features.converging
        final = int(plain and sweep == self._turns - 1)
        return moment_of(step, sweep if plain else self._first, turn + sweep, self.model.sweeps, final)

    def _go_on(self, step: int) -> None:
        """A pair of sweeps that follow the first one of a step that converges."""
        ends = self.there, self.here
        for number in range(2):
            moment = moment_of(step, number, 0, self.model.sweeps, 0)
            self._run_phases(self._step.follow, moment, ends[number], ends[1 - number])
        self._launch(solving.next_pair, 1, [self.model.sweeps, self.lists], block=1)

    def _enqueue(self, steps: int, looked_at: tuple[int, ...]) -> None:
        """Launch so many steps, and a look at the lists before some of them."""
        pair, turn = (self.here, self.there), 0
        if self.model.features.bouncing:
            wp.copy(self.here.starts, self.here.velocities)
        starts = sorted({0, *looked_at})
        for first, last in zip(starts, [*starts[1:], steps], strict=True):
            if first in looked_at:
                self._call_worlds(first)
                wp.capture_if(self.lists.flags, on_true=self._refresh, grains=pair[turn % 2])
            take, turns = partial(self._take, first, last, turn), (last - first) * self._turns
            if self.companion is None:
                take()
            else:  # nothing halts but the making of lists, so that one look serves all steps up to the next
                hand_on = partial(self._launch, hand_on_all, self.model.count, [pair[turn % 2], pair[1 - turn % 2]])
                halted = self.lists.flags[HALTED : HALTED + 1]
                wp.capture_if(halted, on_true=hand_on if turns % 2 else None, on_false=take)
            turn += turns
        if turn % 2:
            for name in ("positions", "forecast", "turning"):
                wp.copy(getattr(self.here, name), getattr(self.there, name))
        self._launch(finish_batch, 1, [turn, self.lists], block=1)

    @property
    def _turns(self) -> int:
        """How often grains change places in a step; those that converge end where they began."""
        features = self.model.features
        return 0 if features.converging else self.model.sweeps if features.method == "nonsmooth" else 1

    def _take(self, first: int, last: int, turn: int) -> None:
        """Steps of a batch between which no lists are made; halted ones only hand grains on."""
        pair, companion, (begin, end) = (self.here, self.there), self.companion, self.around
        if begin is not None:
            begin(last - first)
        self._go_ahead(first, turn)
        for step in range(first, last):
            self._take_step(step, turn)
            turn += self._turns
            if step + 1 < last:
                self._go_ahead(step + 1, turn)
            if companion is not None:
                companion(pair[turn % 2])
        if end is not None:
            end(last - first)

    # --- sweeps in two parts: most grains are apart from guests, and need not wait until these have moved ---

    def _divide(self) -> None:
        """Find the rows beside guests, after lists were made."""
        self.lists.near_boundary.zero_()
        self.lists.near_boundary_count.zero_()
        self._launch(note_near_boundary, self.model.guests * _NOTING_LANES, [_NOTING_LANES, self.lists])

    def _go_ahead(self, step: int, turn: int) -> None:
        """Begin a step with the grains that are apart from guests, while someone moves these."""
        if self._divided:
            pair, phase = (self.here, self.there), self._step.begin[0]
            before, after = pair[turn % 2], pair[1 - turn % 2]
            inputs = [self._moment(step, turn, 0), self.model.parameters, before, self.lists, self.bodies, after]
            self._launch_interior(self._divided_kernels(phase)[0], inputs)

    @property
    def _first(self) -> int:
        """Number of the first sweep of a step."""
        return solving.BEGINS if self.model.features.converging else 0

    def _divided_kernels(self, phase: Phase) -> tuple[wp.Kernel, wp.Kernel]:
        """A phase that sweeps, over rows apart from guests and over the others."""
        features, whole = self.model.features, self._step
        interior, near_boundary = (
            next(own for own, of_all in zip(part.all, whole.all, strict=True) if of_all is phase)
            for part in (step_of(features, rows=INTERIOR), step_of(features, rows=NEAR_BOUNDARY))
        )
        return programs.interior_kernel(features, interior), programs.near_boundary_kernel(
            features, near_boundary, _LANES_NEAR_BOUNDARY
        )

    def _launch_interior(self, kernel: wp.Kernel, inputs: list[Any]) -> None:
        with wp.ScopedStream(self._side_stream):
            self._launch(kernel, self.model.count, inputs, block=_SWEEP_BLOCK)

    def _call_worlds(self, step: int) -> None:
        """Let lists wait that are not to be looked at in this step, where worlds began at different times."""
        if self._takes_turns:
            self.lists.flags[STALE : STALE + 1].zero_()
            self._launch(call_worlds, self.model.world_count, [step, PATIENCE, self.begun, self.lists])

    def _refresh(self, grains: Any) -> None:
        """Sort the grains of worlds whose lists are stale, and make these."""
        model, lists, n = self.model, self.lists, self.model.count
        keep, bring, list_grains = programs.refresh_kernels(model.features, self._list_lanes)
        cells = model.world_count * model.parameters.cell_count
        spans = model.world_count * -(-model.parameters.cell_count // cell_programs.SCAN_SPAN)
        self._launch(keep, n * self._list_lanes, [grains, lists, self.old, self.kept])
        if model.features.tracked:
            self._launch(body_programs.note_speeds, self.bodies.count, [lists, self.bodies])
        self._launch(cell_programs.set_margins, model.world_count, [model.parameters, lists])
        self._launch(cell_programs.count_grains, n, [model.parameters, lists, grains])
        scan = cell_programs.SCAN_BLOCK
        self._launch(cell_programs.scan_spans, spans * scan, [model.parameters, lists], block=scan)
        self._launch(cell_programs.scan_totals, scan, [lists, spans], block=scan)
        self._launch(cell_programs.add_totals, cells, [model.parameters, lists])
        self._launch(cell_programs.place_grains, n, [lists])
        self._launch(bring, n, [model.parameters, self.old, grains, lists])
        with wp.ScopedStream(self._side_stream):  # what touches bodies is listed while neighbours are
            self._list_bodies(grains)
        self._launch(list_grains, n * self._list_lanes, [model.parameters, grains, self.kept, lists])
        wp.get_stream(self.device).wait_stream(self._side_stream)
        self._launch(cell_programs.settle_worlds, model.world_count, [lists, self.bodies])
        if self._divided:
            self._divide()

    def _list_bodies(self, grains: Any) -> None:
        """Bodies that are close to each grain, and what touches each body."""
        model, lists = self.model, self.lists
        if model.features.kinds:
            arguments = [model.parameters, grains, self.kept, lists, self.bodies]
            self._launch(programs.list_bodies_kernel(model.features), model.count, arguments)
        if model.features.tracked:
            threads = self.bodies.count * self.bodies.chunks * touched_programs.LANES
            block = touched_programs.SCAN_BLOCK
            self._launch(touched_programs.count_chunks, threads, [lists, self.bodies])
            self._launch(touched_programs.scan_chunk_counts, block, [self.bodies], block=block)
            self._launch(touched_programs.write_chunks, threads, [model.parameters, lists, self.bodies])

    def _launch(self, kernel: wp.Kernel, dim: int, arguments: list[Any], *, block: int = _BLOCK) -> None:
        wp.launch(kernel, dim, arguments, device=self.device, block_dim=block)
