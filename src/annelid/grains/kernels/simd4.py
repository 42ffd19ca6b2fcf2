"""Vectors and a number beside them as rows of four, which a CPU reads, adds and writes at once.

Modules that take `add`, `sub` and `mul` from here have `+`, `-` and `*` of rows mean these. Those of Warp go number by
number, and a compiler that sees that the fourth of a row is replaced takes three of them one by one.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


def _each(cpu: str, cuda: str) -> str:
    """Text that makes a row of others: at once, or number by number."""
    return f"""
    wp::vec_t<4, wp::float32> out;
#if defined(__CUDA_ARCH__)
    for (int c = 0; c < 4; ++c) out[c] = {cuda};
#else
    typedef float Four __attribute__((ext_vector_type(4), aligned(4)));
    #define ROW(name) (*(const Four*)&name)
    *(Four*)&out = {cpu};
    #undef ROW
#endif
    return out;
"""


@wp.func_native(_each("ROW(a) + ROW(b)", "a[c] + b[c]"))
def add(a: wp.vec4, b: wp.vec4) -> wp.vec4: ...


@wp.func_native(_each("ROW(a) - ROW(b)", "a[c] - b[c]"))
def sub(a: wp.vec4, b: wp.vec4) -> wp.vec4: ...


@wp.func_native(_each("a * ROW(b)", "a * b[c]"))
def mul(a: float, b: wp.vec4) -> wp.vec4: ...


@wp.func_native(_each("ROW(rows.data[i])", "rows.data[i][c]"))
def row_of(rows: wp.array[wp.vec4], i: int) -> wp.vec4:
    """Row of an array whose rows follow each other: to look up its stride costs as much as what is done with it."""


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    rows.data[i] = row;
#else
    typedef float Four __attribute__((ext_vector_type(4), aligned(4)));
    *(Four*)(rows.data + i) = *(const Four*)&row;
#endif
"""
)
def put_row(i: int, row: wp.vec4, rows: wp.array[wp.vec4]) -> None:
    """Write a row of such an array."""


@wp.func
def with_last(row: wp.vec4, last: float) -> wp.vec4:
    """A row with another fourth number."""
    return wp.vec4(row[0], row[1], row[2], last)


@wp.func
def xyz(row: wp.vec4) -> wp.vec3:
    """The vector of a row."""
    return wp.vec3(row[0], row[1], row[2])
