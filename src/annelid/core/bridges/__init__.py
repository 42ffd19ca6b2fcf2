"""Rollouts as functions of other libraries, PyTorch and JAX, which have gradients of their own."""
