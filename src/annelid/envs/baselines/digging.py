"""A scripted scoop for the excavator: cut, lift, swing round, tip over the bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import times
from annelid.envs.worlds import Policy, Worlds

_WAY = np.array([
    # time [s], angles of base, shoulder, elbow and wrist [rad]: those of an arc through the soil, then to the bin
    (1.8, 0.0, 0.395, -2.224, 3.469),
    (2.3, 0.0, 0.497, -2.238, 3.585),
    (2.8, 0.0, 0.451, -2.269, 3.421),
    (3.3, 0.0, 0.407, -2.293, 3.249),
    (3.8, 0.0, 0.366, -2.307, 3.072),
    (4.3, 0.0, 0.329, -2.311, 2.890),
    (4.8, 0.0, 0.298, -2.306, 2.705),
    (5.3, 0.0, 0.275, -2.292, 2.517),
    (5.8, 0.0, 0.260, -2.268, 2.328),
    (6.8, 0.0, 0.651, -1.595, 1.346),
    (7.8, 0.0, 0.777, -0.966, 0.543),
    (9.4, 0.801, 0.777, -0.966, 0.543),
    (12.4, 0.801, 0.032, -2.278, 3.310),
])  # fmt: skip
_JOINTS = [0, 1, 3, 5]  # that move; the others stay as they are at home
_HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
_FASTEST = np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61])  # of the joints of a Panda [rad/s]


def digging(worlds: Worlds) -> Policy:
    """Lead the joints along the way; between two way-points they turn evenly."""
    most = worlds.options.speed * _FASTEST * worlds.action_seconds
    way = np.vstack([[0.0, *_HOME[_JOINTS]], _WAY])

    def act(observations: Any) -> np.ndarray:
        then = times(worlds) + worlds.action_seconds
        goals = np.tile(_HOME, (worlds.count, 1))
        for column, joint in enumerate(_JOINTS):
            goals[:, joint] = np.interp(then, way[:, 0], way[:, column + 1])
        return np.clip((goals - observations["angles"]) / most, -1.0, 1.0)

    return act
