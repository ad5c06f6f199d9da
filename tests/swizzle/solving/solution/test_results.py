"""What a result is to who prints it, shows it in a notebook, or takes a solution that is not there."""

from __future__ import annotations

import pytest

from swizzle import SwizzleError, cuda, f32, i32, load, math, solve
from swizzle.solving.solution.solution import Result

SCAN = "case_studies/cookbook/scan.py"


@pytest.fixture(scope="module")
def solved() -> Result:
    return solve(load(SCAN, "scan")[0])


def nothing(status: str, reason: str = "") -> Result:
    return Result("blind", status, None, False, (), 32, {}, reason=reason)  # type: ignore[arg-type]


def test_a_result_is_a_few_lines(solved: Result) -> None:
    assert repr(solved).splitlines()[0] == "<sat: scan>" and len(repr(solved)) < 300
    assert repr(nothing("unknown", "out of time")) == "<unknown: blind>\n    out of time"


def test_a_notebook_shows_the_answer_and_its_picture(solved: Result) -> None:
    page = solved._repr_html_()
    assert page.startswith("<pre>&lt;sat: scan&gt;") and page.endswith(solved.best._repr_html_())
    assert nothing("unsat")._repr_html_() == "<pre>&lt;unsat: blind&gt;</pre>"


def test_what_a_sketch_is_made_of_shows_itself_in_a_line() -> None:
    """Names of the language as they are written, a kernel by its name and place, not by all its statements."""
    assert [repr(each) for each in (cuda, cuda.atomic, cuda.threadIdx, math, math.exp, f32.const, i32.below(3))] == [
        "swizzle.cuda", "cuda.atomic", "cuda.threadIdx", "swizzle.math", "math.exp", "f32.const", "i32.below(3)"
    ]  # fmt: skip
    program = load(SCAN, "scan")[0].program
    assert repr(program) == f"<kernel scan at {program.place}: 2 holes>"


@pytest.mark.parametrize(("status", "fix"), [("unsat", "explain()"), ("unknown", "timeout")])
def test_there_is_no_best_of_nothing(status: str, fix: str) -> None:
    with pytest.raises(SwizzleError, match=f"blind is {status}") as caught:
        _ = nothing(status).best
    assert fix in caught.value.fix and caught.value.place is not None and caught.value.place.file == __file__


@pytest.mark.parametrize(("given", "fix"), [(SCAN, "load('case"), ([], "one after the other"), (len, "@sketch")])
def test_solve_takes_a_sketch(given: object, fix: str) -> None:
    with pytest.raises(SwizzleError, match="solve") as caught:
        solve(given)  # type: ignore[arg-type]
    assert fix in caught.value.fix and caught.value.place is not None and caught.value.place.file == __file__


def test_a_notebook_shows_an_error_without_frames() -> None:
    error = SwizzleError("found", expected="wanted", fix="do")
    assert error._render_traceback_() == ["error: found", "  expected: wanted", "  fix: do"]
