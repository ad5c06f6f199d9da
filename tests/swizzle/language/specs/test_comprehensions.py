"""Comprehensions at once mean what Python means: the same function, run by Python, gives the same values and terms."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle import SwizzleError, maximum, minimum, spec
from swizzle.language.specs import comprehensions
from swizzle.language.specs.rewriting import rewritten
from symbolic.algebra.datum import Datum, SymbolicArray
from symbolic.algebra.terms import Terms

SHAPES = {"x": (7,), "m": (3, 4), "w": (3,)}


def defined(text: str, file: str, **names: Any) -> Callable[..., Any]:
    """Return the function `wanted` of a text that is at hand, as that of a notebook's cell is."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    module = {"G": 2, "HALVES": (0.5, 1.5), "ROW": [1, 0, 2, 5], "maximum": maximum, "minimum": minimum, **names}
    exec(compile(text, file, "exec"), module)
    return module["wanted"]  # type: ignore[return-value]


def plain(value: Any, terms: Terms) -> Any:
    """Return what can be compared."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(plain(part, terms) for part in value)]
    if isinstance(value, SymbolicArray):
        return value.name, value.shape, value.offset
    return ("term", terms.show(value.term)) if isinstance(value, Datum) else (type(value).__name__, value)


def ended(function: Callable[..., Any], at_once: bool) -> tuple[Any, str]:
    """Return what a function gives, or the exception that it raises."""
    terms = Terms()
    arrays = [SymbolicArray(terms, name, shape) for name, shape in SHAPES.items()]
    try:
        return plain(spec(function).on_symbols(terms, *arrays) if at_once else function(*arrays), terms), ""
    except (ArithmeticError, LookupError, ValueError, TypeError, NameError, SwizzleError) as error:
        return None, f"{type(error).__name__}: {error}"


class Writer:
    """Writes specifications whose comprehensions are sums, edges, tables and nests."""

    def __init__(self, seed: int) -> None:
        self.random, self.names = Random(seed), ["G", "n"]

    def pick(self, *makers: Callable[[], str]) -> str:
        return self.random.choice(makers)()

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice([*self.names, *self.names, "0", "1", "3", "-1", "len(x)", "m.shape[1]"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            lambda: f"({a} {self.random.choice(['+', '-', '*', '&', '^'])} {b})",
            lambda: f"({a} {self.random.choice(['//', '%'])} {self.random.choice(['2', '3', '-4', b])})",
            lambda: f"{self.random.choice(['min', 'max'])}({a}, {b})",
            lambda: f"({a} if {self.condition(depth - 1)} else {b})",
            lambda: f"ROW[{a} % 4]",
        )

    def condition(self, depth: int) -> str:
        a, b = self.number(max(depth - 1, 0)), self.number(max(depth - 1, 0))
        found = f"{a} {self.random.choice(['<', '<=', '==', '!='])} {b}"
        if depth and self.random.random() < 0.3:
            return f"({found} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"
        return self.random.choice([found, found, f"0 <= {a} < 5", f"not {a}", a])

    def datum(self, depth: int) -> str:
        i, j = (self.number(1) for _ in range(2))
        if depth == 0 or self.random.random() < 0.3:
            leaf = f"x[{i} % 7]", f"m[{i} % 3, {j} % 4]", f"m[{i} % 3][{j} % 4]", "d", f"ds[{i} % 3]", f"w[{i} % 3]"
            return self.random.choice([*leaf, f"x[{i}]"])
        a, b = self.datum(depth - 1), self.datum(depth - 1)
        return self.pick(
            lambda: f"({a} {self.random.choice(['+', '-', '*', '*', '/'])} {b})",
            lambda: f"({a} {self.random.choice('+-*')} {self.number(1)})",
            lambda: f"({self.number(1)} {self.random.choice('+-*')} {a})",
            lambda: f"({a} * 0.25)",
            lambda: f"-{a}",
            lambda: f"({a} if {self.condition(1)} else {self.random.choice([b, '0', '0.0', '2'])})",
            lambda: self.nested(lambda: f"sum({self.datum(depth - 1)}{{}})"),
        )

    def nested(self, inside: Callable[[], str]) -> str:
        """Return a text with one or two loops and what is written inside them."""
        known, loops = list(self.names), ""
        for _ in range(self.random.choice((1, 1, 2))):
            name = f"v{len(self.names)}"
            stop = self.number(1) + " % 4"
            loops += self.random.choice([f" for {name} in range({stop})", f" for {name} in range({stop}, -2, -2)",
                                         f" for {name} in range(3)", f" for {name}, _ in enumerate(w)"])  # fmt: skip
            self.names.append(name)
            if self.random.random() < 0.2:
                loops += f" if {self.condition(1)}"
        found = inside().format(loops)
        self.names = known
        return found

    def text(self) -> str:
        whole = self.pick(
            lambda: self.nested(lambda: f"[{self.datum(2)}{{}}]"),
            lambda: self.nested(lambda: f"[{self.number(2)}{{}}]"),
            lambda: self.nested(lambda: f"[[{self.datum(2)} for u in range(2)]{{}}]"),
            lambda: f"[a + {self.datum(1)} for a in x]",
            lambda: f"[sum(a * b for a, b in zip(row, w)) + {self.datum(1)} for row in m]",
        )
        lines = ["def wanted(x, m, w):", "n, d = 4, x[0] * x[1]", "ds = [w[0] + 1, 5, m[1, 1]]"]
        return "\n    ".join([*lines, f"first = {whole}", f"return first, {self.datum(1)}"]) + "\n"


def tried(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with Python; most comprehensions are run at once."""
    at_once, whole = [0], comprehensions._Reader.result

    def counted(self: comprehensions._Reader) -> Any:
        found = whole(self)
        at_once[0] += 1
        return found

    monkeypatch.setattr(comprehensions._Reader, "result", counted)
    good = 0
    for seed in seeds:
        text = Writer(seed).text()
        function = defined(text, f"<comprehension {seed}>")
        wanted = ended(function, False)
        assert ended(function, True) == wanted, text
        good += not wanted[1]
    assert good > len(seeds) / 2
    assert at_once[0] > good / 2


