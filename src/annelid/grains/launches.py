"""The launches of a batch of steps on CUDA, captured once into a graph and replayed."""

from __future__ import annotations

from functools import partial
from typing import Any

import warp as wp

from annelid.core.replay import Graphs
from annelid.grains.kernels import bodies as body_programs
from annelid.grains.kernels import cells as cell_programs
from annelid.grains.kernels import converge as solving
from annelid.grains.kernels import touched as touched_programs
from annelid.grains.kernels.beside import note_beside
from annelid.grains.kernels.layout import HALTED, STALE
from annelid.grains.kernels.program import (
    divided_sweep_kernels,
    finish_batch,
    hand_on_all,
    list_bodies_kernel,
    refresh_kernels,
    sweep_kernel,
)
from annelid.grains.kernels.worlds import call_worlds
from annelid.grains.model import PATIENCE, Model
from annelid.grains.workspace import Workspace

_SWEEP_BLOCK = 64
_LIST_LANES, _LIST_LANES_AMONG_GUESTS = 4, 8  # threads that share a grain when lists are made
_BLOCK = 128
_LANES_BESIDE = 8  # threads that share a row beside guests
_GRAINS_BESIDE = 1024  # that have threads of their own there; more of them take turns
_NOTING_LANES = 4


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
        self._beside = wp.Stream(self.device)
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
        used += self._solving_kernels() if features.converging else self._sweep_kernels()
        used += [(note_beside, _BLOCK)] if self._divided else []
        used += [(hand_on_all, _BLOCK)] if self.companion is not None else []
        used += [(kernel, _BLOCK) for kernel in refresh_kernels(features, self._list_lanes)]
        used += [(list_bodies_kernel(features), _BLOCK)] if features.kinds else []
        used += [(call_worlds, _BLOCK)] if features.worlds else []
        used += [(cell_programs.count_grains, _BLOCK), (cell_programs.scan_spans, cell_programs.SCAN_BLOCK)]
        if features.tracked:
            used += [(touched_programs.count_chunks, _BLOCK)]
            used += [(touched_programs.scan_chunk_counts, touched_programs.SCAN_BLOCK)]
            used += [(body_programs.note_speeds, _BLOCK)]
            used += [(kernel, body_programs.BODY_BLOCK) for kernel in body_programs.body_kernels(features)]
            if features.points:
                used.append((body_programs.point_kernel(features), 32))
        return used

    def _sweep_kernels(self) -> list[tuple[wp.Kernel, int]]:
        features = self.model.features
        used = divided_sweep_kernels(features, _LANES_BESIDE) if self._divided else (sweep_kernel(features),)
        return [(kernel, _SWEEP_BLOCK) for kernel in used]

    def _solving_kernels(self) -> list[tuple[wp.Kernel, int]]:
        features, block = self.model.features, body_programs.BODY_BLOCK
        if self._divided:
            sweeps = [*solving.divided_begin_kernels(features, _LANES_BESIDE)]
            sweeps += solving.divided_follow_kernels(features, _LANES_BESIDE)
        else:
            sweeps = [solving.begin_kernel(features), solving.follow_kernel(features)]
        used = [(kernel, _SWEEP_BLOCK) for kernel in sweeps]
        used += [(solving.complete_kernel(features), _BLOCK), (solving.next_pair, 1)]
        if features.tracked:
            used += [(kernel, block) for kernel in solving.expect_kernels(features)]
        if features.points:
            used.append((solving.press_kernel(features), 32))
        return used

    def _solve(self, step: int) -> None:
        """One step whose sweeps go on until it is solved; grains begin and end `here`."""
        model, lists = self.model, self.lists
        self._begin_step(step)
        self._follow_sweep(step, solving.BEGINS)
        if model.sweeps > 2:
            wp.capture_while(lists.asked[0:1], while_body=self._go_on, step=step)
        inputs = [step, model.sweeps, model.parameters, self.there, lists, self.here]
        self._launch(solving.complete_kernel(model.features), model.count, inputs)
        if model.features.tracked:
            _, move, _ = body_programs.body_kernels(model.features)
            inputs = [step, 1, model.parameters, lists, self.bodies]
            self._launch(move, self.bodies.count, inputs, block=body_programs.BODY_BLOCK)

    def _begin_step(self, step: int) -> None:
        """The first sweep of a step that converges."""
        model, features = self.model, self.model.features
        inputs = [step, model.parameters, self.here, self.lists, self.bodies, self.there]
        if self._divided:
            self._sweep_beside(solving.divided_begin_kernels(features, _LANES_BESIDE)[1], inputs)
        else:
            self._launch(solving.begin_kernel(features), model.count, inputs, block=_SWEEP_BLOCK)

    def _go_on(self, step: int) -> None:
        """A pair of sweeps that follow the first one of a step."""
        model, ends = self.model, (self.there, self.here)
        for number in range(2):
            inputs = [number, model.parameters, ends[number], self.lists, self.bodies, ends[1 - number]]
            if self._divided:
                apart, beside = solving.divided_follow_kernels(model.features, _LANES_BESIDE)
                self._sweep_apart(apart, inputs)
                self._sweep_beside(beside, inputs)
            else:
                self._launch(solving.follow_kernel(model.features), model.count, inputs, block=_SWEEP_BLOCK)
            self._follow_sweep(step, number)
        self._launch(solving.next_pair, 1, [model.sweeps, self.lists], block=1)

    def _follow_sweep(self, step: int, number: int) -> None:
        """Let bodies follow a sweep."""
        model, lists, bodies = self.model, self.lists, self.bodies
        features, parameters, block = model.features, model.parameters, body_programs.BODY_BLOCK
        if features.points:
            self._launch(
                solving.press_kernel(features), len(bodies.points), [number, parameters, lists, bodies], block=32
            )
        if features.tracked:
            add, expect, both = solving.expect_kernels(features)
            inputs = [step, number, parameters, lists, bodies]
            if bodies.parts == 1:
                self._launch(both, bodies.count * block, inputs, block=block)
            else:
                self._launch(add, bodies.count * bodies.parts * block, [number, parameters, lists, bodies], block=block)
                self._launch(expect, bodies.count, inputs, block=block)

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
            if self.model.features.converging:
                self._solve(step)
            else:
                self._sweep(step, turn)
            turn += self._turns
            if step + 1 < last:
                self._go_ahead(step + 1, turn)
            if companion is not None:
                companion(pair[turn % 2])
        if end is not None:
            end(last - first)

    def _sweep(self, step: int, turn: int) -> None:
        """One step of a number of plain sweeps, by turns from one buffer to the other."""
        model = self.model
        for sweep in range(self._turns):
            inputs = self._sweep_inputs(step, turn, sweep)
            if self._divided:
                if sweep > 0:
                    self._sweep_apart(divided_sweep_kernels(model.features, _LANES_BESIDE)[0], inputs)
                self._sweep_beside(divided_sweep_kernels(model.features, _LANES_BESIDE)[1], inputs)
            else:
                self._launch(sweep_kernel(model.features), model.count, inputs, block=_SWEEP_BLOCK)
            self._move_bodies(step, int(sweep == self._turns - 1))
            turn += 1

    def _sweep_inputs(self, step: int, turn: int, sweep: int) -> list[Any]:
        model, pair = self.model, (self.here, self.there)
        first, final = int(sweep == 0), int(sweep == self._turns - 1)
        ends = [pair[turn % 2], self.lists, self.bodies, pair[1 - turn % 2]]
        return [step, turn, model.sweeps, first, final, model.parameters, *ends]

    # --- sweeps in two parts: most grains are apart from guests, and need not wait until these have moved ---

    def _divide(self) -> None:
        """Find the rows beside guests, after lists were made."""
        self.lists.beside.zero_()
        self.lists.beside_count.zero_()
        self._launch(note_beside, self.model.guests * _NOTING_LANES, [_NOTING_LANES, self.lists])

    def _go_ahead(self, step: int, turn: int) -> None:
        """Begin a step with the grains that are apart from guests, while someone moves these."""
        features = self.model.features
        if self._divided and features.converging:
            inputs = [step, self.model.parameters, self.here, self.lists, self.bodies, self.there]
            self._sweep_apart(solving.divided_begin_kernels(features, _LANES_BESIDE)[0], inputs)
        elif self._divided:
            inputs = self._sweep_inputs(step, turn, 0)
            self._sweep_apart(divided_sweep_kernels(features, _LANES_BESIDE)[0], inputs)

    def _sweep_apart(self, kernel: wp.Kernel, inputs: list[Any]) -> None:
        with wp.ScopedStream(self._beside):
            self._launch(kernel, self.model.count, inputs, block=_SWEEP_BLOCK)

    def _sweep_beside(self, kernel: wp.Kernel, inputs: list[Any]) -> None:
        """The other part; then both are done."""
        threads = _LANES_BESIDE * (self.model.guests + _GRAINS_BESIDE)
        self._launch(kernel, threads, [threads, *inputs], block=_SWEEP_BLOCK)
        wp.get_stream(self.device).wait_stream(self._beside)

    def _call_worlds(self, step: int) -> None:
        """Let lists wait that are not to be looked at in this step, where worlds began at different times."""
        if self._takes_turns:
            self.lists.flags[STALE : STALE + 1].zero_()
            self._launch(call_worlds, self.model.world_count, [step, PATIENCE, self.begun, self.lists])

    def _move_bodies(self, step: int, final: int) -> None:
        model, count = self.model, self.bodies.count
        if not model.features.tracked:
            return
        if model.features.points:
            arguments = [final, model.parameters, self.lists, self.bodies]
            self._launch(body_programs.point_kernel(model.features), len(self.bodies.points), arguments, block=32)
        add, move, add_and_move = body_programs.body_kernels(model.features)
        block, arguments = body_programs.BODY_BLOCK, [step, final, model.parameters, self.lists, self.bodies]
        if self.bodies.parts == 1 and not model.features.points:  # whose sums look at where other bodies are
            self._launch(add_and_move, count * block, arguments, block=block)
        else:
            self._launch(add, count * self.bodies.parts * block, [self.lists, self.bodies], block=block)
            self._launch(move, count, arguments, block=block)

    def _refresh(self, grains: Any) -> None:
        """Sort the grains of worlds whose lists are stale, and make these."""
        model, lists, n = self.model, self.lists, self.model.count
        keep, bring, list_grains = refresh_kernels(model.features, self._list_lanes)
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
        with wp.ScopedStream(self._beside):  # what touches bodies is listed while neighbours are
            self._list_bodies(grains)
        self._launch(list_grains, n * self._list_lanes, [model.parameters, grains, self.kept, lists])
        wp.get_stream(self.device).wait_stream(self._beside)
        self._launch(cell_programs.settle_worlds, model.world_count, [lists, self.bodies])
        if self._divided:
            self._divide()

    def _list_bodies(self, grains: Any) -> None:
        """Bodies that are close to each grain, and what touches each body."""
        model, lists = self.model, self.lists
        if model.features.kinds:
            arguments = [model.parameters, grains, self.kept, lists, self.bodies]
            self._launch(list_bodies_kernel(model.features), model.count, arguments)
        if model.features.tracked:
            threads = self.bodies.count * self.bodies.chunks * touched_programs.LANES
            block = touched_programs.SCAN_BLOCK
            self._launch(touched_programs.count_chunks, threads, [lists, self.bodies])
            self._launch(touched_programs.scan_chunk_counts, block, [self.bodies], block=block)
            self._launch(touched_programs.write_chunks, threads, [model.parameters, lists, self.bodies])

    def _launch(self, kernel: wp.Kernel, dim: int, arguments: list[Any], *, block: int = _BLOCK) -> None:
        wp.launch(kernel, dim, arguments, device=self.device, block_dim=block)
