"""Where neighbours and their impulses lie in memory.

In a state, and where a CPU works, those of a grain follow each other, in groups of four. CUDA works on copies in which
groups come first: the first groups of all grains, then the second ones. Threads that take a grain each then read and
write memory side by side, and room that only some long lists need is never touched.
"""

from typing import Any

import warp as wp

from annelid.grains.kernels.layout import Lists

wp.set_module_options({"enable_backward": False})

PLACES = """
#if defined(__CUDA_ARCH__)
    #define AT(lists, i, k) (4 * ((size_t)((k) >> 2) * lists.counts.shape[0] + (i)) + ((k) & 3))
    #define WIDE_AT(lists, i, k, c) (4 * ((size_t)(3 * ((k) >> 2) + (c)) * lists.counts.shape[0] + (i)) + ((k) & 3))
#else
    #define AT(lists, i, k) ((size_t)(i) * lists.places + (k))
    #define WIDE_AT(lists, i, k, c) (3 * ((size_t)(i) * lists.places + ((k) & ~3)) + 4 * (c) + ((k) & 3))
#endif
"""
"""Text that says where neighbour k of grain i lies, and component c of its impulse; see `FORGET`."""

GROUP_OF_LANES = "(lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1u) << ((threadIdx.x & 31) / lanes * lanes))"
"""The lanes of a warp that share a grain, as a mask."""

FORGET = """
    #undef AT
    #undef WIDE_AT
"""


@wp.func_native(PLACES + "const int place = (int)AT(lists, i, k);" + FORGET + "return place;")
def neighbour_place(i: int, k: int, lists: Lists) -> int:
    """Place of neighbour k of grain i in `Lists.neighbours`."""


@wp.func_native(PLACES + "const int place = (int)WIDE_AT(lists, i, k, c);" + FORGET + "return place;")
def impulse_place(i: int, k: int, c: int, lists: Lists) -> int:
    """Place of component c of its impulse in `Lists.impulses` and `Lists.rollings`."""


@wp.kernel(enable_backward=False)
def unfold(
    rolling: int, neighbours: wp.array[wp.int32], impulses: wp.array[wp.float32], rollings: wp.array[wp.float32],
    lists: Lists,
):  # fmt: skip
    """Copy lists of a state to where CUDA works on them, a thread a group."""
    t = wp.tid()
    i = t % lists.counts.shape[0]
    first = 4 * (t // lists.counts.shape[0])
    if first < lists.counts[i][0]:
        for k in range(first, first + 4):
            lists.neighbours[neighbour_place(i, k, lists)] = neighbours[i * lists.places + k]
            for c in range(3):
                at = 3 * (i * lists.places + first) + 4 * c + k - first
                lists.impulses[impulse_place(i, k, c, lists)] = impulses[at]
                if rolling == 1:
                    lists.rollings[impulse_place(i, k, c, lists)] = rollings[at]


@wp.kernel(enable_backward=False)
def fold(
    rolling: int, lists: Lists, neighbours_out: wp.array[wp.int32], impulses_out: wp.array[wp.float32],
    rollings_out: wp.array[wp.float32],
):  # fmt: skip
    """Copy them back, to where everything is 0."""
    t = wp.tid()
    i = t % lists.counts.shape[0]
    first = 4 * (t // lists.counts.shape[0])
    if first < lists.counts[i][0]:
        for k in range(first, first + 4):
            neighbours_out[i * lists.places + k] = lists.neighbours[neighbour_place(i, k, lists)]
            for c in range(3):
                at = 3 * (i * lists.places + first) + 4 * c + k - first
                impulses_out[at] = lists.impulses[impulse_place(i, k, c, lists)]
                if rolling == 1:
                    rollings_out[at] = lists.rollings[impulse_place(i, k, c, lists)]


class FoldedRows:
    """Lists of a state, unfolded for CUDA.

    Args:
        lists: The structure of the lists, whose arrays of neighbours and impulses are those of the state.
        rolling: Whether it has a second vector.
        device: The device.
    """

    def __init__(self, lists: Any, rolling: bool, device: wp.Device) -> None:
        self._rolling, self._device = int(rolling), device
        self._folded = lists.neighbours, lists.impulses, lists.rollings
        self._groups = len(lists.neighbours) // 4
        lists.neighbours, lists.impulses, lists.rollings = (wp.zeros_like(one) for one in self._folded)
        self._unfold = self._prepared(unfold, [*self._folded, lists])
        self._fold = self._prepared(fold, [lists, *self._folded])

    def _prepared(self, kernel: wp.Kernel, arguments: list[Any]) -> Any:
        """A launch that is made ready once, which takes longer than what it does."""
        return wp.launch(kernel, self._groups, [self._rolling, *arguments], device=self._device, record_cmd=True)

    def unfold(self) -> None:
        """Bring them from the state."""
        self._unfold.launch()

    def fold(self) -> None:
        """Bring them back to it; what is beyond the end of a list is 0, however often this is done."""
        for one in self._folded:  # much of which is room: the device clears it faster than threads write it row by row
            one.zero_()
        self._fold.launch()
