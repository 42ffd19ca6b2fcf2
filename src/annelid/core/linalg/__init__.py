"""Linear algebra without the interpreter lock: banded factors, nested dissection, BLAS by pointer."""
