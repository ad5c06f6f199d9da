"""`@serial`: loops as data against the functions that they were, and what is no such loop."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from swizzle.operators.samples import random_rows
from swizzle.operators.serial import Serial
from swizzle.sketches.loading import load_names
from symbolic.errors import SwizzleError
from tests.swizzle.operators import loops

LOOPS = {name: value for name, value in vars(loops).items() if isinstance(value, Serial)}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_as_data_is_the_function(name: str) -> None:
    """The state, the step and the result, run on numbers, give what Python gives."""
    serial, rng = LOOPS[name], random.Random(name)
    loop = serial.loop
    for count in range(12):
        rows = random_rows(loop, rng, count) if count else []
        by_name = dict(zip(loop.elements, zip(*rows, strict=True), strict=True)) if rows else {}
        wanted = serial(*(list(by_name.get(each, ())) for each in loop.elements))
        found = loop.finished(loop.after(rows))
        close = pytest.approx(wanted if isinstance(wanted, tuple) else (wanted,), rel=1e-9)
        assert found == close


@pytest.fixture(scope="module")
def of_swz(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    """The loops of `loops.py` as a `.swz` file has them."""
    text = Path(loops.__file__).read_text(encoding="utf-8")
    text = text[text.index("LEAST") :].replace(", strict=True", "")
    text = re.sub(r"(?<!\.)\b(inf|exp|log)\b(?!_)", r"math.\1", text)
    file = tmp_path_factory.mktemp("swz") / "loops.swz"
    file.write_text(text, encoding="utf-8")
    return load_names(file)


@pytest.mark.parametrize("name", LOOPS)
def test_a_swz_file_has_the_same_loop(of_swz: Mapping[str, object], name: str) -> None:
    """State, step, result and promises are the same expressions; called, it gives the same."""
    found, wanted = of_swz[name], LOOPS[name].loop
    assert isinstance(found, Serial)
    for part in ("elements", "state", "initial", "step", "result", "range"):
        assert getattr(found.loop, part) == getattr(wanted, part), part
    rows = random_rows(wanted, random.Random(name), 5)
    arrays = [list(column) for column in zip(*rows, strict=True)]
    wanted_result = LOOPS[name](*arrays)
    assert found(*arrays) == pytest.approx(wanted_result, rel=1e-9)


SWZ_SUM = "    s = 0\n    for v in x:\n        s += "


@pytest.mark.parametrize(
    "text, said",
    [
        ("@serial(3)\ndef f(x: i32):\n", "1:9: error: a positional argument of @serial"),
        ("@serial(lenght=3)\ndef f(x: i32):\n", "1:16: error: lenght= of @serial"),
        ("@serial(length=1.5)\ndef f(x: i32):\n", "2:1: error: length=1.5"),
        ("@serial(where=3)\ndef f(x: i32):\n", "1:15: error: where=3"),
        ("@serial(length=10**10**10)\ndef f(x: i32):\n", "1:16: error: an int of more than 4096 bits"),
        ("@serial\ndef f(x):\n", "2:7: error: x has no element type"),
        ("@serial\ndef f(x: q32):\n", "2:7: error: q32 is no element type"),
        ("@serial\n@spec\ndef f(x: i32):\n", "1:2: error: the decorator serial"),
    ],
)
def test_what_a_swz_file_says_wrongly_of_a_loop(tmp_path: Path, text: str, said: str) -> None:
    """What Python says of a decorator, or what annotations are, is said by the reader."""
    _refused(tmp_path, f"{text}{SWZ_SUM}v\n    return s\n", said)


@pytest.mark.parametrize(
    "computed, said",
    [
        ("v.formula", "the attribute `formula` is not part"),
        ("v.__class__", "the attribute `__class__` is not part"),
        ("v.lift(3)", "`.lift` of a symbolic Integer"),
        ("open(v)", "error: open is not defined"),
        ("i32(v)", "6:14: error: a conversion, i32(...), of what is no data"),
        ("math.sqrt(v)", "6:14: error: math.sqrt in a serial loop"),
        ("v << 10000000", "6:14: error: an int of more than 4096 bits"),
        ("v ** (1 << 20)", "6:14: error: an int of more than 4096 bits"),
        ("(v & 1) << 2000", "a number of more than 512 bits"),
        ("[1, 2, 3][v]", "6:14: error: IndexError"),
        ("?sw_xform(v, 3)", "6:14: error: a hole in the sequential part"),
        ("g(v)", "more than 100 calls within each other"),
        ("len([v] * 10000000)", "a list of more than 4,194,304 elements"),
    ],
)  # fmt: skip
def test_a_stranger_s_loop_does_nothing_but_compute(tmp_path: Path, computed: str, said: str) -> None:
    """Nothing is looked into, called or executed, and sizes and steps are limited."""
    _refused(tmp_path, f"def g(v): return g(v)\n@serial\ndef f(x: i32):\n{SWZ_SUM}{computed}\n    return s\n", said)


def _refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "loops.swz"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SwizzleError) as caught:
        load_names(file)
    assert said in str(caught.value) and caught.value.place is not None


CHANGED = "the list s changes in the loop"


@pytest.mark.parametrize(
    ("before", "head", "body", "result", "said"),
    [
        ("s, v = 0, 5", "v in x", "s += v", "s + v", "v is read behind the loop"),
        ("s, k = 0, 9", "k, v in enumerate(x)", "s += v", "s + k", "k is read behind the loop"),
        ("s = [0]", "v in x", "s[0] += v", "s[0]", CHANGED),
        ("s = []", "v in x", "s.append(v)", "len(s)", CHANGED),
        ("s, k = [1], 0", "v in x", "k += s[0] * v; s[0] = -s[0]", "k", CHANGED),
    ],
)
def test_what_is_no_state_is_not_taken_for_something_that_stays(
    tmp_path: Path, before: str, head: str, body: str, result: str, said: str
) -> None:
    """The last element behind the loop, and lists that rounds change: once, they were what they are before it."""
    text = f"@serial\ndef f(x: i32):\n    {before}\n    for {head}:\n        {body}\n    return {result}\n"
    with pytest.raises(SwizzleError, match=re.escape(said)):
        _ = read(tmp_path, text).loop


def test_a_state_does_not_begin_with_what_no_message_can_write(tmp_path: Path) -> None:
    """Python has no text of numbers of so many digits."""
    text = "@serial\ndef f(x: i32):\n    s = 1 << 100000\n    for v in x:\n        s = max(s, v)\n    return s\n"
    with pytest.raises(SwizzleError, match="s begins with a number of more than 512 bits"):
        _ = read(tmp_path, text).loop


def test_a_list_that_stays_may_be_read(tmp_path: Path) -> None:
    text = (
        "@serial\ndef f(x: i32):\n    w, s = [1, 2], 0\n    for v in x:\n        s += w[1] * v\n    return s + w[0]\n"
    )
    assert read(tmp_path, text)([3, 4]) == 15 and list(read(tmp_path, text).loop.state) == ["s"]


HEAD = "from swizzle import f32, i32, i64, serial, u32, u64\n"
SUM = "    s = 0\n    for v in x:\n        s += v\n"
BODY = "    s = 0\n    for v in x:\n        "


def read(tmp_path: Path, text: str) -> Any:
    """Return the loop of a text in a file of its own."""
    file = tmp_path / "loops.py"
    file.write_text(HEAD + text)
    (found,) = (each for each in load_names(file).values() if isinstance(each, Serial))
    return found


@pytest.mark.parametrize(
    "text, said",
    [
        (f"@serial\ndef f(x):\n{SUM}    return s\n", "3:7: error: x has no element type"),
        ("@serial\ndef f(x: i32):\n    return 0\n", "3:1: error: f has no loop over its arrays"),
        (f"@serial\ndef f(x: i32):\n{SUM}    for v in x:\n        s += v\n    return s\n",
         "7:5: error: f goes over its arrays 2 times"),
        (f"@serial\ndef f(x: i32, y: i32):\n{SUM}    return s\n", "a loop over `x`"),
        (f"@serial\ndef f(x: i32):\n{BODY}if v:\n            return s\n    return s\n",
         "7:13: error: `return` inside a serial loop"),
        (f"@serial\ndef f(x: i32):\n{BODY}s += x[0]\n    return s\n", "6:14: error: x outside of its loop"),
        (f"@serial\ndef f(x: i32):\n{BODY}t = v\n    return t\n", "t has no value where no element is"),
        (f"@serial\ndef f(x: i32):\n{BODY}s = v > 0\n    return s\n",
         "s is a number before the loop and a truth value in it"),
        (f"@serial(lenght=3)\ndef f(x: i32):\n{SUM}    return s\n", "unexpected keyword"),
        (f"@serial(length=0)\ndef f(x: i32):\n{SUM}    return s\n", "length=0"),
        (f"@serial(where=lambda a, b: a < b)\ndef f(x: i32):\n{SUM}    return s\n", "expected: a lambda of v"),
        (f"@serial\ndef f(x: i32):\n{BODY}assert v > 0\n        s += v\n    return s\n",
         "6:9: error: AssertionError: v > 0"),
        (f"@serial\ndef f(x: i32):\n{SUM}", "f returns nothing"),
        (f"@serial\ndef f(x: i32):\n{BODY}s += v in range(10**30)\n    return s\n",
         "is compared with numbers of i32, and is none"),
        (f"@serial\ndef f(x: f32):\n{BODY}s += v if v == v else 0\n    return s\n", "6:19: error: v == v asks for NaN"),
    ],
)  # fmt: skip
def test_what_is_no_serial_loop(tmp_path: Path, text: str, said: str) -> None:
    """Each mistake is said with its place and a way out."""
    with pytest.raises(SwizzleError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "body", "result", "said"),
    [
        ("x: i32", "s = s * 0.5 + v", "s", "s becomes a fraction, and the words are i32"),
        ("x: i32", "s = s + v", "s * 0.5", "the result becomes a fraction, and the words are i32"),
        ("x: i32", "s = s + v", "s, 0.5", "the result becomes a fraction, and the words are i32"),
        ("x: u32", "s += 1 if v > -1 else 0", "s", "-1 is compared with numbers of u32, and is none"),
        ("x: u32", "s += v == -1", "s", "-1 is compared with numbers of u32, and is none"),
        ("x: i32", "s = max(s, v, 2147483648)", "s", "2147483648 is compared with numbers of i32, and is none"),
        ("x: i32, y: u32", "s += v < w", "s", "i32 and u32 are compared, of which neither has all numbers"),
        ("x: i32, y: u64", "s = max(s, v)", "s", "i32 and u64 are compared, of which neither has all numbers"),
    ],
)
def test_words_compare_as_numbers_do(tmp_path: Path, arrays: str, body: str, result: str, said: str) -> None:
    """Where nothing overflows, a word is the number that it was in Python: the rest is refused."""
    head = "v" if arrays.count(":") == 1 else "v, w"
    over = "x" if head == "v" else "zip(x, y)"
    text = f"@serial\ndef f({arrays}):\n    s = 0\n    for {head} in {over}:\n        {body}\n    return {result}\n"
    with pytest.raises(SwizzleError, match=re.escape(said)):
        _ = read(tmp_path, text).loop


def test_a_state_has_the_widest_type_of_whole_numbers(tmp_path: Path) -> None:
    text = (
        "@serial\ndef f(x: i32, y: i64):\n    s = 0\n    for v, w in zip(x, y):\n        s += max(v, w)\n    return s\n"
    )
    assert read(tmp_path, text).loop.state["s"].value == "i64"


def test_what_a_serial_loop_may_hold(tmp_path: Path) -> None:
    """Counters, `continue`, `break`, inner loops, helper functions, several arrays."""
    text = """
