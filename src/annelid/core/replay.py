"""Launches that are repeated many times: recorded as commands on the CPU, captured as graphs on CUDA.

Preparing a launch takes longer than running it where bodies are small, so that it is done once. What is repeated may be

- `Replay`: a fixed sequence of launches;
- `Replays`: sequences that depend on arrays which come, go and move;
- `Launcher`: single launches, of which most come again with the same arrays;
- `Graphs`: whatever some code launches, by a key such as the number of steps (CUDA only);
- `Crew.command`: one launch whose arguments may change, split over a few CPU threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import thread_count, undisturbed
from annelid.core.pool import Pool
from annelid.core.ready import ready

_BLOCK = 512  # threads of the one block of a launch that reduces
_SCALARS = (wp.float64, wp.float32, wp.int32, wp.int64, wp.uint32, wp.uint64)
_LEAST = 256  # threads of a kernel for which another CPU thread is worth waking


@dataclass(frozen=True, eq=False)
class Stage:
    """One launch of a sequence.

    Attributes:
        kernel: The kernel.
        count: Number of threads; None for one block that reduces (one thread on the CPU).
        arguments: Arguments of the kernel.
    """

    kernel: Any
    count: int | tuple[int, ...] | None
    arguments: Sequence[Any]

    def launch(self, device: wp.Device, *, record: bool = False) -> Any:
        """Launch it, or only record it as a command."""
        if self.count is None:
            shape: tuple[int, ...] = (1, 1 if device.is_cpu else _BLOCK)
            block = shape[1]
            return wp.launch(self.kernel, shape, self.arguments, device=device, block_dim=block, record_cmd=record)
        return wp.launch(self.kernel, self.count, self.arguments, device=device, record_cmd=record)


class Replay:
    """Launches of a sequence of stages, again and again.

    Args:
        stages: The stages; their arrays must outlive the sequence.
        device: Warp device.
        graph: Whether the sequence becomes a graph of its own on CUDA; not where others capture it.
    """

    def __init__(self, stages: Sequence[Stage], device: wp.Device, *, graph: bool = True) -> None:
        self._stages, self._device, self._wants_graph = tuple(stages), device, graph
        self._commands: list[Any] = []
        self._graph: Any = None

    def __call__(self) -> None:
        """Launch all stages, without waiting for the device; inside a capture they become part of it."""
        if self._device.is_cpu:
            self._commands = self._commands or [ready(each.launch(self._device, record=True)) for each in self._stages]
            for command in self._commands:
                if command is not None:  # a launch over nothing is not recorded
                    command.launch()
        elif not self._wants_graph or self._device.is_capturing:
            self._launch()
        elif self._graph is None:
            self._launch()  # also loads the kernels, which cannot happen during a capture
            self._graph = captured(self._launch, self._device)
        else:
            wp.capture_launch(self._graph)

    def _launch(self) -> None:
        for stage in self._stages:
            stage.launch(self._device)


class Replays:
    """Sequences of launches by the arrays that they use; the oldest of many are forgotten.

    Args:
        device: Warp device.
        kept: Sequences that are kept.
        graph: See `Replay`.
    """

    def __init__(self, device: wp.Device, *, kept: int = 4, graph: bool = True) -> None:
        self._device, self._kept, self._wants_graph = device, kept, graph
        self._known: dict[Hashable, Replay] = {}

    def run(self, stages: Callable[[], Sequence[Stage]], *arrays: wp.array[Any], name: Hashable = None) -> None:
        """Launch a sequence, without waiting for the device.

        Args:
            stages: Makes the stages where these arrays were not seen before.
            arrays: The arrays that may differ from call to call; others must stay where they are.
            name: Distinguishes sequences that use the same arrays.
        """
        key = (name, *((array.ptr, array.shape) for array in arrays))
        replay = self._known.get(key)
        if replay is None:
            if len(self._known) >= self._kept:
                self._known.pop(next(iter(self._known)))
            replay = self._known[key] = Replay(stages(), self._device, graph=self._wants_graph)
        replay()

    def clear(self) -> None:
        """Forget all sequences, because arrays of theirs have moved or are gone."""
        self._known.clear()


class Launcher:
    """Launches like `wp.launch`; those that come again with the same arrays are prepared only once.

    Args:
        device: Warp device.
        kept: Launches that are kept prepared, with their arrays; the oldest of more are forgotten.
    """

    def __init__(self, device: wp.Device, *, kept: int = 24) -> None:
        self._device, self._kept = device, kept
        self._known: dict[Hashable, _Prepared] = {}
        self._seen: dict[Hashable, tuple[_Prepared, Sequence[Any]]] = {}

    def launch(self, kernel: wp.Kernel, count: int | tuple[int, ...], arguments: Sequence[Any]) -> None:
        """Launch a kernel; numbers and structures among the arguments may be others than before."""
        # The same arrays come most of the time: that is found sooner than where they lie.
        same = (kernel, count, *[id(each) if isinstance(each, wp.array) else None for each in arguments])
        found = self._seen.get(same)
        prepared = self._looked_up(same, kernel, count, arguments) if found is None else found[0]
        if prepared.command is not None:  # there is none for a launch over nothing
            prepared.launch(arguments)

    def _looked_up(
        self, same: Hashable, kernel: wp.Kernel, count: int | tuple[int, ...], arguments: Sequence[Any]
    ) -> _Prepared:
        key = (kernel, count, *(_place(each) for each in arguments))
        prepared = self._known.get(key)
        if prepared is None:
            if len(self._known) >= self._kept:
                self._known.pop(next(iter(self._known)))
                self._seen.clear()
            command = ready(wp.launch(kernel, count, arguments, device=self._device, record_cmd=True))
            prepared = self._known[key] = _Prepared(command, arguments)
        if len(self._seen) >= 2 * self._kept:
            self._seen.clear()
        self._seen[same] = prepared, list(arguments)  # kept, or another array could get the identity of one of these
        return prepared


class _Prepared:
    """A launch that is prepared.

    Args:
        command: The launch as recorded.
        arguments: What it was recorded with; kept, so that no other array can come to lie where one of these was.
    """

    def __init__(self, command: Any, arguments: Sequence[Any]) -> None:
        self.command, self._arguments = command, list(arguments)
        self._changing = [place for place, each in enumerate(arguments) if not isinstance(each, wp.array)]

    def launch(self, arguments: Sequence[Any]) -> None:
        """Launch it, with numbers and structures among these arguments."""
        for place in self._changing:
            value = arguments[place]
            if not _told(value, self._arguments[place]):
                self._arguments[place] = value
                self.command.set_param_at_index(place, value)
        self.command.launch()


def _told(value: Any, before: Any) -> bool:
    """Whether a launch knows a value by what it was told before; it reads a structure where that lies."""
    if value is before:
        return not isinstance(value, ctypes.Array)  # a vector is copied
    if isinstance(value, _SCALARS):
        return type(value) is type(before) and bool(value.value == before.value)
    return isinstance(value, int | float) and value == before


def _place(argument: Any) -> Hashable:
    """Where an array lies; nothing about other arguments."""
    return (argument.ptr, argument.shape, argument.strides) if isinstance(argument, wp.array) else None


class Graphs:
    """Captured CUDA graphs by key; the oldest of many are forgotten.

    Args:
        device: Warp device.
        kept: Graphs that are kept; None keeps all.
    """

    def __init__(self, device: wp.Device, *, kept: int | None = None) -> None:
        self._device, self._kept = device, kept
        self._known: dict[Hashable, Any] = {}

    def run(self, key: Hashable, work: Callable[[], None], *, loaded: bool = False) -> None:
        """Do some launches: the first time as they are, from then on out of a graph; part of another that is captured.

        Args:
            key: Distinguishes this work from other work.
            work: Launches; called to be captured too.
            loaded: Whether all kernels are loaded, which cannot happen during a capture; the first time is then
                out of the graph as well.
        """
        if self._device.is_capturing:
            work()
            return
        graph = self._known.get(key)
        if graph is None:
            if not loaded:
                work()
            graph = captured(work, self._device)
            if self._kept is not None and len(self._known) >= self._kept:
                self._known.pop(next(iter(self._known)))
            self._known[key] = graph
            if not loaded:
                return
        wp.capture_launch(graph)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._known

    def clear(self) -> None:
        """Forget all graphs, because arrays of theirs have moved or what they do has changed."""
        self._known.clear()

    def identities(self) -> set[int]:
        """Numbers that distinguish the graphs at hand from any made later."""
        return {id(graph) for graph in self._known.values()}


def captured(work: Callable[[], None], device: wp.Device) -> Any:
    """A graph of what some code launches; nothing is executed."""
    with undisturbed(device), wp.ScopedCapture(device=device) as capture:
        work()
    return capture.graph


class Crew:
    """The device that computes, and how many CPU threads share a launch.

    Args:
        device: Warp device.
        threads: CPU threads; None takes all cores.
    """

    def __init__(self, device: wp.Device, threads: int | None = None) -> None:
        self.device = device
        self.threads = 1 if device.is_cuda else thread_count(threads)
        self.pool = Pool(self.threads - 1, "annelid-crew") if self.threads > 1 else None

    def command(self, kernel: Any, count: int | tuple[int, ...], arguments: Sequence[Any]) -> Command:
        """A launch to repeat, of a kernel whose first argument is an offset to add to the first thread index."""
        return Command(self, kernel, count, arguments)


class Command:
    """A prepared launch; calling it launches it."""

    def __init__(self, crew: Crew, kernel: Any, count: int | tuple[int, ...], arguments: Sequence[Any]) -> None:
        first, *rest = (count,) if isinstance(count, int) else count
        parts = crew.threads if first * int(np.prod(rest, initial=1)) >= 2 * _LEAST else 1
        edges = np.linspace(0, first, parts + 1).astype(int)
        self._pool = crew.pool
        self._launches = [
            ready(
                wp.launch(kernel, (int(high - low), *rest), [int(low), *arguments], device=crew.device, record_cmd=True)
            )
            for low, high in zip(edges[:-1], edges[1:], strict=True)
            if high > low
        ]

    def __call__(self, *changed: tuple[int, Any]) -> None:
        """Launch it, with some arguments (counted after the offset) replaced from now on."""
        for place, value in changed:
            for launch in self._launches:
                launch.set_param_at_index(1 + place, value)
        if not self._launches:
            return
        if len(self._launches) == 1 or self._pool is None:
            for launch in self._launches:
                launch.launch()
            return
        others = [self._pool.submit(launch.launch) for launch in self._launches[1:]]
        self._launches[0].launch()
        for other in others:
            other.result()
