"""Losses that are Warp functions, against the same loss in NumPy, and what is refused of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import Match, Rollout, Track, WarpLoss
from annelid.core.errors import InvalidValue

from .crawlers import crawling

GIVEN = {"stiffness_factor": 1.0, "controls": np.ones((2, 1)), "velocity_damping": 5.0}


@wp.func
def hurry(time: Any, thing: int, position: Any, velocity: Any):
    return time * wp.dot(velocity, velocity) - position[2] * position[0]


@wp.func
def miss(time: Any, thing: int, position: Any, velocity: Any, target: Any):
    away = position - target
    return type(time)(0.5) * wp.dot(away, away)


@wp.func
def single(time: wp.float32, thing: int, position: wp.vec3, velocity: wp.vec3) -> wp.float32:
    return position[0]


@wp.func
def short(time: Any, position: Any):
    return position[0]


@wp.func
def vector(time: Any, thing: int, position: Any, velocity: Any):
    return position


def hurry_by_hand(track: Track) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    x, v, t = track.positions, track.velocities, track.times[:, None, None]
    by_x = np.zeros_like(x)
    by_x[..., 0], by_x[..., 2] = -x[..., 2], -x[..., 0]
    value = (t * (v**2).sum(axis=-1) - x[..., 2] * x[..., 0]).sum(axis=(0, 2))
    return value, {"positions": by_x, "velocities": 2.0 * t[..., None] * v}


@pytest.fixture
def rollout(device: str) -> Rollout:
    return Rollout(crawling(device=device), 20, looks=10)


def test_a_function_of_each_mass(rollout: Rollout) -> None:
    value, rates = rollout.gradient(hurry, GIVEN)
    expected, by_hand = rollout.gradient(hurry_by_hand, GIVEN)
    assert value == pytest.approx(expected, rel=1e-12)
    for name in GIVEN:
        assert np.allclose(rates[name], by_hand[name], rtol=1e-10, atol=0.0), name


def test_targets_and_gaps_among_them(rollout: Rollout) -> None:
    track = rollout.forward(GIVEN)
    targets = track.positions + 0.01
    targets[0, 0, 3:] = np.nan
    value, rates = WarpLoss(miss, targets=targets)(track)
    count = np.isfinite(targets[..., 0]).sum()
    expected, by_hand = Match(targets)(track)
    assert value == pytest.approx(expected * count, rel=1e-12)
    assert np.allclose(rates["positions"].numpy(), by_hand * count, rtol=1e-10, atol=1e-15)
    assert not rates["velocities"].numpy().any()


def test_the_same_bits_among_other_worlds(device: str) -> None:
    alone, among = (
        WarpLoss(hurry)(Rollout(crawling(device=device, precision="float32", worlds=w), 20, looks=10).forward())
        for w in (1, 3)
    )
    assert np.array_equal(among[0], np.tile(alone[0], 3))
    for name in ("positions", "velocities"):
        assert np.array_equal(among[1][name].numpy()[:, 1], alone[1][name].numpy()[:, 0])


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (single, r"'time' of the loss 'single' .* \(time: wp.float64, thing: int, position: wp.vec3d, "),
        (short, r"must take \(time, thing, position, velocity\), it takes \(time, position\)"),
        (vector, "the loss 'vector' must return a number"),
        (3.0, "a Warp function, not 3.0"),
    ],
)
def test_refusals(loss: Any, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        Rollout(crawling(device="cpu"), 20, looks=10).gradient(loss, GIVEN)


def test_rates_on_the_device_are_looked_at(rollout: Rollout) -> None:
    def constant(track: Track) -> tuple[float, Any]:
        return 1.0, wp.zeros_like(track.arrays["positions"])

    def divided(track: Track) -> tuple[float, Any]:
        return 1.0, {"velocities": wp.full_like(track.arrays["velocities"], np.inf)}

    with pytest.raises(InvalidValue, match="the loss depends on nothing: its rates by the track are 0"):
        rollout.gradient(constant, GIVEN)
    with pytest.raises(InvalidValue, match="rates of the loss by velocities are not finite"):
        rollout.gradient(divided, GIVEN)


def test_targets_of_another_shape() -> None:
    track = Rollout(crawling(device="cpu"), 20).forward()
    with pytest.raises(InvalidValue, match=r"shape \[5, 3\] do not broadcast to those of the track, \[1, 1, 72, 3\]"):
        WarpLoss(miss, targets=np.ones((5, 3)))(track)
    with pytest.raises(InvalidValue, match="made of a wp.func"):
        WarpLoss(hurry_by_hand)
