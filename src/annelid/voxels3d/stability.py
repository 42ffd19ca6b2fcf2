"""The longest time step with which links, dampings and contacts are stable, and the one that is recommended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from annelid.core.errors import InvalidValue
from annelid.core.stability import Cause, StepReport, stable_step, stable_step_of
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.tables import Shape, compile_robot
from annelid.voxels3d.world import World

SAFE = 0.75
"""Part of the recommended step that is taken by default, where that is stable."""

_STEADY = 0.9  # part of the stable step that is taken where that is shorter: links become stiffer as they stretch
_BEYOND = 1.25  # what still runs in some bodies, and is not refused

# Largest eigenvalues of stiffness and damping of an endless lattice, in those of one link on one mass: both are those
# of voxels that all turn about one axis, each layer across it against the next.
_SQUARED, _DECAY = 14.0, 12.0 + math.sqrt(2.0)


def recommended_step(shape: Shape) -> float:
    """1/(2π ω) of the fastest link of a robot [s]; of a voxel without links, that of its contacts."""
    s, voxels, links = shape.robot.side_length, shape.voxel_rows, shape.link_rows
    if len(links["axial"]) == 0:
        fastest = np.sqrt(0.5 * voxels["press"] / voxels["mass"]).max()
    else:
        first, axis = np.nonzero(shape.row_of_link >= 0)
        rows = shape.row_of_link[first, axis]
        masses = voxels["mass"][shape.row_of_voxel]
        least = np.minimum(masses[first], masses[shape.next[first, axis]])
        stiff = np.where(links["poisson"] > 0.0, links["hat"], links["modulus"])[rows] * s
        fastest = np.sqrt(stiff / least).max()
    return float(1.0 / (2.0 * math.pi * fastest))


def chosen_step(world: World, shapes: Sequence[Shape]) -> float:
    """The step that all robots take [s]; one that is too long for some is refused."""
    if world.dt == "auto":
        return min(_own_step(shape, world) for shape in shapes)
    for shape in shapes:
        if world.dt <= _BEYOND * _surely_stable(shape, world):
            continue
        longest = _BEYOND * _stable(shape, replace(world, obstacles=(), collisions="none"))
        if world.dt > longest:
            raise InvalidValue(
                f"dt = {world.dt:g} s is above {longest:.3g} s, where the stiffest links become unstable: use "
                f"dt='auto', {min(_own_step(shape, world) for shape in shapes):.3g} s here, or softer or heavier "
                "voxels."
            )
    return world.dt


def explain_step(dt: float, world: World, shapes: Sequence[Shape]) -> StepReport:
    """What limits the step of some robots most: what belongs to the one that needs the shortest.

    Args:
        dt: Time step that they take [s].
        world: Surroundings and integration.
        shapes: The robots.
    """
    steps = [_own_step(shape, world) for shape in shapes]
    auto, shape = min(steps), shapes[int(np.argmin(steps))]
    others = min((step for one, step in zip(shapes, steps, strict=True) if one is not shape), default=math.inf)
    number = "" if len(shapes) == 1 else f" of robot {shapes.index(shape)}"
    softer = (
        Cause(name + number, where, remedy, min(_own_step(compile_robot(robot), around), others))
        for name, where, remedy, robot, around in _softer(shape.robot, world)
    )
    rule = f"{SAFE:g} of the step that Voxelyze recommends, at most {_STEADY:g} of the stable one"
    return StepReport.of(dt, auto, rule, softer)


def _softer(robot: Robot, world: World) -> Iterator[tuple[str, str, str, Robot, World]]:
    """Names, places and remedies of what may limit a robot's step, and robot and world with half of it."""
    remedies = {
        "youngs_modulus": "softer, heavier or larger voxels",
        "internal_damping": "less of it",
        "global_damping": "less of it",
        "collision_damping": "less of it",
    }
    for number in np.unique(robot.material_of).tolist():
        material = robot.materials[number]
        called = f"material {number}" + (f" ({material.name})" if material.name else "")
        for name, remedy in remedies.items():
            value = vars(material)[name]
            if not value or (name == "youngs_modulus" and not material.linear):
                continue
            changed = [replace(one, **{name: 0.5 * value}) if one is material else one for one in robot.materials]
            yield f"{name} {value:.3g}", f"voxels of {called}", remedy, replace(robot, materials=tuple(changed)), world
    for contact in world.contacts:
        surface = contact.rigid.surface
        if surface.stiffness:
            half = replace(contact.rigid, surface=replace(surface, stiffness=0.5 * surface.stiffness))
            obstacles = [half if one is contact.rigid else one for one in world.obstacles]
            around = replace(world, obstacles=obstacles)
            yield f"stiffness {surface.stiffness:.3g} N/m of {contact.called}", "", "a softer surface", robot, around


def _own_step(shape: Shape, world: World) -> float:
    """The step that a robot takes if it is by itself [s]."""
    wanted = SAFE * recommended_step(shape)
    if wanted <= _STEADY * _surely_stable(shape, world):
        return wanted
    return min(wanted, _STEADY * _stable(shape, world))


