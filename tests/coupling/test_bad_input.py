"""What is refused, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import coupling, grains, robots, springs
from annelid.core.errors import (
    AnnelidError,
    BeginsInside,
    GrainsPushed,
    InvalidMesh,
    InvalidValue,
    StepTooLong,
    UnknownName,
)
from annelid.coupling.surface import closed_surface
from annelid.shapes import Box, Rigid, Sphere

from .conftest import block, box, dropped


def test_a_body_inside_the_bed_is_refused_with_the_number_of_grains() -> None:
    with pytest.raises(InvalidValue, match=r"inside the bed: \d+ grains are in its way.*inside='push' or 'remove'"):
        dropped(block().moved((0.0, 0.0, 0.03)), box())


@pytest.mark.parametrize("how", ["push", "remove"])
def test_grains_make_room_for_a_body(how: str) -> None:
    sand, body = box(side=0.2, depth=0.1), block(masses=3).moved((0.0, 0.0, 0.05))
    with pytest.warns(GrainsPushed, match=r"\d+ grains are in its way.*they were (pushed aside|taken out)"):
        simulation = dropped(body, sand, inside=how)
    model = simulation.solver.model
    assert (len(model.bed) == len(sand.bed())) is (how == "push")
    guests = model.guests.points.division.mixed(body.positions)
    gaps = np.linalg.norm(model.bed.positions[:, None] - guests[None], axis=2)
    assert (gaps > 0.95 * model.bed.radii[:, None] + model.guests.radii[None]).all()
    simulation.run(0.05)
    assert len(simulation.solver.readout.grains_inside(simulation.state)) == 0
    assert np.abs(simulation.solver.readout.grain_velocities(simulation.state)).max() < 2.0


def test_masses_too_far_apart_for_the_grains_are_refused() -> None:
    with pytest.raises(InvalidValue, match="grains of 0.01 m would fit through the surface.*use a finer pitch"):
        dropped(block(pitch=0.15).moved((0.0, 0.0, 0.2)), box())
    coupling.closing_radii(block(pitch=0.05), 0.01)


def test_a_body_without_a_surface_is_refused() -> None:
    frame = springs.truss(np.eye(4, 3), np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]]), "nylon", 0.01)
    with pytest.raises(InvalidValue, match="no surface"):
        coupling.closing_radii(frame, 0.01)
    with pytest.raises(InvalidValue, match="parts without a surface"):
        coupling.closing_radii(springs.join([block(), frame]), 0.01)


def test_an_open_surface_is_refused() -> None:
    body = block()
    body.triangles = body.triangles[:-4]
    with pytest.raises(InvalidMesh, match="open along"):
        coupling.closing_radii(body, 0.01)


def test_steps_that_do_not_divide_each_other_name_the_nearest_that_do() -> None:
    with pytest.raises(InvalidValue, match=r"dt = 0.0003 s, or spring_dt = 9e-05 s"):
        dropped(block().moved((0.0, 0.0, 0.2)), box(), dt=2.7e-4, spring_dt=1e-4)


def test_a_step_too_long_for_the_springs_is_told() -> None:
    with pytest.warns(StepTooLong, match="dt = 0.001 s is above"):
        simulation = dropped(block().moved((0.0, 0.0, 0.2)), box(), dt=1e-3)
    assert simulation.dt == pytest.approx(1e-3)  # as asked for, all the same


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"inside": "explode"},
            "must be one of refuse, push, remove, allow, not 'explode'",
        ),
        ({"grains": {"method": "hertz"}}, "nonsmooth"),
        ({"springs": {"dt": 1e-3}}, "dt cannot be among the options of springs: give dt= itself"),
        (
            {"stretch": 0.5},
            "stretch of .* must be a finite number of 1 or more, not 0.5",
        ),
    ],
)
def test_other_values(options: dict[str, object], words: str) -> None:
    with pytest.raises((InvalidValue, UnknownName), match=words):
        dropped(block().moved((0.0, 0.0, 0.2)), box(), **options)


def test_an_empty_bed() -> None:
    empty = grains.Bed(np.zeros((0, 3)), np.zeros(0))
    with pytest.raises(InvalidValue, match=r"use springs\.simulation"):
        coupling.simulation(block(), empty)


@pytest.mark.parametrize("name", ["length", "depth", "radius"])
def test_sandboxes(name: str) -> None:
    sizes = {"length": 0.2, "width": 0.2, "depth": 0.1, "radius": 0.01, name: -1.0}
    with pytest.raises(InvalidValue, match=f"{name} of a sandbox must be a finite number above 0 m, not -1"):
        robots.Sandbox(**sizes)
    with pytest.raises(InvalidValue, match=r"at least 0.025 m deep"):
        robots.Sandbox(length=0.2, width=0.2, depth=0.01, radius=0.01)


def test_a_body_inside_a_wall_or_a_rigid_body_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"starts inside obstacle 2, a Plane, by up to .* m: move one"):
        dropped(block().moved((0.07, 0.0, 0.2)), box())
    stone = Rigid(Box((0.1, 0.1, 0.1)), position=(0.0, 0.0, 0.25), name="stone")
    with pytest.raises(InvalidValue, match="a Box named 'stone', by"):
        dropped(block().moved((0.0, 0.0, 0.2)), box(), obstacles=[*box().walls(), stone])


def test_half_a_body_is_no_copy() -> None:
    bed = box().bed()
    twice = grains.Bed(np.tile(bed.positions, (2, 1)), np.tile(bed.radii, 2), bed.materials)
    with pytest.raises(InvalidValue, match="springs reach from one of the 2 worlds into another"):
        coupling.Model(
            block(4).moved((0.0, 0.0, 0.2)),
            twice,
            world=coupling.World(inside="allow"),
            world_of=np.repeat([0, 1], len(bed)),
            device="cpu",
        )


@pytest.mark.parametrize(("name", "value"), [("dt", "1e-4"), ("spring_dt", float("nan")), ("gravity", (0.0, -9.81))])
def test_what_is_no_time_or_vector(name: str, value: object) -> None:
    with pytest.raises(InvalidValue, match=name):
        dropped(block().moved((0.0, 0.0, 0.2)), box(), **{name: value})


def test_what_is_no_body_no_bed_no_surface_and_no_option() -> None:
    body, sand = block().moved((0.0, 0.0, 0.2)), box()
    bed = sand.bed()
    for wrong, message in (
        (lambda: coupling.simulation(bed, bed), "the body must be a springs.Body"),
        (lambda: coupling.simulation(body, np.zeros((3, 3))), "the bed must be a grains.Bed"),
        (
            lambda: coupling.simulation(body, bed, skin=0.5),
            "skin of .* must be a shapes.Surface or None",
        ),
    ):
        with pytest.raises(InvalidValue, match=message):
            wrong()
    with pytest.raises(UnknownName, match="springdt.*spring_dt"):
        coupling.simulation(body, bed, springdt=1e-4)
    body.positions[7, 1] = np.nan
    with pytest.raises(InvalidValue, match="mass 7 of the body is at"):
        coupling.simulation(body, bed)


def test_a_stretch_that_cannot_be_kept_closed() -> None:
    with pytest.raises(InvalidValue, match="stretched by 30: use a finer pitch"):
        coupling.closing_radii(block(), 0.01, stretch=30.0)
    with pytest.raises(InvalidValue, match="stretch must be a factor of 1 or more, not 1000000"):
        coupling.closing_radii(block(), 0.01, stretch=10**400)


@pytest.mark.parametrize("radius", [None, "fine", -0.01, float("nan"), np.zeros(3)])
def test_a_radius_of_grains_that_is_none(radius: Any) -> None:
    for asked in (coupling.standoff, coupling.closing_radii):
        with pytest.raises(InvalidValue, match="grain_radius = .* cannot be used; give a finite number above 0"):
            asked(block(), radius)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"springs": 3}, "springs of .* must be values by name, {name: value} or None, not 3"),
        ({"grains": "fine"}, "grains of .* must be values by name, {name: value} or None, not 'fine'"),
        ({"grain_dt": np.array([1e-3, 1e-3])}, "grain_dt of .* must be a finite number above 0 s or 'auto'"),
        ({"grain_dt": 1e-3}, "grain_dt is an option of solids among grains, .*: leave it out"),
        ({"actuators": 3}, "actuators of .* must be a list of Actuator, such as"),
        ({"inside": ["push"]}, "inside of .* must be one of refuse"),
    ],
)
def test_options_of_another_kind_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        dropped(block().moved((0.0, 0.0, 0.2)), box(), **options)


def test_a_surface_is_that_of_a_body() -> None:
    wrong: Any = 3
    with pytest.raises(InvalidValue, match=r"the body must be a springs.Body or a fem.Solid, not int: 3"):
        closed_surface(wrong)
    with pytest.raises(InvalidValue, match="positions must be those of 27 masses, not of 1"):
        closed_surface(springs.block((3, 3, 3)), np.zeros((1, 3)))


def test_a_rigid_body_that_begins_below_the_floor_is_told_of() -> None:
    stone = Rigid(Sphere(0.02), position=(0.0, 0.0, -0.3), motion="free", density=1000.0)
    with pytest.warns(BeginsInside, match="points of obstacle 5, a Sphere begin inside obstacle 0, a Plane"):
        dropped(block().moved((0.0, 0.0, 0.2)), box(), obstacles=[*box().walls(), stone])
