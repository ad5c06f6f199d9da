"""Random index expressions and random kernels, the same for the same seed, always within the language's rules."""

from __future__ import annotations

from random import Random

from symbolic.ir import program as ir
from symbolic.ir.program import DType
from tests.cuda_out.build import (
    HERE,
    accumulate,
    accumulator,
    array,
    assign,
    branch,
    data,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    shuffle,
    store,
    total,
    un,
    var,
    where,
)

I32 = DType.I32


def random_index(random: Random, names: list[str], depth: int) -> ir.Expr:
    """Return an INDEX expression whose intermediate values stay far below 2**31 for names within -100 to 100."""
    if depth == 0 or random.random() < 0.15:
        return (
            var(random.choice(names))
            if random.random() < 0.6
            else num(random.choice([-33, -8, -3, -1, 0, 1, 2, 5, 7, 32, 64]))
        )

    def inner() -> ir.Expr:
        return random_index(random, names, depth - 1)

    match random.choice(
        [
            "sum",
            "sum",
            "sum",
            "product",
            "division",
            "division",
            "division",
            "bits",
            "shift",
            "unary",
            "select",
            "extreme",
        ]
    ):
        case "sum":
            return op(random.choice("+-"), inner(), inner())
        case "product":
            small = num(random.choice([-2, -1, 0, 1, 2, 3, 4, 8]))
            return op("*", *random.choice([(small, inner()), (inner(), small)]))
        case "division":
            divisor: ir.Expr = num(random.choice([-7, -4, -1, 1, 2, 3, 4, 6, 8, 32]))
            if random.random() < 0.2:
                divisor = op("+", op("&", inner(), num(7)), num(1))
            return op(random.choice(["//", "%", "%"]), inner(), divisor)
        case "bits":
            return op(random.choice("&|^"), inner(), inner())
        case "shift":
            left = op("&", inner(), num(255)) if random.random() < 0.7 else inner()
            return op(
                random.choice([">>", "<<"]) if left is not None else ">>",
                op("%", left, num(1000)),
                num(random.choice([0, 1, 3, 5])),
            )
        case "unary":
            return un(random.choice(["-", "~", "abs"]), inner())
        case "select":
            return select(random_condition(random, names, depth - 1), inner(), inner())
        case _:
            return op(random.choice(["min", "max"]), inner(), inner())


def random_condition(random: Random, names: list[str], depth: int) -> ir.Expr:
    """Return a BOOL expression."""
    if depth > 0 and random.random() < 0.35:
        left, right = (random_condition(random, names, depth - 1) for _ in range(2))
        return random.choice([op("and", left, right), op("or", left, right), un("not", left)])
    comparison = random.choice(["==", "!=", "<", "<=", ">", ">="])
    return op(comparison, random_index(random, names, depth), random_index(random, names, depth))


