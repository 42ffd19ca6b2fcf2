"""Pressure in cavities: exact derivatives, weight and its moment, volumes."""

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.replay import Crew
from annelid.fem.assembly import Assembly
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.hydrostatics import CavityPressure, CavityVolume
from annelid.studies.support.cavities import icosphere, knot
from annelid.studies.support.fluid_checks import load_errors, pressure_forces
from annelid.studies.support.polyhedron import moments, moments_below

GRAVITY = (2.0, -3.0, -9.0)


def bumpy() -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = icosphere(1, 1.0)
    noise = 0.05 * np.random.default_rng(0).normal(size=vertices.shape)
    return vertices * (1.0, 1.3, 0.8) + noise + (3.0, 2.0, 1.0), triangles


def fluids() -> dict[str, Fluid | None]:
    vertices, triangles = bumpy()
    heights = vertices @ Fluid(gravity=GRAVITY).up
    return {
        "air": None,
        "full": Fluid(gravity=GRAVITY),
        "low-datum": Fluid(gravity=GRAVITY, datum=0.0),
        "level": Fluid(gravity=GRAVITY, level=float(heights.min() + 0.4 * np.ptp(heights))),
        "volume": Fluid(gravity=GRAVITY, volume=0.37 * Cavity(triangles).volume(vertices)),
    }


class Load:
    """Energy, forces and matrix of one cavity."""

    def __init__(self, device: str, fluid: Fluid | None, pressure: float) -> None:
        self.vertices, triangles = bumpy()
        self.device = wp.get_device(device)
        self.elements = CavityPressure(Cavity(triangles), self.vertices, device, fluid=fluid, pressure=pressure)
        self.assembly = Assembly(len(self.vertices), [self.elements], Crew(self.device, 1))

    def __call__(self, positions: np.ndarray) -> tuple[float, np.ndarray]:
        self.assembly.evaluate(self.array(positions))
        return float(self.assembly.energy.numpy()[0]), self.assembly.forces.numpy().copy()

    def matrix(self) -> np.ndarray:
        self(self.vertices)
        factor, slope = self.elements.level_coupling(self.array(self.vertices))
        return np.asarray(self.assembly.matrix().toarray() + factor * np.outer(slope, slope))

    def array(self, positions: np.ndarray) -> wp.array:
        return wp.array(positions, dtype=wp.vec3d, device=self.device)


@pytest.mark.parametrize("name", ["air", "full", "low-datum", "level", "volume"])
def test_forces_and_tangent_are_derivatives(name: str, device: str) -> None:
    load = Load(device, fluids()[name], 500.0)
    move = np.random.default_rng(1).normal(size=load.vertices.shape)
    step = 1e-5
    (energy_high, force_high), (energy_low, force_low) = (load(load.vertices + s * step * move) for s in (1.0, -1.0))
    _, forces = load(load.vertices)
    scale = np.abs(forces * move).sum()
    assert (energy_high - energy_low) / (2 * step) == pytest.approx(-(forces * move).sum(), abs=1e-7 * scale)
    matrix = load.matrix()
    expected = -(force_high - force_low).ravel() / (2 * step)
    assert matrix @ move.ravel() == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())
    assert matrix == pytest.approx(matrix.T, abs=1e-9 * np.abs(matrix).max())


@pytest.mark.parametrize("name", ["full", "low-datum", "level"])
def test_resultant_and_moment_are_those_of_the_weight_and_of_columns(name: str, device: str) -> None:
    vertices, triangles = bumpy()
    cavity, fluid = Cavity(triangles), fluids()[name]
    assert fluid is not None
    truth = (
        moments(vertices, triangles)
        if fluid.level is None
        else moments_below(vertices, triangles, fluid.level, up=fluid.up)
    )
    forces = pressure_forces(cavity, vertices, fluid, wp.get_device(device))
    pressure = load_errors(vertices, forces, fluid, truth.volume, truth.centre)
    assert pressure.weight < 1e-12
    assert pressure.centre < 1e-12
    columns = FluidColumns(cavity, fluid, cells=60, device=device).load(vertices)
    assert columns.forces.sum(axis=0) == pytest.approx(forces.sum(axis=0), rel=1e-11)
    turning = np.cross(vertices, columns.forces).sum(axis=0)
    assert turning == pytest.approx(np.cross(vertices, forces).sum(axis=0), rel=1e-10)


def test_the_datum_only_shifts_the_pressure(device: str) -> None:
    """A datum 2 m higher is a pump pressure 2 γ higher, since the cavity is full."""
    fluid = Fluid(gravity=GRAVITY, datum=1.0)
    high = Load(device, Fluid(gravity=GRAVITY, datum=3.0), 0.0)
    low = Load(device, fluid, 2.0 * fluid.specific_weight)
    assert high(high.vertices)[1] == pytest.approx(low(low.vertices)[1], rel=1e-10, abs=1e-6)


def test_dry_walls_feel_nothing(device: str) -> None:
    vertices, triangles = icosphere(2, 0.01)
    fluid = Fluid(level=-0.005)
    forces = pressure_forces(Cavity(triangles), vertices, fluid, wp.get_device(device))
    rings = np.unique(triangles[(vertices[triangles][:, :, 2] > -0.005).all(axis=1)])
    wet = np.unique(triangles[(vertices[triangles][:, :, 2] <= -0.005).any(axis=1)])
    dry = np.setdiff1d(rings, wet)
    assert len(dry) > 50
    assert np.abs(forces[dry]).max() < 1e-16
    assert np.abs(forces).max() > 1e-6


def test_volume_and_its_slope(device: str) -> None:
    vertices, triangles = knot(30, 8, size=0.02, thickness=0.006)
    cavity = Cavity(triangles)
    volume = CavityVolume(cavity, vertices, device)
    volume.evaluate(wp.array(vertices, dtype=wp.vec3d, device=device))
    assert float(volume.volume.numpy()[0]) == pytest.approx(cavity.volume(vertices), rel=1e-13)
    move = np.random.default_rng(3).normal(size=vertices.shape)
    change = (cavity.volume(vertices + 1e-6 * move) - cavity.volume(vertices - 1e-6 * move)) / 2e-6
    assert float((volume.slope.numpy() * move).sum()) == pytest.approx(change, rel=1e-6)


def test_pressure_can_be_changed(device: str) -> None:
    load = Load(device, None, 100.0)
    first = load(load.vertices)[1]
    load.elements.set_pressure(-50.0)
    assert load(load.vertices)[1] == pytest.approx(-0.5 * first, rel=1e-12)
    with pytest.raises(InvalidValue, match="pressure of cavity = nan"):
        load.elements.set_pressure(float("nan"))


def test_an_inverted_cavity_is_refused() -> None:
    vertices, triangles = bumpy()
    with pytest.raises(InvalidMesh, match="wrong way"):
        CavityPressure(Cavity(triangles[:, ::-1].copy()), vertices, "cpu")
