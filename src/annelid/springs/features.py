"""What of a body and its world decides which kernels it needs."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.springs.body import FREE, Body
from annelid.springs.drives import drive_functions
from annelid.springs.kernels.dynamics import Plugins
from annelid.springs.kernels.layout import GIVES, YIELDS
from annelid.springs.kernels.program import Features
from annelid.springs.rows import entry_keys
from annelid.springs.world import PRECISIONS, World


def features_of(body: Body, world: World, *, worlds: bool = False) -> Features:
    """The features that a body in a world, or in a batch of `worlds`, makes use of; its kernels have no others."""
    surfaces = tuple(contact.function for contact in world.contacts if contact.function is not None)
    return Features(
        real=PRECISIONS[world.precision],
        integrator=world.integrator,
        damped=bool((body.damping > 0.0).any()) or "damping" in world.prepare,
        breaking=bool(np.isfinite(body.yield_strains).any()) or "breaking" in world.prepare,
        pushed=bool((body.forces != 0.0).any()),
        guided=bool((body.guides != FREE).any()),
        touching=tuple(sorted({contact.form.kind for contact in world.contacts if contact.form is not None})),
        moving=any(contact.rigid.moves != "fixed" for contact in world.contacts),
        free=_around_free(world),
        colliding=len(world.collisions) > 0,
        motors=drive_functions(world.motors),
        steers=any(motor.angle is not None for motor in world.motors),
        substeps=_substeps(body, world),
        signals=body.signal_functions if (body.signal_kinds > 0).any() else (),
        plugins=Plugins(tuple(world.forces), tuple(world.constraints), surfaces),
        worlds=worlds,
        growing=world.dashpots == "growing",
        resisted=() if world.sand is None else (YIELDS if world.sand.stiffness is None else GIVES,),
    )


def _around_free(world: World) -> tuple[int, ...]:
    """Kinds of obstacles, where some are free; these take whole steps, which Verlet and Runge-Kutta divide."""
    freed = [contact.called for contact in world.contacts if contact.free is not None]
    if freed and world.integrator not in ("euler", "symplectic"):
        raise InvalidValue(
            f"the {world.integrator} integrator of springs has no step for {freed[0]}, which is free: use "
            "integrator='symplectic'."
        )
    return tuple(sorted({contact.form.kind for contact in world.contacts if contact.form})) if freed else ()


def _substeps(body: Body, world: World) -> int:
    """Smaller steps of the masses that take them, an even number; 1 where none does."""
    most = int(body.substeps.max())
    if most == 1:
        return 1
    if world.integrator != "symplectic" or np.isfinite(body.yield_strains).any():
        raise InvalidValue("smaller steps for a group need the symplectic integrator and springs that do not break.")
    if world.sand is not None:  # what holds a mass would do so at the beginning of a step, and smaller ones move it on
        raise InvalidValue("smaller steps for a group are not possible in a ResistiveGround: take a smaller dt.")
    return most + most % 2


def fast_springs(body: Body) -> np.ndarray | None:
    """The springs that take smaller steps: those that hold a mass which does."""
    return (body.substeps[body.springs] > 1).any(axis=1) if (body.substeps > 1).any() else None


def distinct_signals(body: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct signals: the signal of each spring, and kind and parameters of each signal; signal 0 is passive."""
    active = np.flatnonzero(body.signal_kinds > 0)
    signal_of = np.zeros(body.spring_count, np.int32)
    table = np.column_stack([body.signal_kinds[active], body.signal_parameters[active]]) + 0.0
    # Compared in single precision: equal distances along a body differ in the last bits from mass to mass.
    columns = [np.ascontiguousarray(column) for column in table.T.astype(np.float32)]
    _, first, inverse = np.unique(entry_keys(columns), return_index=True, return_inverse=True)
    if not all(np.array_equal(column[first][inverse], column) for column in columns):  # two signals with one hash
        first, inverse = np.arange(len(active)), np.arange(len(active))
    signal_of[active], distinct = 1 + inverse, table[first]
    kinds = np.concatenate([[0], distinct[:, 0]]).astype(np.int32)
    return signal_of, kinds, np.concatenate([np.zeros((1, 4)), distinct[:, 1:]])
