"""A soft block between two jaws that turn and squeeze, a loose box on it: nothing crosses, nothing inverts."""

import numpy as np
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.shapes import Box, Path, Rigid, ground, turned_about

from .bodies import block
from .intersections import crossings


def jaw(side: float) -> Path:
    """There and back, rolling and pitching."""

    def at(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        turn = 15.0 * times
        along = side * (0.075 - 0.018 * (1.0 - np.cos(turn)))
        places = np.stack([0.04 + along, 0.04 + 0.01 * np.sin(turn), 0.03 + 0.01 * np.sin(2.0 * turn)], axis=1)
        spins = np.stack([0.4 * np.sin(turn), side * 0.5 * np.sin(1.5 * turn), 0.0 * turn], axis=1)
        return places, Rotation.from_rotvec(spins).as_quat()

    return at


def test_crossings_are_found() -> None:
    one, two = Box((1.0, 1.0, 1.0)).surface(), Box((0.4, 0.4, 0.4), center=(0.61, 0.02, 0.01)).surface()
    assert crossings(one.vertices, one.triangles, two.vertices, two.triangles) > 0
    away = two.vertices + np.array([0.1, 0.0, 0.0])
    assert crossings(one.vertices, one.triangles, away, two.triangles) == 0


def test_jaws_squeeze_a_block_and_nothing_goes_through_anything() -> None:
    jaws = [Rigid(Box((0.03, 0.05, 0.03)), motion=jaw(side)) for side in (-1.0, 1.0)]
    loose = Rigid(Box((0.03, 0.03, 0.03)), motion="free", position=(0.04, 0.04, 0.08), rotation=turned_about("x", 0.5))
    solid = block((0.08, 0.08, 0.05), (3, 2, 2))
    simulation = fem.simulation(solid, obstacles=[ground(), *jaws, loose], dt=0.01, device="cpu", threads=1)
    contacts, surface = simulation.solver.contacts, Box((0.03, 0.05, 0.03)).surface()
    assert contacts is not None
    rest = solid.nodes[solid.elements]
    volumes = np.linalg.det(rest[:, 1:] - rest[:, :1])
    for _ in range(13):  # three more would press twice as hard and take as long as all of these
        simulation.step()
        positions, touch = simulation.positions(), simulation.state.touch
        corners = positions[solid.elements]
        assert (np.linalg.det(corners[:, 1:] - corners[:, :1]) / volumes).min() > 0.05
        assert positions[:, 2].min() > 0.0
        for number in (1, 2):
            turn = Rotation.from_quat(touch.turns.numpy()[number])
            there = turn.apply(np.array(surface.vertices)) + touch.places.numpy()[number]
            assert crossings(positions, contacts.corners.faces, there, surface.triangles) == 0
    assert np.abs(touch.forces.numpy()).max() > 0.1
