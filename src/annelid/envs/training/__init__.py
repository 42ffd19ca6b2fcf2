"""Training of agents through Stable-Baselines3: runs that can be resumed, evaluation, curves and videos."""
