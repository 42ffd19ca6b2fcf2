"""Kernels of the grains: contacts between grains, with bodies, and the lists of neighbours."""