def twice(v):
    return v + v

@serial
def f(x: i32, y: i32):
    s, t = 1, 0
    for i, (v, w) in enumerate(zip(x, y), 3):
        if v == 2:
            continue
        if w > 4:
            break
        for k in range(3):
            s += k * v
        t = max(t, twice(w) + i)
    return s, t
"""
    _same_on_random_rows(read(tmp_path, text))
    _same_on_random_rows(read(tmp_path, """
@serial
def f(x: i32, y: i32):
    s, t = 0, 0
    for i in range(len(x)):
        s += x[i] * y[i]
        if x[i] > t:
            t = i
    return s, t
"""))  # fmt: skip


def _same_on_random_rows(serial: Serial) -> None:
    """Compare a loop of two arrays with its function."""
    rng = random.Random(5)
    for count in range(40):
        rows = [(rng.randrange(0, 4), rng.randrange(-3, 6)) for _ in range(count % 8)]
        wanted = serial([v for v, _ in rows], [w for _, w in rows])
        assert serial.loop.finished(serial.loop.after(rows)) == wanted


def test_where_chooses_in_a_loop(tmp_path: Path) -> None:
    """`where` of kernels is a choice in a loop of Python's, too."""
    text = f"from swizzle import where\n@serial\ndef f(x: i32):\n{SWZ_SUM}where(v > 0, v, 1)\n    return s\n"
    loop = read(tmp_path, text).loop
    assert loop.finished(loop.after([(3,), (-2,), (5,)])) == (9,)


