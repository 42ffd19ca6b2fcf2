"""Batches cut into pieces for actors of a Ray cluster, on any number of machines and GPUs.

Actors come and go: one that dies is replaced and its piece given to another, and whenever the cluster has grown there
are more of them. Which actor does which piece, and how batches are cut, leaves no trace in the results.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.errors import AnnelidError
from annelid.evolve.contract import Evaluation, ProblemOptions
from annelid.evolve.executors.executor import Closing, chunks
from annelid.evolve.executors.ray_address import connect, ray
from annelid.evolve.executors.worker import Worker
from annelid.evolve.registry import problem_table

_LOOK_EVERY = 1.0  # seconds between two looks at who has joined
_PATIENCE = 10  # deaths in a row without a single finished piece
_PIECES = 4  # pieces a CPU worker: small enough that late ones and fast ones share the work


@dataclass
class _Hand:
    """An actor, what it is waiting to tell, and the piece that it is working on; None while it is being prepared."""

    actor: Any
    answer: Any
    piece: int | None = None


class RayCluster(Closing):
    """Evaluates on a Ray cluster.

    Args:
        problem: Options of the problem.
        device: "cpu", "cuda", or "auto": GPUs if the cluster has any.
        workers: Actors at most; None takes one for each core or GPU of the cluster.
        address: Address of the cluster, "auto" for one that runs on this machine; None starts one of its own.
    """

    def __init__(
        self, problem: ProblemOptions, *, device: str = "auto", workers: int | None = None, address: str | None = None
    ) -> None:
        self._table = problem_table(problem)
        self._most = workers
        self._hands: list[_Hand] = []
        self._ours = connect(address, workers)
        self._kind = "GPU" if device.startswith("cuda") or (device == "auto" and self._total("GPU") >= 1) else "CPU"
        if self._total(self._kind) < 1:
            self.close()
            raise AnnelidError(f"the Ray cluster has no {self._kind} to work on; start a node that has one.")

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """How the rows do; what dying actors took with them is done again."""
        self._hire()
        pieces = chunks(len(batch), len(self._hands), each=_PIECES if self._kind == "CPU" else 1)
        waiting, done, deaths = deque(range(len(pieces))), dict[int, Evaluation](), 0
        while len(done) < len(pieces):
            self._assign(batch, pieces, waiting)
            answers = [hand.answer for hand in self._hands if hand.answer is not None]
            ready, _ = ray().wait(answers, num_returns=1, timeout=_LOOK_EVERY) if answers else ([], [])
            for hand in [hand for hand in self._hands if hand.answer in ready]:
                deaths = self._hear(hand, waiting, done, deaths)
            self._hire()
        return Evaluation.joined([done[i] for i in range(len(pieces))])

    def describe(self) -> str:
        """Who works, in words."""
        machines = sum(1 for node in ray().nodes() if node["Alive"])
        return f"{self._wanted()} Ray actors on {machines} node{'s' if machines > 1 else ''}, one a {self._kind}"

    def close(self) -> None:
        """Let the actors go, and Ray too if it was started here."""
        for hand in self._hands:
            ray().kill(hand.actor)
        self._hands = []
        if self._ours and ray().is_initialized():
            ray().shutdown()

    def _hire(self) -> None:
        """As many actors as the cluster has room for."""
        for _ in range(self._wanted() - len(self._hands)):
            device, need = ("cuda", {"num_gpus": 1}) if self._kind == "GPU" else ("cpu", {"num_cpus": 1})
            actor = ray().remote(Worker).options(**need, max_restarts=0).remote()
            self._hands.append(_Hand(actor, actor.prepare.remote(self._table, device, 1, list(sys.path))))

    def _assign(self, batch: np.ndarray, pieces: list[slice], waiting: deque[int]) -> None:
        for hand in self._hands:
            if hand.answer is None and waiting:
                hand.piece = waiting.popleft()
                hand.answer = hand.actor.evaluate.remote(batch[pieces[hand.piece]])

    def _hear(self, hand: _Hand, waiting: deque[int], done: dict[int, Evaluation], deaths: int) -> int:
        """What a hand has to tell; deaths in a row, this one included."""
        exceptions = ray().exceptions
        try:
            found = ray().get(hand.answer)
        except exceptions.RayTaskError as error:
            raise _as_ours(error) from None
        except exceptions.RayError as error:
            self._hands.remove(hand)
            if hand.piece is not None:
                waiting.appendleft(hand.piece)
            if deaths + 1 >= _PATIENCE:
                raise AnnelidError(
                    f"{_PATIENCE} Ray actors in a row died without finishing anything; the last one: {_line(error)}"
                ) from None
            return deaths + 1
        if hand.piece is not None:
            done[hand.piece] = found
        hand.answer, hand.piece = None, None
        return 0

    def _wanted(self) -> int:
        room = int(self._total(self._kind))
        return room if self._most is None else min(room, self._most)

    def _total(self, kind: str) -> float:
        return float(ray().cluster_resources().get(kind, 0.0))


def _as_ours(error: Any) -> Exception:
    """The error of a worker's task, as it would have been raised here."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, AnnelidError):
        return cause
    return AnnelidError(f"a Ray worker failed: {_line(cause or error)}")


def _line(error: Any) -> str:
    return " ".join(str(error).split())[-300:]
