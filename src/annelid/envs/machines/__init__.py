"""Machines that move soil: a bulldozer, a bucket, and the arm that holds it. Geometry and kinematics, no physics."""

from annelid.envs.machines.bucket import Bucket
from annelid.envs.machines.bulldozer import Bulldozer
from annelid.envs.machines.kinematics import Chain
from annelid.envs.machines.panda import HOME, Panda, panda

__all__ = ["HOME", "Bucket", "Bulldozer", "Chain", "Panda", "panda"]
