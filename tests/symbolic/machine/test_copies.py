"""Asynchronous copies that are used too early, or too late: what is said, and of which lines."""

from __future__ import annotations

import pytest

from swizzle.language.specs.verify import run_canonical
from symbolic.algebra.terms import Terms
from tests.sketches import kernel

HEAD = "tile = cuda.shared.array((2, 8), i32)\nt = cuda.threadIdx.x\n"
COPY, COMMIT, WAIT, BARRIER = (
    "cuda.copy_async(tile[0, t], x[t])", "cuda.commit_copies()", "cuda.wait_copies(0)", "cuda.syncthreads()"
)  # fmt: skip
READ = "y[t] = tile[0, 7 - t]"


def said(*lines: str, arguments: str = "x=i32[8], y=i32.out[8]") -> list[str]:
    """Return what is wrong with a kernel, '' where nothing is, with the fix."""
    program = kernel(HEAD + "\n".join(lines), arguments=arguments).program
    return [f"{each.message} | {each.fix}" for each in run_canonical(program, Terms()).violations]


def test_a_copy_that_is_waited_for() -> None:
    assert said(COPY, COMMIT, WAIT, BARRIER, READ) == []
    assert (
        said(COPY, WAIT, COMMIT, "cuda.copy_async(tile[1, t], x[t])", COMMIT, "cuda.wait_copies(1)", BARRIER, READ)
        == []
    )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([COPY, COMMIT, BARRIER, READ],
         "tile[0, 7] is read before the copy to it has arrived: it was issued in line 9 by block (0, 0, 0), "
         "thread (7, 0, 0), lane 3 and committed in line 10, and nothing waited for it since "),
        ([COPY, WAIT, COMMIT, BARRIER, READ], "and committed in line 11, behind the wait in line 10 "),
        ([COPY, COMMIT, COMMIT, "cuda.wait_copies(2)", BARRIER, READ],
         "committed in line 10, and the wait in line 12 may leave 2 groups under way, of which it is one "),
        ([COPY, WAIT, BARRIER, READ], "and is in no group yet, nor was it at the wait in line 10 "),
        ([COPY, WAIT, BARRIER, READ], "| write cuda.commit_copies() behind the copy, and before the wait"),
        ([COPY, COMMIT, WAIT, READ], "thread (0, 0, 0), lane 0 copies to it (line 9)"),
        ([COPY, COMMIT, BARRIER, WAIT, READ], "lane 0 waits for the copy to it (line 12) and block"),
        ([COPY, COMMIT, BARRIER, WAIT, READ], "put cuda.syncthreads() between them, behind the wait for the copy"),
        ([COPY, COPY.replace("x[t]", "x[7 - t]"), COMMIT, WAIT, BARRIER, READ],
         "tile[0, 0] is written before the copy to it has arrived (block (0, 0, 0), thread (0, 0, 0), lane 0) "
         "| wait before this: it was issued in line 9, and is in no group yet"),
        ([COPY, "tile[0, t] = 1", COMMIT, WAIT, BARRIER, READ], "is written before the copy to it has arrived"),
        (["tile[0, t] = 1", COPY, COMMIT, "y[t] = tile[0, t]"], "tile[0, 0] is read before the copy to it"),
        (["tile[0, t] = 1", COPY, COMMIT, "y[t] = tile[0, t]"], "| wait for it behind its commit, before this read"),
        (["tile[0, t] = 1", BARRIER, READ, COPY, COMMIT, WAIT], "lane 3 copies to it (line 12) with no barrier"),
    ],
)  # fmt: skip
def test_what_is_too_early(lines: list[str], words: str) -> None:
    assert any(words in each for each in said(*lines))


def test_what_is_copied_stays_until_it_has_arrived() -> None:
    """The source may be written by nobody before, and by others behind a barrier only."""
    arguments = "x=i32.inout[8], y=i32.out[8]"
    early = said(COPY, COMMIT, "x[t] = 0", WAIT, BARRIER, READ, arguments=arguments)
    assert "x[0] is written before a copy of it has arrived" in early[0]
    raced = said(COPY, COMMIT, BARRIER, WAIT, "x[7 - t] = 0", BARRIER, READ, arguments=arguments)
    assert "lane 0 waits for a copy of it (line 12)" in raced[0]
    assert said(COPY, COMMIT, WAIT, BARRIER, "x[7 - t] = 0", READ, arguments=arguments) == []


def test_groups_are_those_of_a_thread() -> None:
    """Threads that commit more groups than others, or wait for fewer."""
    mine, some, commit = "y[t] = tile[0, t]", "if t < 4:\n    {}", "cuda.commit_copies()"
    assert said(COPY, some.format("\n    ".join([COMMIT, WAIT, mine]))) == []
    for lines in ([COPY, some.format(commit), WAIT], [COPY, COMMIT, some.format(commit), "cuda.wait_copies(1)"]):
        assert said(*lines, mine)[0].startswith("tile[0, 4] is read before the copy to it has arrived")


def test_zeros_are_filled_in_and_what_is_not_copied_is_not_read() -> None:
    assert said("cuda.copy_async(tile[0, t], x[t + 3] if t < 5 else 0)", COMMIT, WAIT, BARRIER, READ) == []
    assert "x[8] is out of bounds" in said("cuda.copy_async(tile[0, t], x[t + 3] if t < 6 else 0)")[0]


def test_what_is_copied_at_once_is_aligned() -> None:
    wide = "if t < 2:\n    cuda.copy_async(tile[0, 4 * t{}], x[4 * t{}], count=4)"
    assert said(wide.format("", ""), COMMIT, WAIT, BARRIER, READ) == []
    assert "4 elements copied at once begin at x[2]" in said(wide.format("", " + 2"))[0]
    assert "4 elements copied at once begin at tile[0, 1]" in said(wide.format(" + 1", ""))[0]
