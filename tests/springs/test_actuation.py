"""Actuation: signals as printed and as drawn, springs that follow them, functions of the user."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import Look, springs
from annelid.core.errors import InvalidValue

Make = Callable[..., Any]

LOOK = Look(surface=False, spheres=True, fields=("actuation",))


@wp.func
def ramp(time: Any, parameters: Any):
    """1 + p0 + p1 t, at most 1 + p2, in units of p3."""
    return type(time)(1.0) + wp.min((parameters[0] + parameters[1] * time) / parameters[3], parameters[2])


def chain(count: int, spacing: float = 1.0, **changes: Any) -> springs.Body:
    """Springs in pairs that do not touch each other: mass 2i is joined to mass 2i + 1."""
    x = spacing * np.arange(count)
    positions = np.zeros((2 * count, 3))
    positions[0::2, 0] = positions[1::2, 0] = x
    positions[1::2, 2] = 1.0
    pairs = np.arange(2 * count).reshape(-1, 2)
    values: dict[str, Any] = {"masses": 1.0, "rest_lengths": 1.0, "stiffness": 1.0, **changes}
    return springs.Body(positions=positions, springs=pairs, **values)


def factors(simulation: Any) -> np.ndarray:
    """Factor on the rest length of each spring of a chain."""
    return 1.0 + np.asarray(simulation.snapshot(LOOK).parts[0].fields["actuation"].values, float)[::2]


def titan(time: float, offset: np.ndarray, c: float = 0.2, omega: float = 20.0, period: float = 1.0) -> np.ndarray:
    """Austin et al., eq. 3 and 4."""
    return 1.0 + c * np.sin(omega * np.mod(time - offset, period))


def test_the_wave_of_the_paper_at_sample_times(simulate: Make) -> None:
    body = chain(5, spacing=0.13).fix()
    offset = body.distance_along((1.0, 0.0, 0.0))
    np.testing.assert_allclose(offset, 0.13 * np.arange(5), atol=1e-12)
    simulation = simulate(body.actuate(springs.titan_wave(offset=offset)), dt=1e-3)
    for _ in range(9):
        np.testing.assert_allclose(factors(simulation), titan(simulation.time, offset), atol=1e-6)
        simulation.step(271)


def test_the_wave_of_the_paper_jumps(simulate: Make) -> None:
    """From 1.18 to 1 at the end of each period, as printed."""
    simulation = simulate(chain(1).fix().actuate(springs.titan_wave(offset=0.0)), dt=1e-3)
    simulation.step(999)
    assert factors(simulation)[0] == pytest.approx(1.0 + 0.2 * math.sin(19.98), abs=1e-6)
    assert factors(simulation)[0] > 1.17
    simulation.step(2)
    assert factors(simulation)[0] == pytest.approx(1.0 + 0.2 * math.sin(0.02), abs=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_expand_then_contract_and_the_other_way_round(sign: float, simulate: Make) -> None:
    signal = (springs.expand_contract if sign > 0 else springs.contract_expand)(0.3, 2.0, start=0.1)
    simulation = simulate(chain(1).fix().actuate(signal), dt=1e-3)
    assert factors(simulation)[0] == 1.0
    for _ in range(10):
        simulation.step(97)
        since = max(simulation.time - 0.1, 0.0)
        assert factors(simulation)[0] == pytest.approx(1.0 + sign * 0.3 * math.sin(4.0 * math.pi * since), abs=1e-6)


def test_a_wave_travels(simulate: Make) -> None:
    """Each spring does what the one before it did, one delay earlier, and rests until the wave arrives."""
    body = chain(6, spacing=0.25).fix()
    delay = body.distance_along((1.0, 0.0, 0.0)) / 2.0  # at 2 m/s
    simulation = simulate(body.actuate(springs.wave(0.2, 1.5, delay)), dt=1e-3)
    for _ in range(12):
        since = np.maximum(simulation.time - delay, 0.0)
        np.testing.assert_allclose(factors(simulation), 1.0 + 0.2 * np.sin(3.0 * math.pi * since), atol=1e-6)
        simulation.step(113)


def test_a_wave_backwards_starts_at_the_other_end() -> None:
    body = chain(4, spacing=0.5)
    np.testing.assert_allclose(body.distance_along((-1.0, 0.0, 0.0)), [1.5, 1.0, 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(body.distance_along((5.0, 0.0, 0.0)), [0.0, 0.5, 1.0, 1.5], atol=1e-12)


def test_signals_stay_exact_for_long(simulate: Make) -> None:
    """After a million steps in single precision the phase is still that of double precision."""
    simulation = simulate(chain(1).fix().actuate(springs.expand_contract(0.3, 2.0)), dt=1e-3, precision="float32")
    simulation.state.clock.fill_(1_000_125)
    assert factors(simulation)[0] == pytest.approx(1.0 + 0.3 * math.sin(4.0 * math.pi * 1000.125), abs=1e-6)


def test_a_free_pair_follows_its_signal(simulate: Make, where: Make) -> None:
    """Far below its own frequency the spring is as long as its signal says; the lag is that of a damped oscillator."""
    k, c, m, frequency = 1e3, 15.0, 0.5, 1.0
    body = chain(1, stiffness=k, damping=c, masses=m).actuate(springs.expand_contract(0.2, frequency))
    simulation = simulate(body, dt=2e-4)
    lengths, times = [], []

    def note(s: Any) -> None:
        lengths.append(where(s)[1, 2] - where(s)[0, 2])
        times.append(s.time)

    simulation.run(2.0)
    simulation.observe(note, every=0.05)
    simulation.run(1.0)
    drive = 2.0 * math.pi * frequency
    gain = k / (k + 1j * drive * c - 0.5 * m * drive**2)  # of the relative motion, reduced mass m/2
    expected = 1.0 + 0.2 * abs(gain) * np.sin(drive * np.array(times) + cmath.phase(gain))
    np.testing.assert_allclose(lengths, expected, atol=2e-4)
    quasi_static = 1.0 + 0.2 * np.sin(drive * np.array(times))
    np.testing.assert_allclose(lengths, quasi_static, atol=0.02)


def test_a_signal_of_the_user(simulate: Make) -> None:
    """Every spring with parameters of its own, beside springs that are passive and springs with another signal."""
    body = chain(6).fix()
    body.actuate(springs.Signal(ramp, (0.1, np.array([0.0, 1.0, 2.0]), 0.5, 1.0)), np.array([0, 2, 4]))
    body.actuate(springs.expand_contract(0.2, 0.25), np.array([5]))
    simulation = simulate(body, dt=1e-2)
    simulation.step(30)
    t = simulation.time
    expected = [1.1, 1.0, 1.1 + t, 1.0, 1.5, 1.0 + 0.2 * math.sin(0.5 * math.pi * t)]
    np.testing.assert_allclose(factors(simulation), expected, atol=1e-6)


def test_small_parameters_are_not_lost(simulate: Make) -> None:
    """Parameters are the user's own numbers, of any magnitude."""
    signal = springs.Signal(ramp, (np.array([1e-11, 2e-11]), 0.0, 1.0, 1e-10))
    simulation = simulate(chain(2).fix().actuate(signal))
    np.testing.assert_allclose(factors(simulation), [1.1, 1.2], atol=1e-6)


