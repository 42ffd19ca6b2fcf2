"""Kernels of motions that are run back."""