def _surely_stable(shape: Shape, world: World) -> float:
    """A step that is stable [s], found without looking at all voxels: a robot is part of an endless lattice.

    Each voxel has the mass of the lightest and each link is the stiffest. A contact on a face where there is no link
    bears like half a link to a mirror image, so that it counts where it is stiffer or more damped than that.
    """
    voxels, links = shape.voxel_rows, shape.link_rows
    light = voxels["mass"].min()
    stiff, damp = _stretch(links).max(initial=0.0), links["damp"].max(initial=0.0)
    press, press_damp = (values.max() for values in _contacts(shape, world))
    squared = _SQUARED * stiff + max(press - 2.0 * stiff, 0.0)
    decay = _DECAY * damp + max(press_damp - 2.0 * damp, 0.0)
    outside = max((voxels["drag"] / voxels["mass"]).max(), (voxels["spin_drag"] * voxels["per_inertia"]).max())
    return stable_step(squared / light, decay / light + outside)


def _stretch(links: dict[str, np.ndarray]) -> np.ndarray:
    """Stiffness of links along their axis [N/m]; with a Poisson's ratio of a body that is pulled on all sides."""
    nu = links["poisson"]
    return np.where(nu > 0.0, links["hat"] * (1.0 + nu), links["modulus"]) * links["side"]


def _contacts(shape: Shape, world: World) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness [N/m] and damping [N s/m] of contacts of each kind of voxel, 0 where nothing can be touched."""
    voxels = shape.voxel_rows
    stiffness, damping = np.zeros(len(voxels["mass"])), np.zeros(len(voxels["mass"]))
    for contact in world.contacts:
        own = contact.rigid.surface.stiffness
        stiff, less = (voxels["press"] if own is None else own), 1.0
        if contact.free is not None:  # which moves too, and where its surface gives no stiffness is softer by as much
            lightness = contact.free.lightness(shape.robot.centers, voxels["mass"][shape.row_of_voxel])
            stiff = stiff * (1.0 if own is None else 1.0 + lightness)
            less = math.sqrt((1.0 + lightness) / (1.0 + lightness / (contact.free.give * contact.free.mass)))
        stiffness = np.maximum(stiffness, stiff)
        damping = np.maximum(damping, less * voxels["press_damp"])
    if world.collisions != "none":  # with another that comes the opposite way
        return np.maximum(stiffness, 2.0 * voxels["press"]), 2.0 * voxels["press_damp"]
    return stiffness, damping


def _stable(shape: Shape, world: World) -> float:
    """Longest stable step of a robot [s]: that of its links, dampings, and contacts on all its open faces."""
    rows, stiffness, damping = _links(shape)
    voxels, kind = shape.voxel_rows, shape.row_of_voxel
    open_faces = (shape.next < 0) | (shape.before < 0)
    press, press_damp = (np.where(open_faces, values[kind, None], 0.0) for values in _contacts(shape, world))
    none = np.zeros_like(press)
    drags = [np.repeat(voxels[name][kind, None], 3, axis=1) for name in ("drag", "spin_drag")]
    inverse = np.repeat(np.column_stack([voxels["per_mass"], voxels["per_inertia"]])[kind], 3, axis=1).ravel()
    scale = sparse.diags_array(np.sqrt(inverse))

    def of(own: np.ndarray, outside: np.ndarray) -> sparse.csr_array:
        every = rows.T @ sparse.diags_array(own) @ rows + sparse.diags_array(outside.ravel())
        return sparse.csr_array(scale @ every @ scale)

    return stable_step_of(
        of(stiffness, np.hstack([press, none])), of(damping, np.hstack([drags[0] + press_damp, drags[1]]))
    )


def _links(shape: Shape) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Small strains of links as rows over displacements and turns of voxels, their stiffness and their damping.

    Six to each link: stretch, twist, two of bending and two of shear, which is what turns the link beyond its ends.
    """
    first, axis = np.nonzero(shape.next >= 0)
    one, other = 6 * first, 6 * shape.next[first, axis]
    links = {name: values[shape.row_of_link[first, axis]] for name, values in shape.link_rows.items()}
    s, b, c = links["side"], (axis + 1) % 3, (axis + 2) % 3
    strains: list[tuple[list[tuple[np.ndarray, Any]], np.ndarray, np.ndarray]] = [
        ([(one + axis, -1.0), (other + axis, 1.0)], _stretch(links), links["damp"]),
        ([(one + 3 + axis, -1.0), (other + 3 + axis, 1.0)], links["twist"], links["damp_twist"]),
    ]
    for across, along, sign in ((b, c, -1.0), (c, b, 1.0)):
        bent = [(one + 3 + across, -1.0), (other + 3 + across, 1.0)]
        strains.append((bent, links["bend"], links["damp_bend"]))
        slope = [(one + along, -sign / s), (other + along, sign / s)]
        turn = [(one + 3 + across, -0.5), (other + 3 + across, -0.5)]
        strains.append((slope + turn, links["shear"] * s, links["damp_shear"] * s))
    size = len(first), 6 * len(shape.next)
    every = np.arange(len(first))
    rows = [
        sum(sparse.csr_array((np.full(len(first), values), (every, places)), shape=size) for places, values in entries)
        for entries, _, _ in strains
    ]
    return (
        sparse.csr_array(sparse.vstack(rows)),
        np.concatenate([stiffness for _, stiffness, _ in strains]),
        np.concatenate([damping for _, _, damping in strains]),
    )
