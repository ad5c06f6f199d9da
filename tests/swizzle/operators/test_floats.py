"""Conditions that real numbers decide and floating-point numbers do not: refused however they are spelled."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pysmt.environment import get_env
from pysmt.typing import REAL

from swizzle import SwizzleError
from swizzle.commands.operator import OperatorArguments, as_json, operator, report
from swizzle.operators import found_of
from swizzle.sketches.loading import load_names
from symbolic.expressions.floats import decided_beforehand
from symbolic.expressions.formulas import MORE
from symbolic.solve.answer import Unknown, Unsat
from symbolic.solve.solver import Solver
from symbolic.solve.z3_engine import _IDLE, Z3Engine

HEAD = """from math import exp, inf, log, nan
from swizzle import f32, operator, serial
def isnan(q):
    return q != q
def same(p, q):
    return p == q
"""

NAN = (
    "v != v", "not (v == v)", "v - v != 0", "v - v == 0", "v * 0 == 0", "0 * v + 1 == 1", "v <= v", "not (v >= v)",
    "isnan(v)", "same(v, w)", "max(v, v) != v", "max(3, v) >= 3", "max(v, 0) != max(0, v)", "abs(v) >= 0",
    "v * v >= 0", "v ** 2 >= 0",
    "v < 0 or v >= 0", "not (v < 0) and not (v >= 0)", "(v > 0) == (v <= 0)", "v + 1 > v", "v + v == 2 * v",
    "v / 2 * 2 == v", "exp(v) > 0",
    "exp(v) * exp(-v) == 1", "(v, 1) == (v, 1)", "v in (v,)", "[v] == [v]", "bool(v - v)", "v - v",
    "all([v == v])", "(v > 0) + (v <= 0) == 1", "s - s == 0", "s + v == v + s", "(v - s) ** 2 >= 0",
    "sorted([v, s])[0] <= sorted([v, s])[1]", "v == v == v", "(lambda q: q == q)(v)", "v == nan", "v != nan", "v < nan",
    "(v / v == 1 if v != 0 else True)", "v < s or v > s or v == s", "1 / (1 + v * v) > 0", "w != v", "v == w + 0",
    "v / v == 1", "not v / v != 1", "v / v < 2", "(v - w) / (v - w) > 0", "v / s * s == v", "0 / v == 0",
    "v * s / s <= v", "1 / (1 / v) == v", "(v * v - 1) / (v - 1) == v + 1", "v / s - v / s >= 0",
    "s != 0 and v / v == 1",
)  # fmt: skip
INFINITIES = (
    "v <= inf",
    "v < inf",
    "v == inf",
    "v != -inf",
    "-inf < v",
    "-inf <= v <= inf",
    "v + 1 == v",
    "2 * v == v + v + 1",
)
ROUNDING = ("v * 3 / 3 < v", "v != 0 and v + 1e30 == 1e30", "v + 0.1 - v < 0.09")
STATEMENTS = (
    "if v < 0:\n    s += v\nelif v >= 0:\n    s += v",
    "if v > 0:\n    s += 1\nelse:\n    t = 5 if v <= 0 else 7\n    s += t",
    "d = v - v\nif d == 0:\n    s += v",
    "if v > 0:\n    s += v\n    continue\nif v <= 0:\n    s -= v",
    "b = v > 0\nc = v <= 0\nif b or c:\n    s += v",
    "k = 0\nif v < 0:\n    k += 1\nif v >= 0:\n    k += 1\ns += k * v",
    "k = 1 if v < 0 else 2 if v == 0 else 3 if v > 0 else 4\ns += k",
    "for k in range(2):\n    if v != v:\n        s += k",
    "if v * v == 2:\n    s += 1 if s + v <= v + s else 5",
)
NUMBERS = (
    "if v > s: s = v", "s = s + v if v != 0 else s", "s += abs(v) if v < 0 else v", "s += v if v >= 0 else abs(v)",
    "s = min(max(s + v, 0), 5)", "if v > 5:\n    if v > 3:\n        s += 1", "s += v / (1 + v * v)",
    "d = v - s\ns = s + d if d > 0 else s", "s = s if -1 <= v <= 1 else s + v", "if v * v > 4: s += 1",
    "s = max(s, v * v)", "if 2 * v > 10:\n    if v > 5: s += v", "if v: s += 1", "s = sorted([s, v])[1]",
    "s += exp(v) if exp(v) > 2 else 0", "if v < 0 or v > 1: s += v",
    "t += 1 if s > 0 else 0\ns += exp(v)", "if exp(v) == 1: s += v", "s += v if exp(v) < 0.5 < exp(w + 1) else 0",
    "if v > 0:\n    s += log(v) if log(v) > 1 else 0", "s += v if exp(s) > exp(v) else 0",
    "s += v * v\nt += 1 if s > 0 else 0", "t += 1 if s <= v else 0\ns = v",
    "s += v if v != 0 and s / v > 1 else 0", "s += 1 if s / v > 2 else 0", "s = s / v if v > 0 else s",
)  # fmt: skip
REACHED = (
    "s += v * v\nt += 1 if s >= 0 else 0",
    "t += 1 if s >= 0 else 0\ns += v * v",
    "s += abs(v)\nt += not s >= 0",
    "s = max(s, v)\nt += 1 if s >= 0 else 0",
    "s += v\nr += abs(v)\nt += 1 if s <= r else 0",
    "s += v\nr += v\nt += 1 if s == r else 0",
    "s = s / 2 + v * v\nif not s >= 0:\n    t = 0\nt += 1",
    "s += exp(v)\nt += s > 0",
    "s += v * v\nif not s >= 0:\n    break\nt += 1",
)
RESULTS = ("s += v\nr += v", "s += v\nr = s", "s += v * v\nr = s * t")
OPERATORS = (
    "b if a != a else (a if b != b else a + b)", "max(a, b) if max(a, a) == a else b", "a if a >= b or a < b else b",
    "a if isnan(b) else a + b", "a + b if a - a == b - b else 0", "a + b if a < inf else b",
)  # fmt: skip


def read(tmp_path: Path, text: str) -> object:
    """Return what a file of one function holds."""
    file = tmp_path / "loops.py"
    file.write_text(HEAD + text)
    return load_names(str(file), {})["f"]


def loop(body: str) -> str:
    """Return a loop over numbers with this body."""
    inner = textwrap.indent(f"w = v\n{body}", "        ")
    return f"@serial\ndef f(x: f32):\n    s, t = 0, 0.5\n    for v in x:\n{inner}\n    return s\n"


@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        *((each, "NaN") for each in NAN),
        *((each, "an infinity") for each in INFINITIES),
        *((each, "rounding") for each in ROUNDING),
    ],
)
def test_what_no_real_number_is_is_refused(tmp_path: Path, condition: str, kind: str) -> None:
    """A condition that real numbers decide and floating-point ones do not is refused, with its place."""
    with pytest.raises(SwizzleError) as caught:
        read(tmp_path, loop(f"s = s + v if {condition} else s"))
    assert f"asks for {kind}, and floating-point numbers are taken as real numbers here" in str(caught.value)
    assert caught.value.place is not None and caught.value.place.line == HEAD.count("\n") + 6


def test_what_is_too_hard_to_decide_is_refused(tmp_path: Path) -> None:
    """The mean of sixth powers is no less than the product: a solver does not tell in so many steps."""
    arrays, elements = ", ".join(f"{each}s: f32" for each in "pqrstu"), ", ".join("pqrstu")
    zipped = ", ".join(f"{each}s" for each in "pqrstu")
    text = f"@serial\ndef f({arrays}):\n    n = 0\n    for {elements} in zip({zipped}):\n"
    hard = " + ".join(f"{each}**6" for each in "pqrstu")
    with pytest.raises(SwizzleError, match="asks for NaN, or is too hard to decide of real numbers, and"):
        read(tmp_path, f"{text}        n += 1 if {hard} >= 6*p*q*r*s*t*u else 0\n    return n\n")


@pytest.mark.parametrize("condition", ["exp(abs(v)) >= 1", "exp(v * v) > 0.5", "log(1 + v * v) >= 0"])
def test_what_no_number_that_is_tried_decides_is_refused(tmp_path: Path, condition: str) -> None:
    """That exponentials of what is not negative are at least 1 is unknown here, and no number says otherwise."""
    with pytest.raises(SwizzleError, match="asks for NaN"):
        read(tmp_path, loop(f"s = s + v if {condition} else s"))


@pytest.mark.parametrize("body", ["s += v * v\nt += 1 if s < 0 else 0", "s += v * v\nif s < 0:\n    t += 1"])
def test_a_condition_that_no_state_meets_is_none(tmp_path: Path, body: str) -> None:
    """A sum of squares is never below 0, nor is an infinite one or NaN: what is printed counts no such thing."""
    text = loop(body).replace("s, t = 0, 0.5", "s, t = 0, 0").replace("return s", "return s, t")
    found = found_of(read(tmp_path, text))  # type: ignore[arg-type]
    assert found.status == "proved"
    names: dict[str, Any] = {}
    exec(found.source(), names)
    words = names["lift"](float("inf"))
    for value in (2.0, float("inf"), float("nan"), -1.0):
        words = names["combine"](words, names["lift"](value))
        assert names["result"](words)[1] == 0


def test_ways_of_a_formula_to_say_that_conditions_are_equal() -> None:
    """Of two conditions that are said to be equal each is looked at where the other one holds, and where not."""
    v, m = get_env().formula_manager.Symbol("number asked", REAL), get_env().formula_manager
    above, below = m.GT(v, m.Real(1)), m.LE(v, m.Real(1))
    for equal in (m.Iff(above, below), m.Not(m.Iff(below, above))):
        assert decided_beforehand([equal], [above, below])[0] is not None
    for either in (m.Or(above, m.Not(below)), m.Or(m.Not(below), above)):
        assert decided_beforehand([either], [above, below])[0] is not None


@pytest.mark.slow
def test_an_answer_does_not_depend_on_questions_before(tmp_path: Path) -> None:
    """What is asked after questions that were given up has a context of its own, and the same answer."""
    m = get_env().formula_manager
    names = [m.Symbol(f"number {each}", REAL) for each in "pqrstu"]
    hard = m.LT(m.Plus([m.Pow(each, m.Real(6)) for each in names]), m.Times(m.Real(6), *names))
    contexts = set()
    for _ in range(6):
        with Solver("z3", work=20_000) as solver:  # in a context that others may get
            solver.add([hard])
            assert isinstance(solver.check(), Unknown)
        with Solver("z3", work=20_000, alone=True) as solver:
            solver.add([m.GT(names[0], m.Real(1)), m.LE(names[0], m.Real(1))])
            assert isinstance(solver.check(), Unsat)
            (engine,) = solver._engines
            assert isinstance(engine, Z3Engine)
            contexts.add(engine._converter.ctx)
        with pytest.raises(SwizzleError, match="asks for NaN"):
            read(tmp_path, loop("s = s + v if (v > 1) == (v <= 1) else s"))
    assert len(contexts) == 6 and not contexts & {converter.ctx for _, converter in _IDLE}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("body", STATEMENTS)
def test_tests_one_after_the_other_are_looked_at_together(tmp_path: Path, body: str) -> None:
    """A test that is decided by those before it, but not for NaN, is refused."""
    with pytest.raises(SwizzleError, match="asks for NaN"):
        read(tmp_path, loop(body))


@pytest.mark.parametrize("body", REACHED)
def test_what_no_state_has_otherwise_is_refused(tmp_path: Path, body: str) -> None:
    """A comparison that all states of real numbers decide, and NaN decides otherwise, is refused."""
    with pytest.raises(SwizzleError, match=r"asks for (NaN|an infinity|rounding)"):
        read(tmp_path, loop(body).replace("s, t = 0, 0.5", "s, t, r = 0, 0, 0"))


@pytest.mark.parametrize("body", RESULTS)
def test_what_no_state_has_otherwise_is_refused_of_results(tmp_path: Path, body: str) -> None:
    """The same behind the loop."""
    text = loop(body).replace("s, t = 0, 0.5", "s, t, r = 0, 1, 0")
    with pytest.raises(SwizzleError, match="s == r asks for NaN"):
        read(tmp_path, text.replace("return s", "return 1 if s == r else 0"))


def test_a_promise_may_rule_out_such_states(tmp_path: Path) -> None:
    """What is promised of elements holds of those before, too."""
    text = loop("s += v\nt += 1 if s >= 0 else 0").replace("0.5", "0")
    read(tmp_path, text)
    read(tmp_path, text.replace("@serial", "@serial(where=lambda v: v >= 1)"))


@pytest.mark.parametrize("body", NUMBERS)
def test_conditions_on_numbers_are_taken(tmp_path: Path, body: str) -> None:
    """What some numbers meet and others do not is no such test; nor is one that those before it decide of NaN too."""
    read(tmp_path, loop(body))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", OPERATORS)
def test_operators_that_ask_for_what_is_no_number(tmp_path: Path, text: str) -> None:
    """The same of an operator that somebody wrote down."""
    operator = read(tmp_path, f"@operator\ndef f(a: f32, b: f32):\n    return {text}\n")
    with pytest.raises(SwizzleError, match=r"asks for (NaN|an infinity)"):
        found_of(operator)  # type: ignore[arg-type]


def test_a_promise_may_rule_nan_out(tmp_path: Path) -> None:
    """Elements that are promised to be equal to themselves are no NaN, so that the test says nothing."""
    promised = loop("s = s + v if v == v else s").replace("@serial", "@serial(where=lambda v: v == v)")
    assert found_of(read(tmp_path, promised)).status == "proved"  # type: ignore[arg-type]


def test_nan_before_the_loop(tmp_path: Path) -> None:
    """A state that begins with NaN is none of numbers."""
    with pytest.raises(SwizzleError, match="t begins with NaN"):
        read(tmp_path, "@serial\ndef f(x: f32):\n    t = nan\n    for v in x:\n        t = max(v, t)\n    return t\n")


KAHAN = "y = v - c\nu = s + y\nc = (u - s) - y\ns = u"
TWO_SUM = "u = s + v\nb = u - s\nt += (s - (u - b)) + (v - b)\ns = u"


@pytest.mark.parametrize(
    ("body", "cancelled"),
    [
        (KAHAN.replace("c", "t"), {"t": ("s", "t", "v")}),
        (TWO_SUM, {"t": ("s", "v")}),
        ("s += (v + 12582912.0) - 12582912.0", {"s": ("12582912",)}),
        ("s = s + v + v * 0", {"s": ("v",)}),
        ("s += (v - t) * (v - t)", {}),
        ("d = v - s\nif d > 0:\n    s += d", {"s": ("s",)}),
        ("u = s + v\nt += 1 if u == s else 0\ns = u", {"t": ("s",)}),
        ("t += 1 if not 2 * s < 2 * (s + v) else 0\ns += v", {"t": ("s",)}),
        ("s = s + v if v + 1 > 1 else s", {"s": ("1",)}),
        ("s = s + v if v + 1 > 2 else s", {}),
        ("s += v + 0 / v", {"s": ("v",)}),
        ("s += min(v, t) + max(v, t) - v - t", {"the result": ("v",)}),
        ("s += (v + 1) * (v - 1) - v * v + 1", {"the result": ("v",)}),
        ("s += v if v > 0 else 0\ns += 0 if v > 0 else v\ns -= v", {"the result": ("v",)}),
    ],
)
def test_what_rounding_leaves_is_said_to_be_dropped(
    tmp_path: Path, body: str, cancelled: dict[str, tuple[str, ...]]
) -> None:
    """A compensation is 0 of real numbers: the report, the JSON object and what is written say that it is dropped."""
    found = found_of(read(tmp_path, loop(body).replace("0.5", "0")))  # type: ignore[arg-type]
    assert {name: tuple(sorted(some)) for name, some in found.loop.cancelled.items()} == cancelled
    assert as_json(found)["cancelled"] == {name: list(some) for name, some in found.loop.cancelled.items()}
    said = [line for line in report(found).splitlines() if line.startswith("  rounding")]
    assert len(said) == len(cancelled) and all("is dropped" in line for line in said)


def test_what_is_written_says_it_too(tmp_path: Path) -> None:
    """The header's first comment, and the line of `swizzle operator`."""
    read(tmp_path, loop(KAHAN.replace("c", "t")).replace("0.5", "0"))
    out = io.StringIO()
    operator(OperatorArguments(str(tmp_path / "loops.py"), output=tmp_path / "out"), out, out)
    assert "  rounding       t is 0: what it leaves of s, t, v, which cancel, is dropped\n" in out.getvalue()
    assert "// rounding: t is 0: what it leaves of s, t, v" in (tmp_path / "out" / "f.cuh").read_text()


