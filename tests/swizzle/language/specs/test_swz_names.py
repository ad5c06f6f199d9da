"""The sequential part: it computes what Python computes, and nothing leads out of it."""

import ast
import time
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swizzle import SwizzleError, maximum, minimum, zeros
from swizzle.commands.process import execute
from swizzle.language.source.kernel_source import Source, split_lines
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.swz_names import define, names_of
from symbolic.algebra.datum import SymbolicArray
from symbolic.algebra.terms import Terms
from symbolic.lifting import budget
from symbolic.lifting.values import Items
from symbolic.limits import OutOfTime, limited


def function(text: str, **environment: Any) -> SequentialFunction:
    """Return the last function of a text, which sees the others."""
    source = Source("inline", split_lines(text))
    names = dict(environment)
    meaning = names_of(names, {})
    for node in ast.parse(text).body:
        assert isinstance(node, ast.FunctionDef)
        names[node.name] = define(node, source, meaning)
    return names[node.name]  # type: ignore[no-any-return]


def both(text: str, *arguments: Any) -> tuple[Any, Any]:
    """Return what the interpreter and what Python make of the last function."""
    module: dict[str, Any] = {"zeros": zeros, "minimum": minimum, "maximum": maximum}
    exec(text, module)
    made = function(text)
    return made(*arguments), module[made.name](*arguments)


PROGRAMS = """\
# sums
def f(n):
    return [sum(k * i for k in range(i)) for i in range(n) if i % 2 == 0]
# loops
def f(n):
    t = 0
    for i in range(1, n, 2):
        t += i * i
        t ^= i
    return t
# nested
def f(n):
    a = [[0] * n for _ in range(n)]
    for i in range(n):
        a[i][n - 1 - i] = i
    return a
# branches
def f(n):
    if n < 3:
        return -n
    elif n == 3 or not n:
        return 0
    else:
        return 1 if 2 < n <= 5 else 2
# calls
def g(a, b=2, c=3):
    return a * 100 + b * 10 + c

def f(n):
    return g(n), g(n, 4), g(n, c=5), g(a=1, b=n)
# lists
def f(n):
    a = []
    for i, v in enumerate(range(n)):
        a.append(i + v)
    return a[1:], a[::-1], a + [1], (1,) * 3, list(zip(a, a)) if n else []
# lambdas
def f(n):
    add = lambda a, b=1: a + b + n
    return add(1), add(1, 2)
# bits
def f(n):
    return n & 3, n | 8, n ^ 5, n << 2, n >> 1, ~n, -n, +n, n // 2, n % 3, n ** 2, n / 2
# extremes
def f(n):
    return min(n, 3), max([n, 3, 5]), abs(-n), any([n > 2, n > 9]), all([n > 0, n < 9])
# scopes
def f(n):
    k = 7
    a = [k for k in range(n)]
    return k, a
# arrays
def f(n):
    a = zeros((2, n + 1))
    a[1, n] = 3
    a[0][0] += 2
    return [a[i, j] for i in range(2) for j in range(a.shape[1])], len(a)
# tuples
def f(n):
    (a, b), c = (n, n + 1), n + 2
    a, b = b, a
    return a, b, c, tuple(reversed([a, b, c]))
# while
def f(n):
    '''How many steps to 1.'''
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
        if count == 5:
            break
    else:
        count = -count
    return count
# nested functions
def f(n):
    def g(a, by=n):
        return a * by
    return g(3), g(2, by=1), list(map(lambda a: g(a), range(n)))
# in
def f(n):
    for i in range(10):
        if i in (1, 3) or i not in range(n):
            continue
        assert i < 10, "small"
    else:
        i = -1
    return i, n is None, None is None
# orders
def f(n):
    xs = [(i * 7) % 5 for i in range(n)]
    xs.extend([3, 1])
    xs.insert(1, 9)
    last = xs.pop()
    xs.reverse()
    return sorted(xs), xs.count(3), xs.index(9), last, xs == sorted(xs), divmod(n, 4), pow(n, 2), bool(xs), int(True)
# chains
def f(n):
    rows = [[i * j for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            rows[i][j], rows[j][i] = rows[j][i] + 1, rows[i][j]
    return rows, [row[::-1] for row in rows if row and row[0] <= 1 < n or not row]
"""
NAMED = dict(part.split("\n", 1) for part in PROGRAMS.split("# ")[1:])


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("n", [0, 1, 3, 4, 6])
def test_it_computes_what_python_computes(name: str, n: int) -> None:
    """Python itself is the oracle."""
    ours, theirs = both(NAMED[name], n)
    assert ours == theirs


