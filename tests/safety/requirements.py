"""What tinyrt promises, and the tests that hold it to that."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A promise.

    Attributes:
        name: what it is called in the table, such as ``E1``.
        text: what holds.
        tests: each as ``file::function``, from the folder ``tests``.

    """

    name: str
    text: str
    tests: tuple[str, ...]

    def missing(self) -> list[str]:
        """Tests that are not there."""
        return [test for test in self.tests if not _is_there(test)]


def _is_there(test: str) -> bool:
    file, _, function = test.partition("::")
    path = ROOT / "tests" / file
    if not (path.is_file() and function.startswith("test_")):
        return False
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(part, ast.FunctionDef) and part.name == function for part in body)


REQUIREMENTS = (
    Requirement(
        "exact",
        "Integer answers are those of TFLM's reference kernels, in every element",
        (
            "ops/test_conformance.py::test_int8_equals_the_device",
            "ops/test_conformance.py::test_int16x8_equals_the_device",
            "ops/test_conformance.py::test_int4_weights_equal_the_device",
            "interpreter/test_zoo.py::test_random_inputs_equal_the_device",
        ),
    ),
    Requirement(
        "device",
        "The exported code answers what the host answers, on every core",
        (
            "firmware/test_all_ops.py::test_ops_on_the_device",
            "firmware/test_all_ops.py::test_ops_of_other_widths_on_the_device",
            "firmware/test_zoo.py::test_device_answers_what_is_golden",
            "c/test_packed.py::test_thousands_of_random_cases",
        ),
    ),
    Requirement(
        "compilers",
        "The answers do not depend on the compiler and its options",
        (
            "firmware/test_flags.py::test_code_is_exact_under_any_flags",
            "firmware/test_flags.py::test_code_in_slices_is_exact_under_any_flags",
            "firmware/test_flags.py::test_code_is_exact_from_clang",
            "firmware/test_compilers.py::test_other_compilers_code_is_nearly_as_fast",
        ),
    ),
    Requirement(
        "defined",
        "No behaviour that C leaves undefined: kernels run under sanitizers, at the ends of ranges",
        (
            "c/test_kernels.py::test_kernel_equals_reference",
            "c/test_kernels.py::test_kernels_on_other_widths_equal_the_references",
            "export/test_refusals.py::test_accumulator_that_could_overflow",
        ),
    ),
    Requirement(
        "aligned",
        "Where told so, words are loaded at their own addresses alone",
        (
            "firmware/test_flags.py::test_words_at_any_address_are_trapped",
            "firmware/test_flags.py::test_code_without_unaligned_words_runs_where_these_fault",
        ),
    ),
    Requirement(
        "arena",
        "All memory is one arena of a size that is known; nothing is written outside of it",
        (
            "memory/test_arena.py::test_live_buffers_never_overlap",
            "memory/test_broken_plans.py::test_verdicts_on_broken_plans",
            "firmware/test_harness.py::test_writing_outside_the_arena_is_caught",
            "firmware/test_zoo.py::test_device_answers_what_is_golden",
        ),
    ),
    Requirement(
        "static",
        "No heap, no variable that is written, no call into the C library but memcpy and its kin",
        (
            "firmware/test_all_ops.py::test_ops_on_the_device",
            "firmware/test_facts.py::test_what_a_library_may_not_have_is_found",
        ),
    ),
    Requirement(
        "integers",
        "Floating point in the kernels of float tensors alone",
        (
            "firmware/test_all_ops.py::test_ops_on_the_device",
            "firmware/test_facts.py::test_what_a_library_may_not_have_is_found",
        ),
    ),
    Requirement(
        "stack",
        "The stack has a bound: no recursion, no frame of an unknown size, no call by a pointer",
        (
            "firmware/test_all_ops.py::test_ops_on_the_device",
            "firmware/test_stack.py::test_no_bound",
            "firmware/test_stack.py::test_bound_is_what_is_used",
            "firmware/test_stack.py::test_bound_counts_the_branch_that_is_not_taken",
        ),
    ),
    Requirement(
        "time",
        "How far instructions depend on data is known, op by op, and repeats to the instruction",
        (
            "safety/test_counts.py::test_ops_depend_on_data_as_little_as_is_said",
            "firmware/test_zoo.py::test_counts_repeat_to_the_instruction",
        ),
    ),
    Requirement(
        "slices",
        "An inference in slices answers as a whole one, and no slice is longer than asked for",
        (
            "firmware/test_slices.py::test_slices_are_as_short_as_asked_for_and_cost_little",
            "firmware/test_slices_ops.py::test_kernels_in_parts_answer_as_whole_ones",
            "firmware/test_slices.py::test_two_models_take_turns_slice_by_slice",
        ),
    ),
    Requirement(
        "updates",
        "A blob that is damaged, or of another structure, is refused, and nothing is written",
        (
            "c/test_blobs.py::test_every_byte_counts",
            "c/test_blobs.py::test_blobs_of_others_are_refused",
            "firmware/test_blobs.py::test_one_image_computes_with_one_blob_and_then_another",
        ),
    ),
    Requirement(
        "statuses",
        "A pointer that is null or misaligned is a status, and nothing is done",
        ("export/test_statuses.py::test_what_is_missing_is_a_status",),
    ),
    Requirement(
        "beside",
        "Any two exports link and are exact, or do not link",
        (
            "firmware/test_pairs.py::test_two_exports_in_one_image_are_exact_in_either_order",
            "firmware/test_pairs.py::test_kernels_of_one_name_for_two_cores_would_not_be_exact",
            "export/test_identity.py::test_a_header_and_the_library_of_another_export_do_not_link",
        ),
    ),
    Requirement(
        "origin",
        "Every file says its licence, version and identity; the header says the model's digest",
        (
            "export/test_licence.py::test_every_file_begins_with_its_licence",
            "export/test_licence.py::test_the_header_tells_a_program_what_it_is",
            "export/test_identity.py::test_a_change_of_any_file_or_its_name_changes_the_identity",
        ),
    ),
    Requirement(
        "hostile",
        "A file that is broken, or meant to do harm, is refused by name; names in it stay data",
        (
            "fuzz/test_fuzz.py::test_mutants_do_no_harm",
            "convert/test_tflite_refusals.py::test_the_field_is_named",
            "export/test_names.py::test_attacks_change_nothing_but_comments",
            "export/test_names.py::test_hostile_names_compile_to_the_same_object",
        ),
    ),
    Requirement(
        "whole",
        "What is written is the old or the new one, whenever a command is killed",
        (
            "faults/test_writes.py::test_commands_write_all_or_nothing",
            "faults/test_writes.py::test_a_folder_that_is_used_is_replaced_in_one_step",
        ),
    ),
    Requirement(
        "repeatable",
        "The same model and options give the same bytes, on any machine",
        ("test_reproducible.py::test_settings_of_a_process_and_its_libraries_change_no_byte",),
    ),
    Requirement(
        "style",
        "The C code has no findings of cppcheck and clang, and departs from MISRA C:2012 as listed",
        (
            "c/test_lint.py::test_cppcheck_finds_nothing",
            "c/test_lint.py::test_clang_has_nothing_to_warn_of",
            "safety/test_misra.py::test_what_is_found_is_meant_so",
        ),
    ),
)
