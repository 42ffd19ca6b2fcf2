"""Pools of threads, also in a process that was forked from the one that made them."""

from __future__ import annotations

import threading

from annelid.core.pool import Pool

from ..threads import forked


def test_a_pool_works_in_a_forked_process_too() -> None:
    pool = Pool(2, "annelid-test")
    assert pool.submit(lambda: 2 + 3).result() == 5
    assert forked(lambda: pool.submit(lambda: 2 + 3).result() == 5)


def test_work_under_way_is_done_again_in_a_forked_process() -> None:
    pool, go, here = Pool(1, "annelid-test"), threading.Event(), threading.get_ident()
    done = pool.submit(lambda: "done")
    assert done.result() == "done"
    job = pool.submit(lambda: threading.get_ident() == here or go.wait(60.0))
    assert forked(lambda: job.result() is True and done.result() == "done")
    go.set()
    assert job.result()
