"""What a browser may say: by hand, at random and with malice, and the page lives on."""

from __future__ import annotations

import math
import random
import time as wall
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from annelid.commands.view import _serve
from annelid.core.errors import ViewerFailed
from annelid.view.browser.live import LiveViewer

from ...threads import until
from .client import CAMERA, connected
from .fakes import Hop, Hopper

viser = pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

ODD = (
       None, True, False, math.nan, math.inf, -math.inf, -1, 0, 1, 7, 0.5, 1e300, -1e300, 2**63, "", "..", "x" * 5000,
       "Step", "none", "leap", [], [1], [1, 2, 3], [math.nan] * 3, ["a", 2, 3], {}, {"a": 1}, b"x", [[1, 2], [3, 4]],
)  # fmt: skip


class Jumper(Hopper):
    """Takes steps in no time, and fails now and then as nobody foresaw."""

    def step(self, count: int = 1) -> None:
        self.step_count += count
        if count == 7:
            raise KeyError("seven")

    def run_for(self, seconds: float, *, most: int | None = None) -> None:
        wall.sleep(0.001)
        self.step(min(10, most or 10))


@dataclass(frozen=True)
class Jump(Hop):
    """Something that jumps."""

    def build(self) -> Hopper:
        if self.legs == 6:
            raise ZeroDivisionError("six legs")
        return Jumper(self)


class Leap(Jump):
    """Something that leaps."""


@pytest.fixture
def viewer() -> Iterator[LiveViewer]:
    with LiveViewer({"leap": Leap, "jump": Jump}, Jump(), port=18600) as made:
        yield made


@pytest.fixture
def told(viewer: LiveViewer) -> list[str]:
    sentences: list[str] = []
    viewer.page.tell = sentences.append  # type: ignore[method-assign]
    return sentences


def controls_of(viewer: LiveViewer) -> list[Any]:
    return list(viewer.page.server.gui._gui_input_handle_from_uuid.values())


def lives(viewer: LiveViewer) -> None:
    """The page's thread does what it is told, and so does the simulations'."""
    done: list[int] = []
    viewer.page.later(lambda: done.append(viewer.runner.call(lambda: 1).result(timeout=10.0)))
    until(lambda: done == [1])


@pytest.mark.parametrize(
    ("control", "value", "sentence"),
    [
        ("_controls.height", 2.5, "'height [m]' must be a number from 0 to 2, not 2.5."),
        ("_controls.height", math.nan, "'height [m]' must be a number from 0 to 2, not nan."),
        ("_controls.height", "0.7", "'height [m]' must be a number from 0 to 2, not '0.7'."),
        ("_controls.legs", 2.5, "'legs ↻' must be a whole number from 1 to 6, not 2.5."),
        ("_controls.style", "loud", "'style ↻' must be one of soft, hard, not 'loud'."),
        ("_controls.fails", "yes", "'fails ↻' cannot be 'yes'."),
        ("_controls.cost", math.inf, "'cost ↻' must be a number, not inf."),
        ("_steps", 0, "'Steps a click' must be a whole number from 1 to 1e+06, not 0."),
        ("_speed", "9 ×", "not '9 \\xd7'."),
        ("_count", 10**9, "'Side by side' must be a whole number from 1 to 16, not 1000000000."),
        ("_buttons", "Explode", "'a button' must be one of Step, Reset, not 'Explode'."),
    ],
)
def test_a_value_that_a_control_cannot_have_is_refused_with_a_sentence(
    viewer: LiveViewer, told: list[str], control: str, value: Any, sentence: str
) -> None:
    owner, _, name = control.partition(".")
    handle = getattr(viewer, owner)
    handle = handle[name] if name else handle
    before = handle.value
    with connected(viewer.url) as client:
        client.set(handle, value)
        until(lambda: bool(told))
    assert sentence in told[0]
    assert handle.value == before


def test_a_value_within_its_range_acts(viewer: LiveViewer) -> None:
    with connected(viewer.url) as client:
        client.set(viewer._controls["height"], 2)  # JavaScript has no floats
        client.set(viewer._controls["style"], "hard")
        client.set(viewer._play, True)
        until(lambda: viewer._scene.height == 2.0 and viewer._scene.style == "hard" and viewer.runner.playing)


