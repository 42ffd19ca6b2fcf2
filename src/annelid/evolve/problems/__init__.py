"""Problems to search: controllers of voxel robots, their bodies, both together, and the wave of a spring worm."""
