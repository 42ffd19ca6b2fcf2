"""Warp kernels of the finite elements."""
