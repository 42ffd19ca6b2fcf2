"""Tetrahedral meshes: the mesh, its meshers, its files."""
