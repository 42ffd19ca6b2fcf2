"""Functions of CPU kernels that are called once stand where they are called."""

from annelid.core.compiled_calls import called_in_place


def text(*calls: str) -> str:
    lines = "".join(f"    {call}\n" for call in calls)
    return (
        "static wp::float32 twice_0(\n    wp::float32 var_x)\n{\n    // once_0(var_x) is called below\n}\n"
        "static wp::vec_t<3, wp::float32> once_0(\n    wp::float32 var_x)\n{\n    var_1 = twice_0(var_x);\n}\n"
        "static __attribute__((noinline)) void pass_0(\n    wp::float32 var_x)\n{\n}\n"
        "template <bool wp_linear_contiguous>\n"
        f"static void run_1_cpu_kernel_forward(\n    wp::launch_bounds_t<1> dim)\n{{\n{lines}}}\n"
    )


CALLS = ("var_0 = once_0(var_x);", "var_2 = twice_0(var_x);", "pass_0(var_x);")


def test_what_is_called_once_and_kernels_stand_in_place() -> None:
    written = called_in_place(text(*CALLS))
    assert "static __attribute__((always_inline)) wp::vec_t<3, wp::float32> once_0(" in written
    assert "static __attribute__((always_inline)) void run_1_cpu_kernel_forward(" in written
    assert "static wp::float32 twice_0(" in written
    assert "static __attribute__((noinline)) void pass_0(" in written


def test_what_no_kernel_calls_stays_as_it_is() -> None:
    assert "static wp::vec_t<3, wp::float32> once_0(" in called_in_place(text(*CALLS[1:]))


def test_files_with_gradients_or_a_free_choice_of_fused_operations_stay_as_they_are() -> None:
    given = text(*CALLS)
    back = given + "static void run_1_cpu_kernel_backward(\n"
    assert called_in_place(back) == back
    assert called_in_place(given, "-march=native -ffp-contract=fast") == given
