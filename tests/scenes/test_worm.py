"""The worm crawls: further than its own length, as far the other way, and nowhere without friction."""

from __future__ import annotations

from typing import Any

import pytest

from annelid.scenes.worm import Worm

EARLY, LATE = 1.0, 3.0  # [s]


def crawl(device: str, *moments: float, **options: Any) -> list[dict[str, float]]:
    """Results at some moments of a crawl on the level, from rest."""
    worm = Worm(**options)
    simulation = worm.build(device=device)
    assert simulation.summary().kinetic == 0.0
    results = []
    for moment in moments:
        simulation.run(moment - simulation.time)
        results.append({m.name: m.value for m in worm.measure(simulation)})
    return results


def test_the_worm_crawls_both_ways(device: str) -> None:
    early, late = crawl(device, EARLY, LATE)
    assert abs(late["distance-in-body-lengths"]) > 0.6
    assert late["speed"] == pytest.approx(late["distance"] / LATE)
    assert abs(late["sideways"]) < 0.01 * abs(late["distance"])
    (backward,) = crawl(device, EARLY, direction="backward")
    assert backward["distance"] == pytest.approx(-early["distance"], rel=0.1)


def test_without_friction_it_stays(device: str) -> None:
    (results,) = crawl(device, EARLY, friction=0.0)
    assert abs(results["distance-in-body-lengths"]) < 1e-3


def test_the_wave_of_the_paper_moves_it_too(device: str) -> None:
    worm = Worm(wave="titan")
    simulation = worm.build(device=device)
    simulation.run(1.0)
    assert abs({m.name: m.value for m in worm.measure(simulation)}["distance-in-body-lengths"]) > 0.1


def test_its_body() -> None:
    body = Worm(segments=20).body()
    assert body.mass_count == 20 * 5 * 5
    assert (body.signal_kinds == 1).all()
    low, high = body.bounds()
    assert (low == 0.0).all()
    assert high[0] == pytest.approx(1.9)


def test_the_wave_can_be_changed_while_it_crawls() -> None:
    scene = Worm()
    still, slow, plain = (scene.build(device="cpu") for _ in range(3))
    scene.adjust(still, "amplitude", 0.0)
    scene.adjust(slow, "frequency", 1.0)
    scene.adjust(slow, "amplitude", 0.1)
    for simulation in (still, slow, plain):
        simulation.run(0.5)
    far = [abs(scene.measure(simulation)[0].value) for simulation in (still, slow, plain)]
    assert far[0] < 1e-3 < far[1] < far[2]
    rebuilt = Worm(frequency=1.0, amplitude=0.1).build(device="cpu")
    rebuilt.run(0.5)
    assert rebuilt.state_hash() == slow.state_hash()
