"""Ctrl-C between two steps: while something must not be torn apart, an interrupt is noted and raised afterwards.

Python raises `KeyboardInterrupt` in the main thread after whatever instruction it has come to: between a step on the
device and the count of it, or before a lock is released. Blocks that must be finished are marked with `held_back`; the
run loop asks `raise_noted` between two batches of steps. Who presses Ctrl-C a second time means at once, and gets it,
but for what is short and must be done, such as writing a checkpoint, or entering and leaving a `with` block: an
`__exit__` that an interrupt ends before its first line leaves its lock taken, and interrupts held back for good.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

# What `signal` is made of: its own functions turn handlers into enumerations and back, ten times as slowly.
_PLAIN: Any = importlib.import_module("_signal")
_get_handler, _set_handler, _SIGINT = _PLAIN.getsignal, _PLAIN.signal, int(signal.SIGINT)


class _Keeper:
    """Stands in for the handler of SIGINT while blocks of the main thread, one in another, hold it back."""

    def __init__(self) -> None:
        self._depth = 0
        self._firm = 0  # blocks that are finished however often it is pressed
        self._noted = False
        self._waiting = False  # for another thread, where an interrupt does no harm
        self._handler: Any = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """An interrupt has come."""
        if self._waiting or (self._noted and not self._firm and not _enters_or_leaves(frame)):
            self._noted = False
            self._handler(number, frame)
        else:
            self._noted = True

    def hold(self, *, firmly: bool = False) -> None:
        """Hold interrupts back until `let_go` was called as often; in other threads there are none."""
        if not _is_main():
            return
        if self._depth == 0:
            self._noted = False
            handler = _get_handler(_SIGINT)
            if handler is not self:  # else an exception of another signal has ended a block at its very end
                self._handler = handler if callable(handler) else None
            if self._handler is not None:
                _set_handler(_SIGINT, self)
        self._firm += firmly
        self._depth += 1

    def let_go(self, *, firmly: bool = False) -> None:
        """Raise what was held back, if this was the outermost block."""
        if not _is_main():
            return
        self._firm -= firmly
        self._depth -= 1
        if self._depth == 0 and self._handler is not None:
            if _get_handler(_SIGINT) is self:  # else someone has set a handler in the meantime
                _set_handler(_SIGINT, self._handler)
            self.raise_noted()

    def raise_noted(self) -> None:
        """Raise an interrupt that was held back, here."""
        if self._noted and _is_main():
            self._noted = False
            self._handler(_SIGINT, None)

    def wait(self, blocking: Callable[[], T]) -> T:
        """Call something that waits; interrupts come at once."""
        if not _is_main():
            return blocking()
        try:
            self._waiting = True
            self.raise_noted()
            return blocking()
        finally:
            self._waiting = False


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _enters_or_leaves(frame: FrameType | None) -> bool:
    """Whether a `with` block is entered or left where an interrupt has come."""
    while frame is not None:
        if frame.f_code.co_name in ("__enter__", "__exit__"):
            return True
        frame = frame.f_back
    return False


KEEPER = _Keeper()
"""The one of this process: the handler of a signal belongs to the process."""


class held_back:
    """`with held_back(): ...`: Ctrl-C in the block is raised at its end.

    Args:
        firmly: Also where it is pressed again; for blocks that are short.
    """

    def __init__(self, *, firmly: bool = False) -> None:
        self._firmly = firmly

    def __enter__(self) -> None:
        KEEPER.hold(firmly=self._firmly)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        KEEPER.let_go(firmly=self._firmly)


def raise_noted() -> None:
    """Raise an interrupt that was held back, because here it does no harm."""
    KEEPER.raise_noted()
