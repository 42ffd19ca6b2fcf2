"""Functions of CPU kernels get references to what they only read, and copies of what they change."""

import pytest

from annelid.core.warp_build.references import with_references


def text(body: str) -> str:
    head = "struct Scale_1\n{\n};\n\nstatic wp::float32 read_0(\n    wp::int32 var_i,\n    Scale_1 var_s)\n{\n"
    return head + body + "}\n"


READS = """    wp::array_t<wp::float32>* var_0;
    wp::float32* var_1;
    wp::array_t<wp::float32> var_2;
    wp::float32 var_3;
    var_0 = &((var_s).values);
    var_2 = wp::load(var_0);
    var_1 = wp::address(var_2, var_i);
    var_3 = wp::load(var_1);
    return var_3;
"""


def test_what_is_only_read_is_not_copied() -> None:
    written = with_references(text(READS))
    assert "    Scale_1 & var_s)" in written
    assert "var_1 = wp::address((*var_0), var_i);" in written
    assert "var_2" not in written


@pytest.mark.parametrize(
    "line",
    [
        "    var_s.factor = var_3;\n",
        "    wp::assign(var_s, var_4);\n",
        "    var_5 = &((var_s).place);\n    wp::store(var_5, var_4);\n",
        "    var_5 = &((var_s).place);\n    var_6 = &(wp::index(*(var_5), var_i));\n    wp::store(var_6, var_4);\n",
        "    unknown(var_s);\n",
    ],
)
def test_what_may_change_is_copied(line: str) -> None:
    assert with_references(text(READS + line)) == text(READS + line)


def test_an_array_that_is_chosen_later_is_copied() -> None:
    written = with_references(text(READS + "    var_7 = wp::where(var_8, var_2, var_9);\n"))
    assert "wp::address(var_2, var_i)" in written


def test_a_function_that_meets_others_at_a_barrier_is_called() -> None:
    written = with_references(text(READS + "    team_barrier_0(var_counter, var_size, var_3);\n"))
    assert "static __attribute__((noinline)) wp::float32 read_0(" in written
    assert "    Scale_1 & var_s_given)\n{\n    Scale_1 var_s = var_s_given;\n" in written


NATIVE = """struct Scale_1
{
};

static CUDA_CALLABLE wp::float32 native_0(
    wp::int32 i,
    wp::array_t<wp::float32> values,
    wp::array_t<wp::mat_t<3, 3, wp::float64>> turns,
    Scale_1 own,
    Scale_1 scale)
{
    own.factor = 2.0f;
    if (scale.factor == own.factor) values.data[i] = scale.factor;
    return scale.values.data[i];
}
"""


def test_a_function_in_cpp_reads_structures_where_they_are() -> None:
    written = with_references(NATIVE)
    assert "    const wp::array_t<wp::float32> & values,\n" in written
    assert "    const wp::array_t<wp::mat_t<3, 3, wp::float64>> & turns,\n" in written
    assert "    const Scale_1 & scale)\n" in written
    assert "    Scale_1 own,\n" in written  # which it changes
    assert with_references(NATIVE, "-march=native -ffp-contract=fast") == NATIVE  # which sums are fused stays the same


def test_files_with_gradients_stay_as_they_are() -> None:
    given = text(READS) + "static void k_cpu_kernel_backward(\n"
    assert with_references(given) == given
