"""Kernels of the mass-spring solver."""
