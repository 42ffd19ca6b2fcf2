"""Bodies and one brain for all of them: random polycubes, a network in every voxel, lights that they walk to.

The benchmark follows codesign-mpt (Strgar and Kriegman), with 3-D voxels in place of masses and springs.
"""
