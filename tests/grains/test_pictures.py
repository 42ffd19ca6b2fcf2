"""Snapshots: what is in them, in which order, and that they can be recorded, drawn and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import UnknownName
from annelid.core.recording import Recording
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Lines, Look, Mesh, Plane, Spheres
from annelid.shapes import Box, Cylinder, Rigid, helical_gear

from .conftest import RADIUS, bed_with_ball

Grains = Simulation[grains.Solver]


def parts(simulation: Grains, look: Look) -> dict[str, object]:
    return {part.name: part for part in simulation.snapshot(look).parts}


def test_grains_bodies_and_the_floor(settled: Grains) -> None:
    found = parts(settled, Look())
    ball, balls, floor = found["ball-5"], found["grains"], found["plane-0"]
    assert isinstance(ball, Mesh)
    assert isinstance(balls, Spheres)
    assert isinstance(floor, Plane)
    assert len(found) == 3  # the walls are hidden
    assert balls.radii == RADIUS
    assert np.allclose(balls.centers, settled.solver.readout.positions(settled.state))
    place = settled.solver.readout.body_position(settled.state, 5)
    assert np.linalg.norm(ball.vertices - place, axis=1) == pytest.approx(np.full(len(ball.vertices), 0.03), rel=1e-4)


def test_fields(settled: Grains) -> None:
    assert settled.fields == ("speed", "height", "start", "spin", "contacts")
    for name in settled.fields:
        grains_part = parts(settled, Look(fields=(name,)))["grains"]
        assert isinstance(grains_part, Spheres)
        values = grains_part.fields[name].values
        assert values.shape == (settled.solver.model.count,)
        assert np.isfinite(values).all()
    with pytest.raises(UnknownName, match="no field named 'sped'"):
        settled.snapshot(Look(fields=("sped",)))


def test_force_chains(settled: Grains) -> None:
    chains = parts(settled, Look(lines=True))["contacts"]
    assert isinstance(chains, Lines)
    ends = chains.points[chains.segments]
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    assert (lengths < 2.1 * RADIUS).all()
    assert (chains.fields["force"].values > 0.0).all()


def test_arrays_may_stay_on_the_device(settled: Grains) -> None:
    here, there = (parts(settled, Look(host=host))["grains"] for host in (True, False))
    assert isinstance(there, Spheres)
    assert hasattr(there.centers, "numpy")
    assert np.allclose(there.centers.numpy(), here.centers)  # type: ignore[attr-defined]


def test_numbers(settled: Grains) -> None:
    numbers = settled.snapshot_numbers()
    summary = settled.summary()
    assert numbers["gravitational-energy"].value == summary.gravitational
    assert numbers["center-z"].value == pytest.approx(summary.center_of_mass[2])
    assert not settled.snapshot(Look(numbers=False)).numbers


def test_a_recording_brings_it_back(tmp_path: Path) -> None:
    simulation = bed_with_ball("cpu")
    with simulation.record(tmp_path / "r.rec", every=0.01, look=Look(fields=("speed",))):
        simulation.run(0.03)
    with Recording(tmp_path / "r.rec") as recording:
        assert len(recording) == 4
        last = {part.name: part for part in recording.frame(-1).parts}
    assert np.allclose(last["grains"].centers, simulation.solver.readout.positions(simulation.state), atol=1e-4)


def test_worlds_stand_side_by_side_and_turned_bodies_turn() -> None:
    """No step is taken: this is about drawing alone."""
    gear = helical_gear(12, 0.02, 0.1)
    quarter = (0.0, 0.0, float(np.sqrt(0.5)), float(np.sqrt(0.5)))
    bodies = [
        Rigid(Box((0.2, 0.1, 0.1)), position=(1.0, 0.0, 0.0), rotation=quarter, world=0),
        Rigid(gear, position=(0.0, 0.0, -1.0), cells=16, world=1),
        Rigid(Cylinder(0.5, 1.0, axis="y"), inside=True, world=1, name="drum"),
        Rigid(Box((9.0, 9.0, 9.0), (0.0, 0.0, -20.0)), hidden=True),
    ]
    materials = (grains.Grain(), grains.Grain(friction=0.1))
    bed = grains.Bed([[0, 0, 0.0], [0, 0.1, 0.0]], [0.01, 0.02], materials, kinds=[0, 1])
    simulation = grains.simulation(bed, obstacles=bodies, world_of=np.array([0, 1]), device="cpu")
    assert {"radius", "material"} <= set(simulation.fields)
    found = parts(simulation, Look(fields=("material",)))
    balls = found["grains"]
    assert isinstance(balls, Spheres)
    assert balls.fields["material"].labels == ("material 0", "material 1")
    assert abs(balls.centers[1, 0] - balls.centers[0, 0]) > 0.02
    box = found["body-0"]
    assert isinstance(box, Mesh)
    assert np.ptp(box.vertices, axis=0) == pytest.approx([0.1, 0.2, 0.1], abs=1e-6)
    drums = [part for name, part in found.items() if name.startswith("drum")]
    assert len(drums) == 1
    assert isinstance(drums[0], Lines)
    assert len(drums[0].segments) > 60
    assert len(found) == 4
