"""Windows on readings."""

import numpy as np
import pytest

from annelid.control import Window
from annelid.core.errors import InvalidValue

READINGS = np.array([4.0, 1.0, 3.0, 7.0])


@pytest.mark.parametrize(
    ("window", "value"),
    [
        (Window(), 7.0),
        (Window("mean", 3), 11.0 / 3.0),
        (Window("mean", 9), 15.0 / 4.0),
        (Window("difference", 2), 4.0),
        (Window("difference", 3), 6.0),
        (Window("difference", 9), 3.0),
    ],
)
def test_views(window: Window, value: float) -> None:
    assert window.view(READINGS) == pytest.approx(value)


@pytest.mark.parametrize(("mode", "length"), [("median", 3), ("mean", 0), ("difference", 1)])
def test_bad_windows(mode: str, length: int) -> None:
    with pytest.raises(InvalidValue):
        Window(mode, length)  # type: ignore[arg-type]
