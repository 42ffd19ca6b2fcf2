"""Kernels of the environments, one file a concern."""
