"""Kernels of the controllers."""
