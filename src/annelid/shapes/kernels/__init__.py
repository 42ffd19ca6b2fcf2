"""Warp kernels of the shapes: mesh queries, baked distances, quasi-uniform points."""
