"""Scripted pushing: stroke by stroke, lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.envs.baselines.parts import readings, times
from annelid.envs.worlds import Policy, Worlds

_LANES = np.array([0.0, -0.17, 0.17])  # of the blade [m]
_BACK, _BEYOND, _AIM, _GAIN = 0.2, 0.05, 0.02, 10.0  # [m], [m], [m], [1/m]

_TRACKS = np.array([0.0, 0.45, -0.45])  # of the bulldozer [m]
_RUN_UP, _INTO = 0.6, 0.4  # from the left end of the field, and into the goal [m]
_SWERVE, _TURN = 0.6, 3.0  # largest heading [rad], and turning for an error of it [1/rad]


def pushing(worlds: Worlds) -> Policy:
    """Push along one lane until the blade is over the line, come back behind the heap, take the next lane."""
    lane, returning = np.zeros(worlds.count, int), np.zeros(worlds.count, bool)

    def act(observations: Any) -> np.ndarray:
        seen, fresh = readings(worlds, observations), times(worlds) == 0.0
        lane[fresh], returning[fresh] = 0, False
        x, y = seen["blade"][:, 0], seen["blade"][:, 1]
        returning[x > seen["line"][:, 0] + _BEYOND] = True
        back = returning & (x < _BACK)
        lane[back] += 1
        returning[back] = False
        aside = _LANES[lane % len(_LANES)] - y
        ahead = np.where(returning, -1.0, np.where(np.abs(aside) > _AIM, 0.0, 1.0))
        return np.stack([ahead, np.where(returning, 0.0, np.clip(_GAIN * aside, -1.0, 1.0))], axis=1)

    return act


def bulldozing(worlds: Worlds) -> Policy:
    """Push along a track into the goal, come back in reverse, take the next track."""
    options = worlds.options
    begin, end = -0.5 * options.extent[0] + _RUN_UP, options.goal_box[0] + _INTO
    track, returning = np.zeros(worlds.count, int), np.zeros(worlds.count, bool)

    def act(observations: Any) -> np.ndarray:
        fresh = times(worlds) == 0.0
        track[fresh], returning[fresh] = 0, False
        x, y, heading = np.asarray(observations["pose"], float).T
        returning[x > end] = True
        back = returning & (x < begin)
        track[back] += 1
        returning[back] = False
        way = np.where(returning, -1.0, 1.0)
        # Who drives backwards and looks to the left comes to the right.
        goal = way * np.clip(_TRACKS[(track + returning) % len(_TRACKS)] - y, -_SWERVE, _SWERVE)
        return np.stack([way, np.clip(_TURN * (goal - heading), -1.0, 1.0)], axis=1)

    return act
