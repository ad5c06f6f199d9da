"""Random loops: whatever is said to be proved gives the loop's result in every grouping that is tried."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from swizzle.operators import operator_of
from swizzle.operators.samples import random_rows
from swizzle.operators.serial import Serial
from swizzle.sketches.loading import load_names
from symbolic.errors import SwizzleError
from tests.slow_cases import slow_unless
from tests.swizzle.operators.test_operators import in_parts

NUMBERS = ("p", "q")
KEEPING = (
    "p = p + E", "p = max(p, E)", "p = min(p + v, E)", "p = E if C else p + 1", "q = p if C else E", "p = p * v + E",
)  # fmt: skip


def number(rng: random.Random, depth: int) -> str:
    """Return the text of a random number."""
    if depth == 0:
        return rng.choice([*NUMBERS, *NUMBERS, "v", "v", str(rng.randrange(-2, 4))])
    a, b = (number(rng, rng.randrange(depth)) for _ in range(2))
    kind = rng.choice(["+", "+", "-", "*", "max", "min", "if"])
    if kind == "if":
        return f"({a} if {condition(rng, depth - 1)} else {b})"
    return f"{kind}({a}, {b})" if kind in ("max", "min") else f"({a} {kind} {b})"


def condition(rng: random.Random, depth: int) -> str:
    """Return the text of a random condition."""
    kind = rng.choice(["flag", "v", "v", "compare", "and", "not"])
    match kind:
        case "flag":
            return "f"
        case "v":
            return f"v {rng.choice(['<', '==', '>='])} {rng.randrange(-1, 3)}"
        case "not":
            return f"not {condition(rng, 0)}"
        case "and":
            return f"({condition(rng, 0)} {rng.choice(['and', 'or'])} {condition(rng, 0)})"
    left, sign, right = number(rng, 0), rng.choice(["<", "<=", "=="]), number(rng, depth)
    return f"{left} {'<=' if left == right else sign} {right}"  # p == p would ask for NaN


def random_loop(rng: random.Random, folder: Path) -> Serial:
    """Return a loop with two numbers and a flag of state, some of which never change."""
    kind = rng.choice(["i32", "i32", "f32"])
    lines = [f"from swizzle import {kind}, serial", "", "@serial", f"def loop(x: {kind}):"]
    lines += [f"    p, q, f = {rng.randrange(-1, 2)}, {rng.choice([0, 1, 5])}, {rng.random() < 0.5}", "    for v in x:"]
    lines.append("        " + rng.choice(KEEPING).replace("E", number(rng, 1)).replace("C", condition(rng, 0)))
    for _ in range(rng.randrange(1, 3)):
        if rng.random() < 0.3:
            lines.append(f"        f = {condition(rng, 1)}")
        else:
            lines.append(f"        {rng.choice(NUMBERS)} = {number(rng, rng.randrange(1, 3))}")
    lines.append(f"    return {rng.choice(['p', 'q', 'p + q', 'f', 'p if f else q'])}")
    file = folder / "random_loop.py"
    file.write_text("\n".join(lines) + "\n")
    (found,) = (each for each in load_names(file).values() if isinstance(each, Serial))
    return found


@pytest.mark.parametrize("seed", slow_unless(range(300), lambda seed: seed < 6 and seed != 2))
def test_what_is_proved_of_a_random_loop_is_true(seed: int, tmp_path: Path) -> None:
    """In its own domain, on integers too: results of random groupings are the loop's, in exact arithmetic."""
    rng = random.Random(seed)
    try:
        serial = random_loop(rng, tmp_path)
    except SwizzleError as refused:  # floats that ask for what real numbers are not
        assert "floating-point numbers are taken as real numbers" in str(refused), refused
        return
    for domain in ("integers", "words"):
        found = operator_of(serial.loop, domain)  # type: ignore[arg-type]
        if found.status != "proved":
            continue
        assert found.carrier is not None and found.proofs is not None
        for count in range(80):
            rows = random_rows(serial.loop, rng, 1 + count % 7)
            wanted: Any = serial([row[0] for row in rows])
            result = found.carrier.finished(in_parts(found.carrier, rows, rng))
            assert result == (wanted,), (Path(tmp_path / "random_loop.py").read_text(), found.carrier.source())
