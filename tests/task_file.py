"""The file of a user's own task, as tests write it: a small block of springs that crawls."""

from pathlib import Path

TASK = '''"""A bar that crawls."""

from annelid import envs, springs
from annelid.shapes import ground


class Crawl(envs.Task):
    """Crawl along x."""

    seconds = 0.06
    every = 0.02
    friction: float = 0.8

    def build(self, **machine):
        body = springs.block((4, 2, 2), 0.1, damping=20.0)
        middle = body.positions[body.springs].mean(axis=1)[:, 0]
        body.control("back", middle < 0.15).control("front", middle >= 0.15, low=0.7, high=1.2)
        simulation = springs.simulation(body, dt=2e-4, obstacles=[ground(self.friction)], **machine)
        simulation.sensors.add("place", springs.position_of())
        simulation.sensors.add("strain", springs.strain_of())
        return simulation

    def reward(self, now, before, actions):
        return now["place"][:, 0] - before["place"][:, 0]
'''


def written(folder: Path, *changes: tuple[str, str]) -> str:
    """The file with some of its text replaced, as a command takes it."""
    text = TASK
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "crawl.py"
    path.write_text(text, encoding="utf-8")
    return f"{path}:Crawl"
