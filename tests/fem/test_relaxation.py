"""Prony series: relaxation, creep, loss factors and ring-downs against closed forms; histories as part of states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Mesh, host_array
from annelid.core.state import state_arrays
from annelid.materials import Law, Material, NeoHooke, Ogden, Yeoh, loss_factor, material, steady_loss
from annelid.shapes import tet_beam

from .ringing import beam, decrement, first_mode, ringing

STILL = (0.0, 0.0, 0.0)
SERIES = ((0.2, 0.02), (0.25, 0.1))
LAWS: dict[str, Law] = {
    "neo-hooke": NeoHooke(1e4),
    "yeoh": Yeoh(7.83e3, 103.4, -0.8065),
    "ogden": Ogden(((10.07e3, 0.938), (1.564e3, 3.484))),
}


def soft(law: Law = LAWS["neo-hooke"], poisson_ratio: float = 0.4999, prony: Any = SERIES) -> Material:
    return Material.hyperelastic("test", law, poisson_ratio=poisson_ratio, measured_to=1.0, prony=prony)


def cube(made: Material, *, quadratic: bool = False, volume: fem.Volume = "auto") -> fem.Solid:
    """A cube of 1 m that is free to get thinner, with its near end at 0."""
    mesh = tet_beam(1.0, 1.0, 1.0, cells=(1, 1, 1))
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, made, volume=volume)
    low = solid.nodes.min(axis=0)
    for axis, letter in enumerate("xyz"):
        solid.fix(solid.nodes[:, axis] < low[axis] + 1e-9, axes=letter)
    return solid.group("end", lambda p: p[:, 0] > 1.0 - 1e-9)


def still(solid: fem.Solid, dt: float, **more: Any) -> Simulation[fem.Solver]:
    return fem.simulation(solid, dynamic=False, dt=dt, gravity=STILL, device="cpu", threads=1, **more)


def stretch(solid: fem.Solid, positions: np.ndarray) -> float:
    return float(positions[solid.indices("end"), 0].mean())


def stress(simulation: Simulation[fem.Solver]) -> float:
    picture = simulation.snapshot(Look(fields=("von-mises",)))
    shown = next(part for part in picture.parts if isinstance(part, Mesh))
    return float(host_array(shown.fields["von-mises"].values).mean())


def left(time: float, series: tuple[tuple[float, float], ...] = SERIES) -> float:
    """Part of the stress that is left a time after a sudden strain."""
    return float(1.0 - sum(share * (1.0 - np.exp(-time / tau)) for share, tau in series))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])
@pytest.mark.parametrize("side", [1.02, 2.0])
def test_the_stress_of_a_stretched_bar_relaxes(name: str, quadratic: bool, side: float) -> None:
    solid = cube(soft(LAWS[name]), quadratic=quadratic).displace("end", (side - 1.0, 0.0, 0.0), axes="x")
    simulation, dt = still(solid, 0.005), 0.005
    sudden = side * float(LAWS[name].uniaxial(side))  # force over the area that is left
    for steps in (1, 5, 14):
        simulation.step(steps)
        # The strain grows over the first step.
        assert stress(simulation) == pytest.approx(sudden * left(simulation.time - 0.5 * dt), rel=0.01)


def test_a_pulled_bar_creeps() -> None:
    (share, tau), force = (0.4, 0.05), 30.0
    solid = cube(soft(prony=((share, tau),))).pull("end", (force, 0.0, 0.0))
    simulation = still(solid, 0.002)
    at_once, slow = force / 3e4, tau / (1.0 - share)
    for steps in (5, 20, 75):
        simulation.step(steps)
        gone = 1.0 - np.exp(-(simulation.time - 0.001) / slow)  # the force grows over the first step
        wanted = at_once * (1.0 + share / (1.0 - share) * gone)
        assert stretch(solid, simulation.positions()) - 1.0 == pytest.approx(wanted, rel=0.01)
    ends = [fem.equilibrium(solid, gravity=STILL, relaxed=relaxed, device="cpu") for relaxed in (False, True)]
    found = [stretch(solid, positions) - 1.0 for positions in ends]
    assert found == pytest.approx([at_once, at_once / (1.0 - share)], rel=2e-3)


@pytest.mark.parametrize("rate", [4.0, 15.0, 60.0])
def test_the_loss_factor_depends_on_the_frequency_as_it_should(rate: float) -> None:
    solid, steps = cube(soft()), 40
    period = 2.0 * np.pi / rate
    simulation = still(solid, period / steps)
    shape = cube(soft()).pull("end", (10.0, 0.0, 0.0)).forces
    settled = int(np.ceil(0.8 / period))  # periods until the beginning is forgotten
    times, found = np.arange(1, (settled + 1) * steps + 1) * period / steps, []
    for time in times:
        simulation.solver.model.set_forces(np.sin(rate * time) * shape)
        simulation.step()
        found.append(stretch(solid, simulation.positions()) - 1.0)
    last = slice(-steps, None)
    along, across = (np.dot(wave(rate * times[last]), found[last]) for wave in (np.sin, np.cos))
    wanted = modulus(rate, SERIES)
    assert -across / along == pytest.approx(wanted.imag / wanted.real, rel=0.01)


def modulus(rate: float, series: tuple[tuple[float, float], ...]) -> complex:
    """What small oscillations are resisted with, 1 for those that are fast."""
    return complex(1.0 - sum(share / (1.0 + 1j * rate * tau) for share, tau in series))


def test_the_damping_of_a_ringing_beam_does_not_depend_on_the_step() -> None:
    solid = beam(prony=((0.05, 0.01), (0.05, 0.06)))
    series = solid.materials[0].prony
    period, row = first_mode(solid)  # of what has relaxed
    rate = 2.0 * np.pi / period * np.sqrt(modulus(2.0 * np.pi / period, series).real / 0.9)
    period, found = 2.0 * np.pi / rate, []
    for steps in (20, 40):
        found.append(decrement(ringing(period / steps, solid), row, steps))
    wanted = modulus(rate, series)
    assert found[0] == pytest.approx(found[1], rel=0.03)
    assert found[1] == pytest.approx(np.pi * wanted.imag / wanted.real, rel=0.05)


@pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])
@pytest.mark.parametrize("poisson_ratio", [0.3, 0.49])
def test_forces_and_tangents_are_derivatives_and_turn_with_the_solid(quadratic: bool, poisson_ratio: float) -> None:
    rng = np.random.default_rng(2)
    model = fem.Model(cube(soft(LAWS["yeoh"], poisson_ratio), quadratic=quadratic), fem.World(gravity=STILL), "cpu")
    rest, history = model.solid.nodes, model.tetrahedra.history()
    model.tetrahedra.pass_time(0.02, history)
    model.tetrahedra.remember(model.vectors(rest @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3))).T), history)
    model.tetrahedra.pass_time(0.01, history)
    bent = rest @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3))).T

    def evaluated(positions: np.ndarray, *, tangent: bool = False) -> tuple[float, np.ndarray]:
        model.assembly.evaluate(model.vectors(positions), tangent=tangent)
        return float(model.assembly.energy.numpy()[0]), model.assembly.forces.numpy().copy()

    _, forces = evaluated(bent, tangent=True)
    step, way = 1e-6, rng.normal(size=rest.shape)
    product = (model.assembly.matrix() @ way.ravel()).reshape(-1, 3)
    (above, after), (below, before) = (evaluated(bent + s * step * way) for s in (1.0, -1.0))
    assert abs((above - below) / (2 * step) + (forces * way).sum()) < 1e-8 * abs(forces * way).sum()
    assert abs(-(after - before) / (2 * step) - product).max() < 1e-7 * abs(product).max()
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    assert abs(evaluated(bent @ turn.T)[1] - forces @ turn.T).max() < 1e-12 * abs(forces).max()


@pytest.mark.parametrize(("poisson_ratio", "volume"), [(0.3, "auto"), (0.49, "mean"), (0.49, "plain")])
def test_equilibria_are_those_of_the_relaxed_and_of_the_sudden_material(poisson_ratio: float, volume: Any) -> None:
    made = soft(LAWS["yeoh"], poisson_ratio)
    pairs = (True, made.relaxed()), (False, made.with_(prony=()))
    for relaxed, elastic in pairs:
        found, wanted = (
            fem.equilibrium(
                cube(each, volume=volume).pull("end", (2e3, 0.0, 0.0)), gravity=STILL, relaxed=relaxed, device="cpu"
            )
            for each in (made, elastic)
        )
        assert abs(found - wanted).max() < 1e-6
    assert made.relaxed().shear_modulus == pytest.approx(0.55 * made.shear_modulus)


def test_a_material_relaxes_to_the_one_it_was_made_of() -> None:
    for made in (soft(prony=()), material("ecoflex-00-30")):
        back = made.relaxing(SERIES).relaxed()
        assert (back.youngs_modulus, back.poisson_ratio) == pytest.approx((made.youngs_modulus, made.poisson_ratio))
        assert made.relaxing(SERIES).shear_modulus == pytest.approx(made.shear_modulus / 0.55)
        assert back.relaxed() is back


@pytest.mark.parametrize("loss", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("frequencies", [(1.0, 100.0), (2.0, 12.0)])
def test_a_steady_loss_is_steady(loss: float, frequencies: tuple[float, float]) -> None:
    series = steady_loss(loss, frequencies)
    np.testing.assert_allclose(loss_factor(series, np.geomspace(*frequencies, 100)), loss, rtol=0.02)
    assert loss_factor(SERIES, 15.0 / (2.0 * np.pi)) == pytest.approx(
        modulus(15.0, SERIES).imag / modulus(15.0, SERIES).real
    )


def test_losses_that_cannot_be_made_are_refused() -> None:
    number: Any = 0.1
    with pytest.raises(InvalidValue, match=r"at most 0\.5"):
        steady_loss(0.8)
    with pytest.raises(InvalidValue, match="a low and a higher one"):
        steady_loss(0.1, (5.0, 5.0))
    with pytest.raises(InvalidValue, match=r"series = 0\.1 cannot be used; give pairs of a share and a time"):
        loss_factor(number, 1.0)
    with pytest.raises(InvalidValue, match="frequencies must be given as numbers, not 'low'"):
        loss_factor(SERIES, "low")


def test_a_material_without_a_law_is_neo_hookean_and_elastic_ones_remember_nothing() -> None:
    plain = material("ecoflex-00-30")
    assert fem.Solid(tet_beam(1.0, 1.0, 1.0, cells=(1, 1, 1)), plain.with_(prony=SERIES)).hyperelastic
    for made, count in ((plain, 0), (soft(prony=()), 0), (soft(), 2)):
        state = still(cube(made), 0.01).state
        assert sum(name.startswith("history.") for name in state_arrays(state)) == count


def test_histories_are_saved_reset_and_belong_to_worlds(tmp_path: Path) -> None:
    def made(worlds: int | None = 2) -> Simulation[fem.Solver]:
        return fem.simulation(
            cube(soft()), dt=0.01, integrator="midpoint", worlds=worlds, device="cpu", threads=1,
        )  # fmt: skip

    both, alone = made(), made(None)
    both.parameters["stiffness"], alone.parameters["stiffness"] = [1.0, 2.0], 2.0
    both.step(2)
    both.save(tmp_path / "both.npz")
    both.step(2)
    again = made()
    again.load(tmp_path / "both.npz")
    again.step(2)
    assert again.state_hash() == both.state_hash()
    both.reset(worlds=[1])
    both.step(3)
    alone.step(3)
    np.testing.assert_array_equal(both.positions().reshape(2, -1, 3)[1], alone.positions())


@pytest.mark.parametrize(
    ("prony", "why"),
    [
        (((0.6, 0.1), (0.4, 1.0)), "sum to less than 1"),
        (((0.1, 0.0),), "times above 0"),
        (((-0.1, 1.0),), "shares between 0 and 1"),
        ((0.1, 1.0), "pairs"),
        ("slow", "pairs"),
    ],
)
def test_series_that_no_material_has_are_refused(prony: Any, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        soft(prony=prony)


def test_robots_refuse_what_creeps() -> None:
    force = fem.PointForce(name="push", at=0, direction=(1.0, 0.0, 0.0), force=(0.0, 1.0))
    with pytest.raises(InvalidValue, match=r"relaxed\(\)"):
        fem.Robot(cube(soft()), [force], device="cpu")
