"""Structures of kernels come without functions for gradients where their module has none."""

import pytest
import warp as wp
from warp._src import codegen

from annelid.core.compiled_structures import guarded, without_gradients

SOURCE = "struct Pair_1\n{\n};\n\nstruct Other_1\n{\n};\n"


@wp.struct
class Pair:
    first: wp.float32
    second: wp.float32


@wp.kernel(enable_backward=False, module="unique")
def make_pairs(pairs_out: wp.array[Pair]) -> None:
    i = wp.tid()
    pairs_out[i] = Pair(float(i), 2.0)


def test_a_kernel_makes_structures_from_their_fields() -> None:
    pairs = wp.zeros(2, dtype=Pair, device="cpu")
    wp.launch(make_pairs, 2, [], [pairs], device="cpu")
    assert pairs.numpy().tolist() == [(0.0, 2.0), (1.0, 2.0)]


def test_functions_for_gradients_are_left_out() -> None:
    assert without_gradients(SOURCE) == f"#define ANNELID_FORWARD\n{SOURCE}"


def test_only_structures_that_are_made_keep_what_makes_them() -> None:
    source = SOURCE + "    var_1 = Pair_1(var_2, var_3);\n    var_4 = Other_1();\n"
    assert without_gradients(source) == f"#define ANNELID_FORWARD\n#define ANNELID_MAKES_Pair_1\n{source}"


def test_files_with_gradients_keep_all() -> None:
    source = SOURCE + "static void k_cpu_kernel_backward(\n"
    assert without_gradients(source) == source


def test_the_template_of_warp_is_guarded_once() -> None:
    template = codegen.struct_template
    assert guarded(template) == template
    assert template.count("ANNELID_FORWARD") == 3
    assert template.count("#endif") == 3


@pytest.mark.parametrize("template", ["", "struct {name}\n{{\n}};\n"])
def test_a_template_of_another_warp_stays(template: str) -> None:
    assert guarded(template) == template
