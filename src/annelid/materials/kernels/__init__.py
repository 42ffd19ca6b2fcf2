"""Kernels of materials."""
