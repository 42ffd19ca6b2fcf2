"""Default settings of the training in each environment: what has been found to work there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from annelid.core.errors import UnknownName
from annelid.core.own_files import is_own


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of a training. A choice is an action that the agent holds for `repeat` actions of the environment.

    Attributes:
        worlds: Worlds side by side.
        steps: Actions of the environment in all.
        repeat: Actions of the environment in a choice.
        rate: Learning rate.
        discount: What a reward is worth one choice later.
        choices: Choices of all worlds that PPO learns from at once, where these are 128 at most; of more worlds each
            makes as many as one of 128. Half as many are made before TD3 learns.
        epochs: How often PPO goes through these.
        change: Change of the policy (Kullback-Leibler divergence) at which PPO turns to new choices; None for any.
        fading: Whether the learning rate falls in a line, to a twentieth at the last action.
        scaled: Whether observations without images are brought to similar size by their running means and spreads.
        log_spread: Logarithm of the standard deviation of choices that PPO begins with.
        staggered: Whether first episodes end early, each world's at its own time. Without that all worlds are always at
            the same moment of their episodes, and rollouts that are shorter than these show only a part of them: who
            learns from the beginning alone forgets the end.
    """

    worlds: int = 16
    steps: int = 100_000
    repeat: int = 1
    rate: float = 3e-4
    discount: float = 0.99
    choices: int = 2048
    epochs: int = 8
    change: float | None = None
    fading: bool = False
    log_spread: float = -0.5
    scaled: bool = False
    staggered: bool = False


ALGORITHMS = ("ppo", "td3")

RECIPES = {
    # Chance that chooses ten times a second trembles on the spot; choosing twice a second it drives to the heap. What a
    # push brings comes within 15 s, and the grains stay: who looks further ahead only hears more noise. Eyes that learn
    # from a thousand choices until they know them by heart lead the policy astray, so its change is limited.
    "annelid/Bulldozer-v0": Recipe(
        worlds=64, steps=300_000, repeat=5, discount=0.97, choices=1024, change=0.03, fading=True, log_spread=0.0
    ),
    "annelid/SpringWalker-v0": Recipe(worlds=512, steps=400_000, scaled=True, discount=0.97, log_spread=0.0),
    "annelid/WormCrawl-v0": Recipe(worlds=32, steps=60_000, scaled=True, discount=0.97, log_spread=0.0),
    "annelid/RunnerGallop-v0": Recipe(worlds=32, steps=20_000, scaled=True, discount=0.97, choices=1024),
    "annelid/VoxelJump-v0": Recipe(worlds=64, steps=150_000, scaled=True, log_spread=0.0),
    "annelid/HeapPush-v0": Recipe(worlds=32, steps=100_000, scaled=True, repeat=3, discount=0.97, log_spread=0.0),
    # Thousands of worlds on a GPU; on a CPU this would take days.
    "annelid/SoftGrasp-v0": Recipe(
        worlds=2048, steps=12_000_000, scaled=True, rate=5e-4, discount=0.98, choices=3072, change=0.03, fading=True
    ),
    "annelid/SoftCrawl-v0": Recipe(
        worlds=2048, steps=12_000_000, scaled=True, rate=5e-4, discount=0.98, choices=3072, change=0.03, fading=True
    ),
    # Solids cost most of all, and what an action is worth shows at once: few actions, and a short view ahead.
    "annelid/FingerReach-v0": Recipe(worlds=16, steps=4_000, scaled=True, rate=1e-3, discount=0.5, choices=256),
    "annelid/TrunkReach-v0": Recipe(worlds=16, steps=6_000, scaled=True, rate=1e-3, discount=0.5, choices=256),
    # Round the post the tip is further from the target for a while: who looks no further stays before it. Eight cables
    # that are pulled at random by much only shake the trunk: choices begin near each other.
    "annelid/TrunkReachAround-v0": Recipe(
        worlds=1024,
        steps=850_000,
        scaled=True,
        rate=1e-3,
        discount=0.9,
        choices=1280,
        fading=True,
        log_spread=-1.0,
        staggered=True,
    ),
}
"""Settings by name of the environment, where the usual ones are not good enough; they were found with PPO."""


# Found with the two crawlers of docs/howto/task.md and 1,500 to 150,000 actions each: with 2,048 choices at once, with
# a rate of 3e-4 or with a discount of 0.99 they learnt less.
OWN = Recipe(scaled=True, rate=1e-3, discount=0.97, choices=512)
"""Settings for tasks of users."""


def recipe(name: str, algorithm: str = "ppo") -> Recipe:
    """What is used for an environment; TD3 takes the same but for its own rate and discount."""
    if algorithm not in ALGORITHMS:
        raise UnknownName("algorithm", algorithm, ALGORITHMS)
    found = RECIPES.get(name, OWN if is_own(name) else Recipe())
    return found if algorithm == "ppo" else replace(found, rate=5e-4, discount=0.98)
