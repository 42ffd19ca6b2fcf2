"""What looking costs: frames of the camera, and the speed of a simulation with a browser page open."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look
from annelid.shapes import Plane
from annelid.view.browser.live import LiveViewer
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.stage import Stage

# A client that tells where its camera is, as a browser does, then takes everything the server sends and draws nothing.
_CLIENT = """
import sys, msgspec, viser
from websockets.sync.client import connect
camera = dict(type="ViewerCameraMessage", wxyz=(1.0, 0.0, 0.0, 0.0), position=(3.0, 3.0, 3.0), fov=1.0, near=0.1,
    far=100.0, image_height=600, image_width=900, look_at=(0.0, 0.0, 0.0), up_direction=(0.0, 0.0, 1.0))
with connect(sys.argv[1].replace("http", "ws"), subprotocols=["viser-v" + viser.__version__], max_size=None) as page:
    page.send(msgspec.msgpack.encode(camera))
    while True:
        page.recv()
"""


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench view`."""

    seconds: float = 3.0
    """Wall time of each stretch of simulation [s]."""


@dataclass(frozen=True)
class _Block:
    """A cube of masses that bounces."""

    name: ClassVar[str] = "block"
    masses: int = 27

    def build(self, *, device: Any = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        body = springs.block((self.masses,) * 3)
        return springs.simulation(body, obstacles=[Plane()], device=device, threads=threads)


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Frames a second of the camera, and the share of a simulation's speed that is left when someone watches."""
    yield from _camera(device, 1 if device.is_cpu else threads)
    masses = 50 if device.is_cuda else 27
    share = _watched_share(_Block(masses), device, threads, options.seconds)
    source = f"{masses}³ masses, a page that takes all frames; median of 5 pairs"
    yield Measurement("watched-speed-share", share, "", 0.9, bound="at-least", source=source)


def _camera(device: wp.Device, threads: int | None) -> Iterator[Measurement]:
    simulation = _Block(30).build(device=device)
    look = Look(fields=("speed",), host=False)
    snapshot = simulation.snapshot(look)
    stage = Stage(snapshot, field="speed", limits=(0.0, 1.0), device=device)
    film = Film(Camera.framing(snapshot), size=(640, 480), device=device, threads=threads)

    def shoot() -> None:
        stage.update(snapshot)
        film.render(stage)

    wanted = 500.0 if device.is_cuda else 2.0
    rates = {"camera-640x480": _rate(shoot, device), "depth-640x480": _rate(lambda: film.cast_depth(stage), device)}
    for name, rate in rates.items():
        yield Measurement(name, rate, "frames/s", wanted, bound="at-least", source="surface of 30x30x30, moved")


def _rate(job: Any, device: wp.Device, seconds: float = 2.0) -> float:
    job()
    wp.synchronize_device(device)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        job()
        count += 1
        if count % 16 == 0 or device.is_cpu:
            wp.synchronize_device(device)
    wp.synchronize_device(device)
    return count / (time.perf_counter() - begin)


def _watched_share(scene: _Block, device: wp.Device, threads: int | None, seconds: float) -> float:
    """Steps a second with a page open over those without, alternating, because a machine's speed wanders."""
    viewer = LiveViewer({scene.name: type(scene)}, scene, build=lambda s: s.build(device=device, threads=threads))
    try:
        viewer.runner.play()
        time.sleep(2.0)
        shares = [_watched(viewer, seconds) / _steps(viewer, seconds) for _ in range(5)]
    finally:
        viewer.close()
    return float(np.median(shares))


def _watched(viewer: LiveViewer, seconds: float) -> float:
    client = subprocess.Popen([sys.executable, "-c", _CLIENT, viewer.url], stderr=subprocess.DEVNULL)
    try:
        deadline = time.perf_counter() + 20.0
        while not viewer.page.watched:
            if time.perf_counter() > deadline:
                raise RuntimeError("the client of the bench did not connect to the page.")
            time.sleep(0.05)
        time.sleep(0.5)
        return _steps(viewer, seconds)
    finally:
        client.kill()
        client.wait()
        while viewer.page.watched:
            time.sleep(0.05)


def _steps(viewer: LiveViewer, seconds: float) -> float:
    simulation = viewer.runner.simulations[0]
    first, begin = simulation.step_count, time.perf_counter()
    time.sleep(seconds)
    return (simulation.step_count - first) / (time.perf_counter() - begin)
