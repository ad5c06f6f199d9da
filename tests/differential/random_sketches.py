"""Random small sketches: holes in every place the language has for them, and fillings that break the rules.

A sketch is text of the language with one to three small holes. Some of its fillings go out of bounds, read cells
that nobody wrote, race or leave threads behind at a barrier; a specification is what one filling computes,
sometimes spoilt, so that some sketches have one solution, some many, some none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from swizzle.language.specs.specification import inputs, outputs
from swizzle.language.specs.verify import run_canonical
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from symbolic.algebra.datum import Datum, SymbolicArray
from symbolic.algebra.terms import Term, Terms
from symbolic.ir.program import Program
from templates.chooser import OneChoice
from templates.template import Template
from tests.sketches import kernel

MOST_HOLES = 3
OUTER = ["+", "+", "+", "*", "min", "max", "xor", "and", "or"]


class RandomSketch:
    """The text of one random kernel, made statement by statement."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.warp = random.choice([2, 4])
        self.block, self.grid = random.choice([(4, 1), (4, 1), (4, 2), (8, 1)])
        self.threads = self.block * self.grid
        self.sums = random.choice([1, 1, 3])  # how much of the kernel is accumulators
        self.holes = 0
        self.depth = self.branches = 0
        self.loop: str | None = None
        self.lines: list[str] = []
        self.variables: list[str] = []
        self.readable: list[tuple[str, int]] = [("x", self.threads + 2)]
        self.accumulators: list[tuple[str, int, bool]] = []

    def sketch(self) -> Sketch:
        random = self.random
        arguments = [f"x=i32[{self.threads + 2}]", f"y=i32.out[{self.threads}]"]
        if random.random() < 0.4:
            arguments.append("w=i32.const[2]")
            self.readable.append(("w", 2))
        if inout := random.random() < 0.35:
            arguments.append(f"z=i32.inout[{self.threads}]")
            self.readable.append(("z", self.threads))
        if second := random.random() < 0.3:
            arguments.append(f"u=i32.out[{self.threads}]")
        self.lines += ["lane = cuda.laneid", "t = cuda.threadIdx.x", "i = cuda.grid(1)", "b = cuda.blockIdx.x"]
        self.declare()
        for _ in range(random.randrange(2, 6)):
            self.statement()
        if inout:
            self.store("z", self.threads)
        if second:
            self.store("u", self.threads)
        self.store("y", self.threads)
        if random.random() < 0.25:
            self.store("y", self.threads)
        return kernel(
            "\n".join(self.lines), arguments=", ".join(arguments), block=self.block, grid=self.grid, warp_size=self.warp
        )

    def declare(self) -> None:
        random = self.random
        self.local = self.shared = 0
        if random.random() < 0.6:
            self.local = random.choice([2, 3])
            self.emit(f"r = cuda.local.array({self.local}, i32)")
            for j in range(self.local):
                if random.random() < 0.9:
                    self.emit(f"r[{j}] = {self.leaf()}")
            self.readable.append(("r", self.local))
        if random.random() < 0.5 and self.sums == 1:
            self.shared = self.block
            self.emit(f"s = cuda.shared.array({self.shared}, i32)")
            if random.random() < 0.85:
                self.emit(f"s[{self.open_index(self.block) or 't'}] = {self.leaf()}")
                if random.random() < 0.9:
                    self.emit("cuda.syncthreads()")
            self.readable.append(("s", self.shared))
        for name in ("acc", "sum2")[: random.choice([0, 1, 1, 2]) if self.sums == 1 else 2]:
            inner = random.choice(["", "", ', inner="*"', ', inner="+"', ', inner="min"', ', inner="xor"'])
            init = random.choice(["", "", "", ", init=0", ", init=3"])
            final = random.choice(["", "", "", ", final=lambda p: p * 2", ", final=lambda p: -p + 1"])
            size = random.choice([0, 0, 0, 2])
            shape = f", shape={size}" if size else ""
            self.emit(f'{name} = accumulator(i32, outer="{random.choice(OUTER)}"{inner}{init}{final}{shape})')
            self.accumulators.append((name, size, bool(inner)))

    # -- statements -----------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def statement(self) -> None:
        kinds = ["assign"] * 3 + ["if"] * 2
        kinds += ["local"] * 2 * bool(self.local) + ["shared"] * 3 * bool(self.shared) + ["sync"] * bool(self.shared)
        kinds += ["accumulate"] * 4 * self.sums * bool(self.accumulators and not self.branches)
        kinds += ["loop"] * (self.loop is None and self.depth == 0) + ["out"] * (self.depth < 2)
        match self.random.choice(kinds):
            case "assign":
                self.assign()
            case "local":
                self.store("r", self.local)
            case "shared":
                self.store("s", self.shared)
                if self.random.random() < 0.6 and self.depth == 0:
                    self.emit("cuda.syncthreads()")
            case "sync":
                scope = self.random.choice(["syncthreads", "syncthreads", "syncwarp"])
                if self.random.random() < 0.3:
                    self.emit(f"if {self.condition(uniform=True)}:")
                    self.emit(f"    cuda.{scope}()")
                else:
                    self.emit(f"cuda.{scope}()")
            case "accumulate":
                self.accumulate()
            case "out":
                self.store("y", self.threads)
            case "loop":
                self.loop = "k"
                self.emit("for k in range(2):")
                self.nested(self.random.randrange(1, 3))
                self.loop = None
            case _:
                self.branch()

    def nested(self, count: int) -> None:
        known, self.depth = list(self.variables), self.depth + 1
        for _ in range(count):
            self.statement()
        self.variables, self.depth = known, self.depth - 1

    def branch(self) -> None:
        if self.depth > 1:
            self.assign()
            return
        self.branches += 1
        self.emit(f"if {self.condition()}:")
        self.nested(self.random.randrange(1, 3))
        if self.random.random() < 0.3:
            self.emit("else:")
            self.nested(1)
        self.branches -= 1

    def assign(self) -> None:
        old = [v for v in self.variables if self.random.random() < 0.5]
        name = self.random.choice(old) if old else f"v{len(self.lines)}"
        self.emit(f"{name} = {self.data(2)}")
        if name not in self.variables:
            self.variables.append(name)

    def store(self, array: str, size: int) -> None:
        random = self.random
        own = {"r": "0", "s": "t"}.get(array, "i")
        where = own if random.random() < 0.55 else self.open_index(size) or own
        if array in ("y", "z", "u", "s") and random.random() < 0.3:
            base = {"s": f"t // {self.warp} * {self.warp}"}.get(array, "i - lane")
            where = f"{base} + {self.open_index(self.warp) or 'lane'}"
        if random.random() < 0.2:
            self.branches += 1
            self.emit(f"if {self.condition()}:")
            self.emit(f"    {array}[{where}] = {self.data(2)}")
            self.branches -= 1
        else:
            self.emit(f"{array}[{where}] = {self.data(2)}")

    def accumulate(self) -> None:
        random = self.random
        name, size, inner = random.choice(self.accumulators)
        if size:
            name += f"[{'k' if self.loop and random.random() < 0.6 else random.randrange(size)}]"
        when = f", when={self.condition()}" if random.random() < 0.4 else ""
        self.branches += bool(when)
        operands = [self.data(1) for _ in range(random.choice([1, 2, 2, 3]) if inner else 1)]
        self.branches -= bool(when)
        self.emit(f"{name}.accumulate({', '.join(operands)}{when})")

    # -- expressions ----------------------------------------------------------------------------------------

    def hole(self) -> bool:
        if self.holes < MOST_HOLES and self.random.random() < 0.65:
            self.holes += 1
            return True
        return False

    def place(self, n: int) -> str:
        """Return an index without holes, within [0, n)."""
        options = [f"lane % {n}", f"t % {n}", f"i % {n}", str(self.random.randrange(n))]
        options += [f"{self.loop} % {n}"] * 2 if self.loop else []
        return self.random.choice(options)

    def open_index(self, n: int) -> str:
        """Return an index with a hole, or nothing when there are enough of them."""
        while self.holes < MOST_HOLES and self.random.random() < 0.8:
            if "?" in (found := self.index(n)):
                return found
        return ""

    def index(self, n: int) -> str:
        """Return an index, mostly within [0, n)."""
        random = self.random
        if not self.hole():
            return random.choice([self.place(n), self.place(n), f"{n} - 1 - {self.place(n)}"])
        m = min(n, random.choice([2, 2, 4]))
        found = f"?sw_xform({self.place(m)}, {m})"
        match random.randrange(6):
            case 0:
                found = f"?sw_xform({self.place(m)}, {m}, {self.loop or 'lane'})"
            case 1:
                found = f"?sw_part(2, {self.loop or 'lane'})"
            case 2:
                found = f"({self.place(n)} if ?sw_cond(t) else {self.place(n)})"
            case 3:
                found = f"(({found} + {self.place(n)}) % {n})"
            case 4 if random.random() < 0.4:
                found = f"{found} * 2 - 1"
            case _:
                pass
        return found

    def condition(self, uniform: bool = False) -> str:
        random = self.random
        plain = random.choice(["b == 0", "b < 1"] if uniform else ["lane < 2", "t % 2 == 0", "i > 0", "b == 0"])
        if self.loop and random.random() < 0.3:
            plain = f"{self.loop} == 0"
        if not self.hole():
            return plain
        argument = random.choice(["b", self.loop or "0"] if uniform else ["lane", "t", "t, lane", self.loop or "i"])
        cond = f"?sw_cond({argument})"
        return random.choice([cond, cond, f"({cond} and {plain})", f"({cond} or {plain})", f"not {cond}"])

    def leaf(self) -> str:
        random = self.random
        if random.random() < 0.07:
            number = "i32(?sw_xform(t % 2, 2))" if self.hole() else "i32(1)"
            return random.choice(["i32(0)", "i32(5)", "i32(lane)", number])
        if self.variables and random.random() < 0.35:
            return random.choice(self.variables)
        array, size = random.choice(self.readable)
        if array == "z" and random.random() < 0.9:
            return "z[i]"
        return f"{array}[{self.index(size)}]"

    def data(self, depth: int) -> str:
        random = self.random
        kind = random.random()
        if depth == 0 or kind < 0.45:
            return self.leaf()
        if kind < 0.6 and not self.branches:
            mode = random.choice(["", "", "_xor", "_up", "_down"])
            return f"cuda.shfl{mode}_sync(cuda.FULL_MASK, {self.data(depth - 1)}, {self.index(self.warp)})"
        if kind < 0.7:
            self.branches += 1
            found = f"({self.data(depth - 1)} if {self.condition()} else {self.data(depth - 1)})"
            self.branches -= 1
            return found
        if kind < 0.74 + 0.08 * self.sums and self.accumulators:
            name, size, _ = random.choice(self.accumulators)
            return f"{name}[{random.randrange(size)}].value" if size else f"{name}.value"
        match random.choice(["+", "-", "*", "min", "neg", "&"]):
            case "min":
                return f"min({self.data(depth - 1)}, {self.data(depth - 1)})"
            case "neg":
                return f"(-{self.data(depth - 1)})"
            case op:
                return f"({self.data(depth - 1)} {op} {self.data(depth - 1)})"