OPERATORS = st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"])
LEAVES = st.sampled_from(["n", "1", "2", "-3", "7"])
EXPRESSIONS = st.recursive(LEAVES, lambda e: st.builds("({} {} {})".format, e, OPERATORS, e), max_leaves=12)


@given(EXPRESSIONS)
def test_expressions_are_pythons(text: str) -> None:
    """Random integer expressions have Python's value, or fail where Python fails."""
    made = function(f"def f(n):\n    return {text}")
    try:
        wanted = eval(text, {"n": 5})
    except ZeroDivisionError:
        with pytest.raises(SwizzleError, match="ZeroDivisionError"):
            made(5)
    else:
        assert made(5) == wanted


def test_numpy_arrays() -> None:
    """Arrays are indexed, sliced and combined element by element."""
    x = np.arange(8, dtype=np.float32)
    made = function("def f(x):\n    return [x[i] * 2 + max(x[i], x[0]) for i in range(len(x))], x[2:4] + x[2:4]")
    first, second = made(x)
    assert first == [v * 2 + v for v in x.tolist()]
    assert second.tolist() == [4, 6]


class Symbol:
    """A value that only adds, and answers `reduce_with`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Any) -> "Symbol":
        return Symbol(f"{self.text}+{getattr(other, 'text', other)}")

    def __radd__(self, other: Any) -> "Symbol":
        return Symbol(f"{other}+{self.text}")

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> "Symbol":
        return Symbol(f"{op}({self.text},{getattr(other, 'text', other)})")


class Symbols:
    """An array of symbols: `len`, `shape` and indexing by ints."""

    shape = (3,)

    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: int) -> Symbol:
        return Symbol(f"x{range(3)[i]}")


def test_symbolic_arrays() -> None:
    """Anything with a shape and arithmetic will do."""
    made = function("def f(x):\n    return sum(v for v in x), max(x[0], x[1]), minimum(x[0], 2), max(x)")
    assert [value.text for value in made(Symbols())] == ["0+x0+x1+x2", "max(x0,x1)", "min(x0,2)", "max(max(x0,x1),x2)"]


@pytest.mark.parametrize("body", ["sum(x, 2**63)", "sum([2**63, x[0]])", "2**63 + x[0]"])
def test_ints_beyond_numpys(body: str) -> None:
    """On NumPy's integers a sum fails where adding does, and is NumPy's where the number has 64 bits."""
    with pytest.raises(SwizzleError, match="OverflowError: Python int too large"):
        function(f"def f(x):\n    return {body}")(np.arange(3))
    (fits,) = function(f"def f(x):\n    return [{body.replace('2**63', '(2**63 - 9)')}]")(np.arange(3))
    assert type(fits) is np.int64 and 2**63 - 9 <= fits < 2**63


def test_comparisons_of_data_are_combined_by_words_as_by_signs() -> None:
    """`and`, `or` and `not` in a `where`, also beside conditions, are `&`, `|` and `~`: on terms and on numbers."""
    by_words, by_signs = (
        function(f"def f(x):\n    return [where({each}, x[i], -x[i]) for i in range(4)]\n")
        for each in (
            "i > 0 and not (x[i] < 1 or x[3 - i] >= 2 or i == 5) and x[1] != x[i]",
            "(i > 0) & ~((x[i] < 1) | (x[3 - i] >= 2) | (i == 5)) & (x[1] != x[i])",
        )
    )
    table, rng = Terms(), Random(0)
    given = SymbolicArray(table, "x", (4,))
    assert [each.term for each in by_words(given)[1:]] == [each.term for each in by_signs(given)[1:]]
    for _ in range(50):
        numbers = [rng.randrange(4) for _ in range(4)]
        found = by_words(np.array(numbers, np.float32))
        assert found == [
            x if i > 0 and not (x < 1 or numbers[3 - i] >= 2) and numbers[1] != x else -x for i, x in enumerate(numbers)
        ]


def test_extremes_of_several_values_are_those_of_python_specifications() -> None:
    """`minimum` and `maximum` take as many values in a `.swz` file as in a `.py` file."""
    x, y, z = Symbols()[0], Symbols()[1], Symbols()[2]
    made = function("def f(x):\n    return minimum(x[0], x[1], x[2]), maximum(x[0], x[1], 3), minimum(2, 1, 3)")
    found = made(Symbols())
    wanted = minimum(x, y, z), maximum(x, y, 3), minimum(2, 1, 3)
    assert [found[0].text, found[1].text, found[2]] == [wanted[0].text, wanted[1].text, wanted[2]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return x.__class__", "the attribute `__class__`"),
        ("return x.tofile", "the attribute `tofile`"),
        ("x.sort()", "a call of `.sort`"),
        ("y = (v for v in x)\n    return sum(y)", "a generator"),
        ("y = enumerate(x)\n    return list(y)", "`enumerate` is kept"),
        ("y = [].append", "`.append` without a call"),
        ("return abs([].append)", "`.append` without a call"),
        ("return open", "open is not defined"),
        ("return __import__", "__import__ is not defined"),
        ("return 'text'", "a str is not part"),
        ("return f'{x}'", "a string is not part"),
        ("return {}", "a dict is not part"),
        ("import os", "an import is not part"),
        ("global x", "`global` is not part"),
        ("return (yield)", "`Yield` is not part"),
        ("x.shape = 3", "an assignment to this"),
        ("return sum(*x)", "`*` is not part"),
        ("return sum(**x)", "`**` in a call"),
        ("return x @ x", "`@` is not part"),
        ("return lambda *a: a", "parameters with `*`"),
        ("try:\n        pass\n    finally:\n        pass", "`try` is not part"),
    ],
)
def test_what_is_outside_is_refused(body: str, message: str) -> None:
    """The syntax is checked before anything runs; names are looked up in the language only."""
    with pytest.raises(SwizzleError) as caught:
        function(f"def f(x):\n    {body}")(np.zeros(3))
    assert message in caught.value.found
    assert caught.value.place is not None and caught.value.place.line >= 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if x[0] > 0:\n        return 1", "data-dependent control"),
        ("return 1 if x[0] else 2", "data-dependent control"),
        ("return x[0] > 0 and x[1]", "data beside a comparison of data"),
        ("return [1, 2][x[0]]", "an index that is data"),
        ("return range(x[0])", "a range of something else than ints"),
        ("return x[9]", "index 9 is out of bounds"),
        ("return 1 // 0", "ZeroDivisionError"),
        ("return [1] + x", "arithmetic on a list"),
        ("return range(3) + x", "arithmetic on a list"),
        ("return zeros((2, 1)) + zeros((1, 2))", "arithmetic on arrays of shapes"),
        ("return undefined", "undefined is not defined"),
        ("return x(1)", "a call of an array"),
        ("return f(1, 2)", "f is given 2 arguments and takes 1"),
        ("return f()", "f is called without x"),
        ("return f(y=1)", "f has no parameter y"),
        ("return sum()", "sum with 0 arguments"),
        ("return int(x[0])", "int of data"),
        ("return x[0] in [1, 2]", "data-dependent control"),
        ("return x == x", "data-dependent control"),
        ("return x is x", "`is` between values"),
        ("return f.closure", "the attribute `closure`"),
        ("return minimum(x[0], by=1)", "minimum with by="),
        ("a, b = [1, 2, 3]", "3 values for 2 names"),
        ("a = []; a.append()", "`.append` with 0 arguments"),
        ("a = []; a.append(1, 2)", "`.append` with 2 arguments"),
        ("for i in 3:\n        pass", "a loop over an int"),
    ],
)
def test_mistakes_at_run_time_have_their_place(body: str, message: str) -> None:
    """A mistake that shows only when the specification runs names its line."""
    with pytest.raises(SwizzleError) as caught:
        function(f"def f(x):\n    {body}")(np.ones(3, np.float32))
    assert message in caught.value.found
    assert caught.value.place is not None and caught.value.place.line == 2


@pytest.mark.sampled(13)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return f(x)", "calls within each other"),
        ("return [0] * 10**10", "a list of more than"),
        ("return (0,) * 10**10", "a list of more than"),
        ("return list(range(10**10))", "a list of more than"),
        ("return list(range(10**30))", "a list of more than"),
        ("return sum(range(10**9))", "a list of more than"),
        ("return sorted(range(10**9))", "a list of more than"),
        ("a, b = range(10**30)", "a list of more than"),
        ("return [0 for i in range(10**10)]", "steps"),
        ("return [0 for i in range(9999)]", "steps"),
        ("return 2 ** 10**9", "an int of more than"),
        ("return 10 ** 10 ** 10", "an int of more than"),
        ("return 2 ** 1e9", "OverflowError"),
        ("return pow(10, 10**10)", "an int of more than"),
        ("return 1 << 10**9", "an int of more than"),
        ("a = 1\n    a <<= 10**9", "an int of more than"),
        ("return zeros(10**10)", "elements"),
        ("a = 3\n    for i in range(100):\n        a = a * a", "an int of more than"),
        ("a = 3\n    while True:\n        a = a + a", "an int of more than"),
        ("a = [0]\n    for i in range(60):\n        a = [a, a]\n    return a", "steps"),
        ("a = (0,)\n    for i in range(60):\n        a = (a, a)\n    return a", "steps"),
        ("a = (0,)\n    b = (0,)\n    for i in range(60):\n        a, b = (a, a), (b, b)\n    return a == b", "steps"),
        ("a = [0]\n    while True:\n        a += a", "a list of more than"),
        ("a = []\n    while True:\n        a.append(a)", "a would hold itself"),
        ("while True:\n        pass", "steps"),
        ("return True << 10**9", "an int of more than"),
        ("a = [0]\n    for i in range(60):\n        a = [a, a]\n    return sorted([a, a])", "steps"),
        ("a = [0]\n    for i in range(60):\n        a = [a, a]\n    return a < 3", "steps"),
        ("a = [0]\n    for i in range(60):\n        a = [a, a]\n    return -a", "a list where a number is needed"),
        ("a = [0]\n    for i in range(60):\n        a = [a, a]\n    return a(1)", "a call of a list"),
        (
            "a = [0]\n    for i in range(60):\n        a = [a, a]\n    return a.shape",
            r"a list has no `\.shape`",
        ),
        (
            "a = [0]\n    for i in range(60):\n        a = [a, a]\n    b = [a, a]\n    b[0][0] = 1\n    return b",
            "steps",
        ),
        ("a = c = [0]\n    for i in range(60):\n        a = [a, a]\n    c[0] = 1\n    return a", "steps"),
        ("a = c = [0]\n    b = [a] * 9999\n    for i in range(99):\n        c[0] = i", "steps"),
        (
            "a = [0]\n    for i in range(60):\n        a = (a, a)\n    b = []\n    b.append(a)\n    b.append(b)",
            "would hold",
        ),
        ("return str(10**4000)", "not defined"),
        ("return any(False for i in range(10**30))", "steps"),
        ("return [0 for i in range(10**30) if i < 0]", "steps"),
        ("a = (0,) * 9999\n    b = []\n    for i in range(9999):\n        b.append(i)", "steps"),
        ("return 10**30 in [i for i in range(999)] * 99", "a list of more than"),
        ("return " + "not " * 2000 + "x", "deep"),
        ("return " + "-" * 2000 + "x", "deep"),
        ("return " + "(1 + " * 150 + "x" + ")" * 150 + " ** 10**9", "an int of more than"),
    ],
)
def test_abuse_is_bounded(body: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth, sizes and steps end in an error, not in an exhausted machine."""
    monkeypatch.setattr(budget, "LENGTH", 10_000)
    monkeypatch.setattr(budget, "STEPS", 200_000)
    with pytest.raises(SwizzleError, match=message) as caught:
        function(f"def f(x):\n    {body}")(1)
    assert caught.value.place is not None


