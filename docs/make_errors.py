"""Write docs/errors.md: what is said of every mistake that tests/errors knows, by subject.

`python docs/make_errors.py` (or `make docs-errors`) writes the page; `tests/test_errors.py` fails when it is stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
ERRORS: Final = ROOT / "tests" / "errors"
CORE: Final = ERRORS / "core"
PAGE: Final = ROOT / "docs" / "errors.md"

SUBJECTS: Final[dict[str, tuple[str, ...]]] = {
    "The file": (
        *("syntax", "stray_question_mark", "hole_without_mark", "python_question_mark", "import_in_swz"),
        *("code_at_top_level", "parameter_outside_domain", "python_missing_module", "python_call_of_sketch"),
        *("python_hole_outside", "non_ascii_columns"),
    ),
    "The sketch's declaration": (
        *(
            "spec_missing",
            "spec_of_other_arity",
            "spec_in_another_order",
            "python_spec_in_another_order",
            "block_missing",
            "block_misspelled",
            "block_too_deep",
        ),
        *("block_too_large", "grid_too_high", "grid_too_large", "array_without_shape", "array_of_slice"),
        *("parameter_not_declared", "declared_but_no_parameter", "no_output", "python_role_behind_the_shape"),
        *("python_spec_in_quotes", "python_default_of_a_parameter"),
        *("python_async_kernel",),
    ),
    "The specification": (
        *("spec_dict", "spec_dunder", "spec_unknown_name", "spec_index_out_of_bounds", "spec_branches_on_data"),
        *("spec_and_of_data", "spec_conversion", "python_spec_conversion"),
        *("spec_indexes_with_data", "spec_empty_maximum", "spec_shifts_by_data", "spec_stores_to_input", "spec_shape"),
        *("spec_returns_nothing", "spec_element_missing", "python_spec_index", "python_spec_compares"),
        *("spec_steers_by_data", "spec_range_of_data", "spec_recursion", "spec_list_too_long"),
        *("spec_int_too_large", "python_spec_fails", "python_spec_shape", "python_spec_dict"),
        *("python_spec_of_numpy", "python_spec_of_torch", "python_spec_selects", "python_spec_transposed"),
        *("python_spec_yields", "python_spec_misses_a_name"),
    ),
    "From other languages": (
        *("cpp_and", "cpp_or", "cpp_comment", "cpp_declaration", "cpp_block", "cpp_increment", "cpp_increment_before"),
        *("cpp_comparison_for_a_store", "cpp_arrow", "cpp_printf", "other_program_id", "other_masked_load"),
        *("other_bit_count", "other_cooperative_group", "grid_stride_loop", "barrier_is_not_called"),
        *("barrier_is_missing", "sum_in_a_kernel", "print_in_a_kernel", "round_in_a_kernel", "power_of_data"),
        *("size_is_called", "value_is_called", "grid_without_dimensions", "max_of_a_list", "shuffle_without_its_mask"),
        *("none_for_a_number", "shape_for_a_number", "coordinate_without_an_axis"),
    ),
    "Statements": (
        *("while_loop", "break_statement", "try_statement", "early_return", "return_value", "loop_over_array"),
        *("loop_enumerate_array", "loop_over_data", "loop_over_lanes", "loop_zip_lengths", "loop_mixed_constants"),
        *("loop_float_constants", "loop_too_few_variables", "tuple_at_a_loop_variable"),
        *("loop_bound_differs", "data_in_loop_bound", "loop_step_zero", "data_dependent_branch"),
        *("condition_is_index", "tuple_of_wrong_size", "write_to_loop_variable", "loop_variable_after_loop"),
        *("maybe_unassigned",),
    ),
    "Values and names": (
        *("unknown_name", "unknown_attribute", "unknown_call", "undecorated_helper", "method_of_a_constant"),
        *("python_unknown_helper", "no_such_constant", "remainder_of_floats", "shift_of_a_float"),
        *("string", "list_literal", "mixed_dtypes", "index_with_data", "index_becomes_data", "float_without_dtype"),
        *("float_rounds_to_0", "float_rounds_to_infinity"),
        *("division_of_indices", "index_division_by_zero", "shift_by_data", "shift_negative", "shift_too_far"),
    ),
    "Arrays": (
        *("array_in_loop", "shape_not_static", "local_too_large", "shared_too_large", "shared_of_no_size"),
        *("wrong_number_of_indices", "negative_index", "data_dependent_index", "out_of_bounds"),
        *("out_of_bounds_store", "unwritten_read"),
        *("store_to_input", "read_of_out", "wrong_store_dtype"),
    ),
    "Scalars": (
        *("scalar_misspelled", "scalar_with_a_shape", "scalar_given_as_a_float", "scalar_missing_in_the_specification"),
        *(
            "scalar_decides_in_a_specification",
            "scalar_as_output",
            "scalar_assigned",
            "scalar_stored",
            "scalar_indexed",
        ),
        *("scalar_has_no_length", "scalar_moved", "scalar_of_another_type", "scalar_steers_a_loop"),
    ),
    "Holes": (
        *("unknown_hole", "hole_missing_size", "hole_size_not_static"),
        *("hole_in_loop_bound", "part_too_large", "xform_too_large", "xform_out_of_range", "condition_argument_large"),
        "index_family_of_another_name",
        *("hole_size_is_a_float", "condition_without_argument", "index_family_unknown", "hole_without_a_name"),
        *("hole_argument_by_another_name",),
    ),
    "Device functions": (
        *("device_options", "python_device_signature", "device_defaults", "python_device_outside"),
        *("device_in_a_specification", "device_arguments", "device_misspelled", "device_shadowed", "device_recursion"),
        *("device_early_return", "device_without_value", "device_several_values", "device_value_unused"),
        *("device_in_an_expression", "device_in_a_choice", "device_array_for_a_number", "device_out_of_bounds"),
        *("filled_from_unknown", "python_filled_from_a_name", "filled_from_shares_nothing"),
        *("device_hole_sizes", "device_accumulator_under_if"),
    ),
    "Warps, barriers and races": (
        *("wrong_shuffle_arguments", "partial_warp_shuffle", "barrier_under_if", "race", "race_of_stores"),
    ),
    "Asynchronous copies": (
        *("copy_to_parameter", "copy_from_shared", "copy_of_a_sum", "copy_of_two_bytes", "copy_of_other_type"),
        *("copy_filled_with_one", "copy_askew", "copy_before_arrival"),
    ),
    "Accumulators": (
        *(
            "accumulator_operator",
            "accumulator_float_xor",
            "accumulate_two_without_inner",
            "final_uses_more",
            "accumulator_for_a_value",
            "accumulator_argument",
            "accumulate_argument",
        ),
    ),
    "Loads, stores, permutations": (
        *("keyword_unknown", "warp_load_destination", "warp_load_rounds", "warp_shape_missing", "warp_shape_size"),
        *("load_dimensions", "load_one_offset", "load_rounds_in_a_dimension", "load_shfl_lambda", "permute_shared"),
        *("permute_without_lambda",),
    ),
    "Functions of mathematics, and choices by data": (
        "math_misspelled",
        "math_arguments",
        "math_of_an_index",
        "math_of_integers",
        "math_mixes_types",
        "where_chooses_an_index",
        "where_of_data_alone",
        "where_mixes_types",
        "choice_by_data",
        "comparison_of_data_alone",
        "spec_math_misspelled",
        "spec_math_arguments",
        "spec_branches_on_a_choice",
        "python_math_in_a_specification",
        "accumulator_plus_equals",
        "type_of_numpy",
        "type_of_eight_bits",
        "range_behind_the_shape",
        "gather_of_any_data",
        "gather_beyond_the_array",
        "gather_of_an_output",
        "gather_of_a_tile",
        "gather_with_too_few_indices",
        "gather_by_floats",
        "gather_with_a_hole",
        "gather_mixes_types",
        "gather_column_out_of_bounds",
        "spec_gather_from_a_list",
        "pad_without_its_mark",
        "pad_in_a_kernel",
        "pad_of_nothing",
        "pad_of_too_much",
        "narrow_arithmetic",
        "narrow_negation",
        "narrow_comparison",
        "narrow_accumulator",
        "narrow_mixed",
        "external_without_a_text",
        "external_without_types",
        "external_without_a_result",
        "external_of_two_kinds",
        "external_takes_too_little",
        "external_without_numbers",
        "external_of_other_data",
        "external_with_too_few_arguments",
        "external_in_a_swz_file",
        "below_of_floats",
        "below_without_a_limit",
        "below_nothing",
        "below_without_a_shape",
        *("atomic_addition", "atomic_by_data", "atomic_of_halves", "atomic_local", "atomic_gives_nothing"),
        "device_array_in_a_kernel",
        *(
            "vector_arithmetic",
            "vector_component",
            "vector_shuffle",
            "vector_of_three",
            "vector_by_another_name",
            "vector_stored_to_a_number",
            "vector_view_of_another_type",
            "vector_view_that_is_cut",
            "vector_without_a_value",
        ),
        "other_atomic",
        "other_coordinate",
        "other_lane",
        "other_barrier",
        "other_shuffle",
        "other_reduction",
        "other_vote",
        "other_constant_memory",
        "other_element_type",
        "other_double",
        "python_float32",
        "python_type_of_eight_bits",
        "python_range_behind_the_shape",
    ),
}

HEAD: Final = """\
# Errors

