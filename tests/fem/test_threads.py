"""Threads in solids: derivatives, rigid motions, slack, windings under pressure against thin-wall theory, bad paths."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from annelid import fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import Lines, Look
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.fem.reinforcing.embedding import embedded, nearest_on_faces
from annelid.materials import Material, NeoHooke
from annelid.shapes import tet_hollow_cylinder

from .solids import STILL, bar, evaluated, reinforcement_only, require_derivatives_that_turn, shaken

CROOKED = np.array([[0.03, 0.02, -0.05], [0.4, -0.06, 0.03], [0.5, 0.05, 0.06], [0.97, 0.1, 0.1]])
RADIUS, WALL, CAP = 0.01, 5e-4, 2e-3
SHEAR, PRESSURE = 1e4, 1e3


def threaded(quadratic: bool = False, **options: Any) -> fem.Solid:
    return bar(quadratic=quadratic).reinforce(fem.Thread(CROOKED, stiffness=300.0, spacing=0.1, **options))


@pytest.mark.parametrize("one_sided", [True, False], ids=["one-sided", "two-sided"])
@pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])
def test_forces_and_tangents_are_derivatives_and_turn_with_the_solid(
    quadratic: bool, one_sided: bool, device: str
) -> None:
    solid = threaded(quadratic, one_sided=one_sided)
    bent = shaken(solid, 0.02, seed=4)
    strains = solid.threads[0].strains(bent)
    assert strains.min() < -0.01  # some are slack
    assert strains.max() > 0.01
    require_derivatives_that_turn(solid, bent, device)


def test_a_thread_resists_stretching_with_its_stiffness_and_is_slack_when_compressed() -> None:
    axis = np.array([[0.0, 0.01, 0.02], [1.0, 0.01, 0.02]])
    for one_sided, pushing in ((True, 0.0), (False, 0.5 * 300.0 * 0.1**2)):
        solid = bar().reinforce(fem.Thread(axis, stiffness=300.0, one_sided=one_sided))
        model, assembly = reinforcement_only(solid, "cpu")
        assert solid.threads[0].lengths.sum() == pytest.approx(1.0)
        assert evaluated(model, assembly, solid.nodes * [1.1, 1.0, 1.0])[0] == pytest.approx(0.5 * 300.0 * 0.1**2)
        energy, forces = evaluated(model, assembly, solid.nodes * [0.9, 1.0, 1.0])
        assert energy == pytest.approx(pushing)
        assert forces.any() != one_sided
        tensions = solid.threads[0].tensions(solid.nodes * [0.9, 1.0, 1.0])
        np.testing.assert_allclose(tensions, 0.0 if one_sided else -30.0, atol=1e-9)
    by_size = fem.Thread(axis, modulus=3e9, diameter=1e-4)
    assert by_size.axial_stiffness == pytest.approx(3e9 * np.pi * 2.5e-9)


def test_energies_and_pictures_have_the_threads_and_checkpoints_tell_them_apart() -> None:
    solid = threaded(one_sided=False)
    simulation = fem.simulation(solid, gravity=(0.0, 0.0, 0.0), device="cpu")
    plain = fem.simulation(bar(), gravity=(0.0, 0.0, 0.0), device="cpu")
    simulation.sensors.add("stored", fem.strain_energy())
    simulation.sensors.add("elastic", fem.energy_of(kind="elastic"))
    for each in (simulation, plain):
        each.state.positions.assign(solid.nodes * [1.02, 1.0, 1.0])
    thread = solid.threads[0]
    own = 0.5 * 300.0 * float((thread.strains(solid.nodes * [1.02, 1.0, 1.0]) ** 2 * thread.lengths).sum())
    whole = plain.summary().elastic + own
    assert simulation.summary().elastic == pytest.approx(whole)
    assert simulation.sensors["stored"].item() == pytest.approx(whole)
    assert simulation.sensors["elastic"].item() == pytest.approx(whole)
    lines = [part for part in simulation.snapshot(Look()).parts if isinstance(part, Lines)]
    assert [part.name for part in lines] == ["thread-1"]
    marks = {fem.Model(each, STILL, "cpu").fingerprint() for each in (solid, threaded(), bar(), solid.copy())}
    assert len(marks) == 3


def test_a_stiffer_world_has_stiffer_threads_and_moves_as_it_would_alone() -> None:
    def moved(stiffness: list[float]) -> np.ndarray:
        simulation = fem.simulation(threaded(), dt=0.01, worlds=len(stiffness), device="cpu", threads=1)
        simulation.parameters["stiffness"] = stiffness
        simulation.run(0.03)
        return simulation.positions().reshape(len(stiffness), -1, 3)

    both = moved([1.0, 3.0])
    assert np.array_equal(both[0], moved([1.0])[0])
    assert np.array_equal(both[1], moved([3.0])[0])
    model = fem.Model(threaded(), STILL, "cpu")
    energies = []
    for factor in (1.0, 3.0):
        model.reinforcement[0].stiffen(factor)
        energies.append(model.elastic_energies(model.vectors(shaken(model.solid, 0.01))).numpy()[-5:].sum())
    assert energies[1] == pytest.approx(3.0 * energies[0])


# --- wound tubes ---


def wound(angle: float) -> tuple[fem.Solid, float]:
    """A thin tube along z with a double winding through its nodes; and the length of its thin part [m]."""
    around = 16
    height = 2.0 * np.pi * RADIUS / around / np.tan(angle)
    layers = 2 * round(0.5 * 0.036 / height)
    inside = layers * height
    mesh = tet_hollow_cylinder(RADIUS, inside + 2 * CAP, wall=WALL, cap=CAP, cells=4, layers=layers)
    silicone = Material.hyperelastic("soft", NeoHooke(SHEAR), poisson_ratio=0.49)
    solid = fem.Solid(mesh, silicone).fix(lambda p: p[:, 2] < 1e-9)
    rim = solid.nodes[np.argmax(np.hypot(solid.nodes[:, 0], solid.nodes[:, 1]))]
    phase = float(np.arctan2(rim[1], rim[0]))
    paths = fem.winding(RADIUS, inside, angle=angle, starts=around, base=(0.0, 0.0, CAP), phase=phase, count=around)
    return solid.reinforce(fem.Thread(paths, stiffness=500.0)), inside


def thin_wall(angle: float) -> tuple[float, float]:
    """Stretches along and around a closed thin tube of a neo-Hookean wall and threads that do not stretch.

    Threads keep their length: λz² cos²θ + λr² sin²θ = 1; of all such shapes it has the one of least energy.
    """
    area = np.pi * (RADIUS**2 - (RADIUS - WALL) ** 2)

    def around(along: float) -> float:
        return float(np.sqrt(1.0 - (along * np.cos(angle)) ** 2) / np.sin(angle))

    def energy(along: float) -> float:
        r = around(along)
        stored = 0.5 * SHEAR * (along**2 + r**2 + (along * r) ** -2 - 3.0) * area
        return float(stored - PRESSURE * (np.pi * (RADIUS * r) ** 2 * along - area))

    found = minimize_scalar(energy, bounds=(0.6, min(1.6, 0.999 / np.cos(angle))), method="bounded")
    return float(found.x), around(float(found.x))


@pytest.mark.parametrize(("degrees", "sign"), [(45.0, -1.0), (65.0, 1.0)], ids=["shortens", "lengthens"])
def test_a_wound_tube_shortens_below_and_lengthens_above_the_neutral_angle_as_thin_walls_do(
    degrees: float, sign: float
) -> None:
    angle = np.radians(degrees)
    solid, inside = wound(angle)
    air = CavityPressure(fem.Pneumatic(name="air").cavity_of(solid), solid.nodes, "cpu", pressure=PRESSURE)
    shape = fem.equilibrium(solid, gravity=(0.0, 0.0, 0.0), extras=[air], device="cpu")
    outer = np.hypot(solid.nodes[:, 0], solid.nodes[:, 1]) > RADIUS - 1e-9
    middle = outer & (abs(solid.nodes[:, 2] - CAP - 0.5 * inside) < 0.2 * inside)
    along = np.polyfit(solid.nodes[middle, 2], shape[middle, 2], 1)[0]
    around = np.hypot(shape[middle, 0], shape[middle, 1]).mean() / RADIUS
    wanted_along, wanted_around = thin_wall(angle)
    assert sign * (along - 1.0) > 0.1
    assert along - 1.0 == pytest.approx(wanted_along - 1.0, rel=0.03)
    assert around == pytest.approx(wanted_around, rel=0.005)
    assert (along * np.cos(angle)) ** 2 + (around * np.sin(angle)) ** 2 == pytest.approx(1.0, abs=0.005)
    before, after = np.tan(angle), np.tan(angle) * around / along
    assert abs(after - np.sqrt(2.0)) < abs(before - np.sqrt(2.0))  # on its way to 54.7 degrees


def test_a_thread_along_one_side_bends_a_tube_and_inverse_control_knows_it() -> None:
    def robot() -> fem.Robot:
        solid = fem.Solid(tet_hollow_cylinder(0.01, 0.06, wall=2e-3, cells=2, layers=5, axis="x"), "ecoflex-00-30")
        solid.fix(lambda p: p[:, 0] < 1e-9)
        side = fem.Thread([[0.0, 0.0, -0.01], [0.06, 0.0, -0.01]], stiffness=200.0, name="limit")
        rings = fem.Thread(fem.hoops(0.01, 0.05, number=6, axis="x", base=(0.005, 0.0, 0.0), count=8), stiffness=200.0)
        solid.reinforce(side, rings)
        air = fem.Pneumatic(name="air", pressure=(0.0, 2e4))
        tip = fem.Point(name="tip", at=(0.06, 0.0, 0.0))
        return fem.Robot(solid, [air], [tip], gravity=(0.0, 0.0, 0.0), device="cpu", threads=1)

    forward = robot()
    fem.Forward(forward).settle([5e3])
    place = forward.places()[0]
    assert place[2] < -2e-3  # towards the thread
    assert abs(place[1]) < 0.2 * abs(place[2])
    inverse = robot()
    step = fem.Inverse(inverse).reach(place)
    assert step.reached
    assert step.efforts["air"] == pytest.approx(5e3, rel=0.01)


# --- paths ---


def test_helices_have_the_angle_the_hand_and_the_axis_that_were_asked_for() -> None:
    right = fem.helix(0.02, 0.3, angle=np.radians(50.0), count=200)
    steps = np.diff(right, axis=0)
    slope = np.degrees(np.arctan2(np.hypot(steps[:, 0], steps[:, 1]), steps[:, 2]))
    np.testing.assert_allclose(slope, 50.0, atol=0.01)
    np.testing.assert_allclose(np.hypot(right[:, 0], right[:, 1]), 0.02)
    assert (np.cross(right[:-1], steps)[:, 2] > 0.0).all()
    left = fem.helix(0.02, 0.3, angle=np.radians(50.0), hand="left", count=200)
    np.testing.assert_allclose(left, right * [1.0, -1.0, 1.0], atol=1e-15)
    turned = fem.helix(0.02, 0.3, turns=2.0, axis="x", base=(0.1, 0.0, 0.0), count=8)
    assert turned.shape == (17, 3)
    np.testing.assert_allclose(turned[[0, -1], 0], [0.1, 0.4])
    assert len(fem.winding(0.02, 0.3, turns=2.0, starts=3)) == 6
    assert len(fem.winding(0.02, 0.3, turns=2.0, starts=3, double=False)) == 3
    rings = fem.hoops(0.02, 0.3, number=4, count=12)
    np.testing.assert_allclose([ring[0, 2] for ring in rings], [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose([ring[0] for ring in rings], [ring[-1] for ring in rings], atol=1e-15)


@pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])
def test_points_are_embedded_where_they_are_or_on_the_nearest_surface(quadratic: bool) -> None:
    solid, rng = bar(quadratic=quadratic), np.random.default_rng(0)
    points = rng.uniform((0.0, -0.1, -0.1), (1.0, 0.1, 0.1), (40, 3))
    found = embedded(solid.nodes, solid.elements, solid.boundary, points)
    np.testing.assert_allclose(found.places(solid.nodes), points, atol=1e-12)
    assert not found.outside.any()
    beyond = rng.uniform((-0.3, -0.4, -0.4), (1.3, 0.4, 0.4), (40, 3))
    clipped = np.clip(beyond, (0.0, -0.1, -0.1), (1.0, 0.1, 0.1))
    found = embedded(solid.nodes, solid.elements, solid.boundary, beyond)
    np.testing.assert_allclose(found.places(solid.nodes), clipped, atol=1e-9)
    np.testing.assert_allclose(found.outside, np.linalg.norm(beyond - clipped, axis=1), atol=1e-9)
    near, faces = nearest_on_faces(solid.nodes[solid.boundary[:, :3]], beyond)
    assert near.shape == (40, 3)
    assert faces.max() < len(solid.boundary)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": [[0.1, 0.0, 0.0], [0.5, 0.0, 0.3]]}, r"thread leaves the body: point 1 .* is 0.2 m outside"),
        ({"path": 1e3 * CROOKED}, r"thread leaves the body: point 3 .* is 979 m outside"),
        ({"path": [[0.1, 0.0, np.nan], [0.5, 0.0, 0.0]]}, "at least two points of three finite numbers"),
        ({"path": [[0.1, 0.0, 0.0]]}, "at least two points"),
        ({"path": []}, "has no path"),
        ({"path": [[0.1, 0.0, 0.0]] * 2}, "twice in a row"),
        ({"path": CROOKED, "stiffness": None}, "needs its stiffness"),
        ({"path": CROOKED, "stiffness": None, "modulus": 1e9}, "needs its stiffness"),
        ({"path": CROOKED, "modulus": 1e9, "diameter": 1e-3}, "needs its stiffness"),
        ({"path": CROOKED, "stiffness": -1.0}, "stiffness of thread = -1.0"),
        ({"path": CROOKED, "spacing": 1e-9}, "in metres, or give a larger spacing"),
        ({"path": 5}, r"must be points of shape \[p, 3\], or several such, not 5"),
        ({"path": "helix"}, "or several such, not 'helix'"),
        ({"path": [[0.1, 0.0, 0.0], [0.2, 0.0]]}, "at least two points of three finite numbers"),
        ({"path": CROOKED, "stiffness": "stiff"}, "stiffness of thread = 'stiff'"),
        ({"path": CROOKED, "one_sided": "no"}, "one_sided of a Thread must be True or False, not 'no'"),
    ],
)
def test_bad_threads_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        bar().reinforce(fem.Thread(**{"stiffness": 100.0, **options}))


def test_a_thread_that_takes_a_short_cut_through_a_cavity_is_refused() -> None:
    tube = fem.Solid(tet_hollow_cylinder(0.01, 0.06, wall=2e-3, cells=2, layers=5), "ecoflex-00-30")
    across = fem.Thread([[0.01, 0.0, 0.03], [-0.01, 0.0, 0.03]], stiffness=100.0, name="tendon")
    with pytest.raises(InvalidValue, match=r"tendon leaves the body: between points 0 and 1 of its path"):
        tube.reinforce(across)


def test_threads_so_stiff_that_rounding_is_felt_find_an_equilibrium() -> None:
    solid = bar(poisson_ratio=0.0).pull("tip", (10.0, 0.0, 0.0))
    solid.reinforce(fem.Thread([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], stiffness=1e12))
    shape = fem.equilibrium(solid, gravity=(0.0, 0.0, 0.0), device="cpu")
    assert abs(solid.threads[0].strains(shape)).max() < 1e-9


def test_reinforcement_that_would_hide_all_else_in_rounding_is_refused() -> None:
    solid = bar().reinforce(fem.Thread([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], stiffness=1e17, name="wire"))
    with pytest.raises(InvalidValue, match=r"wire is .* times as stiff as the elements .* as good as inextensible"):
        fem.Model(solid, device="cpu")


def test_bad_windings_are_refused() -> None:
    with pytest.raises(InvalidValue, match="phase = nan"):
        fem.helix(0.01, 0.1, turns=1.0, phase=np.nan)
    with pytest.raises(InvalidValue, match="angle = '60'"):
        fem.helix(0.01, 0.1, angle="60")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="either its angle"):
        fem.helix(0.01, 0.1)
    with pytest.raises(InvalidValue, match=r"np\.radians\(60\)"):
        fem.helix(0.01, 0.1, angle=54.7)
    with pytest.raises(InvalidValue, match="hand must be"):
        fem.helix(0.01, 0.1, turns=1.0, hand="both")
    with pytest.raises(UnknownName, match="'stifness'"):
        fem.Thread(CROOKED, stifness=1.0)
    with pytest.raises(InvalidValue, match=r"a fem\.Thread or a fem\.Fabric, not by"):
        bar().reinforce(np.zeros((2, 3)))
