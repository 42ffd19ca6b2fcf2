"""The scripted policies of the environments by name. They are imported only when they are asked for."""

from __future__ import annotations

from annelid.core.listing import listed
from annelid.envs.registration import in_full
from annelid.envs.worlds import Policy, Worlds

SCRIPTS = {
    "annelid/Bulldozer-v0": ("annelid.envs.baselines.pushing", "bulldozing"),
    "annelid/Excavation-v0": ("annelid.envs.baselines.digging", "digging"),
    "annelid/VoxelLocomotion-v0": ("annelid.envs.baselines.waves", "striding"),
    "annelid/SpringWalker-v0": ("annelid.envs.baselines.waves", "walking"),
    "annelid/SandWorm-v0": ("annelid.envs.baselines.waves", "burrowing"),
    "annelid/WormCrawl-v0": ("annelid.envs.baselines.waves", "crawling"),
    "annelid/RunnerGallop-v0": ("annelid.envs.baselines.running", "running"),
    "annelid/VoxelJump-v0": ("annelid.envs.baselines.jumping", "jumping"),
    "annelid/HeapPush-v0": ("annelid.envs.baselines.pushing", "pushing"),
    "annelid/FingerReach-v0": ("annelid.envs.baselines.reaching", "lifting"),
    "annelid/TrunkReach-v0": ("annelid.envs.baselines.reaching", "pulling"),
    "annelid/TrunkReachAround-v0": ("annelid.envs.baselines.reaching", "rounding"),
    "annelid/SoftGrasp-v0": ("annelid.envs.baselines.grasping", "grasping"),
    "annelid/SoftCrawl-v0": ("annelid.envs.baselines.waves", "arching"),
}
"""Module and function of the policy of each environment: from its worlds to what acts in them."""


def has_script(name: str) -> bool:
    """Whether someone wrote a policy for this environment; a task of one's own has none."""
    return in_full(name) in SCRIPTS


def scripted(name: str, worlds: Worlds) -> Policy:
    """The scripted policy of an environment, for these worlds; it sees their time besides what it is given."""
    policy: Policy = listed("environment with a scripted policy", in_full(name), SCRIPTS)(worlds)
    return policy
