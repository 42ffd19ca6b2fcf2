"""Steps per second: how many steps are taken, in which stretches, and which statistic of them is returned."""

from __future__ import annotations

from typing import Any

import pytest

from annelid.core import timing


class Clock:
    """Time that passes by the steps that are taken: each third stretch is twice as slow."""

    def __init__(self, batch: int) -> None:
        self.now, self.batch, self.stretches = 0.0, batch, []
        self.solver, self.state = self, None

    def advance(self, state: Any, steps: int) -> None:
        slow = 2.0 if len(self.stretches) % 3 == 2 else 1.0
        self.stretches.append(steps)
        self.now += 1e-3 * slow * steps

    def synchronize(self) -> None:
        pass

    def perf_counter(self) -> float:
        return self.now


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_best_stretch_and_mean_of_all(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    for statistic in ("best", "mean"):
        clock = Clock(batch)
        monkeypatch.setattr(timing, "time", clock)
        rate = timing.steps_per_second(clock, 5.0, statistic=statistic)  # type: ignore[arg-type]
        assert clock.stretches[0] == 2 * batch
        assert all(steps % batch == 0 and steps >= 20 for steps in clock.stretches[1:])
        if statistic == "best":
            assert rate == pytest.approx(1000.0)
        else:
            slow = sum(clock.stretches[2::3])
            assert rate == pytest.approx(1000.0 * sum(clock.stretches[1:]) / (sum(clock.stretches[1:]) + slow))


def test_warm_up_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(2)
    monkeypatch.setattr(timing, "time", clock)
    timing.steps_per_second(clock, 0.001, warm_up=60)  # type: ignore[arg-type]
    assert clock.stretches == [60, 20]
