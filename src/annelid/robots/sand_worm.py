"""A soft worm half buried in a box of sand: what the scene and the environment share."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from typing import ClassVar

import warp as wp

from annelid import grains, springs
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.simulation import Simulation
from annelid.coupling import simulation
from annelid.coupling.solver import Solver
from annelid.grains.start import on_purpose
from annelid.robots.sandbox import Sandbox, furrow_of, sand_ground, stirred_share
from annelid.shapes import Capsule, Surface

_MARGIN = 4.0  # room beside the worm, in its radii
_SLENDER = 12.0  # its length in radii
_SHARE_OF_STABLE = 0.95  # the step there, as a part of the stable one: worms come as far as in a quarter of it


@documented
@dataclass(frozen=True, kw_only=True)
class BuriedWorm(Checked):
    """A worm of silicone along x, and the box about it."""

    of_what: ClassVar[str] = "a worm"

    length: float = parameter(MISSING, "Length of the worm [m].", unit="m")
    spacing: float = parameter(MISSING, "Distance of its masses, in its radii.", above=0.0)
    swelling: float = parameter(
        MISSING, "Largest swelling of a part of it, a fraction of its size.", limits=(0.0, 0.99)
    )
    depth: float = parameter(MISSING, "Depth of the bed [m].", unit="m")
    buried: float = parameter(MISSING, "Part of the worm below the surface.")
    friction: float = parameter(MISSING, "Coulomb friction of grains and worm.")
    grain_radius: float = parameter(MISSING, "Radius of the grains [m].", unit="m")
    run_up: float = parameter(MISSING, "Room before and behind the worm [m].", unit="m")
    seed: int = parameter(1, "Seed of the places of the grains.", least=0)

    @property
    def radius(self) -> float:
        """Radius of the worm [m]."""
        return self.length / _SLENDER

    @property
    def height(self) -> float:
        """Height of its middle above the floor [m]."""
        return self.depth + self.radius * (1.0 - 2.0 * self.buried)

    @property
    def skin(self) -> Surface:
        """How its surface responds to contact."""
        return Surface(friction=self.friction)

    @property
    def stretch(self) -> float:
        """How much longer its surface may become, as a factor."""
        return 1.1 + self.swelling

    def body(self) -> springs.Body:
        """The worm, its middle at the origin; nothing makes it swell yet."""
        shape = Capsule(self.radius, self.length - 2.0 * self.radius, axis="x")
        return springs.lattice(shape, self.spacing * self.radius, "ecoflex-00-30", damping_frequency=10.0)

    def sandbox(self) -> Sandbox:
        """The box that it lives in."""
        return Sandbox(
            length=self.length + 2.0 * self.run_up,
            width=2.0 * _MARGIN * self.radius,
            depth=self.depth,
            radius=self.grain_radius,
            grain=replace(grains.SAND, friction=self.friction),
            seed=self.seed,
        )

    def on_resistive_ground(
        self,
        body: springs.Body,
        medium: str,
        *,
        worlds: int | None = None,
        device: str | wp.Device = "auto",
        threads: int | None = None,
    ) -> Simulation[springs.Solver]:
        """The worm as deep in ground that resists like its grains, without them.

        The ground gives before it yields, since the worm weighs a small part of what sand could bear, and stays at its
        place as grains of this size do.

        Args:
            body: What `body` gave, with or without what makes it swell.
            medium: What the ground is, see `ResistiveGround`.
            worlds: Worms side by side that know nothing of each other; None for one by itself.
            device: Where to compute.
            threads: CPU threads; None takes all cores.
        """
        furrow, share = furrow_of(self.grain_radius), stirred_share(self.grain_radius, self.radius)
        sand = sand_ground(medium, self.friction, height=self.depth, buried=True, furrow=furrow, share=share)
        placed = body.moved((0.0, 0.0, self.height))
        step = (
            _SHARE_OF_STABLE
            * springs.simulation(placed, obstacles=[sand], relaxation=0.0, device=device).solver.stable_step()
        )
        return springs.simulation(placed, obstacles=[sand], dt=step, worlds=worlds, device=device, threads=threads)

    def simulation(
        self, body: springs.Body, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> Simulation[Solver]:
        """The worm in its bed, whose grains have made room for it.

        Args:
            body: What `body` gave, with or without what makes it swell.
            device: Where to compute.
            threads: CPU threads; None takes all cores.
        """
        box = self.sandbox()
        with on_purpose():
            return simulation(
                body.moved((0.0, 0.0, self.height)), box.bed(), obstacles=box.walls(), skin=self.skin,
                stretch=self.stretch, inside="remove", device=device, threads=threads,
            )  # fmt: skip
