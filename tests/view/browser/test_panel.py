"""Controls made from a dataclass, plots, and the colours of a surface's shades."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look, Number, Snapshot
from annelid.view.browser.drawers import shade_colors, shade_numbers
from annelid.view.browser.drawing import grid_places
from annelid.view.browser.page import legend_html
from annelid.view.browser.panel import add_controls, converted, parameter_fields, sweep, sweepable
from annelid.view.browser.server import free_port
from annelid.view.browser.time_plots import History, drawable
from annelid.view.colors import scale_for

from .fakes import Hop


class Gui:
    """Notes which controls are asked for."""

    def __init__(self) -> None:
        self.made: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        def add(*arguments: Any, **_: Any) -> Any:
            self.made.append((name, arguments))
            return type("Handle", (), {"on_update": lambda self, callback: None})()

        return add


def test_every_parameter_gets_the_control_of_its_type() -> None:
    gui = Gui()
    handles = add_controls(gui, Hop(), lambda name, value: None)
    assert list(handles) == ["height", "legs", "style", "fails", "cost"]
    kinds = [name for name, _ in gui.made]
    assert kinds == ["add_slider", "add_slider", "add_dropdown", "add_checkbox", "add_number"]
    label, low, high, step, value = gui.made[0][1]
    assert (label, low, high, value) == ("height [m]", 0.0, 2.0, 0.5)
    assert 0.0 < step <= 0.02
    assert gui.made[1][1] == ("legs ↻", 1, 6, 1, 2)


def test_a_value_outside_its_range_widens_the_slider() -> None:
    gui = Gui()
    add_controls(gui, Hop(height=3.5), lambda name, value: None)
    assert gui.made[0][1][1:3] == (0.0, 3.5)


def test_values_of_controls_become_those_of_parameters() -> None:
    assert converted(Hop(), "legs", 3.0) == 3
    assert converted(Hop(), "style", "hard") == "hard"
    assert [f.name for f in parameter_fields(Hop)][:2] == ["height", "legs"]


def test_a_sweep_goes_from_end_to_end() -> None:
    assert sweepable(Hop()) == ("height", "legs")
    assert sweep(Hop(), "height", 3) == [0.0, 1.0, 2.0]
    assert sweep(Hop(), "legs", 3) == [1, 4, 6]
    assert sweep(Hop(), "height", 1) == [0.0]


def test_history_keeps_all_of_a_long_time() -> None:
    history = History()
    for i in range(5000):
        history.add([Snapshot(i * 0.1, numbers={"x": Number(i)})])
    times, values = history.series("x", 1)
    assert 300 <= len(times) <= 600
    assert times[0] == 0.0
    assert times[-1] > 480.0
    np.testing.assert_allclose(values, times * 10)
    history.add([Snapshot(0.0, numbers={"y": Number(1)})])
    assert len(history.times) == 1


def test_differences_that_an_axis_cannot_tell_are_not_drawn() -> None:
    times = np.arange(3.0)
    _, above, below = drawable((times, np.array([1.0, 1.0 + 4e-16, 1.0]), np.array([np.nan, 1.0, 1.0 - 1e-16])))
    np.testing.assert_array_equal(above, np.ones(3))
    np.testing.assert_array_equal(below, [np.nan, 1.0, 1.0])
    _, apart = drawable((times, np.array([1.0, 1.0 + 1e-5, 1.0])))
    np.testing.assert_array_equal(apart, [1.0, 1.0 + 1e-5, 1.0])


def test_shades_follow_the_scale() -> None:
    field = Hop().build().snapshot(Look(fields=("height",))).parts[1].fields["height"]
    scale = scale_for("height", [field], limits=(0.0, 1.0))
    count = len(shade_colors(scale))
    values = np.array([[0.0, 0, 0], [0.5, 0.5, 0.5], [1.0, 1, 1], [np.nan, 0, 0], [9, 9, 9]])
    np.testing.assert_array_equal(
        shade_numbers(values, scale, count), [0, (count - 1) // 2, count - 2, count - 1, count - 2]
    )


def test_categories_keep_their_colours() -> None:
    field = Hop().build().snapshot(Look(fields=("kind",))).parts[1].fields["kind"]
    scale = scale_for("kind", [field])
    assert len(shade_colors(scale)) == 3
    np.testing.assert_array_equal(shade_numbers(np.array([[0.0, 1, 1], [1, 0, 0]]), scale, 3), [0, 1])
    assert "a</div>" in legend_html(scale)
    assert legend_html(None) == ""


def test_a_grid_has_room_for_all() -> None:
    places = np.array(grid_places([Hop().build().snapshot(Look())] * 9))
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)[~np.eye(9, dtype=bool)]
    assert gaps.min() > 1.0


@pytest.mark.parametrize(
    ("host", "port", "sentence"), [("127.0.0.1", 70000, "between 0 and 65535"), ("no such host", 8080, "cannot listen")]
)
def test_impossible_addresses_are_refused(host: str, port: int, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        free_port(host, port)