@pytest.mark.parametrize(
    "body",
    [
        "a = [n]\n    b = [a, a]\n    b[0][0] = 7\n    return b",
        "a = c = [n]\n    for i in range(6):\n        a = [a, (a, [i])]\n"
        "    c[0] = 1\n    a[1][1][0] = 5\n    return a",
        "a = [0]\n    for i in range(6):\n        a = [a, a]\n"
        "    b = [a, a]\n    b[0][1] = n\n    b[1][0][0][0] = 3\n    return b",
    ],
)
def test_a_list_at_two_places_changes_at_both(body: str) -> None:
    """As in Python, who holds a list sees each change of it."""
    found, wanted = both(f"def f(n):\n    {body}", 4)
    assert found == wanted


@pytest.mark.parametrize("body", ["c[0] = 1\n    return c[0]", "b = [a, a]\n    b[0][0] = 1\n    return b[1][0]"])
def test_a_list_at_very_many_places_changes_once(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change takes as long as the lists that there are, not as the ways to the one that changes."""
    monkeypatch.setattr(budget, "STEPS", 2_000)
    assert function(f"def f():\n    a = c = [0]\n    for i in range(60):\n        a = [a, a]\n    {body}")() == 1


def test_a_zip_is_a_list() -> None:
    """It is the pattern, which may be kept and used again."""
    text = "def f(x):\n    y = zip(x, x)\n    return [a + b for a, b in y] + [a * b for a, b in y]"
    assert function(text)([1, 2]) == [2, 4, 1, 4]


def test_a_deadline_holds_while_a_specification_runs() -> None:
    """It ends, and says which limit it was."""
    made = function("def f(n):\n    for i in range(n):\n        pass")
    now = time.monotonic()
    with limited(now + 0.2), pytest.raises(OutOfTime, match=r"timeout: .* was still running, at inline:[23]:"):
        made(10**15)  # without the limit, this would run for years
    with limited(now + 600):
        assert function("def f(n):\n    return [i for i in range(n)]")(3) == [0, 1, 2]


@pytest.mark.parametrize("command", ["solve", "solve --no-cache", "explain"])
def test_a_timeout_is_an_answer(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A specification that does not end leaves the command line undecided, and where it was is said."""
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "endless.swz").write_text(ENDLESS)
    out, err = StringIO(), StringIO()
    name, *options = command.split()
    status = execute([name, str(tmp_path / "endless.swz"), "--timeout", "0.2", "-q", *options], out, err)
    assert status == 3
    assert "undecided" in out.getvalue() and "was still running, at " in out.getvalue()
    assert "endless.swz:" in out.getvalue() and err.getvalue() == ""


