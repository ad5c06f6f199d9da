"""Pipelines of asynchronous copies, right and wrong ones: what is accepted gives the same numbers in every order.

Threads run in random orders, statement by statement, and copies arrive whenever they like between their begin and the
wait for them. A pipeline in which a wait, a commit or a barrier is missing, moved or weakened may still be right; where
one of these runs shows that it is not, the machine must refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle.language.specs.specification import symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.numbers import Numbers
from symbolic.algebra.terms import Terms
from symbolic.ir import program as ir
from symbolic.ir.program import DType
from symbolic.machine.machine import Machine
from symbolic.second.forward import Forward
from symbolic.second.terms import TermValues
from tests.cuda_out.build import (
    array,
    assign,
    barrier,
    branch,
    commit,
    copy,
    kernel,
    load,
    loop,
    op,
    parameter,
    select,
    store,
    var,
    wait,
    where,
)  # fmt: skip
from tests.cuda_out.reference import Block
from tests.cuda_out.reference import run as reference
from tests.slow_cases import slow_unless

I32, BLOCK, STEPS = DType.I32, 4, 5


def pipeline(random: Random) -> list[ir.Stmt]:
    """Return the body of a right pipeline of two or three stages, with elements or pairs of them copied at once."""
    stages, width = random.choice([2, 3]), random.choice([1, 2])
    row = BLOCK * width

    def fetched(step: ir.Expr | int) -> list[ir.Stmt]:
        at = op("*", "t", width)
        source: ir.Expr = load("x", op("+", op("*", step, row), at), dtype=I32)
        if random.random() < 0.3:
            source = select(op("<", step, STEPS - 1), source, ir.Const(0, I32, source.place))
        return [copy("tile", op("%", step, stages), at, source, width=width), commit()]

    ahead = stages - 1
    before = [stmt for step in range(ahead) for stmt in fetched(step)]
    cell = load("tile", op("%", "s", stages), op("-", row - 1, "t"), dtype=I32)
    total = assign("v", ir.Binary("+", var("v", I32), cell, I32, cell.place))
    next_one = branch(op("<", op("+", "s", ahead), STEPS), fetched(op("+", "s", ahead)), [commit()])
    body = [wait(ahead - 1), barrier(), total, next_one]
    if random.random() < 0.5:  # the next copy is begun first: one more group is under way, and one more barrier needed
        body = [next_one, wait(ahead), barrier(), total, barrier()]
    return [
        array("tile", stages, row, memory="shared", dtype=I32),
        assign("t", where("threadIdx")),
        assign("v", ir.Const(0, I32, cell.place)),
        *before,
        loop("s", STEPS, *body),
        store("y", "t", var("v", I32)),
    ]


def changed(body: Sequence[ir.Stmt], random: Random) -> list[ir.Stmt]:
    """Return a body with a wait, commit or barrier left out, moved, doubled or weakened, a copy moved, or a store to
    what is copied or to where it goes."""
    found, kinds = list(body), ir.Barrier | ir.CopyGroup | ir.CopyAsync
    nested = [n for n, stmt in enumerate(found) if isinstance(stmt, ir.For | ir.If)]
    if nested and random.random() < (0.8 if len(found) > 5 else 0.4):
        n = random.choice(nested)
        stmt = found[n]
        if isinstance(stmt, ir.For):
            found[n] = ir.For(
                stmt.variable, stmt.start, stmt.stop, stmt.step, tuple(changed(stmt.body, random)), stmt.place
            )
        elif isinstance(stmt, ir.If):
            found[n] = ir.If(stmt.condition, tuple(changed(stmt.then, random)), stmt.otherwise, stmt.place)
        return found
    places = [n for n, stmt in enumerate(found) if isinstance(stmt, kinds)]
    if not places:
        return found
    n = random.choice(places)
    stmt = found[n]
    match random.choice(["drop", "move", "double", "weaken", "part", "store", "source"]):
        case "drop":
            del found[n]
        case "move":
            del found[n]
            found.insert(random.randrange(3, len(found) + 1) if len(found) > 3 else 0, stmt)
        case "double":
            found.insert(n, stmt)
        case "weaken" if isinstance(stmt, ir.CopyGroup) and stmt.left is not None:
            found[n] = wait(max(0, stmt.left + random.choice([-1, 1, 2])))
        case "store" if isinstance(stmt, ir.CopyAsync):
            own = op("+", op("*", "t", stmt.width), stmt.width - 1)
            found.insert(n + random.randint(0, 2), store("tile", stmt.indices[0], own, var("v", I32)))
        case "source" if isinstance(stmt, ir.CopyAsync):
            found.insert(n + random.randint(0, 2), store("x", *stmt.load.indices, var("v", I32)))
        case "part" if isinstance(stmt, ir.Barrier):
            found[n] = branch(op("<", "t", random.choice([2, BLOCK])), [stmt])
        case _:
            del found[n]
    return found


def program_of(body: Sequence[ir.Stmt]) -> ir.Program:
    tile = next(stmt for stmt in body if isinstance(stmt, ir.DeclareArray))
    x = parameter("x", STEPS * tile.shape[1], role="inout", dtype=I32)
    y = parameter("y", BLOCK, role="out", dtype=I32)
    return kernel("pipeline", [x, y], body, block=(BLOCK, 1, 1), grid=(1, 1, 1))


class Disordered(Block):
    """A block whose threads take turns at random, and whose copies arrive whenever they like."""

    def thread(self, body: Sequence[ir.Stmt], t: int) -> Iterator[bool]:
        """Run one thread; yield whether it waits at a barrier, after each statement."""
        for stmt in body:
            if isinstance(stmt, ir.For):
                for value in range(*(self.uniform(bound, [t]) for bound in (stmt.start, stmt.stop, stmt.step))):
                    self.scalars[t][stmt.variable] = value
                    yield from self.thread(stmt.body, t)
            elif isinstance(stmt, ir.If):
                yield from self.thread(stmt.then if self.values(stmt.condition, [t])[t] else stmt.otherwise, t)
            elif isinstance(stmt, ir.DeclareArray):
                self.memory.setdefault(stmt.name, {})
                self.shapes[stmt.name], self.types[stmt.name] = stmt.shape, stmt.dtype
            else:
                if not isinstance(stmt, ir.Barrier):
                    self.statement(stmt, [t])
                yield isinstance(stmt, ir.Barrier)

    def disordered(self, random: Random) -> None:
        threads = {t: self.thread(self.program.body, t) for t in range(self.count)}
        waiting, eager = set[int](), random.choice([0.0, 0.1, 0.5])
        while threads:
            ready = sorted(threads.keys() - waiting)
            if not ready:
                assert waiting == set(range(self.count)), "a barrier that not all threads reach"
                waiting.clear()
                continue
            t = random.choice(ready)
            for _ in range(random.randint(1, 8)):
                if self.begun and random.random() < eager:
                    self.arrive([random.choice(self.begun)])
                at_barrier = next(threads[t], None)
                if at_barrier is None:
                    del threads[t]
                    break
                if at_barrier:
                    waiting.add(t)
                    break


def numbers_for(program: ir.Program, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-50, 50, program.parameters[0].shape).astype(np.int32)


def shown(program: ir.Program, seed: int) -> set[object]:
    """Return what disordered runs come to."""
    found = set[object]()
    for order in range(8):
        arrays: dict[str, dict[tuple[int, ...], int]] = {"x": dict(np.ndenumerate(numbers_for(program, seed))), "y": {}}
        block = Disordered(program, (0, 0, 0), arrays)
        try:
            block.disordered(Random(order))
            found.add(tuple(array[at] for array in arrays.values() for at in sorted(array)))
        except (AssertionError, KeyError):
            found.add("broken")
    return found


def computed(program: ir.Program, seed: int) -> object:
    """Return what the machine comes to."""
    run = Machine(program, Numbers(), {"x": numbers_for(program, seed)}).run()
    return tuple(run.memories["x"].data.tolist() + run.memories["y"].data.tolist())


def accepted(program: ir.Program) -> bool:
    """Tell whether the machine accepts a pipeline, and require that the second reading says the same of it, but for
    races and for cells that are written too early, which it does not follow."""
    terms = Terms()
    run = Machine(program, Canonical(terms), symbolic_inputs(program, terms), violation_limit=10**6).run()
    second = Forward(program, TermValues(terms), lambda *_: {})
    rules = {violation.key[-1] for violation in run.violations if not violation.other}
    assert all(rule(t).is_true() for rule in second.must for t in range(BLOCK)) == (not rules)
    if not run.violations:
        assert [[*second.output("y", t)] for t in range(BLOCK)] == [[term] for term in run.memories["y"].data.tolist()]
    return not run.violations


@pytest.mark.parametrize("seed", slow_unless(range(12), lambda seed: seed < 3))
def test_right_pipelines(seed: int) -> None:
    """The machine, the second reading, the plain interpreter and every order of threads agree."""
    program = program_of(pipeline(Random(seed)))
    found = reference(program, {"x": numbers_for(program, seed), "y": np.zeros(BLOCK, np.int32)})
    expected = (*found["x"].tolist(), *found["y"].tolist())
    assert accepted(program) and shown(program, seed) == {expected} == {computed(program, seed)}


@pytest.mark.parametrize("seed", slow_unless(range(8), lambda seed: seed == 0))
def test_no_wrong_pipeline_is_accepted(seed: int) -> None:
    """Of the changed ones those are refused that come to different numbers in different orders."""
    refused = kept = 0
    for number in range(40):
        random = Random(1000 * seed + number)
        wrong = program_of(changed(pipeline(random), random))
        results = shown(wrong, seed)
        refused += results != {computed(wrong, seed)}
        if accepted(wrong):
            kept += 1
            assert results == {computed(wrong, seed)}, f"seed {1000 * seed + number}"
    assert refused > 8 and kept > 3
