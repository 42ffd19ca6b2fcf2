"""What an agent must beat: doing nothing, chance, and a policy that someone wrote for the environment."""

from annelid.envs.baselines.registry import scripted

__all__ = ["scripted"]
