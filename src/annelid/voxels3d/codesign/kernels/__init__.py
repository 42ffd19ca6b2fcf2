"""Kernels of voxels that sense a light, and of the network in each of them."""
