"""Kernels of the adjoint of springs."""
