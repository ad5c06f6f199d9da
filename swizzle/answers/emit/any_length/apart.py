"""A run in which each trip of a loop finds only what a few trips before it have left."""

from __future__ import annotations

import numpy as np

from swizzle.language.specs.specification import symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import Terms
from symbolic.ir import program as ir
from symbolic.ir.program import Program
from symbolic.machine.machine import Machine
from symbolic.machine.run import Run
from symbolic.values.vector import Vector


def run_with_few_trips(program: Program, loop: ir.For, scratch: tuple[str, ...], period: int) -> Run:
    """Run a program in whose loop a trip finds nothing in the `scratch` arrays that was written `period` or more trips
    before, what was written before the loop counting as of the trips just before; nor does what follows the loop."""
    terms = Terms()
    return _FewTrips(program, terms, loop, scratch, period).run()


class _FewTrips(Machine):
    def __init__(self, program: Program, terms: Terms, loop: ir.For, scratch: tuple[str, ...], period: int) -> None:
        super().__init__(program, Canonical(terms), symbolic_inputs(program, terms))
        self.scratch, self.period, self.loop = scratch, period, loop

    def execute(self, statement: ir.Stmt, mask: Vector) -> None:
        if not (isinstance(statement, ir.For) and (statement.place, statement.variable) == self._name):
            super().execute(statement, mask)
            return
        start, stop, step = (self._uniform(each, mask) for each in (statement.start, statement.stop, statement.step))
        outer, written = self.rules.loops, [self._writes()]
        for number in range(start, stop, step):
            if len(written) > self.period - 1:
                self._forget(written[-self.period])
            self.rules.loops = (*outer, number)
            self.scalars[statement.variable] = np.full(self.shape.count, number, np.int64)
            for inner in statement.body:
                self.execute(inner, mask)
            written.append(self._writes())
        self.rules.loops = outer
        self._forget(written[-1])

    @property
    def _name(self) -> tuple[object, str]:
        return self.loop.place, self.loop.variable

    def _writes(self) -> dict[str, int]:
        return {name: self.memories[name].writes for name in self.scratch}

    def _forget(self, until: dict[str, int]) -> None:
        """Take away what was written up to then."""
        for name, number in until.items():
            self.memories[name].forget(number)
