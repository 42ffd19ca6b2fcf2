"""BLAS on one thread, whoever asks for it, for as long as anybody needs it."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from annelid.core.linalg.blas import one_thread


@pytest.fixture
def libraries() -> Iterator[list[Any]]:
    """The libraries of BLAS, with two threads each."""
    found = pytest.importorskip("threadpoolctl").ThreadpoolController().select(user_api="blas")
    with found.limit(limits=2):
        if any(each.num_threads != 2 for each in found.lib_controllers):
            pytest.skip("BLAS takes no second thread here")
        yield found.lib_controllers


def counts(libraries: list[Any]) -> set[int]:
    return {each.num_threads for each in libraries}


def test_a_thread_in_the_background_has_it_too(libraries: list[Any]) -> None:
    inside: list[set[int]] = []

    def work() -> None:
        with one_thread():
            inside.append(counts(libraries))

    with one_thread():
        assert counts(libraries) == {1}
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [{1}]
    assert counts(libraries) == {2}


def test_it_lasts_until_nobody_needs_it(libraries: list[Any]) -> None:
    begun, may_end, inside = threading.Event(), threading.Event(), list[set[int]]()

    def work() -> None:
        with one_thread():
            begun.set()
            may_end.wait(60.0)
            inside.append(counts(libraries))

    thread = threading.Thread(target=work)
    with one_thread():
        thread.start()
        assert begun.wait(60.0)
    assert counts(libraries) == {1}  # the other one still computes
    may_end.set()
    thread.join()
    assert inside == [{1}]
    assert counts(libraries) == {2}
