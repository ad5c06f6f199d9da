"""Operators by deduction: a loop that is linear over a semiring, under the control of a few states.

Some words of a loop's state take few values, whatever the elements are (flags, the state of an automaton): its
*control*. If, under each control, the others are sums of multiples of themselves over one semiring, `best = max(best,
here + v)` over (max, +), then what a part of the input does to any state is a control behind each control before, and
a matrix; what two parts do is the product. Many of its entries are always the same number, or always equal. Which is
guessed from random parts, and proved: a single element makes them so, and so does a product of two that are so; what a
solver refutes is taken apart. The entries that the result depends on are the words.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from swizzle.operators.carrier import Carrier
from swizzle.operators.linear_machine import UNIT, Control, LinearMachine, NotFound, machines
from swizzle.operators.loop import BOOL, Domain, Loop, name_of, sort_in
from swizzle.operators.samples import random_rows
from symbolic.bottom_up import reached
from symbolic.expressions import expression as e
from symbolic.expressions.expression import GREATEST, LEAST, TRUE, Expression, substituted
from symbolic.expressions.formulas import decide
from symbolic.expressions.meaning import function_of
from symbolic.ir.program import DType

MOST_ENTRIES: Final = 150
MOST_ROUNDS: Final = 60
PARTS: Final = 160
"""Random parts of the input that entries are guessed equal from."""
SECONDS: Final = 5.0

Key: TypeAlias = tuple[Any, ...]
"""An entry: ('control', before, word) or ('entry', control before, row, column)."""


@dataclass
class CarrierEntries:
    """The entries of a carrier, each a constant or a word; `found` are words by their names."""

    machine: LinearMachine
    domain: Domain
    constants: dict[Key, Expression] = field(default_factory=dict)
    heads: dict[Key, Key] = field(default_factory=dict)
    infinite: dict[Key, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        machine = self.machine
        self.keys: list[Key] = [("control", q, name) for q in machine.states for name in machine.control]
        for q in machine.states:
            for name, group in machine.groups.items():
                self.keys += [("entry", q, name, column) for column in (*group, UNIT)]
        if len(self.keys) > MOST_ENTRIES:
            raise NotFound(f"{len(self.keys)} entries are too many")

    # -- one element, and a product ----------------------------------------------------------------------------

    def element(self, key: Key) -> Expression:
        """Return an entry of one element."""
        if key[0] == "control":
            return self.machine.moves[key[1], key[2]]
        _, q, name, column = key
        row, ring = self.machine.rows[q, name], self.machine.rings[name]
        found = row.get(UNIT, ring.zero) if column == UNIT else ring.zero
        for other in self.machine.groups[name]:
            more = self.machine.floor[other].get(column)
            if more is not None and other in row:
                found = ring.plus(found, ring.times(row[other], more))
        return found

    def entry(self, side: str, key: Key) -> Expression:
        """Return an entry of a part of the input."""
        known = self.constants.get(key)
        if known is not None:
            return known
        return name_of(f"{side}.{self.label(self.heads[key])}", self.dtype(key))

    def dtype(self, key: Key) -> DType:
        """Return the type of an entry."""
        return self.machine.loop.state[key[2]]

    def label(self, key: Key) -> str:
        """Return what a word is called; unique, and no name of the loop."""
        place = self.machine.states.index(key[1])
        return "!".join(map(str, (key[0], place, *key[2:])))

    def product(self, key: Key) -> Expression:
        """Return an entry of a part and one behind it."""
        machine = self.machine
        found: Expression | None = None
        for q in reversed(machine.states):
            value = self._behind(key, q)
            found = value if found is None else e.select(self._ends("a", key[1], q), value, found)
        assert found is not None
        return found

    def _behind(self, key: Key, q: Control) -> Expression:
        """Return an entry of two parts where the first ends in a control."""
        if key[0] == "control":
            return self.entry("b", ("control", q, key[2]))
        _, before, name, column = key
        ring, group = self.machine.rings[name], self.machine.groups[name]
        summands = [
            ring.times(self.entry("b", ("entry", q, name, middle)), self.entry("a", ("entry", before, middle, column)))
            for middle in group
        ]  # fmt: skip
        if column == UNIT:
            summands.append(self.entry("b", ("entry", q, name, UNIT)))
        found = summands[0]
        for each in summands[1:]:
            found = ring.plus(found, each)
        return found

    def _ends(self, side: str, before: Control, after: Control) -> Expression:
        """Return the condition that a part leads from a control to a control."""
        pairs = zip(self.machine.control, after, strict=True)
        return e.both(
            *(e.equal(self.entry(side, ("control", before, name)), e.constant(value)) for name, value in pairs)
        )

    def within(self, side: str) -> Expression:
        """Return that a part leads from each control to one that there is."""
        return e.both(
            *(e.either(*(self._ends(side, q, after) for after in self.machine.states)) for q in self.machine.states)
        )  # fmt: skip

    # -- guesses, and what is left of them -----------------------------------------------------------------------

    def guess(self, rng: random.Random) -> None:
        """Take entries for constant, or for equal, that are so in random parts."""
        rows: dict[Key, list[Any]] = {key: [] for key in self.keys}
        for part in _random_parts(self, rng):
            for key, value in part.items():
                rows[key].append(value)
        first: dict[tuple[Any, ...], Key] = {}
        if not all(rows.values()):
            raise NotFound("something is divided by zero in all parts that were tried")
        for key, values in rows.items():
            if all(value == values[0] for value in values):
                self.constants[key] = e.constant(values[0])
            else:
                self.heads[key] = first.setdefault((self.dtype(key) is BOOL, *values), key)
                signs = {1 if value > 0 else -1 for value in values if isinstance(value, float) and math.isinf(value)}
                if len(signs) > 1:
                    raise NotFound("an entry may be both infinities")
                if signs:
                    self.infinite[self.heads[key]] = signs.pop()

    def sorts(self) -> dict[str, Any]:
        """Return the sorts of the words of two parts, and of an element."""
        loop = self.machine.loop
        found = dict(loop.sorts(self.domain))
        for head in dict.fromkeys(self.heads.values()):
            sort = sort_in(self.domain, self.dtype(head), mixed=loop.mixed)
            found |= {f"{side}.{self.label(head)}": sort for side in "ab"}
        return found

    def infinities(self) -> dict[str, int]:
        return {f"{side}.{self.label(head)}": sign for head, sign in self.infinite.items() for side in "ab"}

    def settle(self) -> None:
        """Prove what was guessed, and take apart what is refuted, until nothing is."""
        loop = self.machine.loop
        for _ in range(MOST_ROUNDS):
            elements = [(key, self.element(key), self._claimed(key, self.element)) for key in self.keys]
            if self._refuted(elements, [loop.range.where]):
                continue
            products = [(key, self.product(key), self._claimed(key, self.product)) for key in self.keys]
            if not self._refuted(products, [self.within("a"), self.within("b")]):
                return
        raise NotFound("which entries are equal was not settled")

    def _claimed(self, key: Key, compute: Callable[[Key], Expression]) -> Expression:
        return self.constants[key] if key in self.constants else compute(self.heads[key])

    def _refuted(self, claims: Sequence[tuple[Key, Expression, Expression]], premises: Sequence[Expression]) -> bool:
        """Tell whether something was refuted, and taken apart."""
        pairs = [(is_, claimed) for _, is_, claimed in claims]
        finite = [
            (_finite(is_), TRUE) for key, is_, _ in claims
            if self.domain != "words" and self.dtype(key) is not BOOL
            and key in self.heads and self.heads[key] == key and key not in self.infinite
        ]  # fmt: skip
        found = decide(
            [*pairs, *finite], self.sorts(), premises, infinite=self.infinities(), effort=SECONDS
        )  # fmt: skip
        if found.verdict == "proved":
            return False
        if found.verdict == "unknown":
            raise NotFound(f"which entries are equal is not known: {found.reason}")
        names = list(found.values)
        values = function_of(names, [each for pair in pairs for each in pair])(*found.values.values())
        changed, groups = False, dict[tuple[Key, Any], Key]()
        for place, (key, _, _) in enumerate(claims):
            is_, claimed = values[2 * place : 2 * place + 2]
            if is_ != claimed:
                changed = True
                if key in self.constants:
                    del self.constants[key]
                    self.heads[key] = groups.setdefault((("constant",), is_), key)
                else:
                    self.heads[key] = groups.setdefault((self.heads[key], is_), key)
                if isinstance(is_, float) and math.isinf(is_):
                    self.infinite[self.heads[key]] = 1 if is_ > 0 else -1
        if not changed:
            raise NotFound("a word may be an infinity")
        return True


def _finite(node: Expression) -> Expression:
    return e.both(e.less(LEAST, node), e.less(node, GREATEST))


def _random_parts(words: CarrierEntries, rng: random.Random) -> Iterator[dict[Key, Any]]:
    """Yield what random parts of the input do, entry by entry, in Python's numbers."""
    machine = words.machine
    loop = machine.loop
    lifted = function_of(list(loop.elements), [words.element(key) for key in words.keys])
    keys = words.keys
    plain = CarrierEntries(machine, words.domain)
    plain.heads = {key: key for key in keys}
    names = [f"{side}.{plain.label(key)}" for side in "ab" for key in keys]
    joined = function_of(names, [plain.product(key) for key in keys])
    for count in range(PARTS):
        rows = random_rows(loop, rng, 1 + count % 6)
        with suppress(ZeroDivisionError):
            values = lifted(*rows[0])
            for row in rows[1:]:
                values = joined(*values, *lifted(*row))
            yield dict(zip(keys, values, strict=True))


