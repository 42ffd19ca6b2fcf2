"""The ray-cast camera: a stage of geometry, light, and the kernels that cast rays at it."""
