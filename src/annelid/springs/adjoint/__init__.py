"""Gradients of motions of mass-spring bodies: the adjoint of the symplectic step."""
