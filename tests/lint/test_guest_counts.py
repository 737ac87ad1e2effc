"""How tests/qemu/unit_tests.py counts what a program printed in the guest."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "qemu"))

from unit_tests import counts  # noqa: E402

RAN = "[==========] 94 tests from 13 test suites ran. (10 ms total)"


@pytest.mark.parametrize(("lines", "expected"), [
    ([RAN, "[  PASSED  ] 94 tests.", "exit 0"], (94, 0, 0)),
    ([RAN, "[  PASSED  ] 93 tests.", "[  SKIPPED ] 1 test, listed below:", "exit 0"], (93, 0, 1)),
    ([RAN, "[  PASSED  ] 91 tests.", "[  SKIPPED ] 1 test, listed below:", "[  FAILED  ] 2 tests, listed below:", "exit 1"], (91, 2, 1)),
    ([RAN, "[  PASSED  ] 94 tests.", "exit 139"], (94, 1, 0)),
    ([RAN, "[  PASSED  ] 0 tests.", "[  SKIPPED ] 94 tests, listed below:", "exit 0"], (0, 1, 94)),
    (["exit 127"], (0, 1, 0)),
    ([], (0, 1, 0)),
])
def test_a_skipped_test_is_neither_passed_nor_failed_and_a_program_that_did_not_end_well_failed(lines, expected):
    assert counts(lines) == expected