def test_an_error_that_nobody_foresaw_is_shown_and_the_page_lives_on(
    viewer: LiveViewer, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with connected(viewer.url) as client:
        client.set(viewer._steps, 7)
        client.set(viewer._buttons, "Step")
        until(lambda: bool(told))
        assert told == ["this failed unexpectedly (KeyError: 'seven')."]
        assert "KeyError" in capsys.readouterr().err
        client.set(viewer._controls["legs"], 6)
        until(lambda: viewer._scene.legs == 6)
        client.set(viewer._buttons, "Reset")
        until(lambda: len(told) == 2)
        assert "ZeroDivisionError" in told[1]
        client.set(viewer._controls["legs"], 3)
        client.set(viewer._buttons, "Reset")
        until(lambda: viewer.runner.simulations[0].scene.legs == 3)
    lives(viewer)


def test_a_scene_that_cannot_be_built_is_not_switched_to(viewer: LiveViewer, told: list[str]) -> None:
    before = viewer.runner.simulations
    viewer._scenes["broken"] = type("Broken", (Hop,), {"build": lambda self: 1 // 0})
    viewer._choice.options = ("leap", "jump", "broken")
    with connected(viewer.url) as client:
        client.set(viewer._choice, "broken")
        until(lambda: bool(told))
        until(lambda: viewer._choice.value == "jump")
    lives(viewer)
    assert viewer.runner.simulations is before
    assert isinstance(viewer._scene, Jump)


def _random_message(rng: random.Random, viewer: LiveViewer) -> Any:
    """Anything at all that is said to viser, mostly well-formed."""
    uuid = rng.choice(controls_of(viewer))._impl.uuid
    odd = [rng.choice(ODD) for _ in range(4)]
    floats = [rng.choice((0.0, 1.0, math.nan, math.inf, 1e300, -5, "x", None)) for _ in range(7)]
    upload = {"source_component_uuid": uuid, "transfer_uuid": "t"}
    kinds: list[Any] = [
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": odd[0]}},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {rng.choice(("update_cb", "removed", "props")): odd[1]}},
        {"type": "GuiUpdateMessage", "uuid": odd[0], "updates": odd[1]},
        {"type": "TransformControlsUpdateMessage", "name": "/all/targets/goal", "wxyz": floats[:4],
         "position": floats[4:]},
        {"type": "ScenePointerMessage", "event_type": "click", "ray_origin": odd[0], "ray_direction": floats[:3],
         "screen_pos": [[0, 0]], "modifier": None},
        {"type": "FileTransferStartUpload", **upload, "filename": "..", "mime_type": "", "part_count": 1,
         "size_bytes": 3},
        {"type": "FileTransferPart", **upload, "part_index": 0, "content": b"abc"},
        {**CAMERA, "position": floats[:3], "fov": odd[0]},
        {"type": rng.choice(("ShareUrlRequest", "ShareUrlDisconnect", "GuiFormDirtyMessage", "ResetGuiMessage"))},
        {"type": odd[3]},
        {"type": "CommandTriggerMessage", "uuid": odd[0]},
        {"type": "GuiFormSubmitMessage", "uuid": uuid},
        odd[2],
        rng.randbytes(rng.randrange(40)),
        "text",
    ]  # fmt: skip
    return rng.choice([kinds[0], rng.choice(kinds)])


def test_nothing_that_is_said_ends_the_viewer(viewer: LiveViewer, told: list[str], monkeypatch: Any) -> None:
    published: list[bool] = []
    monkeypatch.setattr(viewer.page.server, "request_share_url", lambda *_: published.append(True))
    rng = random.Random(19)
    for _ in range(6):
        with connected(viewer.url) as client:
            for _ in range(150):
                client.send(_random_message(rng, viewer))
            client.set(viewer._steps, value := rng.randrange(10, 1000))
            until(lambda value=value: viewer._steps.value == value)
        lives(viewer)
    assert told
    assert published == []
    for control in controls_of(viewer):
        assert control._impl.update_cb is not None
        assert not isinstance(control.value, float) or math.isfinite(control.value)
    assert 1 <= len(viewer.runner.simulations) <= 16


def test_random_values_of_every_control_never_end_the_viewer(viewer: LiveViewer) -> None:
    rng = random.Random(20)
    with connected(viewer.url) as client:
        for _ in range(3):
            for control in controls_of(viewer):
                for _ in range(4):
                    client.set(control, rng.choice((*ODD, _valid(rng, control))))
            lives(viewer)


def _valid(rng: random.Random, control: Any) -> Any:
    if isinstance(control, viser.GuiDropdownHandle | viser.GuiButtonGroupHandle):
        return rng.choice(control.options)
    if isinstance(control, viser.GuiSliderHandle):
        value = rng.uniform(control.min, control.max)
        return round(value) if isinstance(control.value, int) else value
    return control.value if not isinstance(control, viser.GuiButtonHandle) else True


def test_a_page_that_cannot_be_served_any_longer_exits_with_1(
    viewer: LiveViewer, capsys: pytest.CaptureFixture[str]
) -> None:
    served = viewer.page.server._websock_server
    served._background_event_loop.call_soon_threadsafe(served._stop_event.set)
    assert _serve(viewer, open_browser=False) == 1
    told = capsys.readouterr().err.strip()
    assert told == "annelid: the viewer failed: its server stopped; start it again."


def test_a_simulation_thread_that_ends_is_a_failure(viewer: LiveViewer, monkeypatch: Any) -> None:
    monkeypatch.setattr(viewer.runner, "_do_jobs", lambda: exec("raise SystemExit(3)"))
    viewer.runner.play()
    with pytest.raises(ViewerFailed, match="its simulation ended"):
        viewer.wait()


def test_a_closed_viewer_is_no_failure(viewer: LiveViewer) -> None:
    viewer.close()
    viewer.wait()
    assert _serve(viewer, open_browser=False) == 0
