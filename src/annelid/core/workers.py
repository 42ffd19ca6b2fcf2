"""Processes of this machine that work for another one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sequence


def begin_worker(paths: Sequence[str] = ()) -> None:
    """First thing in a worker: leave Ctrl-C to who drives it, do not outlive that, and find the same modules."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    sys.path.extend(path for path in paths if path not in sys.path and os.path.isdir(path))


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
