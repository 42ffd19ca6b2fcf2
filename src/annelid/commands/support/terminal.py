"""How the program meets its terminal: streams that are closed, full or in ASCII, interruptions, and its last sentence.

Nothing of Annelid is imported here, because that starts Warp: whatever goes wrong then is told in a sentence too.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

REFUSED = 2
INTERRUPTED = 130
"""128 and the number of SIGINT, as shells count."""
PIPE_BROKEN = 141
"""128 and the number of SIGPIPE."""


@contextmanager
def ends_tidily(*, for_good: bool = False) -> Iterator[None]:
    """End the program with one sentence instead of a traceback, wherever its own code is not to blame.

    Args:
        for_good: Whether the process ends with it: Ctrl-C that is pressed again after the sentence is not heard then.
    """
    _open_streams()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, where a full disk can still be told
    except BaseException as error:
        if isinstance(error, SystemExit) or not (verdict := _verdict(error)):
            raise
        if for_good and verdict[0] == INTERRUPTED:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end(*verdict)


@contextmanager
def imports_that_can_be_interrupted(sentence: str = "stopped.") -> Iterator[None]:
    """Let Ctrl-C end the program at once: raised inside an import, it would surface as something else or be lost.

    Args:
        sentence: What is said then.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    errors = os.dup(2)  # which leads elsewhere while Warp is started quietly

    def leave(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(errors, f"annelid: {sentence}\n".encode())
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(errors)


def _open_streams() -> None:
    """Standard streams that exist, and that replace what their encoding lacks."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file would take its place and receive what was meant for the terminal
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _verdict(error: BaseException) -> tuple[int, str] | None:
    """Exit code and sentence of an error that a user or the machine has caused; None of any other."""
    if _is_ours(error):
        return REFUSED, str(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, str(error) or "stopped."
    if isinstance(error, BrokenPipeError):  # whoever read our output has had enough
        return PIPE_BROKEN, ""
    if isinstance(error, OSError):
        what = f"{error.filename} cannot be read or written" if error.filename else "reading or writing failed"
        return REFUSED, f"{what}: {error.strerror or error}.".replace("\n", " ")
    if isinstance(error, MemoryError):
        return REFUSED, f"there is not enough memory: {str(error).rstrip('.') or 'make what is simulated smaller'}."
    files = sys.modules.get("annelid.core.own_files")
    sentence = files.blamed(error) if files is not None and isinstance(error, Exception) else ""
    return (REFUSED, sentence) if sentence else None


def _is_ours(error: BaseException) -> bool:
    errors = sys.modules.get("annelid.core.errors")
    return errors is not None and isinstance(error, errors.AnnelidError)


def _end(code: int, sentence: str) -> NoReturn:
    """Say a sentence and leave; streams that cannot take the rest of their text are not asked again at exit."""
    if sentence:
        with suppress(OSError):
            print(f"annelid: {sentence}", file=sys.stderr, flush=True)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, number)
            os.close(nothing)
    sys.exit(code)
