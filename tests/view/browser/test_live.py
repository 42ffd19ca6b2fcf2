"""The live viewer without a browser: its controls act on the simulations."""

from __future__ import annotations

import asyncio
import socket
import time as wall
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.recording import Recorder
from annelid.core.snapshot import Look

from ...threads import until
from .fakes import Hop, Things

pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

from annelid.view.browser.given import Given
from annelid.view.browser.live import LiveViewer, steps_a_click
from annelid.view.browser.replay import ReplayViewer


@pytest.fixture
def viewer() -> Iterator[LiveViewer]:
    with LiveViewer({"hop": Hop}, Hop(), port=18080) as made:
        yield made


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with LiveViewer({"hop": Hop}, Hop(), port=port) as viewer:
            assert viewer.url.startswith("http://127.0.0.1:")
            assert int(viewer.url.rsplit(":", 1)[1]) > port


def test_nobody_watching_costs_nothing(viewer: LiveViewer) -> None:
    asked: list[Look] = []
    simulation = viewer.runner.simulations[0]
    real = simulation.snapshot
    simulation.snapshot = lambda look: asked.append(look) or real(look)
    viewer.runner.play()
    until(lambda: simulation.step_count > 1000)
    assert asked == []


def test_a_click_takes_fewer_of_long_steps() -> None:
    assert [steps_a_click(dt) for dt in (1e-4, 1e-3, 0.01, 0.5)] == [100, 50, 5, 1]


def test_what_a_physics_does_not_do_yet_is_said(viewer: LiveViewer) -> None:
    shots = [viewer.runner.simulations[0].snapshot(Look())]
    assert viewer._status_text(shots) == "t = 0.000 s, paused"
    viewer.runner.simulations[0].limitation = "It does not touch the ground yet."
    assert viewer._status_text(shots) == "t = 0.000 s, paused\n\n*It does not touch the ground yet.*"


def test_a_live_parameter_acts_at_once_and_others_after_a_reset(viewer: LiveViewer) -> None:
    simulation = viewer.runner.simulations[0]
    viewer.runner.play()
    viewer._controls["height"].value = 1.5
    until(lambda: simulation.scene.height == 1.5)
    viewer._controls["legs"].value = 4
    until(lambda: viewer._scene.legs == 4)
    assert simulation.scene.legs == 2
    viewer.page.later(viewer._rebuild)
    until(lambda: viewer.runner.simulations[0].scene.legs == 4)
    rebuilt = viewer.runner.simulations[0]
    assert rebuilt.scene.height == 1.5
    until(lambda: viewer.runner.playing)


def test_a_parameter_that_is_refused_changes_nothing(viewer: LiveViewer) -> None:
    told: list[str] = []
    viewer.page.tell = told.append  # type: ignore[method-assign]
    viewer._controls["legs"].value = 5
    until(lambda: told == ["nothing has 5 legs."])
    assert viewer._scene.legs == 2


def test_many_side_by_side_vary_a_parameter(viewer: LiveViewer) -> None:
    viewer._vary.value = "height"
    viewer._count.value = 5
    until(lambda: len(viewer.runner.simulations) == 5)
    until(lambda: [s.scene.height for s in viewer.runner.simulations] == [0.0, 0.5, 1.0, 1.5, 2.0])
    viewer.runner.play()
    until(lambda: viewer.runner.simulations[4].step_count > 10)


def test_an_error_pauses_and_is_shown() -> None:
    with LiveViewer({"hop": Hop}, Hop(fails=True), port=18080) as viewer:
        viewer.runner.play()
        until(lambda: "stopped: it broke." in viewer._status.content)
        assert viewer._play.label == "Play"


def test_a_target_can_be_dragged(viewer: LiveViewer) -> None:
    handle = viewer._targets._handles[0]
    np.testing.assert_allclose(handle.position, (1.0, 0.0, 0.0))
    viewer._targets._dragged(viewer._scene, "goal", np.array([0.0, 2.0, 3.0]))
    until(lambda: viewer.runner.simulations[0].target == (0.0, 2.0, 3.0))


