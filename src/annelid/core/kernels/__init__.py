"""Kernels of the core."""