What Swizzle says when something in a sketch or on the command line is wrong: where, what was found, what was
expected, how to fix it. The exit status is 2, and nothing is written. A whole message:

```text
{example}
```

This page lists what else is found, and how to fix it; search it for the words of a message. Each is a test with the
text that it is said of, in `tests/errors`, from which the page is made (`make docs-errors`).

An answer is no error: that no solution exists, or that a kernel is not equal to its specification, is status 1
([solving.md](solving.md)). `internal error: ...`, status 70, is a bug of Swizzle: please report it.
"""
EXAMPLE: Final = "out_of_bounds"


def sources() -> dict[str, Path]:
    """Return the wrong sketches by name."""
    return {path.stem: path for path in sorted(ERRORS.iterdir()) if path.suffix in (".swz", ".py")}


def transcript() -> list[tuple[str, str]]:
    """Return each wrong command line with what it prints on stderr."""
    parts = (ERRORS / "command_line.txt").read_text(encoding="utf-8").split("$ ")[1:]
    return [(command, message) for command, _, message in (part.partition("\n") for part in parts)]


def core() -> Iterator[str]:
    """Yield the section of the core: what is said of every misuse, by subject."""
    text = (CORE / "misuses.py").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", (CORE / "messages.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    messages = dict(zip(parts[::2], parts[1::2], strict=True))
    yield "\n## The core"
    for subject, body in re.findall(r"^# ---- ([^\n]+)\n(.*?)(?=^# ---- |\Z)", text, re.MULTILINE | re.DOTALL):
        yield f"\n### {subject}\n"
        yield block(messages[name] for name in re.findall(r"^def (\w+)\(\):", body, re.MULTILINE))


def words(message: str) -> str:
    """Return what a message says was found, and how to fix it."""
    first, *others = message.strip("\n").splitlines()
    fix = [at for at, line in enumerate(others) if line.startswith("  fix: ")]
    return "\n".join([re.sub(r"^(\S+?(:\d+)+: )?(error: )?", "", first), *others[fix[0] if fix else len(others) :]])


def block(messages: Iterable[str]) -> str:
    """Return messages, each once, as one block of text."""
    return "```text\n" + "\n\n".join(dict.fromkeys(map(words, messages))) + "\n```"


def lines() -> Iterator[str]:
    """Yield the page, line by line."""
    told = {name: path.with_suffix(".txt").read_text(encoding="utf-8") for name, path in sources().items()}
    yield HEAD.format(example=told[EXAMPLE].rstrip())
    for subject in (*SUBJECTS, "The core", "The command line"):
        yield f"- [{subject}](#{subject.lower().replace(' ', '-').replace(',', '').replace(chr(39), '')})"
    for subject, names in SUBJECTS.items():
        yield f"\n## {subject}\n\n{block(told[name] for name in names)}"
    yield from core()
    yield f"\n## The command line\n\n{block(message for _, message in transcript())}"


def page() -> str:
    """Return the page's text."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