def test_random_comprehensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred and fifty."""
    tried(range(150), monkeypatch)


@pytest.mark.slow
def test_many_random_comprehensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three thousand more."""
    tried(range(150, 3150), monkeypatch)


@pytest.mark.parametrize(
    "body",
    [
        "return [sum(G * x[n] for n in range(n)) for n in range(4)]",  # a bound name in its own range
        "G = 3\n    return [x[G] for i in range(2)]",
        "sum = maximum\n    return [sum(x[i], x[i + 1]) for i in range(2)]",
        "return [y for i in range(2) for y in [x[i]]]",
        "return [(q := x[i]) for i in range(2)], q",
        "return [x[i] * HALVES[i] for i in range(2)]",
        "return [x[1:][i] for i in range(2)]",
        "return [m[i] for i in range(2)]",
        "return [missing for i in range(2)]",
        "return [x[i] // (i - i) for i in range(2)]",
        "return [i << 40 for i in range(2)], [i * 99999999999 for i in range(3)], [2 ** i for i in range(3)]",
        "return [p for p in zip(x, w)]",
        "return (lambda: [x[i] for i in range(2)])()",
        "ROW = np.array([7, 8, 9, 10]); return [x[k] * ROW[k] for k in range(4)]",
        "G = np.array(3); return [x[k] * G for k in range(4)]",
        "return [x[k] * ROW[k,] for k in range(4)], [x[k,] for k in range(4)]",
        "return [[x[y] for k in range(2) for y in range(y)] for y in range(4)]",
        "return [[y for y in range(y)] for y in range(4)]",
        "return x[0] * sum((1e16 if k == 0 else 1) for k in range(4))",
        "return [x[0] * ((3e15 if k == 0 else G) * 7) for k in range(4)]",
        "return [(2.0 if k == 0 else 2) for k in range(4)]",
        "return [sum(2.0 if i < k else 1 for i in range(3)) for k in range(3)]",
        "z = x[0] * 3.0; n = [x[1] if k == 0 else 3 for k in range(4)]; return x[n[1]], n, z",
        "return [sum((x[k] if k < n else 0.0) for k in range(4)) for n in range(4)]",
    ],
)
def test_scopes_and_what_is_left_to_python(body: str) -> None:
    """Names mean what Python takes them for; errors are Python's."""
    function = defined(f"def wanted(x, m, w):\n    {body}\n", f"<body {body}>", np=np)
    assert ended(function, True) == ended(function, False)


def test_a_function_within_another_keeps_its_variables() -> None:
    """Its cells are the same, and what another function puts into them is seen."""
    text = "def outer():\n    k = 1\n    def inner(x, m, w):\n        return [x[i + k] for i in range(3)]\n"
    text += "    def put(n):\n        nonlocal k\n        k = n\n    return inner, put\nwanted = outer()\n"
    inner, put = defined(text, "<outer>")  # type: ignore[misc]
    for k in (1, 3):
        put(k)
        assert ended(inner, True) == ended(inner, False)
        assert f"x[{k}]" in str(ended(inner, True))
    assert rewritten(inner) is not None


def test_a_text_that_is_not_what_runs_is_left_alone() -> None:
    """A file that was edited since it was loaded says nothing of the function."""
    function = defined("def wanted(x, m, w):\n    return [x[i] for i in range(2)]\n", "<edited>")
    assert rewritten(function) is not None  # type: ignore[arg-type]
    text = "def wanted(x, m, w):\n    return [x[i] for i in range(3)]\n"
    linecache.cache["<edited>"] = len(text), None, text.splitlines(keepends=True), "<edited>"
    assert rewritten(function) is None  # type: ignore[arg-type]
