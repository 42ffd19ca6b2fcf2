"""A fixed sequence of launches, repeated many times: recorded commands on the CPU, a captured graph on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import warp as wp

_BLOCK = 512  # threads of the one block of a launch that reduces


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
    """

    def __init__(self, stages: Sequence[Stage], device: wp.Device) -> None:
        self._stages, self._device = tuple(stages), device
        self._commands: list[Any] = []
        self._graph: Any = None

    def __call__(self) -> None:
        """Launch all stages, without waiting for the device; inside a capture they become part of it."""
        if self._device.is_cpu:
            self._commands = self._commands or [each.launch(self._device, record=True) for each in self._stages]
            for command in self._commands:
                command.launch()
        elif self._device.is_capturing:
            self._launch()
        elif self._graph is None:
            self._launch()  # also loads the kernels, which cannot happen during a capture
            with wp.ScopedCapture(device=self._device) as capture:
                self._launch()
            self._graph = capture.graph
        else:
            wp.capture_launch(self._graph)

    def _launch(self) -> None:
        for stage in self._stages:
            stage.launch(self._device)
