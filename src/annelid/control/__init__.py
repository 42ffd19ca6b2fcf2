"""Controllers: time functions, phased sines, development, neural networks, and the user's own.

A controller maps the time and a robot's inputs to one control value in [-1, 1] a channel (a voxel, a muscle). What it
can learn is one flat vector, `parameters`, which any optimiser can hold.
"""

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.control.commanded import commanded
from annelid.control.controller import Controller, Program, controller_from_dict
from annelid.control.files import read_controller
from annelid.control.host import HostController, WarpController
from annelid.control.loop import connect
from annelid.control.networks import MLP, DistributedMLP
from annelid.control.signals import Development, PhasedSines, Sine, TimeFunctions
from annelid.control.steered import SteeredRollout
from annelid.control.unrolled import Unrolled
from annelid.control.windows import Window
from annelid.core.lazy import public

__all__ = [
    "MLP",
    "Controller",
    "Development",
    "DistributedMLP",
    "HostController",
    "PhasedSines",
    "Program",
    "Sine",
    "SteeredRollout",
    "TimeFunctions",
    "Unrolled",
    "WarpController",
    "Window",
    "commanded",
    "connect",
    "controller_from_dict",
    "read_controller",
]

__dir__ = public(__name__)