class RandomKernel:
    """A kernel over 32-bit integers with register arrays, loops, branches, shuffles and accumulators."""

    def __init__(self, seed: int, tables: bool = False) -> None:
        """With `tables`, some indices are looked up in tables of numbers."""
        self.random, self.tables = Random(seed), tables
        self.names = ["lane", "t"]
        self.loops = 0
        self.size = self.random.randint(2, 7)
        self.slots = 0

    def program(self) -> ir.Program:
        x = [parameter("x", 40, dtype=I32), parameter("y", 16, 64, role="out", dtype=I32)]
        at = op("%", op("+", op("*", "j", 5), "t"), 40)
        head = [
            assign("lane", where("laneid")),
            assign("t", op("+", where("threadIdx"), op("*", where("threadIdx", "y"), 16))),
            array("a", self.size, dtype=I32),
            array("b", 2, 3, dtype=I32),
            loop("j", self.size, store("a", "j", load("x", at, dtype=I32))),
            loop("j", 6, store("b", op("//", "j", 3), op("%", "j", 3), load("x", op("-", 39, "j"), dtype=I32))),
            accumulator("acc", self.random.choice("+^&|"), self.random.choice("*+&"), init=3, shape=(2,), dtype=I32),
            assign("v", load("x", "lane", dtype=I32)),
        ]
        body = self.statements(5, True, 2)
        tail = [loop("j", self.size, store("y", "j", "t", load("a", "j", dtype=I32)))]
        tail += [store("y", 8 + j, "t", load("b", j % 2, j, dtype=I32)) for j in range(2)]
        tail += [store("y", 10 + j, "t", total("acc", j, dtype=I32)) for j in range(2)]
        tail += [store("y", 12, "t", var("v", I32))]
        tail += [store("y", 15, "t", ir.Cast(op("%", name, 1000), I32, HERE)) for name in self.names[-1:]]
        return kernel(f"random_{self.size}", x, [*head, *body, *tail], block=(16, 4, 1), grid=(1, 1, 1), warp_size=16)

    def index(self) -> ir.Expr:
        return random_index(self.random, self.names, self.random.randint(1, 3))

    def inside(self, extent: int) -> ir.Expr:
        """Return an index in bounds, of the shapes that sketches are solved with."""
        if self.tables and self.random.random() < 0.5:
            count = self.random.choice([1, 5, 16, 300])
            entries = tuple(self.random.randrange(extent) for _ in range(count))
            return ir.Lookup(entries, op("%", self.index(), count), HERE)
        if self.random.random() < 0.4:
            sides = [num(self.random.randrange(extent)) for _ in range(2)]
            return select(random_condition(self.random, self.names, 1), *sides)
        return op("%", self.index(), num(extent))

    def value(self, converged: bool, depth: int = 2) -> ir.Expr:
        match self.random.choice(
            ["a", "b", "x", "v", "literal", "binary", "binary", "select", "shuffle", "acc"]
            if depth
            else ["a", "b", "v"]
        ):
            case "a":
                return load("a", self.inside(self.size), dtype=I32)
            case "b":
                return load("b", self.inside(2), self.inside(3), dtype=I32)
            case "x":
                return load("x", self.inside(40), dtype=I32)
            case "v":
                return var("v", I32)
            case "literal":
                return data(self.random.randint(-9, 9), I32)
            case "acc":
                return total("acc", self.random.randrange(2), dtype=I32)
            case "select":
                return select(
                    random_condition(self.random, self.names, 1),
                    self.value(False, depth - 1),
                    self.value(False, depth - 1),
                )
            case "shuffle" if converged:
                mode = self.random.choice(["idx", "up", "down", "xor"])
                lane = self.index() if mode == "idx" else op("%", self.index(), num(self.random.choice([4, 16, 20])))
                return shuffle(self.value(True, depth - 1), lane, mode)
            case _:
                operator = self.random.choice(["+", "-", "^", "min", "max", "//"])
                right = (
                    data(self.random.choice([-3, 2, 5]), I32) if operator == "//" else self.value(converged, depth - 1)
                )
                return op(operator, self.value(converged, depth - 1), right)

    def statements(self, count: int, converged: bool, depth: int) -> list[ir.Stmt]:
        return [self.statement(converged, depth) for _ in range(count)]

    def statement(self, converged: bool, depth: int) -> ir.Stmt:
        kinds = ["assign", "value", "store", "store", "accumulate"] + (["loop", "branch"] if depth else [])
        match self.random.choice(kinds):
            case "assign" if converged and depth == 2:
                name = self.random.choice(["p", "q", "r"])
                found = assign(name, op("%", self.index(), num(100)))
                self.names = [*self.names, name]
                return found
            case "store" if self.random.random() < 0.5:
                return store("b", self.inside(2), self.inside(3), self.value(converged))
            case "store":
                return store("a", self.inside(self.size), self.value(converged))
            case "accumulate":
                when = random_condition(self.random, self.names, 1) if self.random.random() < 0.6 else None
                operands = [self.value(converged and when is None, 1) for _ in range(self.random.randint(1, 2))]
                return accumulate("acc", *operands, at=[self.random.randrange(2)], when=when)
            case "loop":
                self.loops += 1
                name, kept = f"k{self.loops}", self.names
                self.names = [*kept, name]
                start, stop, step = self.random.choice([(0, 3, 1), (0, 5, 2), (4, 0, -1), (2, 2, 1), (-1, 2, 1)])
                found_loop = loop(name, stop, *self.statements(2, converged, depth - 1), start=start, step=step)
                self.names = kept
                return found_loop
            case "branch":
                condition = random_condition(self.random, self.names, 2)
                return branch(
                    condition,
                    self.statements(2, False, depth - 1),
                    self.statements(self.random.randint(0, 2), False, depth - 1),
                )
            case _:
                return assign("v", self.value(converged))
