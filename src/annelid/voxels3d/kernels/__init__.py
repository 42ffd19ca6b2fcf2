"""Kernels of 3-D voxel robots."""
