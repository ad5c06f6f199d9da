"""What a kernel's floats are computed by: where two texts are equal as real numbers, how their arithmetic differs.

Real numbers do not round, and none of them is NaN. So a proof does not see other roundings, other constants within
half a unit in the last place, approximations, products with 0, or which of two numbers a comparison chooses that NaN
decides. All this is read off the PTX: its instructions' names, and what every output is computed by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from cuda_out.compile.opaque import FAST, PREFIX
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.kinds import KINDS, is_float, width
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.syntax import Kernel, Name, Operand

_ROUNDS = frozenset(("add", "sub", "mul", "mad", "fma", "div", "rcp", "sqrt", "math"))
_CHOOSES = frozenset(("setp", "selp", "min", "max"))
_SMALL = ("bf16", "f16")
_SHOWN = 4


class Arithmetic(Struct, frozen=True):
    """The operations on floats that outputs are made by, the constants among their operands, which instructions
    approximate or flush small numbers to 0, and a number for what each output is, the same to the bit."""

    operations: Counter[str]
    constants: frozenset[float]
    times_zero: bool
    loose: frozenset[str]
    outputs: tuple[int, ...]

    def of(self, heads: Iterable[str]) -> Counter[str]:
        return Counter({name: n for name, n in self.operations.items() if name.partition(".")[0] in heads})


def arithmetic(machine: PtxMachine, names: Iterable[str]) -> Arithmetic:
    """Return how the contents of some arrays were computed by a run."""
    notes, regions = machine.deferred, [machine.arrays[name] for name in names]
    operations, constants, zero = Counter[str](), set[float](), False
    for operation, numbers in notes.below([term for region in regions for term in region.terms.tolist()]):
        kinds = [kind for kind in (*operation.sources, operation.result) if is_float(kind)]
        if not kinds:
            continue
        narrow = operation.narrows
        head = "rounding" if narrow else operation.name.partition(".")[0]
        operations[f"{head}.{narrow or kinds[0]}"] += 1
        found = {_number(operation, place, bits) for place, bits in numbers if is_float(operation.sources[place])}
        constants |= found
        zero |= 0.0 in found and head in ("mul", "mad", "fma")
    alike = [notes.computed_alike(region.terms) for region in regions]
    outputs = [value for terms, region in zip(alike, regions, strict=True) for value in (*terms, *region.bits)]
    return Arithmetic(operations, frozenset(constants), zero, _loose(machine.kernel), tuple(map(int, outputs)))


def _number(operation: Operation, place: int, bits: int) -> float:
    size = width(operation.sources[place]) // 8
    return float(np.array([bits & (1 << 8 * size) - 1], f"u{size}").view(KINDS[operation.sources[place]])[0])


def _loose(kernel: Kernel) -> frozenset[str]:
    """Return the instructions of a kernel, and of what it may call, that round in another way than to the nearest, and
    the fast functions that are called."""
    bodies = (kernel, *kernel.functions.values())
    loose = {"approx", "full", "ftz", "rz", "rm", "rp"}
    every = [each for body in bodies for each in body.instructions]
    rounded = {".".join(each.op) for each in every if loose & set(each.op) and is_float(each.op[-1])}
    called = {name.removeprefix(PREFIX) for each in every if each.op[0] == "call" for name in map(_name, each.operands)}
    return frozenset(rounded | called & FAST.keys())


def _name(operand: Operand) -> str:
    return operand.text if isinstance(operand, Name) else ""


def assumptions(machine: PtxMachine, names: Iterable[str]) -> tuple[str, ...]:
    """Return what the contents of some arrays, left by a run, count as that they are not, in words: approximations as
    what they approximate, arithmetic in 16 bits as that of real numbers."""
    found, kinds = [], set[str]()
    if loose := sorted(_loose(machine.kernel)):
        found.append(f"approximations count as what they approximate: {_some(loose)}")
    small = {operation: of for operation in machine.deferred.operations() if (of := _small(*operation))}
    if small:
        terms = [term for name in names for term in machine.arrays[name].terms.tolist()]
        for operation, _ in machine.deferred.below(terms):
            kinds |= small.get((operation.name, operation.result), set())
    ops = [each.op for body in (machine.kernel, *machine.kernel.functions.values()) for each in body.instructions]
    products = [op for op in ops if op[0] == "mma" or op[:2] == ("wmma", "mma")]  # which end in the type of their sums
    kinds |= {op[-1] for op in products if op[-1] in _SMALL}
    if kinds:
        found.append(f"arithmetic in {_some(sorted(kinds))} counts as that of real numbers")
    if any("tf32" in op for op in products):
        found.append("factors of matrix products count as they are, and are cut to tf32")
    return tuple(found)


def _small(name: str, result: str) -> set[str]:
    """Return the types of 16 bits in which an operation rounds what it gives."""
    head = name.partition(".")[0]
    if head == "bf16":
        return {head}
    return {result} if head in _ROUNDS and result in _SMALL else set()


def differences(mine: Arithmetic, printed: Arithmetic) -> tuple[str, ...]:
    """Return how the first differs from the second where both are the same real numbers; none where they are the same
    to the bit."""
    found = []
    if loose := sorted(mine.loose - printed.loose):
        found.append(f"approximations: {_some(loose)}")
    if mine.outputs == printed.outputs:
        return tuple(found)
    if more := sorted(mine.constants - printed.constants, key=abs):
        without = sorted(printed.constants - mine.constants, key=abs)
        found.append(f"constants: {_some(map(_shown, more))} (printed: {_some(map(_shown, without)) or 'none'})")
    if mine.times_zero and not printed.times_zero:
        found.append("products with 0, which infinity and NaN leave NaN")
    rounds, before = (each.of((*_ROUNDS, "rounding")) for each in (mine, printed))
    types, least = ([name.rpartition(".")[2] for name in each] for each in (rounds, before))
    if narrow := sorted({kind for kind in types if _bits(kind) < min(map(_bits, least), default=32)}):
        found.append(f"arithmetic in {_some(narrow)}")
    if rounds != before:
        found.append(f"roundings: {rounds.total()} (printed: {before.total()})")
    if mine.of(_CHOOSES) != printed.of(_CHOOSES):
        found.append("comparisons, which NaN and signed zeros may decide otherwise")
    return tuple(found or ["the order of operations"])


def _bits(kind: str) -> int:
    return int(kind.lstrip("bf"))


def _shown(value: float) -> str:
    return f"{value:.9g}"


def _some(words: Iterable[str]) -> str:
    every = list(words)
    return ", ".join(every[:_SHOWN]) + (f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else "")