@pytest.mark.parametrize("command", ["solve", "check", "operator"])
def test_a_timeout_holds_for_operators_that_are_handed_in(command: str, tmp_path: Path) -> None:
    """An operator whose function does not end is tried on numbers within the limit."""
    (tmp_path / "move.swz").write_text(ENDLESS.replace("    while True:\n        pass\n", "    return x\n"))
    (tmp_path / "endless.py").write_text(
        "from swizzle import operator\n@operator(identity=0)\ndef spin(a, b):\n    while True:\n        pass\n"
    )
    out, err = StringIO(), StringIO()
    given = [str(tmp_path / "move.swz"), "--operators", str(tmp_path / "endless.py"), "--timeout", "0.2"]
    assert execute([command, *given], out, err) == 3 and "timeout after 0.2 s" in out.getvalue() + err.getvalue()


ENDLESS = """\
@spec
def wanted(x):
    while True:
        pass

@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32])
def move(x, y):
    y[cuda.laneid] = x[?sw_xform(cuda.laneid, 32)]
"""


def test_versions_of_a_list_stay_what_they_are() -> None:
    """Lists that are kept while a newer version changes: each is what Python's copies are."""
    random = Random(7)
    for _ in range(200):
        kept, copies = [Items.new(range(4))], [list(range(4))]
        for step in range(30):
            at = random.randrange(len(kept))
            size = len(copies[at])
            start = random.randint(0, size)
            stop = random.randint(start, min(size, start + 2))
            values = [100 + step] * random.randint(0, 2)
            kept.append(kept[at].edited(start, stop, values))
            copies.append([*copies[at][:start], *values, *copies[at][stop:]])
            look = random.randrange(len(kept))
            assert list(kept[look].items) == copies[look]
            assert len(kept[-1]) == len(copies[-1]) and [kept[-1].at(i) for i in range(len(copies[-1]))] == copies[-1]
        assert [list(items.items) for items in kept] == copies
