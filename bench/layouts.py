"""Time layouts on their sweeps: the rows of issue-sized questions. `python -m bench.layouts [--only TEXT]`.

Each row asks `swizzle.layouts.best` many questions and checks that every answer is proved; printed are how many there
were, processor time in all and of the slowest, and the kinds of layout that were found.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from swizzle import layouts

Question = tuple[tuple[int, int], int, list[layouts.Access]]


def tiles(accesses: Callable[[], list[layouts.Access]]) -> Iterator[Question]:
    """Yield every tile of 32-bit words, m and n in 1 ... 64."""
    for m, n in product(range(1, 65), repeat=2):
        yield (m, n), 32, accesses()


def atoms() -> Iterator[Question]:
    """Yield the tiles of CuTe's K-major atoms, by element size and bytes of a row."""
    for bits, row, height in product((8, 16, 32), (32, 64, 128), (8, 16)):
        yield (height, 8 * row // bits), bits, [layouts.ldmatrix(4), layouts.cp_async(16)]


def operands() -> Iterator[Question]:
    """Yield what mma and ldmatrix read, by the axis that is contiguous, beside stores of 16 to 128 bits a lane."""
    kinds = [(32, "m16n8k4"), (32, "m16n8k8"), (16, "m16n8k8"), (16, "m16n8k16"), (8, "m16n8k16"), (8, "m16n8k32")]
    for (bits, shape), along, store in product(kinds, (0, 1), (16, 32, 64, 128)):
        if store < bits:
            continue
        stores = layouts.linear("row" if along else "column", store // bits)
        some: list[Any] = ["A", "B", *(["C"] if bits > 8 else [])]
        for operand in some:
            yield (64, 64), bits, [layouts.mma(operand, shape, along=along), stores]
        yield (64, 64), bits, [layouts.ldmatrix(4, trans=not along, along=along), stores]


ROWS: dict[str, Callable[[], Iterator[Question]]] = {
    "CuTe's atoms": atoms,
    "operands of mma and ldmatrix": operands,
    "rows and columns, m, n in 1 ... 64": lambda: tiles(lambda: [layouts.rows(), layouts.columns()]),
    "both linear orders, m, n in 1 ... 64": lambda: tiles(lambda: [layouts.linear("row"), layouts.linear("column")]),
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    print("| | questions | seconds | slowest | layouts |\n|---|---|---|---|---|")
    for name, questions in ROWS.items():
        if options.only not in name:
            continue
        kinds: Counter[str] = Counter()
        seconds = []
        for shape, bits, accesses in questions():
            before = time.process_time()
            answer = layouts.best(shape, accesses, bits=bits)
            seconds.append(time.process_time() - before)
            assert answer.optimal and answer.layout is not None, (shape, bits, accesses)
            kinds[answer.layout.kind] += 1
        found = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        print(f"| {name} | {len(seconds)} | {sum(seconds):.3g} | {max(seconds):.2g} | {found} |", flush=True)


if __name__ == "__main__":
    main()
