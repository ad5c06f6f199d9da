"""docs/limits.md is true where it can be run: its session, the dtypes and the limits that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle import SwizzleError
from swizzle.language.other_names import NOT_STATEMENTS
from swizzle.language.parameters import Parameters
from swizzle.language.surface import ELEMENT_TYPES, HOLES
from swizzle.sketches.swz_file import read_swz
from tests.pages import blocks_of, files_of, run_again, text_of, untimed

PAGE = text_of("limits.md")
HEAD = """\
@spec
def wanted(x):
    return x

@sketch(spec=wanted, block=32, x=i32[32], y=i32.out[32])
def kernel(x, y):
    i = cuda.laneid
"""
OUTSIDE = {
    "index by data": "y[i] = x[x[i]]",
    "condition on data": "if x[i] > 0:\n        y[i] = x[i]",
    "while": "while i < 3:\n        y[i] = x[i]",
    "break": "for k in range(3):\n        break",
    "early return": "if i < 3:\n        return\n    y[i] = x[i]",
    "function": "def f(a):\n        return a\n    y[i] = x[i]",
    "some lanes": "y[i] = cuda.shfl_sync(0xFF, x[i], 0)",
    "atomics": "cuda.atomic.add(y, i, x[i])",
    "votes": "y[i] = cuda.ballot_sync(cuda.FULL_MASK, i < 3)",
    "barrier under a condition": "if i < 3:\n        cuda.syncthreads()\n    y[i] = x[i]",
    "hole in a bound": "for k in range(?sw_part(2, i)):\n        y[i] = x[i]",
}


def test_the_session_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pattern that no space has, and the same written out."""
    monkeypatch.chdir(tmp_path)
    for name, text in files_of(PAGE).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (session,) = blocks_of(PAGE, "console")
    assert untimed(run_again(session)) == untimed(session)


@pytest.mark.parametrize("what", OUTSIDE)
def test_what_the_page_calls_outside_is_refused(what: str) -> None:
    """Each is one error with a place, from the front end or from the kernel's run."""
    from swizzle.language.specs.specification import Meaning
    from swizzle.solving.problem.problem import Problem

    with pytest.raises(SwizzleError) as caught:
        (sketch,) = read_swz(f"{HEAD}    {OUTSIDE[what]}\n", "page.swz", Parameters())
        Problem.of(sketch.program, sketch.spec, meaning=Meaning.of(sketch.program, sketch.spec))
    assert caught.value.place is not None and caught.value.place.line >= 8


def test_the_page_names_what_there_is() -> None:
    """The dtypes are all of them, each kind of hole has its formulas, and the statements it names are outside."""
    assert f"`{' '.join(ELEMENT_TYPES)}`" in PAGE
    of_each = {"sw_xform": "affine map", "sw_part": "choice of parts", "sw_cond": "condition", "sw_index": "layout"}
    of_each |= dict.fromkeys(("sw_when", "sw_from", "sw_place"), "step of a")
    holes = " ".join(PAGE[PAGE.index("A hole is one of a few formulas") :].split())[:500]
    assert of_each.keys() == HOLES.keys() and all(words in holes for words in of_each.values())
    assert {"While", "Break", "Continue", "FunctionDef"} <= set(NOT_STATEMENTS)
