"""Boxes that overlap: which boxes of a tree each of many others meets."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def count_overlaps(
    tree: wp.uint64,
    lowers: wp.array[wp.vec3],
    uppers: wp.array[wp.vec3],
    same: wp.bool,  # both boxes are of the tree: each pair counts once
    count_out: wp.array[wp.int32],
):
    i = wp.tid()
    query = wp.bvh_query_aabb(tree, lowers[i], uppers[i])
    other = wp.int32(0)
    count = wp.int32(0)
    while wp.bvh_query_next(query, other):
        if other > i or not same:
            count += 1
    count_out[i] = count


@wp.kernel
def list_overlaps(
    tree: wp.uint64,
    lowers: wp.array[wp.vec3],
    uppers: wp.array[wp.vec3],
    same: wp.bool,  # both boxes are of the tree: each pair counts once
    firsts: wp.array[wp.int32],
    other_out: wp.array[wp.int32],
):
    i = wp.tid()
    query = wp.bvh_query_aabb(tree, lowers[i], uppers[i])
    other = wp.int32(0)
    place = firsts[i]
    while wp.bvh_query_next(query, other):
        if other > i or not same:
            other_out[place] = other
            place += 1
