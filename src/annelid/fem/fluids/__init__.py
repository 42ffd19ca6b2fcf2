"""Fluids in cavities of a solid: level, weight by columns, hydrostatic pressure."""