def deduced(loop: Loop, live: Sequence[str], domain: Domain, *, floors: bool = True) -> list[Carrier]:
    """Return the operators of a loop that is linear, fewest words first; NotFound says why it is not. Without `floors`,
    nothing is taken from what words always are, at least."""
    found: list[Carrier] = []
    reason = NotFound("no semiring fits")
    for machine in machines(loop, live, floors):
        try:
            found.append(_carrier(machine, live, domain))
        except NotFound as error:
            reason = error
        except (ArithmeticError, OverflowError) as error:
            reason = NotFound(str(error))
        if found and len(found[-1].words) == 1:
            break
    if not found:
        raise reason
    return sorted(found, key=lambda each: len(each.words))


def _carrier(machine: LinearMachine, live: Sequence[str], domain: Domain) -> Carrier:
    bits = machine.loop.has_bits and domain == "words"  # which integers have not
    words = CarrierEntries(machine, "reals" if domain == "reals" else "words" if bits else "integers")
    words.guess(random.Random(1))
    words.settle()
    loop = machine.loop
    state = {name: _after(words, name) for name in live}
    labels = {words.label(head): head for head in dict.fromkeys(words.heads.values())}
    asked = [*state.values(), *([words.within("a")] if len(machine.states) > 1 else [])]
    needed = set(
        reached(
            (name.partition(".")[2] for each in asked for name in each.names),
            lambda label: {name.partition(".")[2] for name in words.product(labels[label]).names},
        )
    )
    ordered = [label for label in labels if label in needed]
    spelled = _spelled(machine, [labels[label] for label in ordered])
    names = dict(zip(ordered, spelled, strict=True))
    both_sides = {
        f"{side}.{label}": name_of(f"{side}.{name}", words.dtype(labels[label]))
        for label, name in names.items() for side in "ab"
    }  # fmt: skip
    alone = {f"a.{label}": name_of(name, words.dtype(labels[label])) for label, name in names.items()}
    own = {name: substituted(each, alone) for name, each in state.items()}
    rings = dict.fromkeys(ring.name for ring in machine.rings.values())
    how = (
        " and ".join(rings) + f" linear{_controlled(machine)}"
        if rings
        else f"an automaton of {len(machine.states)} states"
    )
    return Carrier(
        loop,
        {name: words.dtype(labels[label]) for label, name in names.items()},
        {name: words.element(labels[label]) for label, name in names.items()},
        {name: substituted(words.product(labels[label]), both_sides) for label, name in names.items()},
        own,
        tuple(substituted(each, own) for each in loop.result),
        how,
        {names[words.label(head)]: sign for head, sign in words.infinite.items() if words.label(head) in names},
        substituted(words.within("a"), alone) if len(machine.states) > 1 else TRUE,
    )


