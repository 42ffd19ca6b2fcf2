"""Maxima that several threads raise, the same in any order. Warp's own atomics are not atomic among CPU threads."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func_native(
    """
    // Numbers of 0 or more are in the order of their bits.
    int* where = (int*)(numbers.data + place);
#if defined(__CUDA_ARCH__)
    if (*(volatile int*)where < __float_as_int(value)) atomicMax(where, __float_as_int(value));  // most do not raise it
#else
    int bits; __builtin_memcpy(&bits, &value, 4);
    int seen = __atomic_load_n(where, __ATOMIC_RELAXED);
    while (seen < bits && !__atomic_compare_exchange_n(where, &seen, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
#endif
"""
)
def highest(numbers: wp.array[wp.float32], place: int, value: float) -> None:
    """Raise a number to a value, if that is higher; safe among threads, and the same in any order."""


@wp.func_native(
    """
    int* where = numbers.data + place;
#if defined(__CUDA_ARCH__)
    atomicMax(where, value);
#else
    int seen = __atomic_load_n(where, __ATOMIC_RELAXED);
    while (seen < value
           && !__atomic_compare_exchange_n(where, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
#endif
"""
)
def largest(numbers: wp.array[wp.int32], place: int, value: int) -> None:
    """Raise a whole number to a value, if that is higher."""
