"""Kernels that all physics share."""
