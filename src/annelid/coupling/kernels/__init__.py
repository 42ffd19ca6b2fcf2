"""Kernels of the coupling."""
