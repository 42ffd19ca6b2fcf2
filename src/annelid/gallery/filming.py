"""Films of scenes, environments and robots: footage, and where the camera stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annelid.core.scene import WithViewpoint
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.envs.baselines import scripted
from annelid.envs.registration import make_worlds
from annelid.envs.spaces import host_observations, packed
from annelid.gallery.entries import Entry
from annelid.gallery.footage import Footage
from annelid.gallery.lighter import options_of
from annelid.gallery.shown_robots import SECONDS, breathing
from annelid.robots.registry import robot_maker
from annelid.scenes.registry import scene_class
from annelid.view.camera.camera import Camera

_FIRST_FRAMES = 192
"""Into how many parts a film is cut before it is known how many of them there is time for."""

_COLOURS = ("actuation", "stress", "strain", "speed")
"""Fields to colour by, the most telling first."""


@dataclass(frozen=True)
class Film:
    """What was filmed.

    Attributes:
        frames: Moments in order.
        camera: Where it is seen from; None frames what there is.
        follow: Whether the camera moves along.
        field: Scalar to colour by, or None.
    """

    frames: list[Snapshot]
    camera: Camera | None
    follow: bool
    field: str | None


def film(entry: Entry, budget: float, *, device: str = "auto", threads: int | None = None) -> Film:
    """Film an entry for as long as it lasts, or as the budget of CPU time [s] allows."""
    if entry.kind == "environment":
        return _film_episode(entry.name, budget, device, threads)
    if entry.kind == "robot":
        simulation = breathing(robot_maker(entry.name), device=device, threads=threads)
        return _film_simulation(simulation, SECONDS, budget, None, False)
    kind: Any = scene_class(entry.name)
    scene = kind(**options_of(entry.name))
    simulation = scene.build(device=device, threads=threads)
    camera, follow = scene.viewpoint(simulation) if isinstance(scene, WithViewpoint) else (None, False)
    return _film_simulation(simulation, scene.duration, budget, camera, follow)


def _film_simulation(
    simulation: Simulation[Any], seconds: float, budget: float, camera: Camera | None, follow: bool
) -> Film:
    offered = list(simulation.fields)
    field = next((name for name in _COLOURS if name in offered), next(iter(offered), None))
    look = Look(fields=() if field is None else (field,))
    steps = max(1, round(seconds / _FIRST_FRAMES / simulation.dt))
    footage = Footage(budget)
    footage.offer(lambda: simulation.snapshot(look))
    while simulation.time < seconds - 0.5 * simulation.dt and not footage.over:
        simulation.step(steps)
        footage.offer(lambda: simulation.snapshot(look))
    return Film(footage.frames, camera, follow, field)


def _film_episode(name: str, budget: float, device: str, threads: int | None) -> Film:
    """One episode in which the scripted policy acts."""
    worlds = make_worlds(name, 1, device=device, threads=threads)
    policy = scripted(name, worlds)
    worlds.restart(seeds=[0])
    footage = Footage(budget)
    footage.offer(worlds.snapshot)
    while not (footage.over or worlds.done.numpy()[0]):
        worlds.step(policy(packed(host_observations(worlds))))
        footage.offer(worlds.snapshot)
    return Film(footage.frames, worlds.camera, worlds.followed, None)
