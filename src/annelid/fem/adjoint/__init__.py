"""Gradients of equilibria and motions of solids, with respect to what they are made of and what acts on them."""
