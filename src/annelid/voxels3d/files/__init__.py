"""Files of voxel robots: those of VoxCAD, evosoro and voxcraft-sim, and of Voxelyze."""
