"""Kernels of the voxel robots."""
