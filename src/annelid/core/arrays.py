"""Arrays of other libraries as Warp arrays, sharing memory where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.errors import InvalidValue, MissingPackage
from annelid.core.kernels.arrays import repeat_row
from annelid.core.packages import installed, optional

_NUMBERS = (
    wp.bool, wp.float16, wp.float32, wp.float64,
    wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.uint16, wp.uint32, wp.uint64,
)  # fmt: skip


def kept(values: ArrayLike, dtype: Any = None) -> np.ndarray:
    """A copy of an array that nobody changes."""
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array


@runtime_checkable
class SharesMemory(Protocol):
    """An array of any library that can be exchanged by DLPack: PyTorch, JAX, CuPy..."""

    def __dlpack__(self, **options: Any) -> Any: ...


@runtime_checkable
class Detachable(Protocol):
    """A tensor of PyTorch, which shares its memory only when no gradient is asked of it."""

    def detach(self) -> Any:
        """The tensor without its gradient."""
        ...


def shared_array(values: Any, device: wp.Device) -> wp.array[Any] | None:
    """Values of Warp, PyTorch or JAX on a device, without a copy where they are there already; None for others.

    Elements that are not plain numbers are refused: a kernel that takes any type would fail to compile for them, and
    with it, from then on, for all types.
    """
    found: Any = values
    if not isinstance(values, wp.array):
        if isinstance(values, np.ndarray) or not isinstance(values, SharesMemory):
            return None
        try:
            found = wp.from_dlpack(values.detach() if isinstance(values, Detachable) else values)
        except (RuntimeError, TypeError, BufferError) as error:  # complex numbers, arrays that cannot be shared
            raise InvalidValue(f"an array of {type(values).__name__} cannot be taken: {error}.") from error
    if found.dtype not in _NUMBERS:
        raise InvalidValue(f"an array must hold numbers, not {found.dtype.__name__}.")
    here: wp.array[Any] = found.to(device)
    return here


def shared_rows(values: Any, shape: tuple[int, int], device: wp.Device) -> wp.array[Any] | None:
    """The same with one row a world: an array of one row stands for all of them, other shapes are left as they are."""
    found = shared_array(values, device)
    if found is None or tuple(found.shape) != shape[1:]:
        return found
    rows = wp.empty(shape, dtype=found.dtype, device=device)
    wp.launch(repeat_row, shape, [found], [rows], device=device)
    return rows


def views_in(library: str, purpose: str) -> Callable[[wp.array[Any]], Any]:
    """What makes an array of another library, on the same memory, of a Warp array.

    Args:
        library: "torch" or "jax".
        purpose: What needs it, for the message where it is missing: "controllers in PyTorch".
    """
    if library == "torch":
        optional("torch", purpose=purpose, extra="rl")
        return wp.to_torch
    if not installed("jax"):  # no extra brings it: which build suits depends on the machine
        raise MissingPackage(f"{purpose} needs jax, which is not installed: pip install jax.")
    return wp.to_jax


def array_or_none(values: Any) -> np.ndarray:
    """Values as an array of NumPy; what cannot be one, such as rows of different lengths, becomes one of None."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        return np.asarray(None)


def whole_numbers(what: str, values: Any) -> np.ndarray:
    """Whole numbers of any size, such as seeds; others are refused.

    Args:
        what: What they are, for the sentence: "seeds".
        values: As they were given.
    """
    given = array_or_none(values)
    whole = given.dtype.kind in "iu" or all(isinstance(one, Integral) for one in given.ravel().tolist())
    if given.dtype.kind == "f":
        whole = bool(np.isfinite(given).all() and (given % 1 == 0).all())
    if not whole or given.dtype.kind == "b":
        raise InvalidValue(f"{what} must be whole numbers, not {values!r:.60}.")
    exact = [int(one) for one in given.ravel().tolist()]
    return np.array(exact, object).reshape(given.shape)


def as_truths(what: str, values: Any) -> np.ndarray:
    """Values as an array of truth values; 0 and 1 count as such, words and other numbers do not."""
    given = array_or_none(values)
    if given.dtype.kind == "b" or (given.dtype.kind in "iu" and np.isin(given, (0, 1)).all()):
        return given.astype(bool)
    raise InvalidValue(f"{what} must be True or False, or one for each, not {values!r:.60}.")


def as_numbers(what: str, values: Any, dtype: Any = float) -> np.ndarray:
    """Values as an array of NumPy; what are no real numbers is refused.

    Args:
        what: What they are, for the sentence: "commands".
        values: As they were given.
        dtype: Type of the array.
    """
    try:
        if np.asarray(values).dtype.kind in "biufO":
            return np.asarray(values, dtype)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidValue(f"{what} must be given as numbers, not {values!r:.60}.")
