"""Operators by deduction: a loop that is linear over a semiring, under the control of a few states.

Some words of a loop's state take few values, whatever the elements are (flags, the state of an automaton): its
*control*. If, under each control, the others are sums of multiples of themselves over one semiring, `best = max(best,
here + v)` over (max, +), then what a part of the input does to any state is a control behind each control before, and
a matrix; what two parts do is the product. Many of its entries are always the same number, or always equal. Which is
guessed from random parts, and proved: a single element makes them so, and so does a product of two that are so; what a
solver refutes is taken apart. The entries that the result depends on are the words.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from swizzle.operators.carrier import Carrier
from swizzle.operators.entries import CarrierEntries, Key
from swizzle.operators.linear_machine import LinearMachine, NotFound, machines
from swizzle.operators.loop import Domain, Loop, name_of
from swizzle.operators.semiring import UNIT
from symbolic.expressions.expression import TRUE, Expression, substituted


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
    needed: dict[str, None] = {}
    pending = [name.partition(".")[2] for each in state.values() for name in sorted(each.names)]
    pending += [name.partition(".")[2] for name in sorted(words.within("a").names)] if len(machine.states) > 1 else []
    while pending:
        label = pending.pop(0)
        if label not in needed:
            needed[label] = None
            pending += sorted(name.partition(".")[2] for name in words.product(labels[label]).names)
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