def test_equal_signals_are_evaluated_once(simulate: Make) -> None:
    body = springs.block((8, 4, 4))
    body.actuate(springs.wave(0.1, 1.0, body.distance_along((1.0, 0.0, 0.0))))
    assert simulate(body).solver.model.signal_count == 1 + 8  # the passive one, and one a distance


def test_actuation_moves_the_body(simulate: Make, where: Make) -> None:
    """A block all of whose springs expand by 10 % becomes 10 % larger."""
    body = springs.block((4, 4, 4), damping=30.0).actuate(springs.Signal(ramp, (0.0, 0.2, 0.1, 1.0)))
    simulation = simulate(body)
    simulation.run(1.5)
    np.testing.assert_allclose(np.ptp(where(simulation), axis=0), 1.1 * np.ptp(body.positions, axis=0), rtol=1e-3)


@pytest.mark.parametrize("amplitude", [math.nan, math.inf])
def test_parameters_must_be_finite(amplitude: float) -> None:
    with pytest.raises(InvalidValue, match="finite"):
        chain(2).actuate(springs.expand_contract(amplitude, 1.0))


def test_a_signal_has_at_most_four_parameters() -> None:
    with pytest.raises(InvalidValue, match="at most 4 parameters, not 5"):
        chain(2).actuate(springs.Signal(ramp, (1.0, 2.0, 3.0, 4.0, 5.0)))


@pytest.mark.parametrize("period", [0.0, -1.0, math.nan])
def test_a_period_is_positive(period: float) -> None:
    with pytest.raises(InvalidValue, match="period of a wave must be positive"):
        springs.titan_wave(period=period, offset=0.0)


def test_parameters_must_fit_the_springs() -> None:
    with pytest.raises(InvalidValue, match="3"):
        chain(5).actuate(springs.wave(0.1, 1.0, np.zeros(3)))


@pytest.mark.parametrize("chosen", [np.array([5]), np.array([-9]), np.array([True, False])])
def test_springs_must_exist(chosen: np.ndarray) -> None:
    with pytest.raises(InvalidValue):
        chain(4).actuate(springs.expand_contract(0.1, 1.0), chosen)


def test_springs_can_be_chosen_by_a_mask(simulate: Make) -> None:
    body = chain(4).fix().actuate(springs.expand_contract(0.1, 0.25), np.array([True, False, False, True]))
    simulation = simulate(body, dt=1e-2)
    simulation.step(100)
    np.testing.assert_allclose(factors(simulation), [1.1, 1.0, 1.0, 1.1], atol=1e-6)


def test_a_signal_must_be_a_warp_function() -> None:
    with pytest.raises(InvalidValue, match="wp.func"):
        chain(1).actuate(springs.Signal(lambda time, parameters: 1.0, (1.0,)))  # type: ignore[arg-type]