COUNTS = """@serial
def f(x: f32):
    s = 0
    for v in x:
        t = 0
        for k in range({}):
            t += 1 if v > k else 0
        s += t
    return s
"""


@pytest.mark.parametrize(
    ("rounds", "effort", "said"),
    [(2, 1.0, ""), (2, 0.1, "not all tests before 2 comparisons were looked at; --effort looks at more")],
)
def test_comparisons_that_are_not_looked_at_under_all_tests_are_counted(
    tmp_path: Path, rounds: int, effort: float, said: str
) -> None:
    """The more comparisons there are, the more ways lead to one; the report and the JSON object say where not all of
    these were looked at."""
    token = MORE.set(effort)
    try:
        found = found_of(read(tmp_path, COUNTS.format(rounds)))  # type: ignore[arg-type]
    finally:
        MORE.reset(token)
    lines = [line for line in report(found).splitlines() if line.startswith("  tests of NaN")]
    assert lines == ([f"  tests of NaN   {said}"] if said else [])
    assert as_json(found)["compared_apart"] == (rounds if said else 0)


@pytest.mark.slow
def test_comparisons_of_elements_do_not_hide_one_of_the_state(tmp_path: Path) -> None:
    """As many as there are, those about the state are looked at in the states that are reached, or refused."""
    head = "@serial\ndef f(x: f32):\n    s, r = 0, 0\n    for v in x:\n        r += {}\n        t = 0\n"
    body = "        for k in range({}):\n            t += 1 if {} > k else 0\n        s += {}\n    return s\n"
    with pytest.raises(SwizzleError, match="r >= 0 asks for NaN"):
        read(tmp_path, head.format("v * v") + body.format(34, "v", "t if r >= 0 else 7"))
    with pytest.raises(SwizzleError, match="40 comparisons ask about the state, too many") as caught:
        read(tmp_path, head.format("v") + body.format(40, "r", "t"))
    assert "--effort" in str(caught.value) and "loops.py:14:" in str(caught.value)
