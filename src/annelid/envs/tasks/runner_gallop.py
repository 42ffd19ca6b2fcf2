"""Running on four soft legs: an action is the speed of their motors; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from annelid import control, springs
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.grounds import LevelGround, level_ground, require_ground
from annelid.envs.task import Task
from annelid.robots.runner import LEGS, LENGTH, runner
from annelid.shapes import ground

_SPACING, _STEP = 0.02, 1e-4  # [m], [s]


@documented
class RunnerGallop(Task):
    """Run along x by turning four soft legs; who lies on the back has lost."""

    seconds = 2.0
    every = 0.05
    stir = 0.2
    speed: float = parameter(
        20.0, "Largest speed of a motor, forwards or backwards [rad/s].", unit="rad/s", limits=(1.0, 50.0)
    )
    torque: float = parameter(0.15, "Largest torque of a motor [N m].", unit="N m", limits=(0.01, 0.5))
    friction: float = parameter(0.9, "Coulomb friction of the ground.", limits=(0.0, 10.0))
    ground: LevelGround = parameter("rigid", '"rigid", or "resistive": sand without grains, into which it sinks.')
    medium: str = parameter(
        "sand-loose", "What resists then: a name, or a file that annelid study sand-rft --fit wrote."
    )

    observed: ClassVar[Mapping[str, str]] = {
        "commanded": f"speed asked of each leg ({', '.join(LEGS)}), from −1 to 1",
        "place": "place of the middle, x, y, z [m]",
        "velocity": "its velocity, x, y, z [m/s]",
        "turn": "how the body is turned, a quaternion x, y, z, w",
        "legs": "how each leg is turned, a quaternion x, y, z, w",
        "touch": "share of the masses of each leg that touch the ground",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ground(self)

    def build(self, **machine: Any) -> Simulation[springs.Solver]:
        """The robot on its legs."""
        asked = springs.Command(-self.speed, self.speed)
        rigid = ground(self.friction, stiffness=300.0, restitution=0.2)
        simulation = springs.simulation(
            runner(_SPACING), dt=_STEP, obstacles=[level_ground(self.ground, rigid, self.medium, self.friction)],
            motors=[springs.Motor(f"{leg}-hinge", speed=asked, limit=self.torque) for leg in LEGS], **machine,
        )  # fmt: skip
        sensors = simulation.sensors
        sensors.add("commanded", control.commanded())
        sensors.add("place", springs.position_of())
        sensors.add("velocity", springs.velocity_of())
        sensors.add("turn", springs.orientation_of("chassis"))
        sensors.add("legs", [springs.orientation_of(leg) for leg in LEGS])
        sensors.add("touch", [springs.touch_of(leg) for leg in LEGS])
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Way of the middle along x [lengths of the body]."""
        return (now["place"][:, 0] - before["place"][:, 0]) / LENGTH

    def terminated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Whether the upper side of the body looks down."""
        x, y = now["turn"][:, 0], now["turn"][:, 1]
        return x**2 + y**2 > 0.5
