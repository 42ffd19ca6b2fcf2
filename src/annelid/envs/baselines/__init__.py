"""What an agent must beat: doing nothing, chance, and a policy that someone wrote for the environment."""

from annelid.envs.baselines.registry import SCRIPTS, has_script, scripted

__all__ = ["SCRIPTS", "has_script", "scripted"]
