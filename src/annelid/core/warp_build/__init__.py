"""How Warp builds kernels of this package, where that differs from how it builds all others."""
