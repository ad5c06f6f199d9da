"""Random specifications in the sequential part, as text: helpers, loops, lists, arrays and data; most of them return.

They break none of the rules by which the sequential part is smaller than Python: each list has one name, a function
changes no list that it is given, and data steers nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SHAPES = {"x": (6,), "m": (3, 4)}
"""What `wanted(x, m)` is given."""


class Writer:
    """Writes one specification and its helpers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.ints: list[str] = []
        self.data: list[str] = []
        self.int_lists: list[str] = []
        self.data_lists: list[str] = []
        self.arrays: list[str] = []
        self.inputs = False
        self.loops = self.fresh = 0

    def text(self) -> str:
        """Return the text: `shape`, `mix` and `wanted`."""
        self.line(0, "def shape(n, k=2):")
        self.ints = ["n", "k"]
        self.line(1, f"if {self.condition(2)}:")
        self.line(2, f"return {self.number(2)}")
        if self.random.random() < 0.5:
            self.line(1, f"if 0 < n < 20:\n        return {self.number(1)} + shape(n - 3, k=k)")
        self.line(1, f"return {self.number(2)}")
        self.line(0, "def mix(a, b, n, more=(1, 2)):")
        self.ints, self.data, self.int_lists = ["n"], ["a", "b"], ["more"]
        self.line(1, f"for i in range({self.random.randint(1, 3)}):")
        self.line(2, f"if {self.condition(1)}:")
        self.line(3, f"return {self.datum(1)}")
        self.line(2, f"a = {self.datum(1)}")
        self.line(1, f"return {self.datum(2)}")
        self.line(0, "def wanted(x, m):")
        self.ints, self.data, self.int_lists = [], [], []
        self.line(1, f"i, j = {self.number(1)}, {self.number(1)}")
        self.line(1, "d = x[0]")
        self.line(1, "xs = [n * n % 7 for n in range(4)]")
        self.line(1, "ds = [v + 1 for v in x]")
        self.line(1, "out = zeros((2, 3))")
        self.line(1, "rows = [[n, n + 1, i] for n in range(2)]")
        self.ints, self.data, self.int_lists = ["i", "j"], ["d"], ["xs"]
        self.data_lists, self.arrays = ["ds"], ["out"]
        self.inputs = True
        self.block(1, 4)
        self.line(1, f"return ({self.number(2)}, {self.datum(2)}, xs, ds, out, rows, {self.condition(1)})")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, *makers: Callable[[], str]) -> str:
        return self.random.choice(makers)()

    def named(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    # ---- statements ----

    def block(self, depth: int, left: int) -> None:
        known = [list(names) for names in (self.ints, self.data)]
        for _ in range(self.random.randint(2, 4)):
            self.statement(depth, left)
        self.ints, self.data = known

    def statement(self, depth: int, left: int) -> None:
        kinds = [self.simple] * 4
        if left > 1:
            kinds += [self.branch, self.loop, self.loop]
        self.random.choice(kinds)(depth, left)

    def simple(self, depth: int, _: int) -> None:
        r = self.random
        out = f"out[{self.below(2)}, {self.below(3)}]"
        op = r.choice(["+=", "-=", "*="])
        self.line(
            depth,
            self.pick(
                lambda: f"i = {self.number(2)}",
                lambda: f"j {op} {self.number(1)}",
                lambda: f"d = {self.datum(2)}",
                lambda: f"d {r.choice(['+=', '-='])} {self.datum(1)}",
                lambda: f"i, j = j, {self.number(1)}",
                lambda: f"xs.append({self.number(2)})",
                lambda: f"ds.append({self.datum(2)})",
                lambda: f"xs.insert({self.below(3)}, {self.number(1)})",
                lambda: f"ds.extend([{self.datum(1)}, {self.datum(1)}])",
                lambda: f"xs[{self.index('xs')}] = {self.number(2)}",
                lambda: f"ds[{self.index('ds')}] = {self.datum(2)}",
                lambda: "xs.reverse()",
                lambda: f"rows[{self.below(2)}][{self.below(3)}] {op} {self.number(1)}",
                lambda: f"rows[{r.choice([0, 1, -1])}][{self.below(3)}] = {self.number(1)}",
                lambda: f"rows[{self.below(2)}] = {self.some_ints(1)} + [i, j, 0]",
                lambda: f"ds = {self.some_data(1)}",
                lambda: f"xs = {self.some_ints(1)}",
                lambda: f"xs += ({self.some_ints(1)})[:2]",
                lambda: f"{out} = {self.datum(2)}",
                lambda: f"{out} += {self.datum(1)}",
                lambda: f"out[{self.below(2)}][{self.below(3)}] = {self.datum(1)}",
                lambda: f"if len(xs) > 5:\n{'    ' * (depth + 1)}i = xs.pop()",
                lambda: f"assert len(xs) <= {r.choice([40, 60, 500])}",
            ),
        )

    def branch(self, depth: int, left: int) -> None:
        self.line(depth, f"if {self.condition(2)}:")
        self.block(depth + 1, left - 1)
        if self.random.random() < 0.4:
            self.line(depth, f"elif {self.condition(1)}:")
            self.block(depth + 1, left - 1)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, left - 1)

    def loop(self, depth: int, left: int) -> None:
        name = self.named("k")
        if self.loops > 1:
            self.simple(depth, left)
            return
        self.loops += 1
        known = list(self.ints), list(self.data)
        match self.random.randrange(6):
            case 0:
                self.line(depth, f"for {name} in range({self.below(5)}):")
                self.ints.append(name)
            case 1:
                self.line(depth, f"for {name}, {name}v in enumerate(list(ds)[:4]):")
                self.ints.append(name)
                self.data.append(f"{name}v")
            case 2:
                self.line(depth, f"for {name}, ({name}a, {name}b) in zip(range(3), zip(list(xs), x)):")
                self.ints += [name, f"{name}a"]
                self.data.append(f"{name}b")
            case 3:
                self.line(depth, f"for {name} in m:")
                self.line(depth + 1, f"d = d + {name}[{self.below(4)}] - sum({name})")
            case 4:
                self.line(depth, f"for {name} in ({self.some_ints(1)})[:5]:")
                self.ints.append(name)
            case _:
                self.line(depth, f"{name} = {self.random.randint(1, 5)}")
                self.line(depth, f"while {name} > 0 and {self.condition(1)}:")
                self.line(depth + 1, f"{name} -= 1")
                self.ints.append(name)
        if self.random.random() < 0.4:
            self.line(depth + 1, f"if {self.condition(1)}:")
            self.line(depth + 2, self.random.choice(["break", "continue"]))
        self.block(depth + 1, left - 1)
        self.ints, self.data = known
        self.loops -= 1
        if self.random.random() < 0.2:
            self.line(depth, "else:")
            self.simple(depth + 1, left)

    # ---- expressions ----

    def below(self, bound: int) -> str:
        return f"{self.number(0)} % {bound}"

    def index(self, name: str) -> str:
        if self.random.random() < 0.05:
            return self.number(0)  # may be out of range
        return f"{self.number(0)} % len({name})" if self.random.random() < 0.5 else str(self.random.choice([0, 1, -1]))

    def number(self, depth: int) -> str:
        r = self.random
        names = [lambda: r.choice(self.ints)] * 3 if self.ints else []
        if depth <= 0:
            return self.pick(lambda: str(r.randint(-3, 9)), *names)
        inner = self.number
        more: list[Callable[[], str]] = []
        if self.int_lists:
            chosen = r.choice(self.int_lists)
            more = [
                lambda: f"{chosen}[{self.index(chosen)}]",
                lambda: f"len({chosen})",
                lambda: f"sum({self.some_ints(depth - 1)})",
                lambda: f"max(list({chosen}) + [{inner(depth - 1)}])",
            ]
        if self.inputs:
            more += [
                lambda: f"shape({inner(depth - 1)})",
                lambda: f"shape({inner(depth - 1)}, k={inner(0)})",
                lambda: f"xs.count({inner(0)})",
                lambda: "out.shape[1] * len(m)",
                lambda: f"rows[{self.below(2)}][{inner(0)} % 3]",
                lambda: "sum(sum(row) for row in rows)",
                lambda: f"len(ds[{inner(0)} :])",
            ]
        return self.pick(
            *names,
            *more,
            lambda: f"({inner(depth - 1)} {r.choice(['+', '-', '|', '&', '^'])} {inner(depth - 1)})",
            lambda: f"({inner(depth - 1)} * {inner(0)} % 97)",
            lambda: f"({inner(depth - 1)} // {inner(0)})",
            lambda: f"({inner(depth - 1)} % {r.randint(1, 9)})",
            lambda: f"{r.choice(['-', '~', 'abs'])}({inner(depth - 1)})",
            lambda: f"{r.choice(['min', 'max', 'minimum'])}({inner(depth - 1)}, {inner(0)})",
            lambda: f"({inner(depth - 1)} if {self.condition(depth - 1)} else {inner(0)})",
            lambda: f"sum(q * {inner(0)} for q in range({self.below(4)}) if q != {inner(0)})",
            lambda: f"divmod({inner(depth - 1)}, 5)[{r.randint(0, 1)}]",
            lambda: f"(lambda p, q=2: p * q - {r.randint(0, 3)})({inner(depth - 1)})",
            lambda: f"sorted([{inner(0)}, {inner(0)}, {inner(0)}])[1]",
            lambda: f"(1 << ({inner(0)} % 5))",
        )

    def some_ints(self, depth: int) -> str:
        r = self.random
        return self.pick(
            lambda: f"[{self.number(depth)} for _ in range({self.below(4)})]",
            lambda: f"[p + {self.number(0)} for p in range(5) if p % 2 == {r.randint(0, 1)}]",
            lambda: f"[p * q for p in range(3) for q in range(p) if p + q > {r.randint(0, 2)}]",
            lambda: f"list(map(lambda p: p * {r.randint(1, 4)}, range({self.below(5)})))",
            lambda: f"list(reversed([{self.number(0)}, {self.number(depth)}]))",
            lambda: f"[{self.number(depth)}] * ({self.below(3)})",
        )

    def some_data(self, depth: int) -> str:
        r = self.random
        return self.pick(
            lambda: f"[{self.datum(depth)} for _ in range({self.below(4)} + 1)]",
            lambda: f"[p * q for p, q in zip(x, m[{self.below(3)}])]",
            lambda: f"[v + p for p, v in enumerate(x[{r.randint(0, 2)}:{r.randint(3, 6)}])]",
            lambda: f"[m[p, q] for p in range(3) for q in range(4) if p <= q + {r.randint(-2, 1)}]",
            lambda: "ds[1:] + [d]",
            lambda: "ds[::-1]",
        )

    def datum(self, depth: int) -> str:
        r = self.random
        names = [lambda: r.choice(self.data)] * 2 if self.data else []
        reads: list[Callable[[], str]] = []
        if self.inputs:
            reads = [
                lambda: f"x[{self.below(6)}]",
                lambda: f"m[{self.below(3)}, {self.below(4)}]",
                lambda: f"m[{self.below(3)}][{self.below(4)}]",
                lambda: f"ds[{self.index('ds')}]",
            ]
        if depth <= 0:
            return self.pick(*names, *reads)
        inner = self.datum
        if self.inputs:
            reads += [
                lambda: f"mix({inner(depth - 1)}, {inner(0)}, {self.number(0)})",
                lambda: f"mix({inner(0)}, b={inner(0)}, n={self.number(1)}, more=(3, {self.number(0)}))",
                lambda: f"sum({self.some_data(depth - 1)}, {self.number(0)})",
                lambda: f"max({self.some_data(0)})",
                lambda: f"sum(x[(p + {self.number(0)}) % 6] for p in range(3))",
                lambda: "(out[0, 0] + d)",
            ]
        return self.pick(
            *names,
            *reads,
            lambda: f"({inner(depth - 1)} {r.choice(['+', '-', '*'])} {inner(0)})",
            lambda: f"({inner(depth - 1)} {r.choice(['+', '-', '*'])} {self.number(0)})",
            lambda: f"({self.number(0)} {r.choice(['+', '-', '*'])} {inner(depth - 1)})",
            lambda: f"-({inner(depth - 1)})",
            lambda: f"{r.choice(['minimum', 'maximum'])}({inner(depth - 1)}, {inner(0)})",
            lambda: f"({inner(depth - 1)} if {self.condition(1)} else {inner(0)})",
        )

    def condition(self, depth: int) -> str:
        r = self.random
        order = ["==", "!=", "<", "<=", ">", ">="]
        simple = lambda: f"{self.number(depth - 1)} {r.choice(order)} {self.number(0)}"  # noqa: E731
        if depth <= 0:
            return simple()
        return self.pick(
            simple,
            lambda: f"{self.number(0)} {r.choice(order)} {self.number(0)} {r.choice(order)} {self.number(0)}",
            lambda: f"({self.condition(depth - 1)} {r.choice(['and', 'or'])} {self.condition(depth - 1)})",
            lambda: f"not {self.condition(depth - 1)}",
            lambda: f"{self.number(0)} {r.choice(['in', 'not in'])} ({self.number(0)}, {self.number(0)}, 4)",
            lambda: f"{r.choice(['any', 'all'])}(p {r.choice(order)} {self.number(0)} for p in range({self.below(4)}))",
            lambda: f"{self.some_ints(0)} == {self.some_ints(0)}",
            lambda: f"{r.choice(self.ints or ['len'])} is not None",
        )
