"""Search the block that transposes four words of four lanes. `python -m bench.quad [ORDER] [--engine glucose]`.

ORDER says which nodes are shuffles (s) and which selects (p); by default it is that of `QUAD` in
swizzle/layouts/conversions/linear.py. Shuffles read lane ^ c, and a select's condition is one of the lane's bits, or
whether they differ. Printed is a program as in `QUAD`, or that there is none of this order and these lanes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import combinations, count

from swizzle.layouts.conversions.linear import QUAD
from symbolic.solve.sat import SatSolver

LANES = range(4)
CONDITIONS = (0b1010, 0b1100, 0b0110)
ORDER = "".join("s" if second < 0 else "p" for _, second, _ in QUAD)


class Search:
    """Clauses for a program: `holds[n, lane, element]` may be true only if node n has that element in that lane."""

    def __init__(self, order: str, engine: str) -> None:
        self.order, self.fresh = order, count(1)
        self.solver = SatSolver(engine)  # type: ignore[arg-type]
        nodes = range(4 + len(order))
        self.holds = {(n, lane, e): next(self.fresh) for n in nodes for lane in LANES for e in range(16)}
        for n in range(4):
            for lane in LANES:
                for e in range(16):
                    self.add([self.holds[n, lane, e] * (1 if e == 4 * lane + n else -1)])
        self.chosen = {n: self.node(n, order[n - 4]) for n in nodes[4:]}
        self.outputs = [self.one_of(len(nodes)) for _ in range(4)]
        self.break_symmetries()
        for word, where in enumerate(self.outputs):
            for n in nodes:
                for lane in LANES:  # word w of lane l is to be word l of lane w
                    self.add([-where[n], self.holds[n, lane, 4 * word + lane]])

    def operands(self, n: int) -> list[list[int]]:
        """Return the choices of a node's sources: one of a shuffle, two of a select."""
        return self.chosen[n][: 1 if self.order[n - 4] == "s" else 2]

    def break_symmetries(self) -> None:
        """Say that nodes are used, have one element in a lane, and stand behind a neighbour with earlier sources."""
        for n in self.chosen:
            some = self.operands(n)
            later = [part[n] for m in self.chosen if m > n for part in self.operands(m)]
            self.add([*later, *(where[n] for where in self.outputs)])
            for lane in LANES:
                for a, b in combinations(range(16), 2):
                    self.add([-self.holds[n, lane, a], -self.holds[n, lane, b]])
            if len(some) == 2:
                for one, two in zip(*some, strict=True):
                    self.add([-one, -two])
            if n + 1 in self.chosen and self.order[n - 3] == self.order[n - 4]:
                after = self.operands(n + 1)
                for a in range(n):
                    for b in range(a):
                        self.add([*(part[n] for part in after), -some[0][a], -after[0][b]])

    def add(self, clause: Sequence[int]) -> None:
        self.solver.add([clause])

    def one_of(self, size: int) -> list[int]:
        """Return literals of which exactly one holds."""
        found = [next(self.fresh) for _ in range(size)]
        self.add(found)
        for a, b in combinations(found, 2):
            self.add([-a, -b])
        return found

    def node(self, n: int, kind: str) -> list[list[int]]:
        """Add a shuffle or a select of earlier nodes; return its choices."""
        first = self.one_of(n)
        if kind == "s":
            flips = self.one_of(3)
            for a, lane, e in ((a, lane, e) for a in range(n) for lane in LANES for e in range(16)):
                for flip, on in enumerate(flips, 1):
                    self.add([-first[a], -on, -self.holds[n, lane, e], self.holds[a, lane ^ flip, e]])
            return [first, flips]
        second, conditions = self.one_of(n), self.one_of(3)
        for a, lane, e in ((a, lane, e) for a in range(n) for lane in LANES for e in range(16)):
            for condition, on in zip(CONDITIONS, conditions, strict=True):
                taken = (second if condition >> lane & 1 else first)[a]
                self.add([-taken, -on, -self.holds[n, lane, e], self.holds[a, lane, e]])
        return [first, second, conditions]

    def found(self) -> tuple[tuple[int, int, int], ...] | None:
        """Return a program and print its outputs, or None where there is none."""
        if not self.solver.check((), None):
            return None
        true = {literal for literal in self.solver.model() if literal > 0}
        rows = []
        for some in self.chosen.values():
            picks = [next(k for k, literal in enumerate(part) if literal in true) for part in some]
            rows.append((picks[0], -1, picks[1] + 1) if len(picks) == 2 else (picks[0], picks[1], CONDITIONS[picks[2]]))
        outputs = [next(k for k, literal in enumerate(each) if literal in true) for each in self.outputs]
        values = [[(lane, word) for lane in LANES] for word in range(4)]
        for a, b, code in rows:
            values.append([values[a][n ^ code] if b < 0 else values[b if code >> n & 1 else a][n] for n in LANES])
        assert [values[n] for n in outputs] == [[(word, lane) for lane in LANES] for word in range(4)]
        print("outputs", outputs)
        return tuple(rows)


def main() -> None:
    """Search, and print what was found in how much processor time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("order", nargs="?", default=ORDER)
    parser.add_argument("--engine", choices=["cadical", "glucose"], default="cadical")
    options = parser.parse_args()
    before = time.process_time()
    found = Search(options.order, options.engine).found()
    shuffles = options.order.count("s")
    print(f"{options.order}: {shuffles} shuffles, {len(options.order) - shuffles} selects:", found or "none")
    print(f"{time.process_time() - before:.1f} s")


if __name__ == "__main__":
    main()
