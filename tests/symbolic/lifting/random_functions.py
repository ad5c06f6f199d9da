"""Random functions in the language of lifted functions, as text; what Python raises is part of what they do."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pair:
    """A record."""

    left: Any
    right: Any


@dataclass
class Box:
    """A record that changes."""

    left: Any
    right: Any

    def push(self, value: Any) -> Any:
        """Keep a value, and give what was there before."""
        before = self.left
        self.left, self.right = self.right + value, before
        return before


class Writer:
    """Writes one function of (a, b, c, xs): three ints and a list of three ints."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.fresh = 0

    def text(self) -> str:
        """Return a helper that calls itself, and the function f."""
        self.ints, self.lists, self.loops = ["n", "k"], [], 0
        self.line(0, "def g(n, k):")
        self.line(1, f"if {self.condition(1)}:")
        self.line(2, f"return {self.number(1)}")
        self.line(1, "if k <= 0:")
        self.line(2, f"return {self.number(1)}")
        self.line(1, f"return {self.number(0)} + g({self.number(1)}, k - 1)")
        self.ints, self.lists = ["a", "b", "c"], ["xs"]
        self.line(0, "def f(a, b, c, xs):")
        self.line(1, "ys = list(xs)")
        self.line(1, "t = 0")
        self.line(1, "r = Pair(a, b)")
        self.line(1, "u = None if a < b else c")
        self.line(1, "z = 1")
        self.line(1, "m = Box(c, a)")
        self.line(1, "q = m")
        self.line(1, "ms = [m, Box(0, b)]")
        self.ints = ["a", "b", "c"]
        self.line(1, "def bump(v):")
        self.line(2, "nonlocal z, t")
        self.line(2, f"if {self.condition(1)}:")
        self.line(3, f"t {self.random.choice(['+', '-'])}= v")
        self.line(2, f"z = {self.random.choice(['z + v', 'v - z', 'z * 2'])}")
        self.line(2, "return z + t")
        self.line(1, f"see = lambda v: v + {self.random.choice(['z', 't', 'z * t', 'm.left'])}")
        self.ints, self.lists = ["a", "b", "c", "t", "r.left", "r.right", "z", "m.left", "q.right"], ["xs", "ys"]
        self.block(1, 2)
        self.line(1, f"return ({self.number(2)}, {self.condition(1)}, ys, r, u, z, q, ms, see(1))")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def one(self, *makers: Callable[[], str]) -> str:
        return self.random.choice(makers)()

    # -- statements --------------------------------------------------------------------------------------------

    def block(self, depth: int, budget: int) -> None:
        known = list(self.ints), list(self.lists)
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, budget)
        self.ints, self.lists = known

    def statement(self, depth: int, budget: int) -> None:
        kinds = [self.assign, self.assign, self.augment, self.store, self.asserted, self.unpack, self.replaced]
        if budget:
            kinds += [self.branch, self.branch, self.for_range, self.for_each, self.while_loop, self.changing]
            kinds += [self.shared, self.shared, self.named] if self.loops else [self.shared, self.cases, self.named]
        if self.loops:
            kinds += [self.leave]
        if depth > 1:
            kinds += [self.early]
        self.random.choice(kinds)(depth, budget)

    def assign(self, depth: int, _: int) -> None:
        name = self.random.choice(["a", "b", "c", "t", "v", "w", "u"])
        value = self.number(2) if name != "u" or self.random.random() < 0.7 else "None"
        self.line(depth, f"{name} = {value}")
        if name != "u":
            self.ints.append(name)

    def augment(self, depth: int, _: int) -> None:
        operator = self.random.choice(["+", "-", "*", "//", "%"])
        self.line(depth, f"{self.random.choice(['t', 'a', 'c'])} {operator}= {self.number(1)}")

    def store(self, depth: int, _: int) -> None:
        self.line(depth, f"ys[{self.index()}] = {self.number(1)}")

    def changing(self, depth: int, _: int) -> None:
        self.line(
            depth,
            self.one(
                lambda: f"ys.append({self.number(1)})",
                lambda: "t = ys.pop()",
                lambda: f"ys = ys + [{self.number(1)}]",
                lambda: f"ys = ys[{self.random.choice(['1:', ':-1', ':2', '::-1', f'{self.number(0)}:'])}]",
                lambda: f"ys = [{self.number(1)} for x in ys if {self.condition(1)}]".replace("(t", "(x"),
                lambda: f"ys += [{self.number(1)}]",
                lambda: "ys.reverse()",
                lambda: f"ys = sorted([{self.number(1)}, {self.number(1)}, {self.number(0)}])",
            ),
        )

    def shared(self, depth: int, _: int) -> None:
        self.line(
            depth,
            self.one(
                lambda: f"bump({self.number(1)})",
                lambda: f"c = bump({self.number(1)})",
                lambda: f"m.left = {self.number(1)}",
                lambda: f"q.right {self.random.choice(['+', '-', '*'])}= {self.number(1)}",
                lambda: f"ms[{self.random.choice(['0', '1', '-1'])}].left = {self.number(1)}",
                lambda: f"t = q.push({self.number(1)})",
                lambda: f"z = {self.number(1)}",
                lambda: f"m.left, q.right = {self.number(1)}, {self.number(1)}",
                lambda: f"for o in ms: o.left += {self.number(1)}",
            ),
        )

    def cases(self, depth: int, budget: int) -> None:
        subject, *patterns = self.one(
            lambda: ("(" + self.number(1) + ") % 4", "0", "1 | 2", "3"),
            lambda: (f"({self.number(1)}, {self.number(0)})", "(0, p)", "(p, 1 | 2)", "(p, _)"),
            lambda: ("[" + self.number(1) + ", *ys]", "[0, p]", "[p, *_] if p > 0", "[1, p, *_]"),
            lambda: ("r", "Pair(0, p)", "Pair(left=p, right=1)", "Pair(p) if p > t"),
            lambda: ("u", "None", "0 | 1", "2"),
            lambda: ("q", "Box(0, p)", "Box(right=p) if p > 0", "Box(1)"),
        )
        self.line(depth, f"p = {self.number(0)}")
        self.line(depth, f"match {subject}:")
        self.ints.append("p")
        for pattern in self.random.sample(patterns, 2):
            self.line(depth + 1, f"case {pattern}:")
            self.block(depth + 2, 0)
        if self.random.random() < 0.5:
            self.line(depth + 1, "case _:")
            self.block(depth + 2, 0)

    def named(self, depth: int, budget: int) -> None:
        self.fresh += 1
        self.line(depth, f"if (w{self.fresh} := {self.number(1)}) > {self.number(1)}:")
        self.ints.append(f"w{self.fresh}")
        self.block(depth + 1, budget - 1)

    def replaced(self, depth: int, _: int) -> None:
        self.line(
            depth,
            self.one(
                lambda: f"r = Pair({self.number(1)}, {self.number(1)})",
                lambda: f"r = replace(r, left={self.number(1)})",
                lambda: f"r = Pair(r.right, r.left) if {self.condition(1)} else r",
            ),
        )

    def unpack(self, depth: int, _: int) -> None:
        self.line(
            depth,
            self.one(
                lambda: f"a, t = {self.number(1)}, {self.number(1)}",
                lambda: "t, c, b = ys",
                lambda: f"t, c = divmod({self.number(1)}, {self.number(1)})",
            ),
        )

    def asserted(self, depth: int, _: int) -> None:
        if self.random.random() < 0.4:
            self.line(depth, f"assert {self.condition(1)}")
        else:
            self.assign(depth, 0)

    def branch(self, depth: int, budget: int) -> None:
        self.line(depth, f"if {self.condition(2)}:")
        self.block(depth + 1, budget - 1)
        if self.random.random() < 0.4:
            self.line(depth, f"elif {self.condition(1)}:")
            self.block(depth + 1, budget - 1)
        if self.random.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1, budget - 1)

    def looped(self, depth: int, budget: int) -> None:
        self.loops += 1
        self.block(depth + 1, budget - 1)
        self.loops -= 1
        if self.random.random() < 0.2:
            self.line(depth, "else:")
            self.block(depth + 1, 0)

    def for_range(self, depth: int, budget: int) -> None:
        self.fresh += 1
        name = f"i{self.fresh}"
        bounds = self.one(
            lambda: str(self.random.randint(1, 3)),
            lambda: f"{self.number(0)} % 4",
            lambda: f"{self.random.randint(-1, 1)}, {self.number(0)} % 3, {self.random.choice(['1', '2'])}",
            lambda: f"{self.number(0)} % 3, -1, -1",
            lambda: "len(ys) % 4",
        )
        self.line(depth, f"for {name} in range({bounds}):")
        self.ints.append(name)
        self.looped(depth, budget)

    def for_each(self, depth: int, budget: int) -> None:
        self.fresh += 1
        name = f"x{self.fresh}"
        self.line(
            depth,
            self.one(
                lambda: f"for {name} in xs:",
                lambda: f"for {name} in list(ys)[:3]:",
                lambda: f"for {name}, j in zip(xs, (1, 2)):",
                lambda: f"for j, {name} in enumerate(xs):",
                lambda: f"for {name} in reversed(xs):",
            ),
        )
        self.ints.append(name)
        self.looped(depth, budget)

    def while_loop(self, depth: int, budget: int) -> None:
        self.fresh += 1
        fuel = f"fuel{self.fresh}"
        self.line(depth, f"{fuel} = {self.random.randint(1, 3)}")
        test = "True" if self.random.random() < 0.2 else self.condition(1)
        self.line(depth, f"while {fuel} > 0 and {test}:")
        self.line(depth + 1, f"{fuel} -= 1")
        self.looped(depth, budget)

    def leave(self, depth: int, _: int) -> None:
        self.line(depth, f"if {self.condition(1)}:")
        self.line(depth + 1, self.random.choice(["break", "continue"]))

    def early(self, depth: int, _: int) -> None:
        self.line(depth, f"if {self.condition(1)}:")
        leave = ["return None", "raise ValueError('no')", f"return {self.number(1)}", f"return [{self.number(1)}]"]
        self.line(depth + 1, self.random.choice(leave))

    # -- expressions -------------------------------------------------------------------------------------------

    def index(self) -> str:
        return self.one(
            lambda: str(self.random.randint(-3, 3)), lambda: f"{self.number(0)} % 3", lambda: self.number(0)
        )

    def number(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.25:
            return self.one(
                lambda: self.random.choice(self.ints), lambda: self.random.choice(self.ints),
                lambda: str(self.random.randint(-3, 5)),
            )  # fmt: skip
        n, c = (lambda: self.number(depth - 1)), (lambda: self.condition(depth - 1))
        makers: list[Callable[[], str]] = [
            lambda: f"({n()} {self.random.choice(['+', '-', '*', '//', '%'])} {n()})",
            lambda: f"({n()} {self.random.choice(['+', '-', '*'])} {n()})",
            lambda: f"({n()} if {c()} else {n()})",
            lambda: f"{self.random.choice(['min', 'max'])}({n()}, {n()})",
            lambda: f"abs({n()})",
            lambda: f"-{n()}",
            lambda: f"({c()} and {n()} or {n()})",
            lambda: f"(({n()} > 0) + {n()})",
        ]
        if self.lists:
            seq = self.random.choice(self.lists)
            makers += [
                lambda: f"{seq}[{self.index()}]",
                lambda: f"len({seq})",
                lambda: f"sum({seq})",
                lambda: f"sum([x * x for x in {seq} if x > {self.random.choice(self.ints)}])",
                lambda: f"g({n()}, {self.random.randint(0, 2)})",
                lambda: f"{seq}.count({n()})",
                lambda: f"sum([{n()} // x for x in {seq} if x > {n()}])",
                lambda: f"({n()}, {n()}, {n()})[{self.index()}]",
                lambda: (
                    f"{{0: {n()}, 1: {n()}, 'a': {n()}}}[{self.random.choice(['0', '1', chr(39) + 'a' + chr(39)])}]"
                ),
                lambda: f"{{0: {n()}, 1: {n()}}}[{n()} % 2]",
                lambda: f"len({{1, 2, {self.random.randint(1, 4)}}})",
                lambda: f"see({n()})",
                lambda: f"(lambda p, q: p * {self.random.randint(-2, 2)} - q)({n()}, {n()})",
            ]
        return self.one(*makers)

    def condition(self, depth: int) -> str:
        n = lambda: self.number(depth - 1)  # noqa: E731
        makers: list[Callable[[], str]] = [
            lambda: f"{n()} {self.random.choice(['<', '<=', '==', '!=', '>', '>='])} {n()}",
            lambda: f"{n()} {self.random.choice(['<', '<=', '==', '!='])} {n()}",
            lambda: f"{n()} < {n()} <= {n()}",
        ]
        if depth > 0:
            c = lambda: self.condition(depth - 1)  # noqa: E731
            makers += [lambda: f"({c()} and {c()})", lambda: f"({c()} or {c()})", lambda: f"not {c()}", n]
            if self.lists:
                seq = self.random.choice(self.lists)
                makers += [
                    lambda: f"{n()} in {seq}",
                    lambda: f"any(x > {n()} for x in {seq})",
                    lambda: f"all({n()} < x for x in {seq})",
                    lambda: f"any({seq}[x] > {n()} for x in {seq})",
                    lambda: f"all({n()} // x < {n()} for x in {seq})",
                    lambda: f"{n()} < {n()} < {seq}[{n()}]",
                    lambda: f"{seq} == [{n()}, {n()}, {n()}]",
                    lambda: f"({n()}, {n()}) < ({n()}, {n()})",
                    lambda: "u is None",
                    lambda: f"{n()} in {{1, 2, 5}}",
                    lambda: f"{n()} in {{1: 0, -2: 1}}",
                    lambda: f"q == Box({n()}, {n()})",
                    lambda: f"ms[{self.random.choice(['0', '1'])}] is q",
                    lambda: f"u == {n()}",
                    lambda: "r == Pair(a, b)",
                    lambda: "u < 1",
                ]
        return self.one(*makers)


def function(text: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Return the function of a text, whose lines inspect finds."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    found: Callable[..., Any] = names["f"]
    return found
