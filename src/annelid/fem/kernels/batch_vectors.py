"""Vectors and turns of the nodes of many worlds: arrays of shape [3 · nodes, worlds] and [4 · nodes, worlds]."""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f32 = wp.float32


@wp.func
def vector_of(vectors: wp.array2d[f32], i: int, w: int) -> wp.vec3:
    return wp.vec3(vectors[3 * i, w], vectors[3 * i + 1, w], vectors[3 * i + 2, w])


@wp.func
def put_vector(vectors: wp.array2d[f32], i: int, w: int, vector: wp.vec3):
    vectors[3 * i, w] = vector[0]
    vectors[3 * i + 1, w] = vector[1]
    vectors[3 * i + 2, w] = vector[2]


@wp.func
def turn_of(turns: wp.array2d[f32], i: int, w: int) -> wp.quat:
    return wp.quat(turns[4 * i, w], turns[4 * i + 1, w], turns[4 * i + 2, w], turns[4 * i + 3, w])
