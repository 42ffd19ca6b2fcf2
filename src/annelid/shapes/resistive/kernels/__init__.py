"""Warp functions of resistive force theory."""