def test_what_stands_in_an_else_of_the_loop_needs_a_flag(tmp_path: Path) -> None:
    """Moving it down is right only where the loop is never left."""
    text = f"@serial\ndef f(x: i32):\n{SWZ_SUM}v\n        {{}}\n    else:\n        s = -s\n    return s\n"
    for body, fix in (("if v == 0: break", "if not left: ..."), ("s += 1", "move it down")):
        with pytest.raises(SwizzleError) as caught:
            _ = read(tmp_path, text.format(body)).loop
        assert caught.value.fix.endswith(fix)


@pytest.mark.parametrize("step", ["q = p - p", "q = (v if v == 1 else p) - (v if v == 1 else p)", "q = v * 0"])
def test_a_number_that_cancels_has_the_type_that_it_was_computed_in(tmp_path: Path, step: str) -> None:
    """It is a whole number as a formula, and a floating-point one in the loop: both meet in the rounds that follow."""
    text = f"@serial\ndef f(x: f32):\n    p, q = 0, 1\n    for v in x:\n        {step}\n        p = max(p, v) + q\n"
    serial = read(tmp_path, text + "        q = q if p < 3 else v * 0\n    return p, q\n")
    assert {dtype.value for dtype in serial.loop.state.values()} == {"f32"}
    rows = [2.0, 1.0, -3.0, 5.0]
    assert serial.loop.finished(serial.loop.after([(each,) for each in rows])) == serial(rows)