def test_a_thing_is_led_while_its_handle_is_dragged(viewer: LiveViewer) -> None:
    simulation, grips = viewer.runner.simulations[0], viewer._grips
    simulation.solver, simulation.state = Things(), None
    grips.show(1.0)
    handle, hear = grips._handles["ball"], grips._listener("ball")

    def send(phase: str, place: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        asyncio.run(hear(SimpleNamespace(phase=phase, client_id=3, target=SimpleNamespace(position=np.array(place)))))

    send("update", (9.0, 9.0, 9.0))  # nobody has taken it
    send("start")
    send("update", (0.0, 2.0, 3.0))
    until(lambda: simulation.solver.led == {"ball": (0.0, 2.0, 3.0)})
    simulation.solver.place = np.array([0.5, 0.0, 0.0])
    grips.follow()
    np.testing.assert_allclose(handle.position, (1.0, 0.0, 0.0))  # it stays with the mouse
    send("end")
    until(lambda: simulation.solver.led == {"ball": None})
    grips.follow()
    np.testing.assert_allclose(handle.position, (0.5, 0.0, 0.0))
    send("start")
    grips._gone(3)
    assert not grips._held


def test_channels_have_sliders_that_command_them() -> None:
    pair = springs.Body(
        positions=[[0, 0, 0], [1, 0, 0]], masses=1.0, springs=[[0, 1]], rest_lengths=1.0, stiffness=50.0
    )
    simulation = springs.simulation(pair.control("length", low=0.5, high=2.0), dt=1e-3, device="cpu")
    simulation.sensors.add("end", springs.position_of([1]))
    with LiveViewer({}, Given(simulation), port=18080) as viewer:
        ((channel, slider),) = viewer._commands._sliders.items()
        assert (slider.label, slider.min, slider.max, slider.value) == ("length", 0.5, 2.0, 1.0)
        viewer._commands._moved(channel, SimpleNamespace(client=1, target=SimpleNamespace(value=1.5)))
        until(lambda: simulation.controls.targets().tolist() == [[1.5]])
        assert {"length", "end.x"} <= set(viewer._shown.snapshots[0].numbers)


def test_a_recording_is_sought_through(tmp_path: Path) -> None:
    simulation = Hop().build()
    with Recorder(tmp_path / "r.rec", scene="hop") as recorder:
        for _ in range(11):
            recorder.write(simulation.snapshot(Look(fields=("height",))))
            simulation.step(100)
    with ReplayViewer(tmp_path / "r.rec", port=18080) as viewer:
        viewer.page.later(lambda: viewer.seek(0.55))
        until(lambda: viewer._shown == 5)
        assert viewer.page.color.options == ("none", "height")
        assert viewer.page.color.value == "height"  # the first of the fields


def test_segments_are_played_one_after_another(tmp_path: Path) -> None:
    simulation = Hop().build()
    moments = [simulation.snapshot(Look()) for _ in range(4) if simulation.step(100) is None]
    with Recorder(tmp_path / "r.rec") as recorder:
        for moment in moments:
            recorder.write(moment)
        recorder.new_segment()
        for moment in moments[:3]:
            recorder.write(moment)
    with ReplayViewer(tmp_path / "r.rec", port=18080) as viewer:
        reel = viewer.recording.reel
        for index in (6, 4, 3):
            viewer.page.later(lambda i=index: viewer.seek(float(reel[i])))
            until(lambda i=index: viewer._shown == i)


def test_an_empty_recording_is_refused(tmp_path: Path) -> None:
    Recorder(tmp_path / "r.rec").close()
    with pytest.raises(InvalidValue, match="no frames"):
        ReplayViewer(tmp_path / "r.rec")


def test_numbers_are_asked_for_only_when_they_are_plotted(viewer: LiveViewer) -> None:
    asked: list[Look] = []
    simulation = viewer.runner.simulations[0]
    real = simulation.snapshot
    simulation.snapshot = lambda look: asked.append(look) or real(look)
    viewer._plots._drawn_at = wall.perf_counter() + 1e6  # drawn a moment ago, and for a long time
    viewer.runner.play()
    viewer.page.later(viewer._show)
    until(lambda: len(asked) == 1)
    assert not asked[0].numbers
    viewer.page.later(viewer._take_steps)
    until(lambda: len(asked) == 2)
    assert asked[1].numbers
