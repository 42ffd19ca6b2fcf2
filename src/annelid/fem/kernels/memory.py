"""What a state holds of a factor, told to the host in few numbers."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def tell_memory(iterations: wp.array[wp.int64], age: wp.array[wp.int64], shift: wp.array[f64], told_out: wp.array[f64]):
    """Iterations, age and shift side by side, and no difference found yet."""
    told_out[0] = f64(iterations[0])
    told_out[1] = f64(age[0])
    told_out[2] = shift[0]
    told_out[3] = f64(0.0)


@wp.kernel
def note_other_blocks(theirs: wp.array[wp.mat33d], ours: wp.array[wp.mat33d], told_out: wp.array[f64]):
    """Note where two matrices differ: every thread that finds a difference writes the same number."""
    i = wp.tid()
    for a in range(3):
        for b in range(3):
            if theirs[i][a, b] != ours[i][a, b]:
                told_out[3] = f64(1.0)