def _controlled(machine: LinearMachine) -> str:
    return f" under {', '.join(machine.control)}" if len(machine.states) > 1 else ""


def _after(words: CarrierEntries, name: str) -> Expression:
    """Return a word of the loop's state after a part at the input's beginning."""
    machine = words.machine
    if name in machine.control:
        return words.entry("a", ("control", machine.start, name))
    ring = machine.rings[name]
    found = words.entry("a", ("entry", machine.start, name, UNIT))
    for other in machine.groups[name]:
        if machine.floor[other].get(UNIT) is machine.loop.initial[other]:
            continue  # it is in that entry already
        entry = words.entry("a", ("entry", machine.start, name, other))
        found = ring.plus(found, ring.times(entry, machine.loop.initial[other]))
    return found


def _spelled(machine: LinearMachine, heads: Sequence[Key]) -> list[str]:
    """Return names for words: that of a state's word, of the one that it multiplies, and of the control before."""
    found: list[str] = []
    for key in heads:
        name = key[2] if key[0] == "control" or key[3] == UNIT else (
            f"{key[2]}_factor" if key[2] == key[3] else f"{key[2]}_of_{key[3]}"
        )  # fmt: skip
        same = [other for other in heads if other[0] == key[0] and other[2:] == key[2:]]
        if len(same) > 1:
            name += str(machine.states.index(key[1]))
        while name in found:
            name += "_"
        found.append(name)
    return found
