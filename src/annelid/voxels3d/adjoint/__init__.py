"""Motions of 3-D voxels run back, for gradients."""
