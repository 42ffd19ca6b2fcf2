"""Linear systems of a solid: unknowns, fronts, and the solvers that factor them or reuse an old factor."""
