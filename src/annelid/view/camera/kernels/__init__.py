"""Kernels of the camera: rays, shading, and the arrays that rays are cast against."""