def functions(made: Template, points: list[Any]) -> list[Any]:
    """Return one choice of each distinct function on the points."""
    seen: dict[tuple[Any, ...], Any] = {}
    for choice in itertools.product(*made.components):
        seen.setdefault(tuple(made.at(OneChoice(choice), p) for p in points), choice)
    return list(seen.values())


def what_runs(program: Program, made: Sequence[Template], choices: tuple[Any, ...]) -> frozenset[Any]:
    """Return which hole is asked at which point and what it says, by threads that are on: equal for equal solutions."""
    found: set[Any] = set()

    def hole(number: int, args: tuple[Any, ...], mask: Any) -> Any:
        values = np.broadcast_to(np.asarray(made[number].apply(choices[number], args)), mask.shape)
        for t, on in enumerate(mask.tolist()):
            if on:
                found.add((number, tuple(int(a[t]) for a in args), int(values[t])))
        return values

    run_canonical(program, Terms(), hole)
    return frozenset(found)


def without_question(program: Program) -> Problem:
    """Return the problem of a program whose outputs are asked to be zeros, as it is before there is a specification.

    Raises SwizzleError where the program is refused.
    """
    return Problem.of(program, lambda *arrays: tuple([0] * p.shape[0] for p in outputs(program)))


def specification_of(
    program: Program, made: Sequence[Template], choices: tuple[Any, ...], random: Random
) -> Callable[..., Any]:
    """Return a specification that is what a filling computes, one time in four with two elements exchanged."""
    spoil = random.random() < 0.25
    seed = random.random()

    def spec(*arrays: SymbolicArray) -> Any:
        assert [a.name for a in arrays] == [p.name for p in inputs(program)]
        terms, again = arrays[0].terms, Random(seed)

        def hole(number: int, args: tuple[Any, ...], mask: Any) -> Any:
            return np.broadcast_to(np.asarray(made[number].apply(choices[number], args)), mask.shape)

        run = run_canonical(program, terms, hole)
        found: list[list[Term]] = []
        for parameter in outputs(program):
            memory = run.memories[parameter.name]
            cells = [int(v) if w else 0 for v, w in zip(memory.data, memory.written, strict=True)]
            found.append([cell or terms.atom("x", again.randrange(4)) for cell in cells])
        if spoil:
            some, other = again.choice(found), again.choice(found)
            j, k = again.randrange(len(some)), again.randrange(len(other))
            some[j], other[k] = other[k], some[j]
        return tuple([Datum(terms, t) for t in cells] for cells in found)

    return spec
